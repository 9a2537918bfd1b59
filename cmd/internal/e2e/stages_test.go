// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// digitsConfig is the demo model for a board.
func digitsConfig(board string) *driver.Config {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	c := config(filepath.Join(digits, "digits.onnx"), board)
	c.Calib = []string{filepath.Join(digits, "digits_calib.npz")}
	return c
}

// TestDumpsAreTheStages: --dump-ir writes the stages of the table that apply,
// in order, and nothing else; --max-ram runs the last of them once more.
func TestDumpsAreTheStages(t *testing.T) {
	for _, x := range []struct {
		name, board string
		set         func(c *driver.Config)
	}{
		{"m55", "cortex-m55", nil},
		{"float32", "cortex-m4", func(c *driver.Config) { c.Precision, c.Calib = option.Float32, nil }},
		{"plain", "cortex-m0plus", func(c *driver.Config) { c.Legalize, c.Fuse, c.DeadChannels = false, false, false }},
		{"accelerator", "mla-m55", nil},
		{"without", "cortex-m4", func(c *driver.Config) { c.Passes = []string{"bn-fold=off", "align=off"} }},
		{"small arena", "cortex-m4", func(c *driver.Config) { c.MaxRAM, c.Tries = "1", 2 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := digitsConfig(x.board)
			if x.set != nil {
				x.set(c)
			}
			c.DumpIR = filepath.Join(t.TempDir(), "dump")
			o := mustCompile(t, c)
			opt, err := c.LowerOptions(o.Board, o.Float)
			require(t, err)
			var want []string
			for _, s := range lower.Stages(o.Float, opt) {
				want = append(want, s.Name)
			}
			if o.Lowered.Tiled != nil {
				at := slices.Index(want, "fuse-tables")
				want = append(append(want, "stripes"), want[at:]...)
			}
			if got := dumped(t, c.DumpIR); !slices.Equal(got, want) {
				t.Errorf("dumped\n%v\nstages that apply\n%v", got, want)
			}
		})
	}
}

// dumped are the stages in a folder of --dump-ir, in order.
func dumped(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	require(t, err)
	var names []string
	for _, e := range es {
		if name, ok := strings.CutSuffix(e.Name(), ".ir"); ok && !strings.HasSuffix(name, ".outputs") {
			_, stage, _ := strings.Cut(name, "-")
			names = append(names, stage)
		}
	}
	return names
}

// TestBisect: the demo model's stages do what they may; a wrong rewrite is found
// under the name of its stage.
func TestBisect(t *testing.T) {
	for _, board := range []string{"cortex-m55", "mla-m55"} {
		c := digitsConfig(board)
		b, err := c.Bisect()
		require(t, err)
		if b.Guilty != "" || b.Cases != driver.BisectCases {
			t.Errorf("%s: %s", board, b.Text())
		}
	}
	row, err := lower.Find("decompose")
	require(t, err)
	right := row.Run
	defer func() { row.Run = right }()
	row.Run = func(s *lower.State) error {
		for _, v := range constants(s.Graph) { // a wrong rewrite
			v.Const = tensor.New(v.Type.DType, v.Type.Shape)
		}
		return right(s)
	}
	b, err := digitsConfig("cortex-m4").Bisect()
	if err != nil || !strings.HasSuffix(b.Guilty, "-decompose") ||
		!strings.Contains(b.Text(), b.Guilty+" is the first stage that does more than it may") {
		t.Errorf("guilty: %q (%v)", b.Guilty, err)
	}
}

// constants are the float weights of g.
func constants(g *ir.Graph) []*ir.Value {
	var out []*ir.Value
	for _, n := range g.Nodes {
		if v := n.Input(1); v != nil && v.Const != nil && v.Type.DType == tensor.F32 && n.Op.MACs != nil {
			out = append(out, v)
		}
	}
	return out
}

// kindsOfNets are networks of a kind by seed, and how many nodes of each may
// compute outside of its one segment. The figures only fall.
var kindsOfNets = []struct {
	name    string
	net     func(seed uint64) *ir.Graph
	seeds   uint64
	outside int
}{
	{"detector", func(seed uint64) *ir.Graph { g, _ := irtest.Detector(seed, tensor.F32); return g }, 2, 0},
	{"voice", func(seed uint64) *ir.Graph { return irtest.Voice(seed, tensor.F32) }, 1, 0},
	{"enhancer", func(seed uint64) *ir.Graph { return irtest.Enhancer(seed, tensor.F32) }, 1, 0},
}

// TestSegmentsOfKinds: networks of each kind run in one segment, and the
// simulator computes what the interpreter does. NNCC_LONG takes ten times as
// many.
func TestSegmentsOfKinds(t *testing.T) {
	for _, k := range kindsOfNets {
		n := k.seeds
		if testenv.Long() {
			n *= 10
		}
		for seed := range n {
			c := driver.Defaults()
			c.Board, c.Name, c.Cases, c.Precision = "mla-host", "net", 1, option.Int8
			o := compileNet(t, k.net(seed), &c)
			if s, n := len(o.Report.Segments), o.Report.ComputeFallback(); s != 1 || n > k.outside {
				t.Errorf("%s %d: %d segments, %d nodes outside, want 1 and at most %d", k.name, seed, s, n, k.outside)
			}
			figuresAddUp(t, o.Report)
			v := mustVerify(t, o)
			if v.Differs() {
				t.Errorf("%s %d\n%s", k.name, seed, v.Text())
			}
		}
	}
}

