/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_box_iou.h"
#include "nncc_boxes.h"

static float nncc_box_clip(float x, float most)
{
    x = x > 0.0f ? x : 0.0f;
    return x < most ? x : most;
}

/* A heap with the worst in front becomes a list with the best in front. */
static void nncc_box_sort(nncc_box *list, int32_t count)
{
    while (count > 1) {
        const nncc_box last = list[count - 1];
        int32_t at = 0;

        count--;
        list[count] = list[0];
        for (;;) {
            int32_t next = 2 * at + 1;

            if (next + 1 < count && nncc_box_before(&list[next], &list[next + 1]) != 0) {
                next++;
            }
            if (next >= count || nncc_box_before(&list[next], &last) != 0) {
                break;
            }
            list[at] = list[next];
            at = next;
        }
        list[at] = last;
    }
}

int32_t nncc_box_suppress(const nncc_boxes_params *p, nncc_box *list, int32_t count)
{
    int32_t kept = 0;

    nncc_box_sort(list, count);
    for (int32_t i = 0; i < count && kept < p->most; i++) {
        int32_t k = 0;

        while (k < kept && !((p->agnostic != 0 || list[k].label == list[i].label) &&
                             nncc_box_iou(&list[k].x0, &list[i].x0) > p->iou)) {
            k++;
        }
        if (k == kept) {
            list[kept] = list[i];
            kept++;
        }
    }
    for (int32_t i = 0; i < kept; i++) {
        list[i].x0 = nncc_box_clip(list[i].x0, p->width);
        list[i].x1 = nncc_box_clip(list[i].x1, p->width);
        list[i].y0 = nncc_box_clip(list[i].y0, p->height);
        list[i].y1 = nncc_box_clip(list[i].y1, p->height);
    }
    return kept;
}
