/* SPDX-License-Identifier: Apache-2.0 */
#include <cstring>
#include "listener.hpp"
int main()
{
    static nncc::listener_model model;
    static std::int16_t samples[LISTENER_Z_SAMPLES];
    static float straight[LISTENER_Z_ELEMS];
    static listener_ring_z ring;
    static listener_postprocess_said said;
    listener_postprocess_class_list list;
    nncc_class word;
    int bad = 0;
    for (std::size_t i = 0; i < LISTENER_Z_SAMPLES; i++) { samples[i] = static_cast<std::int16_t>(i * 99u); }
    bad += model.preprocess_z(samples) != NNCC_OK;
    std::memcpy(straight, model.input_z().data(), sizeof straight);
    bad += straight[1] <= 0.0f;
    bad += ::listener_ring_reset_z(&ring) != NNCC_OK;
    bad += ::listener_ring_push_z(&ring, samples, LISTENER_Z_SAMPLES) != NNCC_OK;
    std::memset(model.input_z().data(), 0, sizeof straight);
    bad += model.preprocess_ring_z(ring) != NNCC_OK;
    bad += std::memcmp(straight, model.input_z().data(), sizeof straight) != 0;
    bad += ::listener_postprocess_reset(&said) != NNCC_OK;
    for (int turn = 0; turn < 2; turn++) {
        const float scores[4] = {0.0f, 0.25f, 0.75f, 0.0f};
        std::memcpy(model.input_s().data(), scores, sizeof scores);
        bad += model.run() != NNCC_OK;
        bad += model.postprocess_classes(list) != NNCC_OK;
        bad += list.count != 2 || list.best[0].label != 2 || list.best[1].label != 1;
        bad += model.postprocess_keywords(said, word) != NNCC_OK;
    }
    bad += word.label != 2;
    return bad;
}
