/* nncc_run: strided copy by element size. */
#include "nncc_run.h"

#include <string.h>

/* Tensors of any type are moved through unsigned integers of their size. */
#if defined(__GNUC__) || defined(__clang__)
#define NNCC_MAY_ALIAS __attribute__((may_alias))
#else
#define NNCC_MAY_ALIAS
#endif

typedef uint16_t NNCC_MAY_ALIAS nncc_any16;
typedef uint32_t NNCC_MAY_ALIAS nncc_any32;
typedef uint64_t NNCC_MAY_ALIAS nncc_any64;

#define NNCC_COPY(type) \
    for (int32_t i = 0; i < n; i++) { \
        ((type *)y)[i * y_stride] = ((const type *)x)[i * x_stride]; \
    }

void nncc_run(const void *x, int32_t x_stride, void *y, int32_t y_stride, int32_t n, int32_t elem)
{
    if (x_stride == 1 && y_stride == 1) {
        memcpy(y, x, (size_t)n * (size_t)elem);
        return;
    }
    switch (elem) {
    case 1:
        NNCC_COPY(uint8_t)
        break;
    case 2:
        NNCC_COPY(nncc_any16)
        break;
    case 4:
        NNCC_COPY(nncc_any32)
        break;
    default:
        NNCC_COPY(nncc_any64)
        break;
    }
}
