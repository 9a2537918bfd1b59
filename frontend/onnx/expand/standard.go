// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// nllLoss is minus the score of the target class, weighted, reduced over
// everything.
func nllLoss(e *build.Node) []*ir.Value {
	return []*ir.Value{nll(e, e.Need(0, -1), e.Need(1, -1), e.Input(2))}
}

func crossEntropy(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	e.Want(x.Type.Rank() >= 2, "rank", "scores (%s) have shape %v, want [N, classes, ...]", x, x.Type.Shape)
	logs := e.Do("LogSoftmax", ir.Attrs{"axis": ir.Int(1)}, x)
	return []*ir.Value{nll(e, logs, e.Need(1, -1), e.Input(2)), logs}
}

func nll(e *build.Node, x, target, weight *ir.Value) *ir.Value {
	reduction := e.Str("reduction", "mean", "none", "mean", "sum")
	ignore, ignoring := e.Take("ignore_index")
	e.Want(x.Type.Rank() >= 2, "rank", "scores (%s) have shape %v, want [N, classes, ...]", x, x.Type.Shape)
	s := x.Type.Shape
	e.Shaped(target, "target", append([]int{s[0]}, s[2:]...)...)
	e.Want(target.Type.DType.IsInt(), "dtype", "target (%s) is of type %s, want integers", target, target.Type.DType)
	target = e.Cast(target, tensor.I64)
	var skip *ir.Value
	if ignoring { // the index may be out of range: class 0 is read in its place
		skip = e.Do("Equal", nil, target, e.Data(tensor.Scalar(ignore.Int)))
		target = e.Do("Where", nil, skip, e.Data(tensor.Scalar(int64(0))), target)
	}
	at := slices.Clone(s)
	at[1] = 1
	loss := e.Do("GatherElements", ir.Attrs{"axis": ir.Int(1)}, x, e.Reshape(target, at...))
	loss = e.Do("Neg", nil, e.Reshape(loss, target.Type.Shape...))
	var factor *ir.Value
	if weight != nil {
		e.Shaped(weight, "weight", s[1])
		factor = e.Do("Gather", ir.Attrs{"axis": ir.Int(0)}, weight, target)
	}
	zero := e.Num(x, 0)
	if skip != nil {
		one := factor
		if one == nil {
			one = e.Num(x, 1)
		}
		factor = e.Do("Where", nil, skip, zero, one)
		loss = e.Do("Where", nil, skip, zero, loss)
	}
	if factor != nil {
		loss = e.Do("Mul", nil, loss, factor)
	}
	all := ir.Attrs{"keepdims": ir.Int(0)}
	switch {
	case reduction == "none":
		return loss
	case reduction == "sum":
		return e.Do("ReduceSum", all, loss)
	case factor == nil:
		return e.Do("ReduceMean", all, loss)
	}
	return e.Do("Div", nil, e.Do("ReduceSum", all, loss), e.Do("ReduceSum", all.Clone(), factor))
}

// affineGrid is the positions that GridSample reads for an affine map theta
// [N, r, r+1] of an output of the given size [N, C, spatial...].
func affineGrid(e *build.Node) []*ir.Value {
	theta, size := e.Need(0, 3), e.Known(1, "the size")
	corners := e.Bool("align_corners", false)
	r := len(size) - 2
	e.Want(r == 2 || r == 3, "shape", "the size has %d values, want [N, C, H, W] or [N, C, D, H, W]", len(size))
	e.Shaped(theta, "theta", size[0], r, r+1)
	points := 1
	for _, d := range size[2:] {
		e.Want(d >= 1 && d <= 1<<20 && points*d <= 1<<26, "shape",
			"the size is %v, want dimensions of 1 and more, and not more than 2^26 positions", size)
		points *= d
	}
	base := make([]float64, 0, points*(r+1))
	idx := make([]int, r)
	for range points {
		for k := r - 1; k >= 0; k-- { // the innermost dimension is x
			d := float64(size[2+k])
			v := (2*float64(idx[k])+1)/d - 1
			if corners {
				v = -1
				if d > 1 {
					v = 2*float64(idx[k])/(d-1) - 1
				}
			}
			base = append(base, v)
		}
		base = append(base, 1)
		for k := r - 1; k >= 0; k-- {
			if idx[k]++; idx[k] < size[2+k] {
				break
			}
			idx[k] = 0
		}
	}
	grid := e.Data(tensor.FromFloats(theta.Type.DType, []int{points, r + 1}, base))
	y := e.Do("MatMul", nil, grid, e.Transpose(theta, 0, 2, 1))
	return []*ir.Value{e.Reshape(y, append(append([]int{size[0]}, size[2:]...), r)...)}
}

