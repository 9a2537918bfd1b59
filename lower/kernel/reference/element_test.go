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
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
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
		"main(void)\n{\n    float in;\n    double y;\n")
	fmt.Fprint(&src, "    while (fread(&in, sizeof in, 1, stdin) == 1) {\n")
	for _, d := range op.All() {
		if d.C == nil || d.Scalar == nil || d.Quant != ir.QFloat {
			continue
		}
		for _, n := range variants(d) {
			attr := func(name string) string { return fmt.Sprintf("((t)%.17g)", n.Float(name)) }
			c := n.Op.C(n)
			fmt.Fprintf(&src, "        { typedef float t; const t x = in; y = (t)(%s); fwrite(&y, sizeof y, 1, "+
				"stdout); }\n", kernel.Written(kernel.Float32(c), "x", attr))
			fmt.Fprintf(&src, "        { typedef double t; const t x = in; y = (t)(%s); fwrite(&y, sizeof y, 1, "+
				"stdout); }\n", kernel.Written(c.F64, "x", attr))
			forms = append(forms, form{n, true}, form{n, false})
		}
	}
	src.WriteString("    }\n    return 0;\n}\n")
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "forms.c"), filepath.Join(dir, "forms")
	if err := os.WriteFile(file, src.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	runtime := filepath.Join(dir, "runtime")
	if err := runtimec.WriteTree(runtime); err != nil {
		t.Fatal(err)
	}
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
	xs := arguments()
	var in, out bytes.Buffer
	binary.Write(&in, binary.LittleEndian, xs)
	cmd := exec.Command(exe)
	cmd.Stdin, cmd.Stdout = &in, &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	failed := map[*ir.Node]bool{}
	for _, x := range xs {
		for _, f := range forms {
			var got float64
			if err := binary.Read(&out, binary.LittleEndian, &got); err != nil {
				t.Fatal(err)
			}
			want, tol := f.n.Op.Scalar(f.n, float64(x)), 1e-12
			if f.float {
				want, tol = float64(float32(want)), 2e-6
			}
			ok := got == want || got != got && want != want || math.Abs(got-want) <= tol*math.Abs(want)+tol/6
			if !ok && !failed[f.n] {
				failed[f.n] = true
				t.Errorf("%s %v at %g: C gives %g, Go %g (float %v)", f.n.Op.Name, f.n.Attrs, x, got, want, f.float)
			}
		}
	}
}

// variants are nodes of an operator with its default attributes, others, and
// every value of an attribute that is a choice.
func variants(d *ir.OpDef) []*ir.Node {
	plain, other := &ir.Node{Op: d}, &ir.Node{Op: d}
	for i, a := range d.Attrs {
		if a.Kind == ir.AttrFloat {
			other.SetAttr(a.Name, ir.Float(0.375+0.25*float32(i)))
		}
	}
	out := []*ir.Node{plain, other}
	if d == op.Gelu {
		out = append(out, &ir.Node{Op: d, Attrs: ir.Attrs{"approximate": ir.Str("tanh")}})
	}
	return out
}
