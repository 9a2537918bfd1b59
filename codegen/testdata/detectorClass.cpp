/* SPDX-License-Identifier: Apache-2.0 */
#include <cstring>
#include "detector.hpp"
int main()
{
    static nncc::detector_model model;
    alignas(16) static unsigned char arena[DETECTOR_ARENA_BYTES];
    static detector_postprocess_box_list one, other;
    int bad = 0;
    nncc::detector_session session(arena);
    bad += model.run() != NNCC_OK;
    bad += model.postprocess_boxes(one) != NNCC_OK;
    bad += session.run() != NNCC_OK;
    bad += ::detector_postprocess_boxes(arena, &other) != NNCC_OK;
    bad += one.count != other.count;
    return bad + (std::memcmp(one.box, other.box, static_cast<std::size_t>(one.count) * sizeof one.box[0]) != 0);
}
