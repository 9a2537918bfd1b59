/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The harness on a computer: files through stdio, no counting, no stack. */
#include "nncc_harness.h"
#include "nncc_port.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define NNCC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NNCC_ASAN 1
#endif
#endif
#ifdef NNCC_ASAN
/* As sanitizer/asan_interface.h has them, which Debian's clang does not find. */
void __asan_poison_memory_region(void const volatile *from, size_t bytes);
void __asan_unpoison_memory_region(void const volatile *from, size_t bytes);
#endif

#define HANDLES 4

static FILE *files[HANDLES];

static FILE *file_of(int32_t handle)
{
    return handle >= 0 && handle < HANDLES ? files[handle] : NULL;
}

int32_t nncc_port_open(const char *name, int32_t for_writing)
{
    for (int32_t i = 0; i < HANDLES; i++) {
        if (files[i] == NULL) {
            files[i] = fopen(name, for_writing != 0 ? "wb" : "rb");
            return files[i] != NULL ? i : -1;
        }
    }
    return -1;
}

int32_t nncc_port_read(int32_t handle, void *to, uint32_t bytes)
{
    FILE *const f = file_of(handle);
    return f != NULL && fread(to, 1, bytes, f) == bytes ? 0 : -1;
}

int32_t nncc_port_write(int32_t handle, const void *from, uint32_t bytes)
{
    FILE *const f = file_of(handle);
    return f != NULL && fwrite(from, 1, bytes, f) == bytes ? 0 : -1;
}

int32_t nncc_port_seek(int32_t handle, uint32_t position)
{
    FILE *const f = file_of(handle);
    return f != NULL && fseek(f, (long)position, SEEK_SET) == 0 ? 0 : -1;
}

int32_t nncc_port_close(int32_t handle)
{
    FILE *const f = file_of(handle);
    if (f == NULL) {
        return -1;
    }
    files[handle] = NULL;
    return fclose(f) == 0 ? 0 : -1;
}

void nncc_port_print(const char *text)
{
    fputs(text, stderr);
}
void nncc_port_print_hex(uint32_t value)
{
    fprintf(stderr, "0x%08lx", (unsigned long)value);
}

void nncc_port_count(int32_t on)
{
    (void)on;
}
uint64_t nncc_port_ticks(void)
{
    return 0u;
}
uint32_t nncc_port_interrupts(void)
{
    return 0u;
}

uintptr_t nncc_port_sp(void)
{
    return 0u;
}
void nncc_port_stack_paint(void)
{
}
int32_t nncc_port_stack_overflow(void)
{
    return 0;
}
int32_t nncc_port_vectors_changed(void)
{
    return 0;
}

uint32_t nncc_port_stack_used(uintptr_t top, int32_t *exact)
{
    (void)top;
    *exact = 1;
    return 0u;
}

#ifdef NNCC_ASAN
void nncc_port_forbid(const void *from, uint32_t bytes)
{
    __asan_poison_memory_region(from, bytes);
}
void nncc_port_allow(const void *from, uint32_t bytes)
{
    __asan_unpoison_memory_region(from, bytes);
}
#else
void nncc_port_forbid(const void *from, uint32_t bytes)
{
    (void)from;
    (void)bytes;
}
void nncc_port_allow(const void *from, uint32_t bytes)
{
    (void)from;
    (void)bytes;
}
#endif

int main(void)
{
    return (int)nncc_harness_main();
}
