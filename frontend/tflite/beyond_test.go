// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// beyond is what operators that TensorFlow Lite Micro lacks give for the layers of
// tflitetest, by their definitions.
var beyond = map[string]func(l *tflitetest.Layer, in []*tensor.Dense) [][]float64{
	"ATAN2": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		return [][]float64{each(in[0], func(i int, v float64) float64 { return math.Atan2(v, in[1].Float(i)) })}
	},
	"RELU_0_TO_1": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		return [][]float64{each(in[0], func(_ int, v float64) float64 { return min(max(v, 0), 1) })}
	},
	"SIGN": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		return [][]float64{each(in[0], func(_ int, v float64) float64 { return float64(cmp.Compare(v, 0)) })}
	},
	"ONE_HOT": func(l *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		number := func(t int) float64 {
			c, _ := tensor.FromBytes(map[string]tensor.DType{"f32": tensor.F32, "i32": tensor.I32}[l.Type], []int{},
				l.Tensors[l.Ops[0].In[t]].Data)
			return c.Float(0)
		}
		y := make([]float64, 30)
		for i := range y {
			y[i] = number(3)
			if in[0].Int(i/10*2+i%2) == int64(i/2%5) {
				y[i] = number(2)
			}
		}
		return [][]float64{y}
	},
	"REDUCE_ANY": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		y := make([]float64, 4)
		for i := range 12 {
			y[i/3] = max(y[i/3], float64(in[0].Int(i)))
		}
		return [][]float64{y}
	},
	"REDUCE_PROD": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		y := []float64{1, 1, 1, 1}
		for i := range 12 {
			y[i/3] *= in[0].Float(i)
		}
		return [][]float64{y}
	},
	"REVERSE_SEQUENCE": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		return [][]float64{each(in[0], func(i int, _ float64) float64 {
			long, at := []int{4, 1, 2}[i/4%3], i%4
			if at < long {
				at = long - 1 - at
			}
			return in[0].Float(i/4*4 + at)
		})}
	},
	"SCATTER_ND": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		y := make([]float64, 10)
		for i, to := range []int{4, 0, 4} {
			for k := range 2 {
				y[2*to+k] += in[0].Float(2*i + k)
			}
		}
		return [][]float64{y}
	},
	"SELECT": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		return [][]float64{each(in[1], func(i int, v float64) float64 {
			if in[0].Int(i/4) != 0 {
				return v
			}
			return in[2].Float(i)
		})}
	},
	"TOPK_V2": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		var values, at []float64
		for row := range 2 {
			order := []int{0, 1, 2, 3, 4, 5, 6}
			slices.SortStableFunc(order, func(a, b int) int {
				return cmp.Compare(in[0].Float(7*row+b), in[0].Float(7*row+a))
			})
			for _, i := range order[:3] {
				values, at = append(values, in[0].Float(7*row+i)), append(at, float64(i))
			}
		}
		return [][]float64{values, at}
	},
	"UNIQUE": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		var values, at []float64
		for _, x := range in[0].Floats() {
			if !slices.Contains(values, x) {
				values = append(values, x)
			}
			at = append(at, float64(slices.Index(values, x)))
		}
		return [][]float64{append(values, make([]float64, in[0].Len()-len(values))...), at}
	},
	"NON_MAX_SUPPRESSION_V5": func(_ *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		at, scores := make([]float64, 5), make([]float64, 5)
		count := 0
		order := []int{0, 1, 2, 3}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(in[0].Float(b), in[0].Float(a)) })
		for _, i := range order { // boxes 0 and 1 overlap by more than half, 2 and 3 too
			if in[0].Float(i) > -2 && !slices.Contains(at[:count], float64(i^1)) {
				at[count], scores[count] = float64(i), in[0].Float(i)
				count++
			}
		}
		return [][]float64{at, scores, {float64(count)}}
	},
	"STABLEHLO_COMPOSITE": func(l *tflitetest.Layer, in []*tensor.Dense) [][]float64 {
		if l.Type != "f32" {
			return nil
		}
		return [][]float64{each(in[0], func(_ int, v float64) float64 { return 2 * v })}
	},
}

func each(d *tensor.Dense, f func(i int, v float64) float64) []float64 {
	y := make([]float64, d.Len())
	for i := range y {
		y[i] = f(i, d.Float(i))
	}
	return y
}

// TestBeyond holds those operators against their definitions.
func TestBeyond(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range tflitetest.Layers() {
		f := beyond[l.Op]
		if f == nil {
			continue
		}
		g, m, err := imported(l.Graph)
		if err != nil {
			t.Errorf("%s %s: %v", l.Op, l.Type, err)
			continue
		}
		seen[l.Op] = true
		for range 5 {
			in := layerInputs(t, l, g, m)
			out, err := interp.Run(g, in, nil)
			testenv.Require(t, err == nil, "%s %s: %v", l.Op, l.Type, err)
			for k, want := range f(l, in) {
				for i, w := range want {
					if have := out[k].Float(i); math.Abs(have-w) > 1e-4*max(1, math.Abs(w)) {
						t.Errorf("%s %s: result %d, element %d is %g, want %g", l.Op, l.Type, k, i, have, w)
					}
				}
			}
		}
	}
	testenv.Check(t, len(seen) == len(beyond), "layers of %d operators, want %d", len(seen), len(beyond))
}

