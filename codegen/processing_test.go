// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/postprocess/posttest"
)

// detector is a model that finds boxes, and listener one that hears keywords in samples.
func detector(t *testing.T, projects ...string) *model {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	b, shapes := posttest.Boxes(r)
	m := outputs(t, r, "detector", shapes, b.Scores == postprocess.None, &codegen.Postprocess{Boxes: b}).model
	m.opt.Projects = projects
	return m.emit(t)
}

func listener(t *testing.T, projects ...string) *model {
	t.Helper()
	m := &model{prefix: "listener", opt: codegen.Options{Projects: projects}, src: `
		in %z : f32[2,30]
		in %s : f32[1,4]
		%w = Relu(%z)
		%y = Relu(%s)
		out "w" = %w
		out "y" = %y`,
		unit: codegen.Model{Preprocess: []codegen.Preprocess{soundOf("z")}, Postprocess: &codegen.Postprocess{
			Outputs:  []string{"y"},
			Classes:  &postprocess.Classes{Count: 4, Top: 3, Threshold: []float32{0.1}},
			Keywords: &postprocess.Keywords{Count: 4, Window: 2, Threshold: []float32{0.3}}}}}
	return m.generate(t)
}

const listenerClass = `#include <cstring>
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
`

const detectorClass = `#include <cstring>
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
`

const listenerCrate = `
#[test]
fn hears() {
    let mut arena = Box::new(listener::Arena::new());
    let mut model = listener::Model::new(&mut arena);
    let mut said = listener::Said::new();
    let mut list = listener::ClassList::new();
    let mut heard = None;
    for _ in 0..2 {
        *model.input_s() = [0.0, 0.25, 0.75, 0.0];
        let outputs = model.run().unwrap();
        let labels: Vec<i32> = outputs.postprocess_classes(&mut list).iter().map(|c| c.label).collect();
        assert_eq!(labels, [2, 1]);
        heard = outputs.postprocess_keywords(&mut said);
    }
    assert_eq!(heard.unwrap().label, 2);
}
`

// TestProcessingInClass: what surrounds a model is there in its class, and does what the
// functions do.
func TestProcessingInClass(t *testing.T) {
	for main, m := range map[string]*model{listenerClass: listener(t), detectorClass: detector(t)} {
		t.Run(m.prefix, func(t *testing.T) {
			dir := t.TempDir()
			m.write(t, dir)
			testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.cpp"), []byte(main), 0o644))
			objects := hostObjects(t, dir, m)
			for _, std := range []string{"-std=c++11", "-std=c++20"} {
				run(t, dir, testenv.Tool(t, "cc", "g++"), slices.Concat(cppWarnings, includes, []string{std, "-o",
					"main", "main.cpp"}, objects, []string{"-lm"})...)
				run(t, dir, filepath.Join(dir, "main"))
			}
		})
	}
}

// TestProcessingInCrate is the same for the crate, whose own tests run, too.
func TestProcessingInCrate(t *testing.T) {
	testenv.Tool(t, "cargo", "cargo")
	home := t.TempDir()
	for _, m := range []*model{listener(t, "rust"), detector(t, "rust")} {
		t.Run(m.prefix, func(t *testing.T) {
			dir := t.TempDir()
			m.write(t, dir)
			if m.prefix == "listener" {
				path := filepath.Join(dir, "rust", "tests", "runs.rs")
				testenv.OK(t, os.WriteFile(path, []byte(m.file("rust/tests/runs.rs")+listenerCrate), 0o644))
			}
			cargo(t, dir, home, "test", "--offline", "--quiet", "--test", "runs")
		})
	}
}
