/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_core.h: what the DSP kernels share. NNCC_DSP_ASM chooses the bodies in assembly, which at -O0 have too few
 * registers; sources that have none, and that compilers make as good of intrinsics, define NNCC_DSP_INTRINSICS.
 */
#include <string.h>
#include "nncc_dsp.h"
#include "nncc_isa.h"

#if NNCC_SIMD32 && NNCC_ASM && defined(__OPTIMIZE__) && !defined(NNCC_DSP_PORTABLE) && !defined(NNCC_DSP_INTRINSICS)
#define NNCC_DSP_ASM 1
#else
#define NNCC_DSP_ASM 0
#endif

/*
 * NNCC_IN_ORDER where every value is computed where it stands, and not later, when more of them are at hand.
 * NNCC_DSP_AS_WRITTEN for loops whose pointers move, too, as they do: GCC, left alone, has a sum for what each of them
 * is behind the loop, and moves others.
 */
#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#define NNCC_DSP_IN_ORDER __attribute__((optimize("O2", "no-schedule-insns", "no-schedule-insns2", "no-tree-ter")))
#define NNCC_DSP_AS_WRITTEN \
    __attribute__(( \
        optimize("O2", "no-schedule-insns", "no-schedule-insns2", "no-tree-ter", "no-tree-scev-cprop", "no-ivopts")))
#else
#define NNCC_DSP_IN_ORDER
#define NNCC_DSP_AS_WRITTEN
#endif

#define NNCC_DSP_ROLLED NNCC_ROLLED

/*
 * Words at any address. Clang for bare metal takes them apart into bytes unless -munaligned-access says that the core
 * reads them as they are, and a core with the DSP extension does; LDRD and LDM do not, so words are volatile, which
 * keeps it from joining two.
 */
#if defined(__clang__) && NNCC_SIMD32 && !defined(__ARM_FEATURE_UNALIGNED)
#define NNCC_ANY_WORD 1
typedef volatile int32_t __attribute__((may_alias)) nncc_any_word;
#else
#define NNCC_ANY_WORD 0
#endif

/* Four bytes at any address. */
static inline int32_t nncc_dsp_load4(const int8_t *x)
{
#if NNCC_ANY_WORD
    return *(const nncc_any_word *)(const void *)x;
#else
    int32_t w;

    memcpy(&w, x, sizeof w);
    return w;
#endif
}

static inline void nncc_dsp_store4(int8_t *y, uint32_t v)
{
#if NNCC_ANY_WORD
    *(nncc_any_word *)(void *)y = (int32_t)v;
#else
    memcpy(y, &v, sizeof v);
#endif
}

/* The DSP extension by intrinsics. */
#if NNCC_SIMD32 && !NNCC_DSP_ASM && !defined(NNCC_DSP_PORTABLE)
#define NNCC_DSP_ACLE 1
#else
#define NNCC_DSP_ACLE 0
#endif

#if NNCC_ASM && !defined(NNCC_DSP_PORTABLE)
#define NNCC_PLAIN_ASM 1
#else
#define NNCC_PLAIN_ASM 0
#endif

#if defined(__thumb__) && !defined(__thumb2__) && defined(__GNUC__) && !defined(NNCC_NO_ASM) && \
    !defined(NNCC_DSP_PORTABLE)
#define NNCC_THUMB1_ASM 1
#else
#define NNCC_THUMB1_ASM 0
#endif

/* Thumb-1: few registers, words at aligned addresses only. */
#if defined(__thumb__) && !defined(__thumb2__)
#define NNCC_THUMB1 1
#else
#define NNCC_THUMB1 0
#endif

