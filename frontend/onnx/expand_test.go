// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
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
				testenv.Check(t, err != nil, "%s: axis %d of rank %d gives %v, want an error", c.body, axis, rank,
					got)
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
		testenv.Refused(t, err, want, "--set a=")
	}
}

// bits is a value of the given type and shape of which the elements are 0, or
// not, by the bits of a number.
func bits(d tensor.DType, shape []int, mask int) *tensor.Dense {
	y := tensor.New(d, shape)
	for i := range y.Len() {
		v := int64(mask >> i & 1)
		if d == tensor.F32 {
			y.SetFloat(i, float64(v)*(float64(i)-2.5))
		} else {
			y.SetInt(i, v)
		}
	}
	return y
}

// NonZero and Compress of data at run time hold what the same on constants
// gives, zeros behind it, and the count, for everything that may be found.
func TestBounded(t *testing.T) {
	for _, c := range []struct {
		sig, body string
		dims      map[string]int
		masked    string // the input of which the elements count
		axis      int    // of the output that is bounded
	}{
		{"(float[2,3] x) => (int64[2,N] y)", "y = NonZero (x)", map[string]int{"N": 6}, "x", 1},
		{"(float[2,3] x) => (int64[2,N] y)", "y = NonZero (x)", map[string]int{"N": 3}, "x", 1},
		{"(float[2,3] x) => (int64[N,2] z)", "y = NonZero (x) z = Transpose <perm = [1, 0]> (y)",
			map[string]int{"y.1": 2}, "x", 0},
		{"(bool[5] x) => (int64[1,N] y)", "y = NonZero (x)", map[string]int{"y.1": 2}, "x", 1},
		{"(float[2,3] x, bool[6] c) => (float[N] y)", "y = Compress (x, c)", map[string]int{"y.0": 6}, "c", 0},
		{"(float[2,3] x, bool[3] c) => (float[2,N] y)", "y = Compress <axis = -1> (x, c)", map[string]int{"N": 3}, "c",
			1},
		{"(float[4,3] x, bool[3] c) => (float[N,3] y)", "y = Compress <axis = 0> (x, c)", map[string]int{"N": 2}, "c",
			0},
		{"(int8[5] x, bool[5] c) => (int8[N] z) <int8[N] y>", "y = Compress (x, c) z = Neg (y)",
			map[string]int{"y.0": 4}, "c", 0},
	} {
		name := c.sig + c.body
		m := textModel(t, 17, c.sig+" {"+c.body+"}")
		g := open(t, m, ImportOptions{Dims: c.dims})
		if len(g.Out) != 2 || g.OutNames[1] != "y_count" {
			t.Errorf("%s: outputs are %v", name, g.OutNames)
			continue
		}
		most := g.Out[0].Type.Shape[c.axis]
		for _, n := range c.dims {
			if most != n {
				t.Errorf("%s: the output has shape %v, want %d at %d", name, g.Out[0].Type.Shape, n, c.axis)
			}
		}
		elems := 0
		for _, v := range g.In {
			if v.Name == c.masked {
				elems = v.Type.Elems()
			}
		}
		for mask := range 1 << elems {
			var in []*tensor.Dense
			set := map[string]*tensor.Dense{}
			for _, v := range g.In {
				d := bits(v.Type.DType, v.Type.Shape, 1<<20-1)
				if v.Name == c.masked {
					d = bits(v.Type.DType, v.Type.Shape, mask)
				}
				in = append(in, d)
				set[v.Name] = d
			}
			known := open(t, m, ImportOptions{Set: set})
			out := testenv.Must(interp.Run(known, nil, nil))(t)
			want := out[0]
			got, err := interp.Run(g, in, nil)
			if count := want.Shape[c.axis]; count > most {
				testenv.Check(t, err != nil, "%s: %d are found with room for %d, want an error", name, count, most)
				continue
			} else if err != nil {
				t.Errorf("%s: mask %b: %v", name, mask, err)
				continue
			} else if n := got[1].Int(0); n != int64(count) {
				t.Errorf("%s: mask %b: the count is %d, want %d", name, mask, n, count)
			}
			for i, from := range positions(got[0].Shape, c.axis, want.Shape[c.axis]) {
				v := 0.0
				if from >= 0 {
					v = want.Float(from)
				}
				if got[0].Float(i) != v {
					t.Errorf("%s: mask %b: %v, want %v and zeros", name, mask, got[0].Floats(), want.Floats())
					break
				}
			}
		}
	}
}

