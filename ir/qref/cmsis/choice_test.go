// SPDX-License-Identifier: Apache-2.0

package cmsis_test

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

//go:embed testdata/choice.c
var choiceProgram []byte

// Sizes of the program's arena: questions, answers and data for everything else.
const (
	choiceQuestions = 8000
	choiceAsk       = 21
	choiceData      = 1 << 20
)

// reachable are the inner functions in the order of the program's enum, after
// NONE; standIns what the linker replaces to see them reached.
var (
	reachable = []string{"", "arm_convolve_1x1_s8_fast", "arm_convolve_1x1_s8", "arm_convolve_1_x_n_s8",
		"arm_convolve_s8", "arm_convolve_1x1_s4_fast", "arm_convolve_1x1_s4", "arm_convolve_1_x_n_s4",
		"arm_convolve_even_s4", "arm_convolve_s4", "arm_convolve_s16", "arm_depthwise_conv_3x3_s8",
		"arm_depthwise_conv_s8_opt", "arm_depthwise_conv_s8", "arm_depthwise_conv_s4_opt", "arm_depthwise_conv_s4",
		"arm_depthwise_conv_fast_s16", "arm_depthwise_conv_s16", "arm_transpose_conv_s8",
		"arm_fully_connected_per_channel_s8", "arm_fully_connected_s8"}
	standIns = append([]string{"arm_nn_mat_mult_nt_t_s8", "arm_nn_mat_mult_nt_t_s4", "arm_nn_mat_mul_core_1x_s4",
		"arm_transpose_s8"}, reachable[1:]...)
	wrappers = []string{"arm_convolve_wrapper_s8", "arm_convolve_wrapper_s4", "arm_convolve_wrapper_s16",
		"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_wrapper_s4", "arm_depthwise_conv_wrapper_s16",
		"arm_transpose_conv_wrapper_s8", "arm_fully_connected_wrapper_s8"}
)

// question is a call of one of the wrappers.
func (g *gen) question() (int, cmsis.Query) {
	which := g.IntN(len(wrappers))
	if g.IntN(3) == 0 {
		which = g.IntN(2) // these have the most routes
	}
	q := g.conv()
	q.PerChannel = g.IntN(2) == 0
	switch which {
	case 1, 2: // one group
		q.Filter.C = q.In.C
	case 3, 4, 5:
		if q.In.C == 130 {
			q.In.C = 6
		}
		q.ChMult = []int{1, 1, 1, 2, 3, 9}[g.IntN(6)]
		q.Out.C = q.In.C * q.ChMult
		q.Filter.N, q.Filter.C = 1, q.Out.C
		if g.IntN(20) == 0 {
			q.Filter.H, q.Filter.W = 16, g.in(30, 34)
		}
	case 6:
		q.Filter.C, q.Dilation = q.In.C, cmsis.Tile{H: 1, W: 1}
		q.Pad = cmsis.Tile{H: min(q.Pad.H, q.Filter.H-1), W: min(q.Pad.W, q.Filter.W-1)}
		q.Out = cmsis.Dims{N: q.In.N, H: (q.In.H-1)*q.Stride.H + q.Filter.H - q.Pad.H, W: (q.In.W-1)*q.Stride.W +
			q.Filter.W - q.Pad.W, C: q.Filter.N}
	}
	return which, q
}