#if NNCC_PLAIN_ASM || NNCC_THUMB1_ASM
/* A function whose body is assembly alone; its parameters are read from the registers of the calling convention. */
#define NNCC_DSP_NAKED __attribute__((naked))
#define NNCC_DSP_ARG __attribute__((unused))
/* Assembly: two words at p, which goes behind them; two loads are a cycle faster than one of both, and longer. */
#define NNCC_DSP_TWO(a, b, p) "ldrd " a ", " b ", [" p "], #8\n"
#define NNCC_DSP_TWO_LOADS(a, b, p) "ldr " b ", [" p ", #4]\n ldr " a ", [" p "], #8\n"
#endif

/* Lower and upper half of a word, signed. */
static inline int32_t nncc_dsp_lo(int32_t w)
{
    return (int16_t)(uint16_t)((uint32_t)w & 0xffffu);
}

static inline int32_t nncc_dsp_hi(int32_t w)
{
    return nncc_dsp_lo((int32_t)((uint32_t)w >> 16));
}

/* Two int16 as a word. */
static inline int32_t nncc_dsp_pair(int32_t lo, int32_t hi)
{
    return (int32_t)(((uint32_t)lo & 0xffffu) | ((uint32_t)hi << 16));
}

/* Twice an accumulator, scaled by {m, c, s}; fix is 1 where negative values need the sign correction. */
static inline int32_t nncc_dsp_scale(int32_t twice, const int32_t *mcs, int32_t fix)
{
    const int64_t offset = (int64_t)mcs[1] - (twice < 0 ? fix : 0);
    const int64_t sum = (int64_t)twice * mcs[0] + offset * 0x100000000LL + 0x80000000LL;

    return (int32_t)(sum >> 32) >> mcs[2];
}

/* The same in products of 32 bits, for |twice| < 2^30 and any fix. */
static inline int32_t nncc_plain_scale(int32_t twice, const int32_t *mcs)
{
    const int32_t m_hi = mcs[0] >> 16, m_lo = mcs[0] & 0xffff, v_hi = twice >> 16, v_lo = twice & 0xffff;
    const uint32_t mid = (uint32_t)v_lo * (uint32_t)m_hi + (((uint32_t)v_lo * (uint32_t)m_lo) >> 16);
    const int32_t low = v_hi * m_lo + (int32_t)(mid & 0xffffu) + 0x8000;

    return (v_hi * m_hi + (int32_t)(mid >> 16) + (low >> 16) + mcs[1] + (twice >> 31)) >> mcs[2];
}

/* The signed value of a byte. */
static inline int8_t nncc_dsp_byte(int32_t v)
{
    return (int8_t)(uint8_t)((uint32_t)v & 255u);
}

/* Bytes filled with words, a multiple of 4. */
static inline void nncc_dsp_fill(int32_t *to, int32_t word, int32_t bytes)
{
    for (; bytes >= 16; bytes -= 16) {
        to[0] = word;
        to[1] = word;
        to[2] = word;
        to[3] = word;
        to += 4;
    }
    for (; bytes > 0; bytes -= 4) {
        *to++ = word;
    }
}

/* An output above the lower bound as a byte between low and low + 255 - cap. */
static inline int8_t nncc_dsp_clamp(int32_t v, uint32_t low, uint32_t cap)
{
    if ((uint32_t)v > 255u - (cap & 255u)) {
        v = v < 0 ? 0 : 255 - (int32_t)(cap & 255u);
    }
    return nncc_dsp_byte(v + (int32_t)(low & 255u));
}

/* A result of a product: clamped, or from its table. */
static inline int8_t nncc_dsp_result(const nncc_dsp_matmul_params *p, int32_t table, int32_t v)
{
    return table != 0 ? (int8_t)p->table[(uint8_t)nncc_dsp_clamp(v, 0, 0)] : nncc_dsp_clamp(v, p->low, p->cap);
}

/* The first channel of the group of four that begins at i or, the last one, overlaps the group before. */
static inline int32_t nncc_dsp_group(int32_t i, int32_t channels)
{
    return i + 4 > channels ? channels - 4 : i;
}

#if !NNCC_DSP_ASM
#include "nncc_dsp_acle.h"
#endif
