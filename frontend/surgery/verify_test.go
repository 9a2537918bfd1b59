// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"math"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// Observed elsewhere: one call compares a list of outputs, which fails or lies
// where they differ in shape.
func TestOutputsAreComparedOneByOne(t *testing.T) {
	mk := func(scale float32) *Model {
		b := build(t, 17)
		x := b.input("x", 2, 3)
		b.init("k", tensor.Scalar(scale))
		b.node("ReduceMax", "/small", in(x), attrs{"axes": []int{1}}, "small")
		b.node("Mul", "/large", in(x, "k"), nil, "large")
		b.node("Cast", "/int", in(x), attrs{"to": "int32"}, "int")
		return b.output("small", "large", "int")
	}
	c := Compare(mk(2), mk(2), CompareOptions{Equal: true, Count: 4})
	testenv.Check(t, c.OK() && c.Cases == 4 && len(c.Outputs) == 3, "%+v", c)
	d := tensor.Of([]int{2, 3}, []float32{1, -2, 3, 4, 5, -8})
	opt := CompareOptions{Cases: []map[string]*tensor.Dense{{"x": d}}, RTol: 1e-6}
	c = Compare(mk(2.5), mk(2), opt)
	small, large, whole := c.Outputs[0], c.Outputs[1], c.Outputs[2]
	testenv.Check(t, small.Mismatches+whole.Mismatches == 0 && small.Elements == 2 && whole.Elements == 6, "%+v\n%+v",
		small, whole)
	if large.Mismatches != 6 || large.Min != -4 || large.Max != 2.5 || large.MaxAbs != 4 || large.Relative != 0.25 ||
		c.OK() || c.Cases != 1 {
		t.Errorf("%+v", large)
	}
	if msg := (&DifferError{c}).Error(); !strings.Contains(msg, `output "large": 6 of 6 values differ`) ||
		strings.Contains(msg, "small") {
		t.Errorf("%s", msg)
	}
	opt.RTol, opt.ATol = 0.2, 1
	if c = Compare(mk(2.5), mk(2), opt); !c.OK() {
		t.Errorf("within 1 + 0.2·16: %+v", c)
	}
}

func TestCompareNumbersThatAreNone(t *testing.T) {
	mk := func(op string) *Model {
		b := build(t, 17)
		return b.output(b.node(op, "/n", in(b.input("x", 3)), nil, "y"))
	}
	nan := float32(math.NaN())
	opt := CompareOptions{RTol: 1, ATol: 1e30,
		Cases: []map[string]*tensor.Dense{{"x": tensor.Of([]int{3}, []float32{nan, 1, -1})}}}
	c := Compare(mk("Neg"), mk("Identity"), opt)
	testenv.Check(t, c.OK(), "NaN is like NaN: %+v", c)
	c = Compare(mk("Sqrt"), mk("Neg"), opt)
	testenv.Equal(t, c.Mismatches, 1, "NaN is like no number: %+v", c.Outputs)
	inf := float32(math.Inf(1))
	opt.Cases[0]["x"] = tensor.Of([]int{3}, []float32{inf, -inf, 0})
	c = Compare(mk("Abs"), mk("Identity"), opt)
	testenv.Check(t, c.Mismatches == 1 && !math.IsInf(c.Outputs[0].Max, 0), "infinities: %+v", c.Outputs)
	opt.Equal = true
	opt.Cases[0]["x"] = tensor.Of([]int{3}, []float32{0, 0, 0})
	c = Compare(mk("Neg"), mk("Identity"), opt)
	testenv.Equal(t, c.Mismatches, 3, "-0 has other bits than 0: %+v", c.Outputs)
}

func TestCompareInterfaces(t *testing.T) {
	m := parse(t, chain)
	other := m.Clone()
	other.RenameValue("y", "w")
	err := fail.Caught(func() { Compare(other, m, CompareOptions{}) })
	wantErr(t, err, `nothing to compare output "y" of the reference with`, `"w", "z"`, "partial")
	c := Compare(other, m, CompareOptions{Partial: true})
	testenv.Check(t, len(c.Missing) == 1 && len(c.Outputs) == 1, "%+v", c)
	renamed := CompareOptions{Outputs: map[string]string{"v": "y"}}
	_, err = fail.Try(func() *Comparison { return Compare(other, m, renamed) })
	wantErr(t, err, `the edited model has no output "v"`)
	other.RenameValue("x", "image")
	err = fail.Caught(func() { Compare(other, m, CompareOptions{Partial: true}) })
	wantErr(t, err, `input "image" of the edited model is no input of the reference`)
	other.SetIOShape("image", 0, Fixed(2, 2))
	opt := CompareOptions{Inputs: map[string]string{"image": "x"}, Outputs: map[string]string{"w": "y"}}
	err = fail.Caught(func() { Compare(other, m, opt) })
	wantErr(t, err, `input "image" has shape [2 2]`, "reshape")
	opt.Reshape = true
	c = Compare(other, m, opt)
	testenv.Check(t, c.OK(), "%+v", c)
	_, err = fail.Try(func() map[string]*tensor.Dense {
		return m.Run(map[string]*tensor.Dense{"q": ir.Rand(1, tensor.F32, []int{1})})
	})
	wantErr(t, err, `no input "q"`)
	_, err = fail.Try(func() map[string]*tensor.Dense {
		return m.Run(map[string]*tensor.Dense{"x": ir.Rand(1, tensor.F64, []int{1, 4})})
	})
	wantErr(t, err, "double[1 4]", "float[1 4]")
	err = fail.Caught(func() { m.Run(nil) })
	wantErr(t, err, `input "x" is not given`)
}

func TestSymbolicDimsInComparisons(t *testing.T) {
	m := parse(t, "g (float[N,T] x) => (float[N,T] y) { y = Relu (x) }")
	_, err := run(t, m, "steps: [{insert_after: {value: x, new: {op: Identity}}}]\nverify: {}", RunOptions{})
	wantErr(t, err, "T", "dynamic")
	for _, s := range []string{
		"dims: {T: 5}\nsteps: [{insert_after: {value: x, new: {op: Identity}}}]\nverify: {equal: true}",
		"steps: [{pin_dims: {T: 3, N: 2}}, {insert_after: {value: x, new: {op: Identity}}}]\nverify: {equal: true}",
	} {
		res := testenv.Must(run(t, m, s, RunOptions{}))(t)
		testenv.Equal(t, len(res.Verified), 1, "%s: %v", s, res.Verified)
	}
	_, err = run(t, m, "dims: {Q: 5}\nsteps: []", RunOptions{})
	wantErr(t, err, `no symbolic dimension "Q"`, `"N", "T"`)
	// Given inputs say the sizes, too.
	res, err := run(t, m, "steps: [{insert_after: {value: x, new: {op: Identity}}}]\nverify: {equal: true, cases: 1}",
		RunOptions{Cases: []map[string]*tensor.Dense{{"x": ir.Rand(1, tensor.F32, []int{3, 7})}}})
	must(t, err)
	testenv.Equal(t, res.Verified[0].Outputs[0].Elements, 21, "elements")
}
