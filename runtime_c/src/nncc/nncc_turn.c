/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_turn: row by row of the result. Strips that lie where a row goes move to where the strips of the row before lay,
 * at first to scratch; then the strips of the row are interleaved from wherever they are. Each strip moves seldom.
 */
#include "nncc_copy.h"
#include "nncc_move.h"
#include "nncc_run.h"

/* Three strips of bytes, red, green and blue say: n * NNCC_TURN_BYTES of each. */
#if NNCC_COPY_MVE
#define NNCC_TURN_BYTES 1
static void nncc_turn_three(uint8_t *y, const uint8_t *a, const uint8_t *b, const uint8_t *c, int32_t n)
{
    __asm volatile("mov r0, #0\n vidup.u8 q1, r0, #1\n mov r0, #3\n vmul.i8 q1, q1, r0\n"
                   "mov r0, #1\n vadd.i8 q2, q1, r0\n vadd.i8 q3, q2, r0\n"
                   "wlstp.8 lr, %[n], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[a]], #16\n vstrb.8 q0, [%[y], q1]\n"
                   "vldrb.8 q0, [%[b]], #16\n vstrb.8 q0, [%[y], q2]\n"
                   "vldrb.8 q0, [%[c]], #16\n vstrb.8 q0, [%[y], q3]\n"
                   "add %[y], %[y], #48\n letp lr, 1b\n"
                   "2:\n"
                   : [y] "+r"(y), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c)
                   : [n] "r"(n)
                   : "r0", "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}
#elif NNCC_SIMD32 && NNCC_ASM
#define NNCC_TURN_BYTES 4
/* n > 0. SEL with GE set takes bytes 0 and 2 of its first operand. */
static void nncc_turn_three(uint8_t *y, const uint8_t *a, const uint8_t *b, const uint8_t *c, int32_t n)
{
    uint32_t s, u, v, w;

    __asm volatile("mov %[u], #0x00ff00ff\n mov %[v], #0x00010001\n uadd8 %[u], %[u], %[v]\n"
                   "1:\n"
                   "ldr %[u], [%[a]], #4\n ldr %[v], [%[b]], #4\n ldr %[w], [%[c]], #4\n"
                   "lsl %[s], %[v], #8\n sel %[s], %[u], %[s]\n sel %[u], %[w], %[u]\n"
                   "lsr %[v], %[v], #8\n sel %[v], %[v], %[w]\n pkhbt %[w], %[s], %[u], lsl #16\n"
                   "pkhbt %[s], %[v], %[s]\n pkhtb %[v], %[v], %[u], asr #16\n"
                   "str %[s], [%[y], #4]\n str %[v], [%[y], #8]\n str %[w], [%[y]], #12\n"
                   "subs %[n], %[n], #1\n bne 1b\n"
                   : [y] "+r"(y), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [n] "+r"(n), [s] "=&r"(s), [u] "=&r"(u),
                     [v] "=&r"(v), [w] "=&r"(w)
                   :
                   : "memory", "cc");
}
#else
#define NNCC_TURN_BYTES 0
#endif

/* The strips of one result, and where they are: `place` of every strip, `strip` at every place, -1 where there is none.
 */
typedef struct
{
    int32_t planes, rows, count, bytes;
    int32_t done; /* elements of a strip that nncc_turn_three takes */
    int32_t *place, *strip;
    uint8_t *y, *spare; /* the last places */
    nncc_runs_params rest;
} nncc_turn_state;

static uint8_t *nncc_turn_at(const nncc_turn_state *t, int32_t place)
{
    return place < t->count ? t->y + place * t->bytes : t->spare + (place - t->count) * t->bytes;
}

/* Nothing is left where row r goes. */
static void nncc_turn_clear(const nncc_turn_state *t, int32_t r)
{
    const int32_t first = r * t->planes;
    const int32_t last = first + t->planes;
    int32_t plane = 0;

    for (int32_t i = first; i < last; i++) {
        if (t->strip[i] >= 0) {
            int32_t room = i;

            while (room >= first && room < last) {
                room = r == 0 ? t->count + plane : t->place[plane * t->rows + r - 1];
                plane++;
            }
            nncc_copy(nncc_turn_at(t, room), nncc_turn_at(t, i), t->bytes);
            t->place[t->strip[i]] = room;
            t->strip[room] = t->strip[i];
        }
    }
}

static void nncc_turn_row(const nncc_turn_state *t, int32_t r)
{
    uint8_t *y = nncc_turn_at(t, r * t->planes);
    const int32_t *place = t->place + r;

#if NNCC_TURN_BYTES > 0
    if (t->done > 0) {
        nncc_turn_three(y, nncc_turn_at(t, place[0]), nncc_turn_at(t, place[t->rows]),
                        nncc_turn_at(t, place[2 * t->rows]), t->done / NNCC_TURN_BYTES);
        y += 3 * t->done;
    }
#endif
    for (int32_t i = t->planes; i > 0; i--) {
        t->strip[*place] = -1;
        if (t->rest.n > 0) {
            nncc_runs(&t->rest, nncc_turn_at(t, *place) + t->done, y);
        }
        place += t->rows;
        y += t->rest.elem;
    }
}

void nncc_turn(const nncc_turn_params *p, const void *x, int32_t *scratch, void *y)
{
    const int32_t count = p->planes * p->rows;
    const int32_t done = p->planes == 3 && p->elem == 1 ? p->cols & -NNCC_TURN_BYTES : 0;
    nncc_turn_state t = {
        p->planes,
        p->rows,
        count,
        p->cols * p->elem,
        done,
        scratch,
        scratch + count,
        (uint8_t *)y,
        (uint8_t *)(scratch + ((2 * count + p->planes + 1) & ~1)),
        {p->cols - done, 1, p->planes, 1, 0, 0, p->elem, 1, 0, 0},
    };

    if (x != y) {
        nncc_copy(y, x, p->batches * count * t.bytes);
    }
    for (int32_t batch = p->batches; batch > 0; batch--) {
        for (int32_t i = 0; i < count; i++) {
            t.place[i] = i;
            t.strip[i] = i;
        }
        for (int32_t i = 0; i < p->rows; i++) {
            nncc_turn_clear(&t, i);
            nncc_turn_row(&t, i);
        }
        t.y += count * t.bytes;
    }
}
