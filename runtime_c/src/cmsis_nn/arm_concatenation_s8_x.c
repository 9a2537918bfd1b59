/* One input of a concatenation along the innermost axis (channels). */
#include "nncc_cmsis_concat.h"

void arm_concatenation_s8_x(
    const int8_t *input, const uint16_t input_x, const uint16_t input_y, const uint16_t input_z,
    const uint16_t input_w, int8_t *output, const uint16_t output_x, const uint32_t offset_x)
{
    const size_t x = input_x;
    const size_t y = input_y;
    const size_t z = input_z;
    const size_t w = input_w;

    nncc_copy_strided(input, output + offset_x, y * z * w, x, output_x);
}
