/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_f32_job.h: what packed float32 kernels tell their inner functions, and how these store results. With
 * nncc_f32_block.h and nncc_f32_channels.h: every sum begins at the bias and takes its products one after the other by
 * fused multiply-adds, so all bodies give the same bits (Helium flushes denormals to zero).
 */
#include "nncc_f32_pixels.h"

#include "nncc_dot_f32.h"

/*
 * How the inputs of a pixel lie: `planes` times `rows` runs, in the input and in the weights. A run is floats that
 * follow each other, all of them for every channel, or the taps of a row, each with inputs for all channels
 * (depthwise). Skips are in bytes, those of weights for records of 8 channels. The assembly knows the offsets.
 */
typedef struct
{
    int32_t steps, odd;       /* of a run: two floats, and whether one is left; or one tap */
    int32_t x_skip, w_skip;   /* from the end of a run to the next one */
    int32_t rows, planes;     /* runs of a plane, planes: at least 1 */
    int32_t x_plane, w_plane; /* what is added to that after the last run of a plane */
    int32_t limits;           /* NNCC_F32_NO_LIMIT ... */
    float lo, hi;
    int32_t first;  /* inputs or taps whose weights lie before the first run */
    int32_t across; /* from a tap to the next one */
    /* Of blocks that go through several records; steps as above. */
    int32_t left, plane;    /* records and planes that are left */
    float *y[3];            /* where the results of the next record go */
    int32_t rewind, w_end;  /* from the end of the last run: back to the first one, and to the next record */
    int32_t x_turn, w_turn; /* from the end of the last run of a plane to the next one */
    int32_t tail;           /* floats of a run behind the last four */
} nncc_f32_job;

/* Nothing to add up: a window outside of the input. */
static inline void nncc_f32_job_empty(nncc_f32_job *t)
{
    t->steps = 0;
    t->odd = 0;
    t->x_skip = 0;
    t->w_skip = 0;
    t->rows = 1;
    t->planes = 1;
    t->x_plane = 0;
    t->w_plane = 0;
    t->first = 0;
    t->across = 0;
}

/* Completes the steps for records of so many inputs, the bias counted. */
static inline void nncc_f32_job_records(nncc_f32_job *t, int32_t inputs)
{
    const int32_t size = (int32_t)sizeof(float);
    const int32_t record = NNCC_F32_WIDE * size;
    const int32_t n = 2 * t->steps + t->odd;

    t->tail = n % 4;
    t->x_turn = t->x_skip + t->x_plane;
    t->w_turn = t->w_skip + t->w_plane;
    t->rewind = t->planes * (t->rows * (size * n + t->x_skip) + t->x_plane) - t->x_turn;
    t->w_end =
        record * (inputs - 1 - t->first) - (t->planes * (t->rows * (record * n + t->w_skip) + t->w_plane) - t->w_turn);
}

/* Results of n channels of a pixel. */
static inline void nncc_f32_results(const float *acc, int32_t n, float *y)
{
    for (int32_t i = 0; i < n; i++) {
        y[i] = acc[i];
    }
}

#if NNCC_F32_C
/* For functions with an optimisation of their own, into which GCC inlines no others. */
#define NNCC_F32_INLINED NNCC_INLINED
#else
#define NNCC_F32_INLINED static inline
#endif

NNCC_F32_INLINED const float *nncc_f32_bytes(const float *p, int32_t bytes)
{
    return (const float *)(const void *)((const char *)p + bytes);
}

#if NNCC_F32_MVE

#if NNCC_F32_MVE_ASM

/* The limits of a vector, in assembly: the compiler takes predicates through core registers. NaN stays. */
static inline void nncc_f32_below(float32x4_t *a, float lo)
{
    __asm volatile(NNCC_F32_BELOW_MVE("%q[a]", "%q[lo]") : [a] "+w"(*a) : [lo] "w"(vdupq_n_f32(lo)));
}

