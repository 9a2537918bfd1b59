package onnx

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// expansions are the operators of the standard that are composed of others.
func expansions() map[string]func(e *composer) []*ir.Value {
	return map[string]func(e *composer) []*ir.Value{
		"Attention": attention, "LinearAttention": linearAttention, "CausalConvWithState": causalConv, "RotaryEmbedding": rotary, "SwiGLU": swiglu,
		"NegativeLogLikelihoodLoss": nllLoss, "SoftmaxCrossEntropyLoss": crossEntropy, "AffineGrid": affineGrid, "TensorScatter": tensorScatter,
		"CumSum": runningTotal, "CumProd": runningTotal, "NonZero": nonZero, "Compress": compress,
		"CenterCropPad": centerCropPad, "DFT": dft, "STFT": stft, "HannWindow": window(0.5, 0.5, 0), "HammingWindow": window(25.0/46, 21.0/46, 0),
		"BlackmanWindow": window(0.42, 0.5, 0.08), "MelWeightMatrix": melWeights, "Unique": unique,
		"RandomUniform": random(false, false), "RandomNormal": random(false, true), "RandomUniformLike": random(true, false), "RandomNormalLike": random(true, true),
		"Bernoulli": bernoulli, "Multinomial": multinomial, "OptionalHasElement": hasElement, "OptionalGetElement": getElement,
	}
}

// nllLoss is minus the score of the target class, weighted, reduced over
// everything.
func nllLoss(e *composer) []*ir.Value {
	return []*ir.Value{e.nll(e.need(0, -1), e.need(1, -1), e.input(2))}
}

// crossEntropy is nllLoss of the logarithm of the softmax over the classes.
func crossEntropy(e *composer) []*ir.Value {
	x := e.need(0, -1)
	e.want(x.Type.Rank() >= 2, "rank", "scores (%s) have shape %v, want [N, classes, ...]", x, x.Type.Shape)
	logs := e.do("LogSoftmax", ir.Attrs{"axis": ir.Int(1)}, x)
	return []*ir.Value{e.nll(logs, e.need(1, -1), e.input(2)), logs}
}

func (e *composer) nll(x, target, weight *ir.Value) *ir.Value {
	reduction := e.str("reduction", "mean", "none", "mean", "sum")
	ignore, ignoring := e.take("ignore_index")
	e.want(x.Type.Rank() >= 2, "rank", "scores (%s) have shape %v, want [N, classes, ...]", x, x.Type.Shape)
	s := x.Type.Shape
	e.shaped(target, "target", append([]int{s[0]}, s[2:]...)...)
	e.want(target.Type.DType.IsInt(), "dtype", "target (%s) is of type %s, want integers", target, target.Type.DType)
	target = e.cast(target, tensor.I64)
	var skip *ir.Value
	if ignoring { // the index may be out of range: class 0 is read in its place
		skip = e.do("Equal", nil, target, e.data(tensor.Scalar(ignore.Int)))
		target = e.do("Where", nil, skip, e.data(tensor.Scalar(int64(0))), target)
	}
	at := slices.Clone(s)
	at[1] = 1
	loss := e.do("GatherElements", ir.Attrs{"axis": ir.Int(1)}, x, e.reshape(target, at...))
	loss = e.do("Neg", nil, e.reshape(loss, target.Type.Shape...))
	var factor *ir.Value
	if weight != nil {
		e.shaped(weight, "weight", s[1])
		factor = e.do("Gather", ir.Attrs{"axis": ir.Int(0)}, weight, target)
	}
	zero := e.num(x, 0)
	if skip != nil {
		one := factor
		if one == nil {
			one = e.num(x, 1)
		}
		factor = e.do("Where", nil, skip, zero, one)
		loss = e.do("Where", nil, skip, zero, loss)
	}
	if factor != nil {
		loss = e.do("Mul", nil, loss, factor)
	}
	all := ir.Attrs{"keepdims": ir.Int(0)}
	switch {
	case reduction == "none":
		return loss
	case reduction == "sum":
		return e.do("ReduceSum", all, loss)
	case factor == nil:
		return e.do("ReduceMean", all, loss)
	}
	return e.do("Div", nil, e.do("ReduceSum", all, loss), e.do("ReduceSum", all.Clone(), factor))
}

