/* SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include "one.hpp"
alignas(16) static unsigned char first[ONE_WEIGHTS_FILE_BYTES], second[ONE_WEIGHTS_FILE_BYTES];
alignas(16) static unsigned char arena[ONE_ARENA_BYTES], state[ONE_STATE_BYTES];
static int load(const char *name, unsigned char *to)
{
    std::FILE *const f = std::fopen(name, "rb");
    const bool all = f != nullptr && std::fread(to, 1, sizeof first, f) == sizeof first;
    return (f == nullptr || std::fclose(f) != 0 || !all) ? 1 : 0;
}
template <class M> static int infer(M &model)
{
    int bad = 0;
    for (int turn = 1; turn <= 2; turn++) {
        for (auto &x : model.input_x()) { x = static_cast<std::int8_t>(turn); }
        bad += model.run() != NNCC_OK;
        std::printf("%d %d\n", model.output_y()[0], model.output_y()[1]);
    }
    return bad;
}
int main()
{
    static nncc::one_model model;
    nncc::one_session session(arena, state);
    int bad = load("one_weights.bin", first) + load("second.bin", second);
    bad += model.run() != NNCC_ERR_UNBOUND;
    bad += model.step(0) != NNCC_ERR_UNBOUND;
    bad += model.reset() != NNCC_ERR_UNBOUND;
    bad += session.reset() != NNCC_ERR_UNBOUND;
    bad += nncc::one_model::bind(first, sizeof first - 1) != NNCC_ERR_WEIGHTS_SHORT;
    bad += nncc::one_model::bind(first, sizeof first) != NNCC_OK;
    bad += infer(model); /* the first run begins the sequence */
    bad += session.reset() != NNCC_OK;
    bad += infer(session);
    bad += session.bind(second, sizeof second) != NNCC_OK;
    bad += model.reset() != NNCC_OK;
    bad += infer(model);
    bad += session.reset() != NNCC_OK;
    bad += infer(session);
    return bad;
}