// tensorScatter writes the update into a cache along an axis, from the index
// of every sample on, around the end when circular.
func tensorScatter(e *build.Node) []*ir.Value {
	cache, update := e.Need(0, -1), e.Need(1, -1)
	axis, circular := e.Int("axis", -2), e.Str("mode", "linear", "linear", "circular") == "circular"
	s := cache.Type.Shape
	if axis < 0 {
		axis += len(s)
	}
	e.Want(axis >= 1 && axis < len(s), "axis", "axis %d of a cache of shape %v, want one behind the first", axis, s)
	want := slices.Clone(s)
	if update.Type.Rank() == len(s) {
		want[axis] = update.Type.Shape[axis]
	}
	e.Shaped(update, "update", want...)
	e.Want(want[axis] <= s[axis], "shape", "the update has %d positions, the cache %d", want[axis], s[axis])
	line := along(len(s), axis, want[axis])
	at := e.Data(build.Count[int64](line...))
	if first := e.Input(2); first != nil {
		e.Shaped(first, "write_indices", s[0])
		line[axis], line[0] = 1, s[0]
		if !circular {
			first = within(e, first, s[axis]-want[axis])
		}
		at = e.Do("Add", nil, at, e.Reshape(e.Cast(first, tensor.I64), line...))
	}
	if circular {
		at = e.Do("Mod", nil, at, e.Data(tensor.Scalar(int64(s[axis]))))
	}
	at = e.Do("Expand", nil, at, e.Ints(want...))
	return []*ir.Value{e.Do("ScatterElements", ir.Attrs{"axis": ir.Int(axis)}, cache, at, update)}
}

// within is v, of which numbers below 0 and above most are an error at run time.
func within(e *build.Node, v *ir.Value, most int) *ir.Value {
	return e.DoOp(op.Within, ir.Attrs{"most": ir.Int(most)}, v)
}

func centerCropPad(e *build.Node) []*ir.Value {
	x, want := e.Need(0, -1), e.Known(1, "the shape")
	s := x.Type.Shape
	axes := ir.Identity(len(s))
	if a := e.IntList("axes"); a != nil {
		axes = nil
		for _, v := range a {
			if v < 0 {
				v += int64(len(s))
			}
			e.Want(v >= 0 && v < int64(len(s)), "axis", "axis %d is out of range for rank %d", v, len(s))
			axes = append(axes, int(v))
		}
	}
	e.Want(len(want) == len(axes), "shape", "the shape is %v for axes %v, want one value an axis", want, axes)
	var at, from, to, pads, ends []int
	grows := false
	for i, a := range axes {
		e.Want(want[i] >= 0 && want[i] <= tensor.MaxElems, "shape", "the shape is %v, want dimensions of 0 and more",
			want)
		at = append(at, a)
		cut, pad := max(s[a]-want[i], 0), max(want[i]-s[a], 0)
		from, to = append(from, cut/2), append(to, cut/2+min(s[a], want[i]))
		pads, ends = append(pads, pad/2), append(ends, pad-pad/2)
		grows = grows || pad > 0
	}
	y := e.Do("Slice", nil, x, e.Ints(from...), e.Ints(to...), e.Ints(at...))
	if grows {
		y = e.Do("Pad", nil, y, e.Ints(append(pads, ends...)...), nil, e.Ints(at...))
	}
	return []*ir.Value{y}
}

