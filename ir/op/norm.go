// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// BatchNormalizationAttrs are the attributes of BatchNormalization.
type BatchNormalizationAttrs struct {
	Epsilon      float32 `default:"1e-5"`
	Momentum     float32 `default:"0.9"`
	TrainingMode int     `default:"0"`
}

// BatchNormalization at inference: (x-mean)/sqrt(var+epsilon)*scale + B per
// channel (dimension 1; a 1-D x is one sample per element, as in ONNX, where
// the channel count is then 1).
var BatchNormalization = def(ir.OpDef{
	Name: "BatchNormalization", Doc: "(x-mean)/sqrt(var+epsilon)*scale + B per channel, inference form",
	Attrs: ir.Declare[BatchNormalizationAttrs](),
	MinIn: 5, Pattern: ir.Broadcast,
	Along: func(n *ir.Node, axis int) ir.Along {
		a := ir.Along{Parts: n.Out[0].Type.Shape[axis], In: slices.Repeat([]int{ir.Whole}, 5)}
		if a.In[0] = axis; axis == 1 {
			a.In = []int{1, 0, 0, 0, 0}
		}
		return a
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		refuse(n, ir.AttrsOf[BatchNormalizationAttrs](n).TrainingMode != 0, "training",
			"training_mode is 1; export the model for inference")
		wantType(n, 0, floatTypes)
		c, s := 1, n.In[0].Type.Shape
		refuse(n, len(s) == 0, "rank", "input 0 (%s) is a scalar, want [N, C, ...]", n.In[0])
		if len(s) > 1 {
			c = s[1]
		}
		wantVectors(n, c, "the channels", "scale", "B", "mean", "var")
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		c, inner := 1, 1
		if len(x.Shape) > 1 {
			c, inner = x.Shape[1], tensor.Count(x.Shape[2:])
		}
		mul, sub, add := make([]float64, c), in[3].Floats(), in[2].Floats()
		for i := range mul {
			mul[i] = in[1].Float(i) / math.Sqrt(in[4].Float(i)+float64(ir.AttrsOf[EpsilonAttr](n).Epsilon))
		}
		y := x.Floats()
		for i, v := range y {
			k := i / inner % c
			y[i] = float64((v-sub[k])*mul[k]) + add[k]
		}
		return outs(fromFloats(x.DType, x.Shape, y))
	},
})

// meanVar is the mean and the population variance of v.
func meanVar(v []float64) (mean, variance float64) {
	mean = sumReal(0, v) / float64(len(v))
	for _, x := range v {
		d := x - mean
		variance += float64(d * d)
	}
	return mean, variance / float64(len(v))
}

// normalise subtracts the mean and divides by the deviation, in place.
func normalise(v []float64, eps float64) (mean, invStd float64) {
	mean, variance := meanVar(v)
	invStd = 1 / math.Sqrt(variance+eps)
	for i, x := range v {
		v[i] = (x - mean) * invStd
	}
	return mean, invStd
}

// scaleBias multiplies by scale and adds bias, both read under broadcasting
// to y's shape; bias may be nil.
func scaleBias(shape []int, y []float64, scale, bias *tensor.Dense) {
	s := floatsOf(expand(scale, shape))
	for i := range y {
		y[i] *= s[i]
	}
	if bias != nil {
		b := floatsOf(expand(bias, shape))
		for i := range y {
			y[i] += b[i]
		}
	}
}

// wantBroadcastTo checks that the inputs behind the first broadcast to the given shape.
func wantBroadcastTo(n *ir.Node, shape []int, names ...string) {
	for i, what := range names {
		if v := n.Input(i + 1); v != nil {
			s, err := Broadcast(n, v.Type.Shape, shape)
			refuse(n, err != nil || !sameShape(s, shape), "shape",
				"%s (input %d, %s) has shape %v, which does not broadcast to %v", what, i+1, v, v.Type.Shape, shape)
		}
	}
}

