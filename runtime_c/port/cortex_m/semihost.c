/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Files, console and exit through semihosting: the debugger, here QEMU, does
 * the work. Operation numbers: Arm, Semihosting for AArch32 and AArch64. */
#include "nncc_cortex_m.h"
#include "nncc_port.h"

#define SYS_OPEN 0x01
#define SYS_CLOSE 0x02
#define SYS_WRITE0 0x04
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define SYS_SEEK 0x0A
#define SYS_EXIT_EXTENDED 0x20
#define APPLICATION_EXIT 0x20026u

static int32_t call(int32_t operation, const void *argument)
{
    register int32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory", "cc");
    return r0;
}

int32_t nncc_port_open(const char *name, int32_t for_writing)
{
    uint32_t a[3];
    uint32_t length = 0u;
    while (name[length] != '\0') {
        length++;
    }
    a[0] = (uint32_t)(uintptr_t)name;
    a[1] = for_writing != 0 ? 5u : 1u; /* "wb", "rb" */
    a[2] = length;
    return call(SYS_OPEN, a);
}

/* The result of SYS_READ and SYS_WRITE is the number of bytes not moved. */
static int32_t move(int32_t operation, int32_t handle, const void *buffer, uint32_t bytes)
{
    uint32_t a[3];
    a[0] = (uint32_t)handle;
    a[1] = (uint32_t)(uintptr_t)buffer;
    a[2] = bytes;
    return call(operation, a) == 0 ? 0 : -1;
}

int32_t nncc_port_read(int32_t handle, void *to, uint32_t bytes)
{
    return move(SYS_READ, handle, to, bytes);
}

int32_t nncc_port_write(int32_t handle, const void *from, uint32_t bytes)
{
    return move(SYS_WRITE, handle, from, bytes);
}

int32_t nncc_port_seek(int32_t handle, uint32_t position)
{
    uint32_t a[2];
    a[0] = (uint32_t)handle;
    a[1] = position;
    return call(SYS_SEEK, a);
}

int32_t nncc_port_close(int32_t handle)
{
    const uint32_t a[1] = {(uint32_t)handle};
    return call(SYS_CLOSE, a);
}

void nncc_port_print(const char *text)
{
    (void)call(SYS_WRITE0, text);
}

void nncc_port_print_hex(uint32_t value)
{
    char text[11];
    text[0] = '0';
    text[1] = 'x';
    for (int32_t i = 0; i < 8; i++) {
        text[2 + i] = "0123456789abcdef"[(value >> (28 - 4 * i)) & 15u];
    }
    text[10] = '\0';
    nncc_port_print(text);
}

void nncc_exit(int32_t code)
{
    uint32_t a[2];
    a[0] = APPLICATION_EXIT;
    a[1] = (uint32_t)code;
    for (;;) {
        (void)call(SYS_EXIT_EXTENDED, a);
    }
}

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
