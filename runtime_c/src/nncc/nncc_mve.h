/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_mve.h: loads and stores of vectors in intrinsics, for bodies that compilers without assembly get (NNCC_MVE_C),
 * or all. A body is a macro of the accesses: all lanes, or those of the predicate `rest`, in memory only.
 */
#include "nncc_isa.h"

#if NNCC_MVE

#include <arm_mve.h>

/* Four bytes as words. */
#define NNCC_GET4(x) vldrbq_s32(x)
#define NNCC_GET4_REST(x) vldrbq_z_s32(x, rest)
#define NNCC_GET4U(x) vldrbq_u32((const uint8_t *)(x))
#define NNCC_GET4U_REST(x) vldrbq_z_u32((const uint8_t *)(x), rest)
#define NNCC_PUT4(y, v) vstrbq_s32(y, v)
#define NNCC_PUT4_REST(y, v) vstrbq_p_s32(y, v, rest)
/* Sixteen bytes. */
#define NNCC_GET16(x) vldrbq_u8(x)
#define NNCC_GET16_REST(x) vldrbq_z_u8(x, rest)
#define NNCC_PUT16(y, v) vstrbq_u8(y, v)
#define NNCC_PUT16_REST(y, v) vstrbq_p_u8(y, v, rest)
#define NNCC_GET16S(x) vldrbq_s8(x)
#define NNCC_GET16S_REST(x) vldrbq_z_s8(x, rest)
#define NNCC_PUT16S(y, v) vstrbq_s8(y, v)
#define NNCC_PUT16S_REST(y, v) vstrbq_p_s8(y, v, rest)
/* Eight bytes as halfwords. */
#define NNCC_GET8(x) vldrbq_s16(x)
#define NNCC_GET8_REST(x) vldrbq_z_s16(x, rest)
#define NNCC_PUT8(y, v) vstrbq_s16(y, v)
#define NNCC_PUT8_REST(y, v) vstrbq_p_s16(y, v, rest)
/* Halfwords as words, words, halfwords. */
#define NNCC_GETHW(x) vldrhq_s32(x)
#define NNCC_GETHW_REST(x) vldrhq_z_s32(x, rest)
#define NNCC_GETW(x) vldrwq_s32(x)
#define NNCC_GETW_REST(x) vldrwq_z_s32(x, rest)
#define NNCC_PUTW(y, v) vstrwq_s32(y, v)
#define NNCC_PUTW_REST(y, v) vstrwq_p_s32(y, v, rest)
#define NNCC_GETH(x) vldrhq_s16(x)
#define NNCC_GETH_REST(x) vldrhq_z_s16(x, rest)
#define NNCC_PUTH(y, v) vstrhq_s16(y, v)
#define NNCC_PUTH_REST(y, v) vstrhq_p_s16(y, v, rest)
/* Floats. */
#define NNCC_GETF(x) vldrwq_f32(x)
#define NNCC_GETF_REST(x) vldrwq_z_f32(x, rest)
#define NNCC_PUTF(y, v) vstrwq_f32(y, v)
#define NNCC_PUTF_REST(y, v) vstrwq_p_f32(y, v, rest)
/* Halfwords and words at indices. */
#define NNCC_GATHERH(x, i) vldrhq_gather_shifted_offset_s16(x, i)
#define NNCC_GATHERH_REST(x, i) vldrhq_gather_shifted_offset_z_s16(x, i, rest)
#define NNCC_GATHERW(x, i) vldrwq_gather_shifted_offset_s32(x, i)
#define NNCC_GATHERW_REST(x, i) vldrwq_gather_shifted_offset_z_s32(x, i, rest)

/*
 * For bodies with many sums: GCC, left alone, computes all of them before it puts the first into a vector, keeps
 * addresses that loads could have as offsets, and stores both on the stack.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define NNCC_MVE_IN_ORDER __attribute__((optimize("O2", "no-schedule-insns", "no-tree-ter", "no-ivopts", "no-gcse")))
#define NNCC_MVE_RELOAD volatile
#else
#define NNCC_MVE_IN_ORDER
#define NNCC_MVE_RELOAD
#endif
/* The same for one that needs all registers: Clang, too, calls it. */
#if defined(__clang__)
#define NNCC_MVE_APART __attribute__((noinline))
#else
#define NNCC_MVE_APART NNCC_MVE_IN_ORDER
#endif

static inline int32x4_t nncc_limit4(int32x4_t v, int32x4_t lo, int32x4_t hi)
{
    return vminq_s32(vmaxq_s32(v, lo), hi);
}

/* v, and `more` besides where v is negative: a predicate takes GCC three instructions through a core register. */
#if defined(__clang__)
#define NNCC_ADD_BELOW(v, more) vaddq_m_s32(v, v, more, vcmpltq_n_s32(v, 0))
#else
#define NNCC_ADD_BELOW(v, more) vaddq_s32(v, vandq_s32(more, vshrq_n_s32(v, 31)))
#endif

/*
 * step(what, with) for n values, so many a turn: it reads, writes and moves its pointers on; what is empty, or _REST
 * where lanes are predicated, and with is whatever step takes it for. A vector a turn, the pointers moved by its bytes:
 * that GCC makes what the assembly is. Predicates are for the last vector only, where GCC moves them through core
 * registers; Clang makes a loop that ends in LETP of one that begins with VCTP.
 */
#if defined(__clang__)
#define NNCC_MVE_LOOP(n, lanes, ctp, step, with) \
    for (; (n) > 0; (n) -= (lanes)) { \
        const mve_pred16_t rest = ctp((uint32_t)(n)); \
\
        step(_REST, with); \
    }
#else
#define NNCC_MVE_LOOP(n, lanes, ctp, step, with) \
    do { \
        for (; (n) >= (lanes); (n) -= (lanes)) { \
            step(, with); \
        } \
        if ((n) > 0) { \
            const mve_pred16_t rest = ctp((uint32_t)(n)); \
\
            step(_REST, with); \
        } \
    } while (0)
#endif

#define NNCC_MVE_COPY(what, from) \
    do { \
        NNCC_PUT16##what(to, NNCC_GET16##what(from)); \
        from += 16; \
        to += 16; \
    } while (0)
#define NNCC_MVE_SET(what, v) \
    do { \
        NNCC_PUT16##what(to, v); \
        to += 16; \
    } while (0)

#endif