// LayerNormalization normalises over the dimensions from axis on, then
// multiplies by Scale and adds B. Mean and InvStdDev are optional outputs.
var LayerNormalization = def(ir.OpDef{
	Name: "LayerNormalization", Doc: "zero mean and unit variance over the dimensions from axis on, then Scale and B",
	Attrs: ir.Declare[struct {
		Axis      int     `default:"-1"`
		Epsilon   float32 `default:"1e-5"`
		StashType int     `attr:",type" default:"1"`
	}](),
	MinIn: 2, MaxIn: 3, MaxOut: 3, Pattern: ir.Opaque, Finite: true, EvalQ: evalLayerNormQ, Along: aroundNorm,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		x := n.In[0].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, x.Rank()))
		wantBroadcastTo(n, x.Shape[axis:], "Scale", "B")
		stash := fail.Must(attrType(n, "stash_type", ir.AttrsOf[StashTypeAttr](n).StashType))
		stat := ir.T(stash, reducedShape(x.Shape, ir.Identity(x.Rank())[axis:], true)...)
		return []ir.Type{like(n), stat, stat}, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		stash := fail.Must(attrType(n, "stash_type", ir.AttrsOf[StashTypeAttr](n).StashType))
		y := x.Floats()
		rows, size := tensor.Count(x.Shape[:axis]), tensor.Count(x.Shape[axis:])
		mean, inv := make([]float64, rows), make([]float64, rows)
		for r := range rows {
			mean[r], inv[r] = normalise(y[r*size:(r+1)*size], float64(ir.AttrsOf[EpsilonAttr](n).Epsilon))
		}
		scaleBias(x.Shape, y, in[1], opt(in, 2))
		stat := reducedShape(x.Shape, ir.Identity(len(x.Shape))[axis:], true)
		return outs(fromFloats(x.DType, x.Shape, y), fromFloats(stash, stat, mean), fromFloats(stash, stat, inv))
	},
})

// RMSNormalization divides by the root mean square over the dimensions from
// axis on, then multiplies by scale.
var RMSNormalization = def(ir.OpDef{
	Name: "RMSNormalization", Doc: "x over its root mean square over the dimensions from axis on, then scale",
	Attrs: ir.Declare[struct {
		Axis      int     `default:"-1"`
		Epsilon   float32 `default:"1e-5"`
		StashType int     `attr:",type" default:"1"`
	}](),
	MinIn: 2, Pattern: ir.Opaque, Finite: true, EvalQ: evalLayerNormQ, Along: aroundNorm,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		x := n.In[0].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, x.Rank()))
		wantBroadcastTo(n, x.Shape[axis:], "scale")
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		y := x.Floats()
		size := tensor.Count(x.Shape[axis:])
		for at := 0; at < len(y); at += size {
			v := y[at : at+size]
			k := 1 / math.Sqrt(sumSquareReal(0, v)/float64(size)+float64(ir.AttrsOf[EpsilonAttr](n).Epsilon))
			for i := range v {
				v[i] *= k
			}
		}
		scaleBias(x.Shape, y, in[1], nil)
		return outs(fromFloats(x.DType, x.Shape, y))
	},
})

// aroundNorm: along the dimensions in front of those that are normalised.
func aroundNorm(n *ir.Node, axis int) ir.Along {
	if axis >= fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank())) {
		return ir.Along{}
	}
	a := ir.Along{Parts: n.Out[0].Type.Shape[axis], In: slices.Repeat([]int{ir.Whole}, len(n.In))}
	a.In[0] = axis
	return a
}

// groupNorm normalises every group of channels of every sample and applies
// one scale and bias per channel.
func groupNorm(x *tensor.Dense, groups int, eps float64, scale, bias *tensor.Dense) *tensor.Dense {
	y := x.Floats()
	c, inner := x.Shape[1], tensor.Count(x.Shape[2:])
	size := c / max(groups, 1) * inner
	for at := 0; at < len(y); at += size {
		normalise(y[at:at+size], eps)
	}
	for i := range y {
		k := i / inner % c
		y[i] = float64(y[i]*scale.Float(k)) + bias.Float(k)
	}
	return fromFloats(x.DType, x.Shape, y)
}

// inferGroupNorm checks [N, C, ...] with scale and bias of shape [C].
func inferGroupNorm(n *ir.Node) ([]ir.Type, error) {
	wantType(n, 0, floatTypes)
	x := n.In[0].Type
	refuse(n, x.Rank() < 2, "rank", "input 0 (%s) has shape %v, want [N, C, ...]", n.In[0], x.Shape)
	wantVectors(n, x.Shape[1], "the channels", "scale", "bias")
	return one(like(n))
}

// InstanceNormalization normalises every channel of every sample.
var InstanceNormalization = def(ir.OpDef{
	Name: "InstanceNormalization", Doc: "zero mean and unit variance per sample and channel, then scale and B",
	Attrs: ir.Declare[struct {
		Epsilon float32 `default:"1e-5"`
	}](), MinIn: 3, Pattern: ir.Opaque, Infer: inferGroupNorm,
	EvalQ: evalGroupNormQ,
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(groupNorm(in[0], in[0].Shape[1], float64(ir.AttrsOf[EpsilonAttr](n).Epsilon), in[1], in[2]))
	},
})

// GroupNormalizationAttrs are the attributes of GroupNormalization.
type GroupNormalizationAttrs struct {
	Epsilon   float32 `default:"1e-5"`
	NumGroups int     `attr:",required"`
	StashType int     `attr:",type" default:"1"`
}

