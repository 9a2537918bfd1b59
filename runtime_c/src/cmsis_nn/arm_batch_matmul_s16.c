/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis_s16.h"
#include "nncc_simd32.h"

#if NNCC_MVE
#include <arm_mve.h>
#endif

/* How sums become results. */
typedef struct
{
    int32_t multiplier, shift;
    cmsis_nn_activation act;
} output_form;

static inline int16_t limited(int64_t sum, const output_form *f)
{
    return (int16_t)nncc_min(nncc_max(nncc_requantize_s64(sum, f->multiplier, f->shift), f->act.min), f->act.max);
}

/*
 * A row times two columns, which may be the same: eight products an instruction with Helium, two with the DSP
 * extension; their sum needs 64 bits.
 */
static inline void product2(const int16_t *a, const int16_t *b, const int16_t *c, int32_t len, const output_form *f,
                            int16_t *first, int16_t *second)
{
    int64_t s = 0, t = 0;

#if NNCC_MVE
    for (int32_t n = len >> 3; n > 0; n--) {
        const int16x8_t v = vldrhq_s16(a);

        s = vmlaldavaq_s16(s, v, vldrhq_s16(b));
        t = vmlaldavaq_s16(t, v, vldrhq_s16(c));
        a += 8;
        b += 8;
        c += 8;
    }
    if ((len & 7) != 0) {
        const mve_pred16_t some = vctp16q((uint32_t)len & 7u);
        const int16x8_t v = vldrhq_z_s16(a, some);

        s = vmlaldavaq_s16(s, v, vldrhq_z_s16(b, some));
        t = vmlaldavaq_s16(t, v, vldrhq_z_s16(c, some));
    }
#else
#if NNCC_SIMD32
    for (; len >= 4; len -= 4) {
        const int16x2_t u = (int16x2_t)nncc_load_word(a), v = (int16x2_t)nncc_load_word(a + 2);

        s = __smlald(v, (int16x2_t)nncc_load_word(b + 2), __smlald(u, (int16x2_t)nncc_load_word(b), s));
        t = __smlald(v, (int16x2_t)nncc_load_word(c + 2), __smlald(u, (int16x2_t)nncc_load_word(c), t));
        a += 4;
        b += 4;
        c += 4;
    }
#endif
    for (; len > 0; len--) {
        const int32_t v = *a++;

        s += v * *b++;
        t += v * *c++;
    }
#endif
    *second = limited(t, f);
    *first = limited(s, f);
}

arm_cmsis_nn_status arm_batch_matmul_s16(const cmsis_nn_context *ctx, const cmsis_nn_bmm_params *bmm_params,
                                         const cmsis_nn_per_tensor_quant_params *quant_params,
                                         const cmsis_nn_dims *input_lhs_dims, const int16_t *input_lhs,
                                         const cmsis_nn_dims *input_rhs_dims, const int16_t *input_rhs,
                                         const cmsis_nn_dims *output_dims, int16_t *output)
{
    const int32_t depth = input_rhs_dims->c;
    const int32_t rows = input_lhs_dims->w;
    const int32_t cols = input_rhs_dims->w;
    const output_form form = {nncc_reduce_multiplier(quant_params->multiplier), quant_params->shift,
                              bmm_params->fc_params.activation};
    int32_t c;

    (void)ctx;
    for (int32_t n = 0; n < output_dims->n; n++) {
        const int32_t left_n = input_lhs_dims->n == 1 ? 0 : n;
        const int32_t right_n = input_rhs_dims->n == 1 ? 0 : n;

        for (int32_t h = 0; h < output_dims->h; h++) {
            const int32_t left_h = left_n * input_lhs_dims->h + (input_lhs_dims->h == 1 ? 0 : h);
            const int32_t right_h = right_n * input_rhs_dims->h + (input_rhs_dims->h == 1 ? 0 : h);
            const int16_t *left = input_lhs + left_h * rows * depth;
            const int16_t *right = input_rhs + right_h * cols * depth;

            for (int32_t r = 0; r < rows; r++) {
                const int16_t *column = right;

                for (c = cols; c > 1; c -= 2) {
                    product2(left, column, column + depth, depth, &form, output, output + 1);
                    column += 2 * depth;
                    output += 2;
                }
                if (c > 0) {
                    product2(left, column, column, depth, &form, output, output);
                    output++;
                }
                left += depth;
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
