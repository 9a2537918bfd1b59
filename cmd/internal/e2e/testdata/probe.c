/* SPDX-License-Identifier: Apache-2.0 */

#include "probe.h"
#include "digits.h"
int32_t probe_run(void *arena)
{
    uint8_t *const a = (uint8_t *)arena;
    float values[DIGITS_INPUT_ELEMS + DIGITS_OUTPUT_ELEMS] = {0};
    int32_t n = 0;
#define WANT(x) do { n++; if (!(x)) { return n; } } while (0)
    WANT(digits_run(NULL) == NNCC_ERR_NULL);
    WANT(digits_run(a + 1) == NNCC_ERR_ALIGN);
    WANT(digits_run(a + 8) == NNCC_ERR_ALIGN);
    WANT(digits_input(NULL) == NULL && digits_input(a + 1) == NULL);
    WANT(digits_output(NULL) == NULL && digits_output(a + 4) == NULL);
    WANT(digits_quantize_input(NULL, values) == NNCC_ERR_NULL);
    WANT(digits_quantize_input(a, NULL) == NNCC_ERR_NULL);
    WANT(digits_quantize_input(a + 2, values) == NNCC_ERR_ALIGN);
    WANT(digits_dequantize_output(NULL, values) == NNCC_ERR_NULL);
    WANT(digits_dequantize_output(a, NULL) == NNCC_ERR_NULL);
    WANT(digits_dequantize_output(a + 2, values) == NNCC_ERR_ALIGN);
    WANT(digits_quantize_input(a, values) == NNCC_OK);
    WANT(digits_run(a) == NNCC_OK);
    WANT(digits_dequantize_output(a, values) == NNCC_OK);
    return 0;
}
