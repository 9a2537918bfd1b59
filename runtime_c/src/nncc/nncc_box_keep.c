/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_boxes.h"

int32_t nncc_box_keep(nncc_box *list, int32_t count, int32_t most, const nncc_box *box)
{
    int32_t at = 0, next;

    if (count < most) { /* from the last place up */
        for (at = count; at > 0 && nncc_box_before(&list[(at - 1) / 2], box) != 0; at = (at - 1) / 2) {
            list[at] = list[(at - 1) / 2];
        }
        list[at] = *box;
        return count + 1;
    }
    if (nncc_box_before(box, &list[0]) == 0) {
        return count;
    }
    for (;;) { /* in place of the worst, down */
        next = 2 * at + 1;
        if (next + 1 < count && nncc_box_before(&list[next], &list[next + 1]) != 0) {
            next++;
        }
        if (next >= count || nncc_box_before(&list[next], box) != 0) {
            break;
        }
        list[at] = list[next];
        at = next;
    }
    list[at] = *box;
    return count;
}
