// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// digitsConfig is the demo model for a board.
func digitsConfig(board string) *Config {
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
		set         func(c *Config)
	}{
		{"m55", "cortex-m55", nil},
		{"float32", "cortex-m4", func(c *Config) { c.Precision, c.Calib = option.Float32, nil }},
		{"plain", "cortex-m0plus", func(c *Config) { c.Legalize, c.Fuse, c.DeadChannels = false, false, false }},
		{"accelerator", "mla-m55", nil},
		{"without", "cortex-m4", func(c *Config) { c.Passes = []string{"bn-fold=off", "align=off"} }},
		{"small arena", "cortex-m4", func(c *Config) { c.MaxRAM, c.tries = "1", 2 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := digitsConfig(x.board)
			if x.set != nil {
				x.set(c)
			}
			c.DumpIR = filepath.Join(t.TempDir(), "dump")
			o := mustCompile(t, c)
			opt, err := c.lowerOptions(o.Board, o.Float)
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

// TestDumpWarnsOnce: nodes that ONNX has no form for, at several stages, are one short warning.
func TestDumpWarnsOnce(t *testing.T) {
	g := ir.New("mixed")
	x := g.AddInput("x", ir.T(tensor.BF16, 1, 1, 1, 1))
	weight := g.AddConst("w", tensor.New(tensor.BF16, []int{1, 1, 1, 1}))
	bias := g.AddConst("b", tensor.New(tensor.F32, []int{1})) // ONNX wants it in bfloat16
	for range 100 {
		n, err := g.Add(op.Conv, "", nil, 1, x, weight, bias)
		require(t, err)
		x = n.Out[0]
	}
	g.AddOutput("y", x)
	c := config("", "host")
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	d, err := c.openDump()
	require(t, err)
	defer d.Discard()
	for _, stage := range []string{"00-one", "01-two"} {
		require(t, d.graph(stage, g))
	}
	d.warnNoONNX()
	if len(c.Diags) != 1 {
		t.Fatalf("%d warnings", len(c.Diags))
	}
	if s := c.Diags[0].Msg; len(s) > 300 || !strings.Contains(s, "00-one, 01-two") || !strings.Contains(s, "99 more") {
		t.Error(s)
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
		if b.Guilty != "" || b.Cases != bisectCases {
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
