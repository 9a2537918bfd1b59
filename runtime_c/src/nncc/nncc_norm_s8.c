/* nncc_norm_s8: square root and variance for int8 normalisation. */
#include "nncc_fp.h"

#include "nncc_norm_s8.h"

#include <string.h>

double nncc_sqrt_f64(double v)
{
    uint64_t bits;
    uint64_t m;
    uint64_t root = 0;
    uint64_t rest = 0;
    int32_t e;

    memcpy(&bits, &v, sizeof bits);
    e = (int32_t)(bits >> 52) - 1023;
    if (e == -1023 || e == 1024) {
        return v < 2.3e-308 ? 0.0 : v; /* zero; subnormal numbers count as zero; infinity and NaN */
    }
    /* v = m * 2^(e-52) with even e, m in [2^52, 2^54) */
    m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    if ((e & 1) != 0) {
        m <<= 1;
        e--;
    }
    /* root = floor(sqrt(m * 2^54)), two bits of the radicand a step: 53 bits and one that rounds. A tie is impossible.
     */
    for (int32_t i = 0; i < 54; i++) {
        const uint64_t trial = (root << 2) | 1u;

        rest = (rest << 2) | (i < 27 ? (m >> (52 - 2 * i)) & 3u : 0u);
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1u;
        }
    }
    m = (root + 1u) >> 1;                                  /* in [2^52, 2^53] */
    bits = ((uint64_t)(uint32_t)(e / 2 + 1022) << 52) + m; /* the leading bit of m adds one to the exponent */
    memcpy(&v, &bits, sizeof v);
    return v;
}

double nncc_norm_factor(int32_t n, int32_t sum, int64_t square, double in_scale, double epsilon)
{
    const double count = (double)n;
    double var = (double)((int64_t)n * square - (int64_t)sum * sum);

    var = var / (count * count);
    var = var * in_scale;
    var = var * in_scale;
    return in_scale / (nncc_sqrt_f64(var + epsilon) * count);
}