// TestOptimize: code bytes fall and instructions rise from speed to balanced to
// size, results are the interpreter's each time, and the three are not one
// program.
func TestOptimize(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	for _, m := range []struct{ path, calib string }{
		{filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digits_calib.npz")},
		{sharedata.Find("models", "kws_int8.onnx"), ""},
	} {
		if m.path == "" {
			t.Log("a reference model is not there")
			continue
		}
		for _, board := range []string{"cortex-m4", "cortex-m55"} {
			t.Run(filepath.Base(m.path)+"/"+board, func(t *testing.T) {
				var code, kernels []int
				var instructions []uint64
				for _, goal := range []option.Optimize{option.Speed, option.Balanced, option.Size} {
					c := config(m.path, board)
					c.Optimize, c.Cases = goal, 1
					if m.calib != "" {
						c.Calib = []string{m.calib}
					}
					o := mustCompile(t, c)
					v := mustVerify(t, o)
					if v.Mismatches > 0 {
						t.Fatalf("--optimize %s: %d mismatches (%s)", goal, v.Mismatches, v.Failure)
					}
					code, instructions = append(code, int(v.TextBytes)), append(instructions, v.Instructions)
					kernels = append(kernels, o.Report.Optimize.KernelBytes)
					t.Logf("--optimize %s: %d bytes of code (kernels %d by the table), %d instructions (%d predicted "+
						"for %d layers)", goal, code[len(code)-1], kernels[len(kernels)-1], v.Instructions,
						o.Report.Optimize.Instructions, o.Report.Optimize.PricedLayers)
				}
				if !(code[2] <= code[1] && code[1] <= code[0]) || code[2] == code[0] {
					t.Errorf("bytes of code for speed, balanced, size: %v, want them to fall", code)
				}
				if !(instructions[0] <= instructions[1] && instructions[1] <= instructions[2]) {
					t.Errorf("instructions for speed, balanced, size: %v, want them to rise", instructions)
				}
			})
		}
	}
}

// joined is a network of joined channels: a split whose pieces are joined again
// with what was computed of one (of 5 and of 8 channels), and branches side by
// side.
//
//go:embed testdata/joined.ir
var joined string

// TestJoinedChannels: no copies of channels that are joined or split, the same
// results on every core.
func TestJoinedChannels(t *testing.T) {
	path := modelFile(t, joined)
	for _, board := range []string{"cortex-m55", "cortex-m4", "cortex-m0plus"} {
		t.Run(board, func(t *testing.T) {
			c := config(path, board)
			c.Cases, c.Layers = 2, true
			o := mustCompile(t, c)
			for i, s := range o.Lowered.Program.Steps {
				switch o.Lowered.Schedule.Nodes[i].Op {
				case op.Concat, op.Split:
					t.Errorf("%s is copied", s.Name)
				}
			}
			v := mustVerify(t, c)
			if v.Mismatches > 0 {
				t.Errorf("%d mismatches: %s", v.Mismatches, v.Failure)
			}
		})
	}
}

// TestInPlace: a pointwise convolution with as many outputs as inputs is written over its
// input, which its kernel reads two pixels at a time: odd numbers of them, channels that fill no
// word, one chain for each, and a sum with its own input.
func TestInPlace(t *testing.T) {
	d := &drawnNetwork{t: t, g: ir.New("chains")}
	want := map[string]bool{}
	for i, s := range []struct {
		c, h, w int
		sum     bool
	}{{16, 7, 9, false}, {5, 3, 3, false}, {33, 4, 5, false}, {8, 1, 3, true}, {12, 5, 5, true}} {
		x := d.g.AddInput(fmt.Sprintf("x%d", i), ir.T(tensor.F32, 1, s.c, s.h, s.w))
		pool := ir.Attrs{"kernel_shape": ir.Ints(1, 3), "pads": ir.Ints(0, 1, 0, 1)}
		x = d.add(op.MaxPool, fmt.Sprintf("pool%d", i), pool, x)
		for k := range 3 {
			name := fmt.Sprintf("conv%d_%d", i, k)
			y := d.conv(name, x, s.c, 1)
			if k == 1 && s.sum {
				y = d.add(op.Add, name+"_sum", nil, y, x)
			} else {
				want[name] = true
			}
			x = y
		}
		d.g.AddOutput(fmt.Sprintf("y%d", i), d.add(op.MaxPool, fmt.Sprintf("last%d", i), pool, x))
	}
	model := graphFile(t, d.g)
	for _, board := range []string{"cortex-m4", "cortex-m33", "cortex-m0plus"} {
		t.Run(board, func(t *testing.T) {
			c := config(model, board)
			v := mustVerify(t, c)
			if v.Mismatches > 0 {
				t.Fatalf("%d mismatches: %s", v.Mismatches, v.Failure)
			}
			o := mustCompile(t, c)
			p, over := o.Lowered.Program, 0
			for _, s := range p.Steps {
				if !want[s.Name] {
					continue
				}
				if p.Buffers[s.Out[0]].Offset != p.Buffers[s.In[0].Buffer].Offset {
					t.Errorf("%s is at %d, its input at %d", s.Name, p.Buffers[s.Out[0]].Offset,
						p.Buffers[s.In[0].Buffer].Offset)
				}
				over++
			}
			if over != len(want) {
				t.Errorf("%d of %d convolutions are steps of their own", over, len(want))
			}
		})
	}
}
