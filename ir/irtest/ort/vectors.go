// SPDX-License-Identifier: Apache-2.0

package ort

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/tensor"
)

// Vector is a small model with what ONNX Runtime computes of seeded inputs. The
// files in testdata/vectors have blocks, with blank lines between them, of
//
//	# name
//	opset 17, ai.onnx.ml 3
//	(float[2,3] x) => (float y) { y = ... }        (any number of lines)
//	= f32[2,3] 1 2 3 4 5 6                         (an output each)
//
// With -update and NNCC_ORT the outputs are stored anew.
type Vector struct {
	Name, Opsets, Text string
	Want               []string // see Printed
}

// ReadVectors reads a file of them.
func ReadVectors(t testing.TB, path string) []*Vector {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Vector
	for _, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) < 3 || !strings.HasPrefix(lines[0], "# ") || !strings.HasPrefix(lines[1], "opset ") {
			t.Fatalf("%s: a block is not a vector:\n%s", path, block)
		}
		v := &Vector{Name: lines[0][2:], Opsets: lines[1]}
		for _, l := range lines[2:] {
			if s, ok := strings.CutPrefix(l, "= "); ok {
				v.Want = append(v.Want, s)
			} else {
				v.Text += l + "\n"
			}
		}
		all = append(all, v)
	}
	return all
}

func (v *Vector) String() string {
	s := "# " + v.Name + "\n" + v.Opsets + "\n" + v.Text
	for _, w := range v.Want {
		s += "= " + w + "\n"
	}
	return s
}

// Source is the model in ONNX's text form.
func (v *Vector) Source() []byte {
	opsets := ""
	for i, o := range strings.Split(strings.TrimPrefix(v.Opsets, "opset "), ", ") {
		name, version, ok := strings.Cut(o, " ")
		if !ok {
			name, version = "", o
		}
		if i > 0 {
			opsets += ", "
		}
		opsets += strconv.Quote(name) + " : " + version
	}
	return fmt.Appendf(nil, "<ir_version: 8, opset_import: [%s]> g %s", opsets, v.Text)
}

// Printed is an output as vectors store it: type, shape, values to 7 digits.
func Printed(d *tensor.Dense) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s[", d.DType)
	for i, n := range d.Shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteByte(']')
	for i := range d.Len() {
		b.WriteByte(' ')
		if d.DType.IsFloat() {
			b.WriteString(strconv.FormatFloat(d.Float(i), 'g', 7, 64))
		} else {
			b.WriteString(strconv.FormatInt(d.Int(i), 10))
		}
	}
	return b.String()
}

// Holds says how an output differs from the stored text, or "".
func Holds(d *tensor.Dense, want string) string {
	got, w := strings.Fields(Printed(d)), strings.Fields(want)
	if len(got) != len(w) || got[0] != w[0] {
		return "want " + want
	}
	top := 0.0
	for i := range d.Len() {
		if x, _ := strconv.ParseFloat(w[1+i], 64); !math.IsInf(x, 0) && x == x {
			top = max(top, math.Abs(x))
		}
	}
	tol := map[tensor.DType]float64{tensor.F32: 2e-5, tensor.F64: 1e-6, tensor.F16: 2e-3, tensor.BF16: 1.6e-2}[d.DType]
	for i := range d.Len() {
		x, err := strconv.ParseFloat(w[1+i], 64)
		a := d.Float(i)
		if err == nil && (a == x || a != a && x != x || math.Abs(a-x) <= tol*max(top, 1e-3)) {
			continue
		}
		return fmt.Sprintf("element %d is %v, want %s", i, a, w[1+i])
	}
	return ""
}