// GroupNormalization normalises groups of channels of every sample.
var GroupNormalization = def(ir.OpDef{
	Name: "GroupNormalization", Doc: "zero mean and unit variance per sample and group of channels, then scale and " +
		"bias per channel",
	Attrs: ir.Declare[GroupNormalizationAttrs](), MinIn: 3, Pattern: ir.Opaque, EvalQ: evalGroupNormQ,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		t := fail.Must(inferGroupNorm(n))
		g, c := ir.AttrsOf[GroupNormalizationAttrs](n).NumGroups, n.In[0].Type.Shape[1]
		refuse(n, g < 1 || c%g != 0, "attr-value", "num_groups is %d, which does not divide the %d channels", g, c)
		return t, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(groupNorm(in[0], ir.AttrsOf[GroupNormalizationAttrs](n).NumGroups,
			float64(ir.AttrsOf[EpsilonAttr](n).Epsilon), in[1], in[2]))
	},
})

// MeanVarianceNormalization subtracts the mean and divides by the deviation
// over axes; 1e-9 is added to the deviation, as ONNX's function has it.
var MeanVarianceNormalization = def(ir.OpDef{
	Name: "MeanVarianceNormalization", Doc: "zero mean and unit variance over axes",
	Attrs: ir.Declare[struct{ Axes []int }](),
	MinIn: 1, Pattern: ir.Opaque,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		mvnAxes(n)
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axes := mvnAxes(n)
		x := in[0]
		y := x.Floats()
		mean := reduced(x.Shape, axes, reducedShape(x.Shape, axes, true), y, 0, sumReal)
		sq, count := make([]float64, len(mean)), len(y)/max(len(mean), 1)
		for i := range mean {
			mean[i] /= float64(count)
		}
		reduceRuns(x.Shape, axes, func(out, at, n int) {
			for i := at; i < at+n; i++ {
				y[i] -= mean[out]
			}
			sq[out] = sumSquareReal(sq[out], y[at:at+n])
		})
		reduceRuns(x.Shape, axes, func(out, at, n int) {
			k := math.Sqrt(sq[out]/float64(count)) + 1e-9
			for i := at; i < at+n; i++ {
				y[i] /= k
			}
		})
		return outs(fromFloats(x.DType, x.Shape, y))
	},
})

// mvnAxes are the sorted axes, [0, 2, 3] by default.
func mvnAxes(n *ir.Node) []int {
	given := ir.AttrsOf[AxesAttr](n).Axes
	if given == nil {
		given = []int{0, 2, 3}
	}
	return sortedAxes(n, given, n.In[0].Type.Rank())
}

// LRNAttrs are the attributes of LRN.
type LRNAttrs struct {
	Alpha float32 `default:"1e-4"`
	Beta  float32 `default:"0.75"`
	Bias  float32 `default:"1"`
	Size  int     `attr:",required"`
}

// LRN is local response normalisation across channels:
// x / (bias + alpha/size * sum of squares of the size nearest channels)^beta.
var LRN = def(ir.OpDef{
	Name: "LRN", Doc: "local response normalisation across channels",
	Attrs: ir.Declare[LRNAttrs](),
	MinIn: 1, Pattern: ir.Opaque,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		refuse(n, n.In[0].Type.Rank() < 2, "rank", "input 0 (%s) has shape %v, want [N, C, ...]", n.In[0],
			n.In[0].Type.Shape)
		s := ir.AttrsOf[LRNAttrs](n).Size
		refuse(n, s < 1, "attr-value", "size is %d, want at least 1", s)
		return one(like(n))
	},
	MACs: func(n *ir.Node) int64 {
		return work(n.In[0].Type.Elems(), min(ir.AttrsOf[LRNAttrs](n).Size, n.In[0].Type.Shape[1]))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		xs := floatsOf(x)
		y := make([]float64, len(xs))
		size := ir.AttrsOf[LRNAttrs](n).Size
		alpha, beta, bias := float64(ir.AttrsOf[AlphaAttr](n).Alpha)/float64(size),
			float64(ir.AttrsOf[BetaAttr](n).Beta), float64(ir.AttrsOf[BiasAttr](n).Bias)
		l := lanesOf(x.Shape, 1)
		l.each(func(at int) {
			for c := range l.n {
				sum := 0.0
				for k := max(0, c-(size-1)/2); k <= min(l.n-1, c+size/2); k++ {
					v := xs[at+k*l.step]
					sum += float64(v * v)
				}
				i := at + c*l.step
				y[i] = xs[i] / math.Pow(bias+float64(alpha*sum), beta)
			}
		})
		return outs(fromFloats(x.DType, x.Shape, y))
	},
})