// TestShapesAreConstants: what follows from the shape of a tensor may be an operand that has
// to be a constant.
func TestShapesAreConstants(t *testing.T) {
	for op, operands := range map[string]int{"SLICE": 2, "PAD": 1, "TILE": 1, "STRIDED_SLICE": 2,
		"SPACE_TO_BATCH_ND": 1, "TRANSPOSE": 1} {
		tried := 0
		for _, l := range tflitetest.Layers() {
			if l.Op != op || l.Type != "f32" || len(l.Ops[0].In) <= operands {
				continue
			}
			want, _, err := imported(l.Graph)
			if err != nil {
				t.Fatal(op, err)
			}
			// The operand becomes a product with ones, whose number is the shape of a tensor.
			g := l.Graph
			at := l.Ops[0].In[operands]
			c := g.Tensors[at]
			if c.Type != i32 || len(c.Shape) == 0 {
				continue
			}
			n := int32(len(g.Tensors))
			ones := tflitetest.Tensor{Name: "ones", Type: f32, Shape: slices.Repeat([]int32{1}, int(c.Shape[0]))}
			g.Tensors = append(slices.Clone(g.Tensors), ones,
				tflitetest.Tensor{Name: "shape", Type: i32, Shape: c.Shape[:1]},
				tflitetest.Tensor{Name: "product", Type: i32, Shape: c.Shape})
			g.Inputs = append(slices.Clone(g.Inputs), n)
			if len(c.Shape) > 1 {
				g.Tensors[n].Shape = slices.Repeat([]int32{1}, int(c.Shape[1]))
				g.Tensors[n+1].Shape = c.Shape[1:]
			}
			first := l.Ops[0]
			first.In = slices.Clone(first.In)
			first.In[operands] = n + 2
			g.Ops = []tflitetest.Op{{Code: 77, In: []int32{n}, Out: []int32{n + 1}},
				{Code: 18, In: []int32{at, n + 1}, Out: []int32{n + 2}}, first}
			have, _, err := imported(g)
			if err != nil {
				t.Errorf("%s of a shape: %v", op, err)
				continue
			}
			have.In = have.In[:len(want.In)]
			a, b := anonymous(have), anonymous(want)
			testenv.Check(t, a == b, "%s of a shape is\n%s\nwant\n%s", op, a, b)
			tried++
		}
		testenv.Check(t, tried != 0, "no layer of %s", op)
	}
}

// TestWhere: the places of elements that are not zero have the room that --dim gives; without
// it the refusal says how.
func TestWhere(t *testing.T) {
	g := tflitetest.Graph{Tensors: []tflitetest.Tensor{{Name: "x", Type: f32, Shape: []int32{2, 3}},
		{Name: "y", Type: i64, Shape: []int32{1, 2}}}, Inputs: []int32{0}, Outputs: []int32{1},
		Ops: []tflitetest.Op{{Code: fb.CodeOf("WHERE"), In: []int32{0}, Out: []int32{1}}}}
	m := testenv.Must(tflite.Parse(g.Bytes(), onnx.Limits{}))(t)
	testenv.Refused(t, testenv.Err(onnx.OpenModel(m, onnx.ImportOptions{})), "--dim y.1=N")
	graph := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{Dims: map[string]int{"y.1": 4}}))(t)
	out := testenv.Must(interp.Run(graph, []*tensor.Dense{tensor.Of([]int{2, 3}, []float32{0, 1, 0, 2, 0, 3})}, nil))(t)
	if have, want := out[0].Int64s(), []int64{0, 1, 1, 0, 1, 2, 0, 0}; !slices.Equal(have, want) || out[1].Int(0) != 3 {
		t.Errorf("%v and %v, want %v and 3", have, out[1], want)
	}
}

// TestDead: operators whose results nothing reads are left out with a word; what nncc makes
// of an operator has no such part.
func TestDead(t *testing.T) {
	said := func(g tflitetest.Graph) (notes string) {
		m, err := tflite.Parse(g.Bytes(), onnx.Limits{})
		if err == nil {
			_, err = onnx.OpenModel(m, onnx.ImportOptions{Note: func(d *diag.Diag) { notes += d.Full() }})
		}
		testenv.OK(t, err)
		return notes
	}
	for _, l := range tflitetest.Layers() {
		notes := said(l.Graph)
		testenv.Check(t, !strings.Contains(notes, "left out"), "%s %s: %s", l.Op, l.Type, notes)
	}
	g := network()
	g.Tensors = append(g.Tensors, g.Tensors[4])
	g.Ops = append(g.Ops, tflitetest.Op{Code: 14, In: []int32{3}, Out: []int32{7}})
	notes := said(g)
	testenv.Check(t, strings.Contains(notes, "left out"), "of a dead operator: %q", notes)
}

// TestTwiceAnOutput: a tensor may be two of the outputs.
func TestTwiceAnOutput(t *testing.T) {
	net := network()
	net.Outputs = []int32{6, 3, 6}
	out := run(t, net.Bytes(), tensor.New(tensor.I8, []int{1, 5, 6, 3}))
	testenv.Check(t, fmt.Sprint(out[0].Bytes()) == fmt.Sprint(out[2].Bytes()) && len(out) == 3, "outputs %v", out)
}
