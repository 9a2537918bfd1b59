// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
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