// affineGrid is the positions that GridSample reads for an affine map theta
// [N, r, r+1] of an output of the given size [N, C, spatial...].
func affineGrid(e *composer) []*ir.Value {
	theta, size := e.need(0, 3), e.known(1, "the size")
	corners := e.int("align_corners", 0) != 0
	r := len(size) - 2
	e.want(r == 2 || r == 3, "shape", "the size has %d values, want [N, C, H, W] or [N, C, D, H, W]", len(size))
	e.shaped(theta, "theta", size[0], r, r+1)
	points := 1
	for _, d := range size[2:] {
		e.want(d >= 1 && d <= 1<<20 && points*d <= 1<<26, "shape", "the size is %v, want dimensions of 1 and more, and not more than 2^26 positions", size)
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
	grid := e.data(tensor.FromFloats(theta.Type.DType, []int{points, r + 1}, base))
	y := e.do("MatMul", nil, grid, e.transpose(theta, 0, 2, 1))
	return []*ir.Value{e.reshape(y, append(append([]int{size[0]}, size[2:]...), r)...)}
}

// tensorScatter writes the update into a cache along an axis, from the index
// of every sample on, around the end when circular.
func tensorScatter(e *composer) []*ir.Value {
	cache, update := e.need(0, -1), e.need(1, -1)
	axis, circular := e.int("axis", -2), e.str("mode", "linear", "linear", "circular") == "circular"
	s := cache.Type.Shape
	if axis < 0 {
		axis += len(s)
	}
	e.want(axis >= 1 && axis < len(s), "axis", "axis %d of a cache of shape %v, want one behind the first", axis, s)
	want := slices.Clone(s)
	if update.Type.Rank() == len(s) {
		want[axis] = update.Type.Shape[axis]
	}
	e.shaped(update, "update", want...)
	e.want(want[axis] <= s[axis], "shape", "the update has %d positions, the cache %d", want[axis], s[axis])
	line := make([]int, len(s)) // [1, .., length, .., 1]
	for i := range line {
		line[i] = 1
	}
	line[axis] = want[axis]
	pos := make([]int64, want[axis])
	for i := range pos {
		pos[i] = int64(i)
	}
	at := e.data(tensor.Of(line, pos))
	if first := e.input(2); first != nil {
		e.shaped(first, "write_indices", s[0])
		line[axis], line[0] = 1, s[0]
		at = e.do("Add", nil, at, e.reshape(e.cast(first, tensor.I64), line...))
	}
	if circular {
		at = e.do("Mod", nil, at, e.data(tensor.Scalar(int64(s[axis]))))
	}
	at = e.do("Expand", nil, at, e.ints(want...))
	return []*ir.Value{e.do("ScatterElements", ir.Attrs{"axis": ir.Int(axis)}, cache, at, update)}
}

// centerCropPad crops or pads with zeros around the centre to a given shape.
func centerCropPad(e *composer) []*ir.Value {
	x, want := e.need(0, -1), e.known(1, "the shape")
	s := x.Type.Shape
	axes := ir.Identity(len(s))
	if a, err := e.takeInts("axes"); a != nil || err != nil {
		e.fail(err)
		axes = nil
		for _, v := range a {
			if v < 0 {
				v += int64(len(s))
			}
			e.want(v >= 0 && v < int64(len(s)), "axis", "axis %d is out of range for rank %d", v, len(s))
			axes = append(axes, int(v))
		}
	}
	e.want(len(want) == len(axes), "shape", "the shape is %v for axes %v, want one value an axis", want, axes)
	var at, from, to, pads, ends []int
	grows := false
	for i, a := range axes {
		e.want(want[i] >= 0 && want[i] <= tensor.MaxElems, "shape", "the shape is %v, want dimensions of 0 and more", want)
		at = append(at, a)
		cut, pad := max(s[a]-want[i], 0), max(want[i]-s[a], 0)
		from, to = append(from, cut/2), append(to, cut/2+min(s[a], want[i]))
		pads, ends = append(pads, pad/2), append(ends, pad-pad/2)
		grows = grows || pad > 0
	}
	y := e.do("Slice", nil, x, e.ints(from...), e.ints(to...), e.ints(at...))
	if grows {
		y = e.do("Pad", nil, y, e.ints(append(pads, ends...)...), nil, e.ints(at...))
	}
	return []*ir.Value{y}
}

// window is a cosine window a - b cos(2 pi n/N) + c cos(4 pi n/N).
func window(a, b, c float64) func(e *composer) []*ir.Value {
	return func(e *composer) []*ir.Value {
		n := e.known(0, "the size")
		periodic, code := e.int("periodic", 1) != 0, e.int("output_datatype", 1)
		d, ok := tensor.FromONNX(code)
		e.want(ok && (d.IsFloat() || d.IsInt()), "dtype", "output_datatype is %d, want a numeric type", code)
		e.want(len(n) == 1 && n[0] >= 0 && n[0] <= 1<<24, "shape", "the size is %v, want one value up to 2^24", n)
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
		return []*ir.Value{e.data(tensor.FromFloats(d, []int{n[0]}, y))}
	}
}

// hasElement: a tensor is there, an absent input is not.
func hasElement(e *composer) []*ir.Value {
	return []*ir.Value{e.data(tensor.Scalar(e.input(0) != nil))}
}

// getElement of a tensor is the tensor.
func getElement(e *composer) []*ir.Value {
	return []*ir.Value{e.do("Identity", nil, e.need(0, -1))}
}

// unique of a constant has the size that the constant asks for; of anything
// else it has room for all.
func unique(e *composer) []*ir.Value {
	x := e.need(0, -1)
	n := &ir.Node{Name: e.name, Op: op.Get("", "Unique"), Attrs: e.attrs, In: []*ir.Value{x}}
	if x.Const != nil {
		if _, err := ir.InferNode(n); err != nil {
			e.fail(err)
		}
		e.want(x.Const.Len() <= 1<<13, "shape", "the constant has %d elements, at most %d are compared at compile time", x.Const.Len(), 1<<13)
		out, err := op.UniqueOf(n, x.Const)
		e.fail(err)
		var vs []*ir.Value
		for _, d := range out {
			vs = append(vs, e.data(d))
		}
		return vs
	}
	out, err := e.build(n.Op, e.attrs, max(len(e.p.GetOutput()), 1), x)
	e.fail(err)
	return out
}

// melWeights is the matrix [spectrum bins, mel bins] of triangles on the mel
// scale, from constants.
func melWeights(e *composer) []*ir.Value {
	bins, length, rate := e.known(0, "the number of mel bins"), e.known(1, "the transform's length"), e.known(2, "the sample rate")
	edge := func(i int) float64 {
		v := e.need(i, -1)
		if v.Const == nil {
			e.fail(e.dynamicf("dynamic", v, "the edge (input %d, %s) must be known at compile time", i, v))
		}
		e.want(v.Const.Len() == 1, "shape", "the edge (input %d) has shape %v, want one value", i, v.Type.Shape)
		return v.Const.Float(0)
	}
	lo, hi := edge(3), edge(4)
	code := e.int("output_datatype", 1)
	d, ok := tensor.FromONNX(code)
	e.want(ok && (d.IsFloat() || d.IsInt()), "dtype", "output_datatype is %d, want a numeric type", code)
	e.want(len(bins) == 1 && len(length) == 1 && len(rate) == 1 && bins[0] >= 1 && bins[0] <= 1<<14 && length[0] >= 1 && length[0] <= 1<<20 && rate[0] >= 1 && lo >= 0 && hi >= lo,
		"attr-value", "%v mel bins, length %v, rate %v, edges %v and %v: out of range", bins, length, rate, lo, hi)
	rows := length[0]/2 + 1
	e.want(rows <= maxSignal/bins[0], "shape", "a matrix of %d by %d is too large", rows, bins[0])
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	low, step := mel(lo), (mel(hi)-mel(lo))/float64(bins[0]+2)
	at := make([]int, bins[0]+2) // spectrum bins of the triangles' corners
	for i := range at {
		f := 700 * (math.Pow(10, (low+float64(i)*step)/2595) - 1)
		at[i] = int(float64(length[0]+1) * f / float64(rate[0]))
	}
	m := make([]float64, rows*bins[0])
	put := func(r, c int, v float64) {
		if r >= 0 && r < rows {
			m[r*bins[0]+c] = v
		}
	}
	for i := range bins[0] {
		a, b, c := at[i], at[i+1], at[i+2]
		if b == a {
			put(b, i, 1)
		}
		for j := a; j <= b && b > a && j < rows; j++ {
			put(j, i, float64(j-a)/float64(b-a))
		}
		for j := b; j < c && j < rows; j++ {
			put(j, i, float64(c-j)/float64(c-b))
		}
	}
	return []*ir.Value{e.data(tensor.FromFloats(d, []int{rows, bins[0]}, m))}
}