// Quantised normalisations are nncc's kernels where data and result are int8
// with one scale each, and scale and bias are constants: fixed point with exact
// statistics (ir/qref, README.md). Anything else follows ir.EvalDequantised.

// normConstants are scale (input 1) and bias (input 2, nil where absent) of a
// normalisation as the reals that they stand for, one for each element of the
// given shape. ok is false where they are not constant or of another size.
func normConstants(n *ir.Node, shape []int) (scale, bias []float64, ok bool) {
	read := func(i int) ([]float64, bool) {
		v := n.Input(i)
		switch {
		case v == nil:
			return nil, i == 2
		case v.Const == nil:
			return nil, false
		}
		d := v.Const
		if v.Type.Quant != nil {
			d = ir.Dequantise(d, v.Type.Quant)
		} else if !d.DType.IsFloat() {
			return nil, false
		}
		d = expand(d, shape)
		return d.Floats(), d.Len() == product(shape)
	}
	scale, ok = read(1)
	if !ok {
		return nil, nil, false
	}
	bias, ok = read(2)
	return scale, bias, ok
}

func normScales(n *ir.Node) (in, out qref.QP, ok bool) {
	x, y := n.In[0].Type, n.Out[0].Type
	if !perTensorS8(x) || !perTensorS8(y) || len(n.Out) > 1 {
		return in, out, false
	}
	return qref.QP{Scale: x.Quant.Scale[0], Zero: x.Quant.Zero[0]},
		qref.QP{Scale: y.Quant.Scale[0], Zero: y.Quant.Zero[0]}, true
}

// normFixed are the fixed-point constants of a normalisation of size values each,
// with scale and bias for each element of the given shape.
func normFixed(n *ir.Node, size int, shape []int) (*qref.Norm, bool) {
	in, out, ok := normScales(n)
	if !ok || size < 1 || n.In[0].Type.Elems() == 0 {
		return nil, false
	}
	scale, bias, ok := normConstants(n, shape)
	if !ok {
		return nil, false
	}
	return qref.NewNorm(size, float64(ir.AttrsOf[EpsilonAttr](n).Epsilon), in, out, scale, bias)
}

// LayerNormS8 are the arguments of nncc_layer_norm_s8 for a quantised
// LayerNormalization or RMSNormalization; ok is false where the kernel does not
// apply.
func LayerNormS8(n *ir.Node) (p *qref.LayerNormParams, m *qref.Norm, ok bool) {
	s := n.In[0].Type.Shape
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(s))
	if err != nil {
		return nil, nil, false
	}
	size := product(s[axis:])
	if m, ok = normFixed(n, size, s[axis:]); !ok {
		return nil, nil, false
	}
	p = &qref.LayerNormParams{Norm: m.Fixed, Rows: int32(product(s[:axis])), Len: int32(size), Center: 1}
	if n.Op.Name == "RMSNormalization" { // the variable refers to this function
		p.Center, p.Zero = 0, n.In[0].Type.Quant.Zero[0]
	}
	return p, m, true
}

func evalLayerNormQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, m, ok := LayerNormS8(n)
	if !ok {
		return ir.EvalDequantised(n, in)
	}
	y := tensor.New(tensor.I8, in[0].Shape)
	qref.LayerNorm(p, m, tensor.As[int8](in[0]), tensor.As[int8](y))
	return outs(y)
}

// GroupNormS8 are the arguments of nncc_group_norm_s8 for a quantised
// InstanceNormalization or GroupNormalization, on channels-last data.
func GroupNormS8(n *ir.Node) (p *qref.GroupNormParams, m *qref.Norm, ok bool) {
	s := n.In[0].Type.Shape
	groups := s[1]
	if n.Op.Declares("num_groups") {
		groups = ir.AttrsOf[GroupNormalizationAttrs](n).NumGroups
	}
	if m, ok = normFixed(n, product(s[1:])/max(groups, 1), s[1:2]); !ok {
		return nil, nil, false
	}
	return &qref.GroupNormParams{Norm: m.Fixed, Batch: int32(s[0]), Spatial: int32(product(s[2:])),
		Channels: int32(s[1]), Groups: int32(groups)}, m, true
}

func evalGroupNormQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, m, ok := GroupNormS8(n)
	if !ok {
		return ir.EvalDequantised(n, in)
	}
	x := swapInner(int(p.Batch), int(p.Channels), int(p.Spatial), tensor.As[int8](in[0]))
	y := make([]int8, len(x))
	qref.GroupNorm(p, m, x, y)
	return outs(tensor.Of(in[0].Shape, swapInner(int(p.Batch), int(p.Spatial), int(p.Channels), y)))
}
