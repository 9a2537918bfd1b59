#include "nncc_packed_f32.h"
#include "nncc_window.h"

/* Adds the products of 4 * vectors channels, `there` of which the input has, with their weights. */
static inline void nncc_f32x4_window(nncc_f32x4 acc[4], int32_t vectors, int32_t there, const float *w, const float *x,
                                     const nncc_packed_window *t)
{
#if NNCC_F32X4_MVE
    if (vectors == 4) {
        const int32_t n = t->n;
        const int32_t across = t->across;
        const int32_t x_skip = t->x_skip;
        const int32_t w_skip = t->w_skip;
        int32_t rows = t->rows;
        nncc_f32x4 a = acc[0];
        nncc_f32x4 b = acc[1];
        nncc_f32x4 c = acc[2];
        nncc_f32x4 d = acc[3];
        nncc_f32x4 k;
        nncc_f32x4 l;
        __asm volatile("2:\n"
                       "dls lr, %[n]\n"
                       "1:\n"
                       "vldrw.32 %q[k], [%[x]]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vmul.f32 %q[k], %q[k], %q[l]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vadd.f32 %q[a], %q[a], %q[k]\n"
                       "vldrw.32 %q[k], [%[x], #16]\n"
                       "vmul.f32 %q[k], %q[k], %q[l]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vadd.f32 %q[b], %q[b], %q[k]\n"
                       "vldrw.32 %q[k], [%[x], #32]\n"
                       "vmul.f32 %q[k], %q[k], %q[l]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vadd.f32 %q[c], %q[c], %q[k]\n"
                       "vldrw.32 %q[k], [%[x], #48]\n"
                       "vmul.f32 %q[k], %q[k], %q[l]\n"
                       "add %[x], %[across]\n"
                       "vadd.f32 %q[d], %q[d], %q[k]\n"
                       "le lr, 1b\n"
                       "add %[x], %[xs]\n"
                       "add %[w], %[ws]\n"
                       "subs %[rows], #1\n"
                       "bne 2b\n"
                       : [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d), [k] "=&w"(k), [l] "=&w"(l), [w] "+r"(w),
                         [x] "+r"(x), [rows] "+r"(rows)
                       : [n] "r"(n), [across] "r"(across), [xs] "r"(x_skip), [ws] "r"(w_skip)
                       : "lr", "cc", "memory");
        acc[0] = a;
        acc[1] = b;
        acc[2] = c;
        acc[3] = d;
    } else {
        const mve_pred16_t some = vctp32q((uint32_t)there);
        for (int32_t r = 0; r < t->rows; r++) {
            for (int32_t i = 0; i < t->n; i++) {
                acc[0] = vaddq_f32(acc[0], vmulq_f32(vldrwq_z_f32(x, some), vldrwq_f32(w)));
                x = (const float *)(const void *)((const char *)x + t->across);
                w += NNCC_F32X4;
            }
            x = (const float *)(const void *)((const char *)x + t->x_skip);
            w = (const float *)(const void *)((const char *)w + t->w_skip);
        }
    }
#else
    const int32_t size = (int32_t)sizeof(float);
    for (int32_t r = 0; r < t->rows; r++) {
        for (int32_t i = 0; i < t->n; i++) {
            const float *xi = x + (r * (t->n * t->across + t->x_skip) + i * t->across) / size;
            const float *wi = w + r * (t->n * NNCC_F32X4 * vectors + t->w_skip / size) + i * NNCC_F32X4 * vectors;
            for (int32_t l = 0; l < NNCC_F32X4 * vectors && l < there; l++) {
                const float product = xi[l] * wi[l];
                acc[l / NNCC_F32X4].v[l % NNCC_F32X4] += product;
            }
        }
    }
#endif
}

/* One output pixel: y0 and x0 are the input position of tap (0, 0), which may lie outside. */
static void nncc_f32x4_depthwise(const nncc_depthwise_conv2d_params *p, const float *x, const float *packed, float *y,
                                 int32_t y0, int32_t x0)
{
    const int32_t size = (int32_t)sizeof(float);
    int32_t ky0;
    int32_t ky1;
    int32_t kx0;
    int32_t kx1;
    nncc_packed_window t;

    nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h, &ky0, &ky1);
    nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w, &kx0, &kx1);
    t.rows = ky1 - ky0;
    t.n = kx1 - kx0;
    t.across = size * p->dilation_w * p->in_c;
    t.x_skip = size * p->dilation_h * p->in_w * p->in_c - t.n * t.across;
    for (int32_t c = 0; c < p->in_c;) {
        const int32_t vectors = p->in_c - c >= NNCC_BLOCK ? NNCC_BLOCK / NNCC_F32X4 : 1;
        const int32_t lanes = NNCC_F32X4 * vectors;
        nncc_f32x4 acc[4];

        for (int32_t j = 0; j < 4; j++) {
            acc[j] = nncc_f32x4_zero();
        }
        t.w_skip = size * lanes * (p->kernel_w - t.n);
        if (t.rows > 0 && t.n > 0) {
            nncc_f32x4_window(acc, vectors, p->in_c - c, packed + lanes * (1 + ky0 * p->kernel_w + kx0),
                              x + ((y0 + ky0 * p->dilation_h) * p->in_w + x0 + kx0 * p->dilation_w) * p->in_c + c, &t);
        }
        for (int32_t j = 0; j < vectors; j++) {
            nncc_f32x4_store(y + c + NNCC_F32X4 * j, nncc_f32x4_add(acc[j], nncc_f32x4_load(packed + NNCC_F32X4 * j)),
                             p->in_c - c - NNCC_F32X4 * j, p->act_min, p->act_max);
        }
        packed += lanes * (1 + p->kernel_h * p->kernel_w);
        c += lanes;
    }
}

void nncc_depthwise_conv2d_packed_f32(const nncc_depthwise_conv2d_params *p, const float *x, const float *packed,
                                      float *y)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                nncc_f32x4_depthwise(p, x, packed, y, oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                y += p->in_c;
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
