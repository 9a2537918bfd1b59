#include "nncc_packed_f32.h"
#include "nncc_window.h"

/* Adds the products of every input with the weights of 4 * vectors channels. */
static inline void nncc_f32x4_sum(nncc_f32x4 acc[4], int32_t vectors, const float *w, const float *x,
                                  const nncc_packed_window *t)
{
#if NNCC_F32X4_MVE
    const int32_t n = t->n;
    const int32_t x_skip = t->x_skip;
    const int32_t w_skip = t->w_skip;
    int32_t rows = t->rows;
    nncc_f32x4 a = acc[0];
    nncc_f32x4 k;
    int32_t v;

    if (vectors == 4) {
        nncc_f32x4 b = acc[1];
        nncc_f32x4 c = acc[2];
        nncc_f32x4 d = acc[3];
        nncc_f32x4 l;
        __asm volatile("2:\n"
                       "dls lr, %[n]\n"
                       "1:\n"
                       "ldr %[v], [%[x]], #4\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vmul.f32 %q[k], %q[k], %[v]\n"
                       "vmul.f32 %q[l], %q[l], %[v]\n"
                       "vadd.f32 %q[a], %q[a], %q[k]\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vadd.f32 %q[b], %q[b], %q[l]\n"
                       "vldrw.32 %q[l], [%[w]], #16\n"
                       "vmul.f32 %q[k], %q[k], %[v]\n"
                       "vmul.f32 %q[l], %q[l], %[v]\n"
                       "vadd.f32 %q[c], %q[c], %q[k]\n"
                       "vadd.f32 %q[d], %q[d], %q[l]\n"
                       "le lr, 1b\n"
                       "add %[x], %[xs]\n"
                       "add %[w], %[ws]\n"
                       "subs %[rows], #1\n"
                       "bne 2b\n"
                       : [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d), [k] "=&w"(k), [l] "=&w"(l), [v] "=&r"(v),
                         [w] "+r"(w), [x] "+r"(x), [rows] "+r"(rows)
                       : [n] "r"(n), [xs] "r"(x_skip), [ws] "r"(w_skip)
                       : "lr", "cc", "memory");
        acc[1] = b;
        acc[2] = c;
        acc[3] = d;
    } else {
        __asm volatile("2:\n"
                       "dls lr, %[n]\n"
                       "1:\n"
                       "ldr %[v], [%[x]], #4\n"
                       "vldrw.32 %q[k], [%[w]], #16\n"
                       "vmul.f32 %q[k], %q[k], %[v]\n"
                       "vadd.f32 %q[a], %q[a], %q[k]\n"
                       "le lr, 1b\n"
                       "add %[x], %[xs]\n"
                       "add %[w], %[ws]\n"
                       "subs %[rows], #1\n"
                       "bne 2b\n"
                       : [a] "+w"(a), [k] "=&w"(k), [v] "=&r"(v), [w] "+r"(w), [x] "+r"(x), [rows] "+r"(rows)
                       : [n] "r"(n), [xs] "r"(x_skip), [ws] "r"(w_skip)
                       : "lr", "cc", "memory");
    }
    acc[0] = a;
#else
    for (int32_t r = 0; r < t->rows; r++) {
        const float *xr = x + r * (t->n + t->x_skip / (int32_t)sizeof(float));
        const float *wr = w + r * (t->n * NNCC_F32X4 * vectors + t->w_skip / (int32_t)sizeof(float));
        for (int32_t i = 0; i < t->n; i++) {
            for (int32_t l = 0; l < NNCC_F32X4 * vectors; l++) {
                const float product = wr[i * NNCC_F32X4 * vectors + l] * xr[i];
                acc[l / NNCC_F32X4].v[l % NNCC_F32X4] += product;
            }
        }
    }
#endif
}

/* One output pixel of one group: x and y are the group's, y0 and x0 the input position of tap (0, 0). */
static void nncc_f32x4_pixel(const nncc_conv2d_params *p, const float *x, const float *packed, float *y, int32_t y0,
                             int32_t x0)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t size = (int32_t)sizeof(float);
    const int32_t whole = p->dilation_w == 1 && p->groups == 1; /* a kernel row is one run of memory */
    int32_t ky0;
    int32_t ky1;
    int32_t kx0;
    int32_t kx1;
    nncc_packed_window t;

    nncc_window(y0, p->dilation_h, p->kernel_h, p->in_h, &ky0, &ky1);
    nncc_window(x0, p->dilation_w, p->kernel_w, p->in_w, &kx0, &kx1);
    t.across = 0;
    t.rows = whole ? ky1 - ky0 : 1;
    t.n = whole ? (kx1 - kx0) * cin : cin;
    t.x_skip = size * (p->dilation_h * p->in_w * p->in_c - t.n);
    for (int32_t oc = 0; oc < cout;) {
        const int32_t vectors = cout - oc >= NNCC_BLOCK ? NNCC_BLOCK / NNCC_F32X4 : 1;
        const int32_t lanes = NNCC_F32X4 * vectors;
        nncc_f32x4 acc[4];

        for (int32_t j = 0; j < 4; j++) {
            acc[j] = nncc_f32x4_zero();
        }
        t.w_skip = size * lanes * (p->kernel_w * cin - t.n);
        for (int32_t ky = ky0; ky < ky1; ky += t.rows) {
            for (int32_t kx = kx0; kx < kx1; kx += whole ? kx1 - kx0 : 1) {
                nncc_f32x4_sum(acc, vectors, packed + lanes * (1 + (ky * p->kernel_w + kx) * cin),
                               x + ((y0 + ky * p->dilation_h) * p->in_w + x0 + kx * p->dilation_w) * p->in_c, &t);
            }
        }
        for (int32_t j = 0; j < vectors; j++) {
            nncc_f32x4_store(y + oc + NNCC_F32X4 * j, nncc_f32x4_add(acc[j], nncc_f32x4_load(packed + NNCC_F32X4 * j)),
                             cout - oc - NNCC_F32X4 * j, p->act_min, p->act_max);
        }
        packed += lanes * (1 + p->kernel_h * p->kernel_w * cin);
        oc += lanes;
    }
}

void nncc_conv2d_packed_f32(const nncc_conv2d_params *p, const float *x, const float *packed, float *y)
{
    const int32_t cin = p->in_c / p->groups;
    const int32_t cout = p->out_c / p->groups;
    const int32_t padded = (cout + NNCC_F32X4 - 1) / NNCC_F32X4 * NNCC_F32X4;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                for (int32_t g = 0; g < p->groups; g++) {
                    nncc_f32x4_pixel(p, x + g * cin, packed + g * padded * (1 + p->kernel_h * p->kernel_w * cin), y,
                                     oy * p->stride_h - p->pad_top, ox * p->stride_w - p->pad_left);
                    y += cout;
                }
            }
        }
        x += p->in_h * p->in_w * p->in_c;
    }
}
