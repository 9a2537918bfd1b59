// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// arguments are where the forms of functions are compared: near the ends, at
// and around whole numbers, at attributes' defaults.
func arguments() []float32 {
	x := []float32{0, 0.5, -0.5, 0.2, 0.01, 1e-3, -1e-3, 1e-20, -90, 90, -40, 40, 3.4e38, -3.4e38}
	for v := float32(-12); v <= 12; v += 0.0625 {
		x = append(x, v)
	}
	return x
}

// TestElementForms: the C forms of every operator that has them, in float and in
// double, give what its function in Go gives.
func TestElementForms(t *testing.T) {
	cc := testenv.Tool(t, "cc", "gcc")
	type form struct {
		n     *ir.Node
		float bool
	}
	var forms []form
	var src bytes.Buffer
	fmt.Fprint(&src, "#include <stdio.h>\n#include \"nncc_element_f32.h\"\n#include \"nncc_loops.h\"\nint "+
		"main(void)\n{\n    float in[2];\n    double y;\n")
	fmt.Fprint(&src, "    while (fread(in, sizeof in, 1, stdin) == 1) {\n")
	pairs := 0
	for _, d := range op.All() {
		form1, names := d.C, []string{"x"}
		if d.Pair != nil && d != op.Mean { // of Mean, it is the sum
			form1, names = d.Pair, []string{"a", "b"}
			pairs++
		}
		if form1 == nil || len(names) == 1 && (d.Scalar == nil || d.Quant != ir.QFloat) || d.Quant == ir.QNone {
			continue
		}
		for _, n := range variants(d) {
			attr := func(name string) string { return fmt.Sprintf("((t)%.17g)", n.Float(name)) }
			c := form1(n)
			for _, f := range []struct{ ctype, text string }{{"float", kernel.Float32(c)}, {"double", c.F64}} {
				fmt.Fprintf(&src, "        { typedef %s t;\n", f.ctype)
				for i, x := range names {
					fmt.Fprintf(&src, "            const t %s = in[%d];\n", x, i)
				}
				fmt.Fprintf(&src, "            y = (t)(%s);\n            fwrite(&y, sizeof y, 1, stdout); }\n",
					kernel.Written(f.text, attr))
				forms = append(forms, form{n, f.ctype == "float"})
			}
		}
	}
	testenv.Check(t, pairs >= 15, "%d operators of two operands", pairs)
	src.WriteString("    }\n    return 0;\n}\n")
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "forms.c"), filepath.Join(dir, "forms")
	testenv.OK(t, os.WriteFile(file, src.Bytes(), 0o644))
	runtime := filepath.Join(dir, "runtime")
	testenv.OK(t, runtimec.WriteTree(runtime))
	args := []string{"-std=c99", "-Wall", "-Werror", "-I", filepath.Join(runtime, "include", "nncc"), "-I",
		filepath.Join(runtime, "src", "nncc"), "-o", exe, file}
	called := map[string]bool{}
	for _, f := range regexp.MustCompile(`nncc_\w+_f64`).FindAllString(src.String(), -1) {
		if !called[f] {
			called[f] = true
			args = append(args, filepath.Join(runtime, "src", "nncc", f+".c"))
		}
	}
	if msg, err := exec.Command(cc, append(args, "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, msg)
	}
	var xs [][2]float32
	for i, all := 0, arguments(); i < len(all); i++ {
		xs = append(xs, [2]float32{all[i], all[(7*i+3)%len(all)]}, [2]float32{all[i], all[i]})
	}
	var in, out bytes.Buffer
	binary.Write(&in, binary.LittleEndian, xs)
	cmd := exec.Command(exe)
	cmd.Stdin, cmd.Stdout = &in, &out
	testenv.OK(t, cmd.Run())
	failed := map[*ir.Node]bool{}
	for _, x := range xs {
		for _, f := range forms {
			var got float64
			testenv.OK(t, binary.Read(&out, binary.LittleEndian, &got))
			want, tol := inGo(t, f.n, f.float, x), 1e-12
			if f.float {
				tol = 2e-6
			}
			ok := got == want || got != got && want != want || math.Abs(got-want) <= tol*math.Abs(want)+tol/6
			if !ok && !failed[f.n] {
				failed[f.n] = true
				t.Errorf("%s %v at %g: C gives %g, Go %g (float %v)", f.n.Op.Name, f.n.Attrs, x, got, want, f.float)
			}
		}
	}
}

// inGo is what the interpreter computes of one number, or of two.
func inGo(t *testing.T, n *ir.Node, float bool, x [2]float32) float64 {
	t.Helper()
	if n.Op.Scalar != nil {
		y := n.Op.Scalar(n, float64(x[0]))
		if float {
			y = float64(float32(y))
		}
		return y
	}
	var in []*tensor.Dense
	for _, v := range x {
		d := tensor.Of([]int{1}, []float64{float64(v)})
		if float {
			d = d.Cast(tensor.F32)
		}
		in = append(in, d)
	}
	y, err := n.Op.Eval(n, in)
	testenv.OK(t, err)
	return y[0].Float(0)
}

// variants are nodes of an operator with its default attributes, others, and
// every value of an attribute that is a choice.
func variants(d *ir.OpDef) []*ir.Node {
	plain, other := &ir.Node{Op: d}, &ir.Node{Op: d}
	for i, a := range d.Attrs {
		if a.Kind == ir.AttrFloat && !strings.HasPrefix(a.Name, "act_") { // forms are without activations
			other.SetAttr(a.Name, ir.Float(0.375+0.25*float32(i)))
		}
	}
	out := []*ir.Node{plain, other}
	if d == op.Gelu {
		out = append(out, &ir.Node{Op: d, Attrs: ir.Attrs{"approximate": ir.Str("tanh")}})
	}
	return out
}
