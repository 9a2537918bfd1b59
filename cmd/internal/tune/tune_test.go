// SPDX-License-Identifier: Apache-2.0

package tune_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/tune"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
)

// network writes one whose first layer has so many channels: behind it a function, a depthwise layer or none, and one
// that mixes channels.
func network(t *testing.T, seed uint64, channels func(c int) int) (path string, first int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 42))
	in, size, k, out := 4+r.IntN(13), 6+r.IntN(9), 1+2*r.IntN(2), 4+r.IntN(20)
	first = 5 + r.IntN(28)
	c := channels(first)
	text := fmt.Sprintf(`graph "net" { in %%x : f32[1,%d,%d,%d] const %%w : f32[%d,%d,%d,%d] = rand 1
		%%a = Conv(%%x, %%w) {pads=[%d,%d,%d,%d]} name "first" %%r = Relu(%%a) `, in, size, size, c, in, k,
		k, k/2, k/2, k/2, k/2)
	last := "%r"
	if r.IntN(2) == 0 {
		text += fmt.Sprintf(`const %%d : f32[%d,1,3,3] = rand 2 %%s = Conv(%%r, %%d) {group=%d} `, c, c)
		last = "%s"
	}
	text += fmt.Sprintf(`const %%v : f32[%d,%d,1,1] = rand 3 %%y = Conv(%s, %%v) out "y" = %%y }`, out, c, last)
	g := testenv.Must(ir.Parse(text, op.Get))(t)
	m := testenv.Must(onnx.Export(g, onnx.ExportOptions{Producer: "test"}))(t)
	path = filepath.Join(t.TempDir(), "net.onnx")
	testenv.OK(t, os.WriteFile(path, testenv.Must(onnx.Marshal(m))(t), 0o666))
	return path, first
}

// counted are the instructions of an inference under QEMU.
func counted(t *testing.T, model, board string) float64 {
	c := driver.Defaults()
	c.Model, c.Board, c.Cases = model, board, 1
	o := testenv.Must(c.Compile())(t)
	return float64(testenv.Must(o.Verify(context.Background()))(t).Instructions)
}

// TestFree: channels that advice calls free are, to one in a hundred of what QEMU counts.
func TestFree(t *testing.T) {
	testenv.Slow(t)
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	free, networks, names := 0, 6, []string{"cortex-m55"}
	if testenv.Long() {
		networks, names = 8, []string{"cortex-m4", "cortex-m55", "cortex-m0plus"}
	}
	for _, board := range testenv.Boards(names...) {
		for seed := range uint64(testenv.Count(t, networks)) {
			model, first := network(t, seed, func(c int) int { return c })
			c := driver.Defaults()
			c.Model, c.Board = model, board
			for _, a := range testenv.Must(tune.Model(context.Background(), &c))(t) {
				var from, to int
				if n, _ := fmt.Sscanf(a.Change, "channels %d to %d cost nothing", &from, &to); n < 2 || from != first {
					continue
				}
				free++
				wider, _ := network(t, seed, func(int) int { return to })
				before, after := counted(t, model, board), counted(t, wider, board)
				t.Logf("%s, network %d: %d to %d channels: %.0f and %.0f", board, seed, from, to, before, after)
				testenv.Check(t, after <= before*1.01, "%s, network %d: %s, but %.0f instructions became %.0f", board,
					seed, a.Change, before, after)
			}
		}
	}
	testenv.Check(t, free >= len(names), "%d pieces of advice", free)
}
