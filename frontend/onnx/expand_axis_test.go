// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// sumsAlong is CumSum or CumProd by its definition.
func sumsAlong(x []float64, shape []int, axis int, unit float64, exclusive, reverse bool) []float64 {
	y, st := make([]float64, len(x)), tensor.Strides(shape)[axis]
	for i := range x {
		at := i / st % shape[axis]
		y[i] = unit
		for k := range shape[axis] {
			before, v := k < at, x[i+(k-at)*st]
			if reverse {
				before = k > at
			}
			if !before && (k != at || exclusive) {
				continue
			}
			if unit == 0 {
				y[i] += v
			} else {
				y[i] *= v
			}
		}
	}
	return y
}

// transformAlong is DFT by its definition, of complex numbers.
func transformAlong(x []float64, shape []int, axis int) []float64 {
	y, st, n := make([]float64, len(x)), tensor.Strides(shape)[axis]/2, shape[axis]
	for i := range len(x) / 2 {
		at, sum := i/st%n, complex(0, 0)
		for k := range n {
			j := i + (k-at)*st
			sum += complex(x[2*j], x[2*j+1]) * cmplx.Rect(1, -2*math.Pi*float64(at*k%n)/float64(n))
		}
		y[2*i], y[2*i+1] = real(sum), imag(sum)
	}
	return y
}

// Operators with an axis that is computed at run time, along every axis that
// there is, against their definitions; along others they stop.
func TestRunTimeAxis(t *testing.T) {
	for _, c := range []struct {
		sig, body string
		last      int // dimensions at the end that are no axes
		want      func(x []float64, shape []int, axis int) []float64
	}{
		{"(float[2,3,4] x, int64[] a) => (float y)", "y = CumSum (x, a)", 0,
			func(x []float64, s []int, k int) []float64 { return sumsAlong(x, s, k, 0, false, false) }},
		{"(int32[3,2,2,2] x, int32[1] a) => (int32 y)", "y = CumSum <exclusive = 1, reverse = 1> (x, a)", 0,
			func(x []float64, s []int, k int) []float64 { return sumsAlong(x, s, k, 0, true, true) }},
		{"(float[5] x, int32[] a) => (float y)", "n = Neg (a) b = Neg (n) y = CumSum <reverse = 1> (x, b)", 0,
			func(x []float64, s []int, k int) []float64 { return sumsAlong(x, s, k, 0, false, true) }},
		{"(float[2,3] x, int64[] a) => (float y)", "y = CumProd <exclusive = 1> (x, a)", 0,
			func(x []float64, s []int, k int) []float64 { return sumsAlong(x, s, k, 1, true, false) }},
		{"(float[2,3,4,2] x, int64[] a) => (float y)", `y = DFT (x, "", a)`, 1, transformAlong},
	} {
		g := open(t, textModel(t, 26, c.sig+" {"+c.body+"}"), ImportOptions{})
		x := tensor.New(g.In[0].Type.DType, g.In[0].Type.Shape)
		for i := range x.Len() {
			v := float64((i*7+3)%11 - 5)
			if x.DType.IsFloat() {
				x.SetFloat(i, v)
			} else {
				x.SetInt(i, int64(v))
			}
		}
		rank := len(x.Shape)
		for axis := -rank - 2; axis <= rank+1; axis++ {
			a := tensor.New(g.In[1].Type.DType, g.In[1].Type.Shape)
			a.SetInt(0, int64(axis))
			k := axis
			if k < 0 {
				k += rank
			}
			got, err := interp.Run(g, []*tensor.Dense{x, a}, nil)
			if axis < -rank || axis >= rank || k >= rank-c.last {
				if err == nil {
					t.Errorf("%s: axis %d of rank %d gives %v, want an error", c.body, axis, rank, got)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: axis %d: %v", c.body, axis, err)
				continue
			}
			for i, want := range c.want(x.Floats(), x.Shape, k) {
				if v := got[0].Float(i); math.Abs(v-want) > 1e-4 || !x.DType.IsFloat() && v != want {
					t.Errorf("%s: axis %d: element %d is %v, want %v", c.body, axis, i, v, want)
					break
				}
			}
		}
	}
}

// Where the shape of the result depends on the axis, it must be known.
func TestRunTimeAxisShape(t *testing.T) {
	for body, want := range map[string]string{
		`y = DFT <onesided = 1> (x, "", a)`:                 "the result's shape depends on it",
		`n = Constant <value_int = 3> () y = DFT (x, n, a)`: "the result's shape depends on it",
		`y = DFT <onesided = 1, inverse = 1> (x, "", a)`:    "there is no result along axis 0",
	} {
		_, err := OpenModel(textModel(t, 20, fmt.Sprintf("(float[1,8,2] x, int64[] a) => (float y) {%s}", body)),
			ImportOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--set a=") {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
