// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
)

// drawCurved is a network of functions over drawn ranges, between layers of other kinds.
func drawCurved(t *testing.T, seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 3))
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	var b strings.Builder
	b.WriteString("graph \"g\" {\n  in %v0 : f32[1,4,6,6]\n")
	for i := range 4 {
		x, y := fmt.Sprintf("%%v%d", i), fmt.Sprintf("%%v%d", i+1)
		fmt.Fprintf(&b, "  const %%k%d : f32[] = {%g}\n  %%m%d = Mul(%s, %%k%d) from \"m%d\"\n", i,
			math.Pow(10, 2*r.Float64()-1), i, x, i, i)
		fmt.Fprintf(&b, "  %%f%d = %s(%%m%d) from \"f%d\"\n", i, one("Gelu", "Sigmoid", "Tanh", "HardSwish", "Elu",
			"Softplus",
			"LeakyRelu", "Selu", "Erf", "Celu", "Mish", "Abs", "Neg"), i, i)
		last := fmt.Sprintf("%%f%d", i)
		fmt.Fprintf(&b, "  const %%w%d : f32[4,4,3,3] = rand %d\n", i, seed*10+uint64(i))
		fmt.Fprintf(&b, "  %s = %s from \"l%d\"\n", y, one("Add("+last+", "+x+")", "Mul("+last+", "+x+")",
			"Sub("+x+", "+last+")", "Max("+last+", "+x+")", "Softmax("+last+") {axis=3}",
			fmt.Sprintf("Conv(%s, %%w%d) {kernel_shape=[3,3], pads=[1,1,1,1]}", last, i),
			"MaxPool("+last+") {kernel_shape=[3,3], pads=[1,1,1,1]}"), i)
	}
	b.WriteString("  out \"y\" = %v4\n}")
	g := irtest.Parse(t, b.String())
	g.RemoveDead()
	return g
}

// TestReadAgain: what was quantised, written as QDQ and read again becomes the same program.
func TestReadAgain(t *testing.T) {
	for _, target := range targets()[2:4] { // int8 and int16
		for seed := range uint64(8) {
			g := drawCurved(t, seed)
			was := testenv.Must(lower.Run(g.Clone(), target.options(g)))(t)
			m := testenv.Must(onnx.Export(was.QDQ, onnx.ExportOptions{}))(t)
			h := testenv.Must(onnx.Import(&onnx.Model{Proto: m}, onnx.ImportOptions{}))(t)
			now := testenv.Must(lower.Run(h, target.options(h)))(t)
			steps := func(r *lower.Result) (list []string) {
				for _, s := range r.Program.Steps {
					list = append(list, s.Kernel)
				}
				slices.Sort(list)
				return list
			}
			if a, b := steps(was), steps(now); !slices.Equal(a, b) {
				t.Errorf("%s, seed %d: %v became %v\n%s", target.name, seed, a, b, g)
			}
			in := irtest.Inputs(was.Reference, seed)
			a, b := irtest.Run(t, was.Reference, in), irtest.Run(t, now.Reference, in)
			testenv.Check(t, slices.EqualFunc(a, b, tensor.Equal), "%s, seed %d: other results\n%s", target.name,
				seed, g)
		}
	}
}