// unique of a constant has the size that the constant asks for; of anything
// else it has room for all.
func unique(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	n := &ir.Node{Name: e.Name, Op: op.Get("", "Unique"), Attrs: e.Attrs, In: []*ir.Value{x}}
	if x.Const != nil {
		fail.Must(ir.InferNode(n))
		e.Want(x.Const.Len() <= 1<<13, "shape", "the constant has %d elements, at most %d are compared at compile time",
			x.Const.Len(), 1<<13)
		out := fail.Must(op.UniqueOf(n, x.Const))
		return lists.Map(out, e.Data)
	}
	return e.Results(n.Op, e.Attrs, max(len(e.Out), 1), x)
}

// Random generators give the same numbers in every run: those that their seed
// gives (0 where there is none), drawn at compile time.

const maxRandom = 1 << 22

func draw(e *build.Node, d tensor.DType, shape []int, f func(r *rand.Rand) float64) *ir.Value {
	n, err := tensor.Elems(shape)
	e.Want(err == nil && n <= maxRandom, "shape", "%v random numbers are too many, at most %d are drawn", shape,
		maxRandom)
	e.Want(d.IsFloat(), "dtype", "random numbers of type %s, want a floating-point type", d)
	seed := e.Float("seed", 0)
	name := e.Op + " " + model.Quote(e.Name)
	e.Note(diag.Warnf("random", name, "%s: the random numbers are drawn at compile time; every run has the same", name))
	r := rand.New(rand.NewPCG(math.Float64bits(seed), 1))
	v := lists.Make(n, func(int) float64 { return f(r) })
	return e.Data(tensor.FromFloats(d, shape, v))
}

func random(like, normal bool) build.Rule {
	return func(e *build.Node) []*ir.Value {
		var shape []int
		d := tensor.F32
		if like {
			x := e.Need(0, -1)
			shape, d = x.Type.Shape, x.Type.DType
		} else {
			v := e.IntList("shape")
			for _, x := range v {
				e.Want(x >= 0 && x <= maxRandom, "shape", "the shape is %v, want dimensions of 0 and more", v)
				shape = append(shape, int(x))
			}
		}
		d = e.DType("dtype", d)
		if normal {
			mean, scale := e.Float("mean", 0), e.Float("scale", 1)
			return []*ir.Value{draw(e, d, shape, func(r *rand.Rand) float64 { return mean + scale*r.NormFloat64() })}
		}
		low, high := e.Float("low", 0), e.Float("high", 1)
		return []*ir.Value{draw(e, d, shape, func(r *rand.Rand) float64 { return low + (high-low)*r.Float64() })}
	}
}

func bernoulli(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	d := e.DType("dtype", x.Type.DType)
	u := draw(e, x.Type.DType, x.Type.Shape, func(r *rand.Rand) float64 { return r.Float64() })
	return []*ir.Value{e.Cast(e.Do("Less", nil, u, x), d)}
}

// multinomial draws classes by unnormalised log probabilities [N, classes].
func multinomial(e *build.Node) []*ir.Value {
	x := e.Need(0, 2)
	count := e.Int("sample_size", 1)
	d, ok := tensor.FromONNX(e.Int("dtype", 6))
	e.Want(ok && d.IsInt() && count >= 1, "attr-value",
		"sample_size is %d and dtype %s, want a positive number and an integer type", count, d)
	n, classes := x.Type.Shape[0], x.Type.Shape[1]
	sums := e.Do("CumSum", nil, e.Do("Softmax", ir.Attrs{"axis": ir.Int(1)}, x), e.Data(tensor.Scalar(int64(1))))
	u := draw(e, x.Type.DType, []int{n, count, 1}, func(r *rand.Rand) float64 { return r.Float64() })
	passed := e.Cast(e.Do("Less", nil, e.Reshape(sums, n, 1, classes), u), tensor.I64)
	at := e.Do("ReduceSum", ir.Attrs{"keepdims": ir.Int(0)}, passed, e.Ints(2))
	return []*ir.Value{e.Cast(e.Do("Min", nil, at, e.Data(tensor.Scalar(int64(classes-1)))), d)}
}

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
		e.WantKnown(v.Const != nil, "dynamic", v, "the edge (input %d, %s) must be known at compile time", i, v)
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