// TestChoiceOfLibrary drives the wrappers of an installed CMSIS-NN with random
// shapes and compares the inner functions that they reach, and what their size
// functions say, with the table: on plain C, DSP and Helium builds.
func TestChoiceOfLibrary(t *testing.T) {
	for _, b := range []struct {
		board, env string
		build      cmsis.Build
	}{{"host", "CMSIS_NN_LIB", cmsis.PlainC}, {"cortex-m3", "CMSIS_NN_LIB_M3", cmsis.PlainC},
		{"cortex-m4", "CMSIS_NN_LIB_M4", cmsis.DSP}, {"cortex-m55", "CMSIS_NN_LIB_M55", cmsis.MVE}} {
		t.Run(b.board, func(t *testing.T) {
			inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get(b.env)
			if inc == "" || lib == "" {
				t.Skipf("set CMSIS_NN_INCLUDE and %s to a build of CMSIS-NN for this board", b.env)
			}
			g := &gen{rand.New(rand.NewPCG(7, uint64(b.build)))}
			var which []int
			var queries []cmsis.Query
			var in []byte
			for range choiceQuestions {
				w, q := g.question()
				q.Build = b.build
				which, queries = append(which, w), append(queries, q)
				for _, v := range []int{w, q.In.N, q.In.H, q.In.W, q.In.C, q.Filter.N, q.Filter.H, q.Filter.W,
					q.Filter.C, q.Out.N, q.Out.H, q.Out.W, q.Out.C, q.Stride.H, q.Stride.W, q.Pad.H, q.Pad.W,
					q.Dilation.H, q.Dilation.W, q.ChMult, btoi(q.PerChannel)} {
					in = binary.LittleEndian.AppendUint32(in, uint32(v))
				}
			}
			out := runChoice(t, b.board, b.build, inc, lib, in)
			seen := map[string]int{}
			bad := 0
			for i, q := range queries {
				fn := wrappers[which[i]]
				want := cmsis.Ask(fn, &q).Kernel
				for _, d := range cmsis.Defects(fn, &q) {
					if d.Value == "fails" {
						want = "an error"
					}
				}
				size := cmsis.Size(fn, &q)
				if which[i] == 6 { // its own answer is too small now and then
					size = cmsis.Size("arm_transpose_conv_s8_get_buffer_size", &q)
				}
				got := "an error"
				if k := int32(binary.LittleEndian.Uint32(out[8*i:])); k >= 0 {
					got = reachable[k]
				}
				gotSize := int(int32(binary.LittleEndian.Uint32(out[8*i+4:])))
				seen[got]++
				if got != want || gotSize != size {
					t.Errorf("%s %+v: the library runs %s with %d bytes, the table says %s with %d", fn, q, got,
						gotSize, want, size)
					if bad++; bad == 5 {
						t.FailNow()
					}
				}
			}
			t.Logf("%d calls: %v", len(queries), seen)
		})
	}
}

// runChoice builds the program with the library and runs it.
func runChoice(t *testing.T, board string, build cmsis.Build, inc, lib string, in []byte) []byte {
	t.Helper()
	spec := testenv.Must(boards.Load(board))(t)
	if board != "host" {
		testenv.Tool(t, "arm-gcc", spec.Toolchain.Prefix+spec.Toolchain.CC)
		testenv.Tool(t, "qemu", "qemu-system-arm")
	}
	s := *spec
	s.Toolchain.LDFlags = append([]string(nil), spec.Toolchain.LDFlags...)
	for _, f := range standIns {
		switch f { // these go on to another kernel, always or in plain C
		case "", "arm_convolve_1_x_n_s8", "arm_convolve_1_x_n_s4":
			continue
		case "arm_depthwise_conv_s8_opt", "arm_depthwise_conv_fast_s16":
			if build == cmsis.PlainC {
				continue
			}
		}
		s.Toolchain.LDFlags = append(s.Toolchain.LDFlags, "-Wl,--wrap="+f)
	}
	dir := t.TempDir()
	answers := 8 * choiceQuestions
	header := fmt.Sprintf("#ifndef CHOICE_H\n#define CHOICE_H\n#include <stdint.h>\n#define CHOICE_QUESTIONS "+
		"%d\n#define CHOICE_DATA %d\n#define CHOICE_ARENA_BYTES %du\nint8_t *choice_x(void *arena);\nconst int8_t "+
		"*choice_y(const void *arena);\nint32_t choice_run(void *arena);\n#endif\n", choiceQuestions, choiceData,
		4*choiceAsk*choiceQuestions+answers+choiceData)
	m := run.Model{Name: "choice", Header: "choice.h", ArenaMacro: "CHOICE_ARENA_BYTES", RunFunc: "choice_run",
		Inputs:  []run.IO{{Name: "x", CFunc: "choice_x", Bytes: len(in)}},
		Outputs: []run.IO{{Name: "y", CFunc: "choice_y", Bytes: answers}}}
	files := append(run.HarnessFiles(&s, m), run.File{Path: "choice.h", Data: []byte(header)},
		run.File{Path: "choice.c", Data: choiceProgram})
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
		testenv.OK(t, os.WriteFile(p, f.Data, 0o644))
	}
	im := testenv.Must(run.Build(context.Background(), &s, dir, run.BuildOptions{CMSISInclude: inc, CMSISLib: lib}))(t)
	defer im.Close()
	res := testenv.Must(run.Run(context.Background(), &s, im, []run.Case{{Inputs: [][]byte{in}}}))(t)
	return res.Cases[0].Outputs[0]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