static inline void nncc_f32_above(float32x4_t *a, float hi)
{
    __asm volatile(NNCC_F32_ABOVE_MVE("%q[a]", "%[hi]") : [a] "+w"(*a) : [hi] "r"(hi));
}

#else

NNCC_F32_INLINED void nncc_f32_below(float32x4_t *a, float lo)
{
    *a = NNCC_F32_BELOW_Q(*a, vdupq_n_f32(lo));
}

NNCC_F32_INLINED void nncc_f32_above(float32x4_t *a, float hi)
{
    *a = vpselq_f32(vdupq_n_f32(hi), *a, vcmpgtq_n_f32(*a, hi));
}

#endif

/* The limits of two vectors, n channels of which there are, on their way to y. */
NNCC_F32_INLINED void nncc_f32_store(const nncc_f32_job *t, float32x4_t a, float32x4_t b, int32_t n, float *y)
{
    if (t->limits != NNCC_F32_NO_LIMIT) {
        nncc_f32_below(&a, t->lo);
        nncc_f32_below(&b, t->lo);
        if (t->limits == NNCC_F32_BOTH) {
            nncc_f32_above(&a, t->hi);
            nncc_f32_above(&b, t->hi);
        }
    }
    if (n >= NNCC_F32_WIDE) {
        vstrwq_f32(y, a);
        vstrwq_f32(y + NNCC_F32_NARROW, b);
        return;
    }
    vstrwq_p_f32(y, a, vctp32q((uint32_t)n));
    if (n > NNCC_F32_NARROW) {
        vstrwq_p_f32(y + NNCC_F32_NARROW, b, vctp32q((uint32_t)(n - NNCC_F32_NARROW)));
    }
}

#elif NNCC_F32_FPU_ASM

/* clang-format off */
#define NNCC_F32_EACH4(f, a, b, c, d, x) f(a, x) f(b, x) f(c, x) f(d, x)
#define NNCC_F32_FIRST4(f, x) NNCC_F32_EACH4(f, "s0", "s1", "s2", "s3", x)
#define NNCC_F32_SECOND4(f, x) NNCC_F32_EACH4(f, "s4", "s5", "s6", "s7", x)
#define NNCC_F32_THIRD4(f, x) NNCC_F32_EACH4(f, "s8", "s9", "s10", "s11", x)
#define NNCC_F32_FOURTH4(f, x) NNCC_F32_EACH4(f, "s12", "s13", "s14", "s15", x)
#define NNCC_F32_FIRST8(f, x) NNCC_F32_FIRST4(f, x) NNCC_F32_SECOND4(f, x)
#define NNCC_F32_SECOND8(f, x) NNCC_F32_THIRD4(f, x) NNCC_F32_FOURTH4(f, x)
#define NNCC_F32_BELOW(a, x) "vcmp.f32 " a ", " x "\nvmrs APSR_nzcv, fpscr\nit mi\nvmovmi.f32 " a ", " x "\n"
#define NNCC_F32_ABOVE(a, x) "vcmp.f32 " a ", " x "\nvmrs APSR_nzcv, fpscr\nit gt\nvmovgt.f32 " a ", " x "\n"

/* c to the addresses of one or two pixels. */
#define NNCC_F32_SKIP1 "add %[x0], %[c]\n"
#define NNCC_F32_SKIP2 "add %[x0], %[c]\nadd %[x1], %[c]\n"

/* The limits of the job, below and above. */
#define NNCC_F32_LIMIT(below, above) \
    "ldr %[c], [%[t], #32]\n" \
    "cmp %[c], #0\n" \
    "beq 6f\n" \
    "vldr s24, [%[t], #36]\n" \
    below \
    "cmp %[c], #1\n" \
    "beq 6f\n" \
    "vldr s24, [%[t], #40]\n" \
    above \
    "6:\n"

#define NNCC_F32_CLOBBERS \
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", \
    "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "cc", "memory"
/* clang-format on */

#endif
