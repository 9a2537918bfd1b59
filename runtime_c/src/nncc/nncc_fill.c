#include "nncc_move.h"
#include "nncc_run.h"

#include <string.h>

void nncc_fill(const nncc_fill_params *p, const void *value, void *y)
{
    if (p->elem == 1) {
        memset(y, *(const uint8_t *)value, (size_t)p->count);
    } else {
        nncc_run(value, 0, y, 1, p->count, p->elem);
    }
}