// In functions and subgraphs, results have bounds as in the main graph: by the names
// that the message gives, in which those of the nodes around stand in front.
func TestBoundedInside(t *testing.T) {
	const local = "\n<domain: \"local\", opset_import: [\"\" : 17]> "
	for _, c := range []struct {
		graph, functions, dim, count string
		want                         []float64 // of x = [0, 2, 0, 4] and c = true
	}{
		{"(float[4] x) => (int64[1,N] y) { [f] y = local.Where (x) }", local + "Where (v) => (w) { w = NonZero (v) }",
			"N", "y_count", []float64{1, 3, 0}},
		{"(float[4] x) => (int64 y) { [f] y = local.Where (x) }",
			local + "Where (v) => (w) { p = NonZero (v) w = Neg (p) }", "f/p.1", "f/p_count", []float64{-1, -3, 0}},
		{"(float[4] x, bool[] c) => (int64 y) { [i] y = If (c) <then_branch = t () => (a) { a = NonZero (x) }, " +
			"else_branch = e () => (b) { b = Constant <value = int64[1,3] {7, 8, 9}> () }> }", "", "i/then/a.1",
			"i/then/a_count", []float64{1, 3, 0}},
		{"(float[4] x) => (int64 y) { n = Constant <value_int = 1> () z = Constant <value = int64[1,3] {0, 0, 0}> () " +
			"[l] y = Loop (n, \"\", z) <body = b (int64 i, bool d, int64[1,3] s) => (d, r) { p = NonZero (x) r = " +
			"Add (s, p) }> }", "", "l/0/p.1", "l/0/p_count", []float64{1, 3, 0}},
	} {
		m := textModel(t, 17, c.graph+c.functions)
		_, err := OpenModel(m, ImportOptions{})
		testenv.Refused(t, err, "by --dim "+c.dim+"=N, N at most 4")
		g := open(t, m, ImportOptions{Dims: map[string]int{c.dim: 3}})
		if len(g.Out) != 2 || g.OutNames[1] != c.count {
			t.Errorf("%s: outputs are %v, want %s", c.graph, g.OutNames, c.count)
			continue
		}
		in := []*tensor.Dense{tensor.Of([]int{4}, []float32{0, 2, 0, 4}), tensor.Scalar(true)}[:len(g.In)]
		out, err := interp.Run(g, in, nil)
		testenv.Check(t, err == nil && slices.Equal(out[0].Floats(), c.want) && out[1].Int(0) == 2, "%s: %v, %v",
			c.graph, out, err)
	}
	// Joined, the zeros would stand between the results of iterations.
	for _, c := range []struct {
		opset int
		text  string
		dims  map[string]int
	}{
		{17, "(float[4] x) => (int64 y) { n = Constant <value_int = 2> () [l] y = Loop (n, \"\") " +
			"<body = b (int64 i, bool d) => (d, p) { p = NonZero (x) }> }", map[string]int{"l/0/p.1": 3, "l/1/p.1": 3}},
		{8, "(float[1,2,4] x) => (int64 y) { [l] y = Scan (\"\", x) <num_scan_inputs = 1, body = b (float[4] e) => " +
			"(p) " +
			"{ [f] p = local.Where (e) }> }" + local + "Where (v) => (w) { w = NonZero (v) }",
			map[string]int{"l/0.0/p.1": 3, "l/0.1/p.1": 3}},
	} {
		_, err := OpenModel(textModel(t, c.opset, c.text), ImportOptions{Dims: c.dims})
		testenv.Refused(t, err, "would take for data")
	}
}

// positions gives for every element of a shape where it is in one of which a
// dimension has only count elements; -1 where it is not.
func positions(shape []int, axis, count int) []int {
	inner := 1
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	out := make([]int, tensor.Count(shape))
	for i := range out {
		o, k, r := i/inner/shape[axis], i/inner%shape[axis], i%inner
		if out[i] = -1; k < count {
			out[i] = (o*count+k)*inner + r
		}
	}
	return out
}

// What would take the zeros behind a bounded result for data is refused, and so
// are bounds that cannot be.
func TestBoundedRefusals(t *testing.T) {
	N := func(n int) map[string]int { return map[string]int{"N": n} }
	for _, c := range []struct {
		body, want string
		dims       map[string]int
	}{
		{"y = ReduceMean <keepdims = 0> (z)", "which this operator would take for data", N(6)},
		{"s = Shape (z) y = Cast <to = 1> (s)", "which this operator would take for data", N(6)},
		{"a = Abs (z) y = Softmax (a)", "which this operator would take for data", N(6)},
		{"i = Cast <to = 7> (z) o = Constant <value_int = 7> () q = Div (o, i) y = Cast <to = 1> (q)",
			"by which integers cannot be divided", N(6)},
		{"y = Neg (z)", "by --dim N=N, N at most 6; or it is an input of the model; bind it with --set c=VALUE", nil},
		{"y = Neg (z)", "--dim a.0: the model has no such dimension", map[string]int{"a.0": 2}},
		{"y = Neg (z)", "want 1 to 6", N(7)},
		{"y = Neg (z)", "want 1 to 6", N(0)},
	} {
		_, err := OpenModel(textModel(t, 17, "(float[2,3] x, bool[6] c) => (float y) <float[N] z> { z = Compress "+
			"(x, c) "+c.body+" }"), ImportOptions{Dims: c.dims})
		testenv.Refused(t, err, c.want)
	}
}
