// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// window is a cosine window a - b cos(2 pi n/N) + c cos(4 pi n/N).
func window(a, b, c float64) build.Rule {
	return func(e *build.Node) []*ir.Value {
		n := e.Known(0, "the size")
		periodic, code := e.Bool("periodic", true), e.Int("output_datatype", 1)
		d, ok := tensor.FromONNX(code)
		e.Want(ok && (d.IsFloat() || d.IsInt()), "dtype", "output_datatype is %d, want a numeric type", code)
		e.Want(len(n) == 1 && n[0] >= 0 && n[0] <= 1<<24, "shape", "the size is %v, want one value up to 2^24", n)
		size := float64(n[0])
		if !periodic {
			size--
		}
		y := make([]float64, n[0])
		for i := range y {
			t := 0.0
			if size > 0 {
				t = 2 * math.Pi * float64(i) / size
			}
			y[i] = a - b*math.Cos(t) + c*math.Cos(2*t)
		}
		return []*ir.Value{e.Data(tensor.FromFloats(d, []int{n[0]}, y))}
	}
}

// melWeights is the matrix [spectrum bins, mel bins] of triangles on the mel
// scale, from constants.
func melWeights(e *build.Node) []*ir.Value {
	bins, length, rate := e.Known(0, "the number of mel bins"), e.Known(1, "the transform's length"),
		e.Known(2, "the sample rate")
	edge := func(i int) float64 {
		v := e.Need(i, -1)
		if v.Const == nil {
			e.Fail(e.Dynamicf("dynamic", v, "the edge (input %d, %s) must be known at compile time", i, v))
		}
		e.Want(v.Const.Len() == 1, "shape", "the edge (input %d) has shape %v, want one value", i, v.Type.Shape)
		return v.Const.Float(0)
	}
	lo, hi := edge(3), edge(4)
	code := e.Int("output_datatype", 1)
	d, ok := tensor.FromONNX(code)
	e.Want(ok && (d.IsFloat() || d.IsInt()), "dtype", "output_datatype is %d, want a numeric type", code)
	e.Want(len(bins) == 1 && len(length) == 1 && len(rate) == 1 && bins[0] >= 1 && bins[0] <= 1<<14 && length[0] >= 1 &&
		length[0] <= 1<<20 && rate[0] >= 1 && lo >= 0 && hi >= lo,
		"attr-value", "%v mel bins, length %v, rate %v, edges %v and %v: out of range", bins, length, rate, lo, hi)
	rows := length[0]/2 + 1
	e.Want(rows <= maxSignal/bins[0], "shape", "a matrix of %d by %d is too large", rows, bins[0])
	m := melTriangles(rows, bins[0], length[0], rate[0], lo, hi)
	return []*ir.Value{e.Data(tensor.FromFloats(d, []int{rows, bins[0]}, m))}
}

// melTriangles is the matrix [rows, bins] of triangles between the frequencies lo and
// hi, for a transform of a length at a sample rate.
func melTriangles(rows, bins, length, rate int, lo, hi float64) []float64 {
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	low, step := mel(lo), (mel(hi)-mel(lo))/float64(bins+2)
	at := make([]int, bins+2) // spectrum bins of the triangles' corners
	for i := range at {
		f := 700 * (math.Pow(10, (low+float64(i)*step)/2595) - 1)
		at[i] = int(float64(length+1) * f / float64(rate))
	}
	m := make([]float64, rows*bins)
	for i := range bins {
		a, b, c := at[i], at[i+1], at[i+2]
		if b == a && b >= 0 && b < rows {
			m[b*bins+i] = 1
		}
		for j := max(a, 0); j <= b && b > a && j < rows; j++ {
			m[j*bins+i] = float64(j-a) / float64(b-a)
		}
		for j := max(b, 0); j < c && j < rows; j++ {
			m[j*bins+i] = float64(c-j) / float64(c-b)
		}
	}
	return m
}
