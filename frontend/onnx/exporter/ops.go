// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// exporters are the operators that need more than their name written: inputs
// that are attributes in older opsets, operators that older opsets lack, and
// nncc's own. The facts are in ONNX's change log of operator versions. It is
// filled by init to avoid an initialisation cycle through Export.
var exporters map[string]func(*outNode)

func init() {
	exporters = map[string]func(*outNode){
		"Conv":               (*outNode).window,
		"Split":              (*outNode).split,
		"Pad":                (*outNode).pad,
		"Resize":             (*outNode).resize,
		"ScatterElements":    (*outNode).scatter,
		"ScatterND":          (*outNode).scatter,
		"QuantizeLinear":     (*outNode).quantizeLinear,
		"DequantizeLinear":   (*outNode).quantizeLinear,
		"SpaceToDepth":       (*outNode).spaceToDepth,
		"GroupNormalization": (*outNode).groupNorm,
		"RMSNormalization":   (*outNode).rmsNorm,
		"Gelu":               (*outNode).gelu,
		"Swish":              (*outNode).swish,
		"HardSwish":          (*outNode).hardSwish,
		"Mish":               (*outNode).mish,
		"Relayout":           (*outNode).identity,
		"Turn":               (*outNode).identity,
		"Within":             (*outNode).identity,
		"Requantize":         (*outNode).identity,
		"QLSTM":              (*outNode).qlstm,
		"QGRU":               (*outNode).qgru,
		"Detections":         (*outNode).detections,
	}
	for _, d := range op.All() {
		if d.Pattern == ir.Reduce && d != op.ReduceSum { // of which axes are an input in every opset that is written
			exporters[d.Name] = (*outNode).reduce
		}
	}
}

// roundAway rounds in front of a QuantizeLinear, ties away from zero: the largest number below
// one half is added to the magnitude, and the sum rounded down.
func (x *outNode) roundAway() {
	scale := x.n.In[1].Type
	if scale.Elems() != 1 {
		x.cannot("ties that are rounded away from zero want one scale, there are %d", scale.Elems())
		return
	}
	v := x.like("Div", nil, x.in[0], x.in[1])
	half := x.scalar("_half", float64(math.Nextafter32(0.5, 0)))
	whole := x.like("Floor", nil, x.like("Add", nil, x.like("Abs", nil, v), half))
	x.in[0] = x.like("Mul", nil, x.like("Sign", nil, v), whole)
	x.in[1] = x.constant(x.out[0]+"_one", tensor.FromFloats(scale.DType, scale.Shape, []float64{1}))
	delete(x.attrs, "round_away")
}

func (x *outNode) has(name string) bool {
	s := schema.Lookup("", name, int64(x.opset))
	return s != nil && !s.Deprecated
}

func (x *outNode) step(name string, attrs ir.Attrs, t ir.Type, in ...string) string {
	s := x.temp(x.out[0]+"_"+name, t)
	x.emit(name, attrs, in, []string{s})
	return s
}

func (x *outNode) like(name string, attrs ir.Attrs, in ...string) string {
	t := x.types[in[0]]
	return x.step(name, attrs, ir.T(t.DType, t.Shape...), in...)
}

func (x *outNode) last(name string, in ...string) {
	x.emit(name, nil, in, x.out[:1])
}

func (x *outNode) scalar(suffix string, v float64) string {
	return x.constant(x.out[0]+suffix, tensor.FromFloats(x.types[x.in[0]].DType, nil, []float64{v}))
}

func (x *outNode) identity() { x.last("Identity", x.in[0]) }

// reduce: axes became an input with opset 18.
func (x *outNode) reduce() {
	d := x.n.ConstIn(1)
	if x.opset < 18 {
		if x.n.Input(1) != nil && d == nil {
			x.cannot("the axes are computed at run time")
			return
		}
		empty := d == nil || d.Len() == 0
		if a, ok := x.attrs["noop_with_empty_axes"]; ok && a.Int != 0 && empty {
			x.cannot("no axes mean no reduction")
			return
		}
		delete(x.attrs, "noop_with_empty_axes")
		if !empty {
			x.attrs["axes"] = ir.Attr{Kind: ir.AttrInts, Ints: d.Int64s()}
		}
		x.drop(1)
		x.in = x.in[:1]
	}
	x.plain()
}

// drop forgets the initializer of an input that is written otherwise, unless
// something else reads it.
func (x *outNode) drop(i int) {
	v := x.n.Input(i)
	if v == nil || v.Const == nil || len(v.Uses()) > 1 || x.g.IsOutput(v) || !x.consts[v] {
		return
	}
	name := x.names[v]
	for k, t := range x.p.Initializer {
		if t.GetName() == name {
			x.p.Initializer = slices.Delete(x.p.Initializer, k, k+1)
			break
		}
	}
	delete(x.consts, v)
}

// split always states the sizes: opset 18 wants them or a number of outputs,
// which older ones do not know.
func (x *outNode) split() {
	if x.n.Input(1) == nil {
		_, sizes, err := op.SplitSizes(x.n)
		bug.If(err != nil, "export: %w", err)
		delete(x.attrs, "num_outputs")
		x.in = []string{x.in[0], x.constant(x.out[0]+"_sizes", tensor.Ints(sizes...))}
	}
	// Outputs are told apart by their place.
	for i, v := range x.n.Out {
		if i >= len(x.out) {
			x.out = append(x.out, x.name(v))
		}
	}
	x.plain()
}

// pad: the axes came with opset 18, mode wrap with 19.
func (x *outNode) pad() {
	if a, ok := x.attrs["mode"]; ok && a.String == "wrap" && x.opset < 19 {
		x.cannot("Pad has no mode wrap")
		return
	}
	if x.opset < 18 && len(x.in) > 3 {
		axes, pads := x.n.ConstIn(3), x.n.ConstIn(1)
		if axes != nil && pads != nil {
			rank := x.n.In[0].Type.Rank()
			full := make([]int, 2*rank)
			for i, k := 0, axes.Len(); i < k; i++ {
				a := (int(axes.Int(i)) + rank) % rank
				full[a], full[rank+a] = int(pads.Int(i)), int(pads.Int(k+i))
			}
			x.in[1] = x.constant(x.out[0]+"_pads", tensor.Ints(full...))
			x.drop(1)
			x.drop(3)
		}
		if axes != nil {
			x.in = x.in[:3]
		}
	}
	x.plain()
}

// resize: antialias, axes and keep_aspect_ratio_policy came with opset 18,
// half_pixel_symmetric with 19.
func (x *outNode) resize() {
	if a, ok := x.attrs["coordinate_transformation_mode"]; ok && a.String == "half_pixel_symmetric" && x.opset < 19 {
		x.cannot("Resize has no half_pixel_symmetric coordinates")
		return
	} else if ok && a.String == "tf_half_pixel_for_nn" && x.opset != 11 && x.opset != 12 {
		x.cannot("Resize has tf_half_pixel_for_nn coordinates in opset 11 only")
		return
	}
	if x.opset < 18 && ir.AttrsOf[op.AxesAttr](x.n).Axes != nil {
		shape := x.n.In[0].Type.Shape
		axes := ir.AttrsOf[op.AxesAttr](x.n).Axes
		if d := x.n.ConstIn(3); d != nil && d.Len() > 0 {
			full := append([]int{}, shape...)
			for i, a := range axes {
				full[(a+len(shape))%len(shape)] = int(d.Int(i))
			}
			x.in[3] = x.constant(x.out[0]+"_sizes", tensor.Ints(full...))
			x.drop(3)
		} else if d := x.n.ConstIn(2); d != nil {
			full := slices.Repeat([]float32{1}, len(shape))
			for i, a := range axes {
				full[(a+len(shape))%len(shape)] = float32(d.Float(i))
			}
			x.in[2] = x.constant(x.out[0]+"_scales", tensor.Of([]int{len(full)}, full))
			x.drop(2)
		}
		if v := x.n.Input(1); v != nil && v.Type.Elems() > 0 {
			x.cannot("Resize has no axes, to which the region refers")
			return
		}
		delete(x.attrs, "axes")
	}
	x.plain()
}

// scatter: reductions add and mul came with opset 16, max and min with 18.
func (x *outNode) scatter() {
	if a, ok := x.attrs["reduction"]; ok {
		if (a.String == "max" || a.String == "min") && x.opset < 18 {
			x.cannot("%s has no reduction %s", x.n.Op.Name, a.String)
			return
		}
	}
	x.plain()
}

// quantizeLinear: the element type of the result came as an attribute with
// opset 21; before, the zero point says it.
func (x *outNode) quantizeLinear() {
	if x.n.Op == op.QuantizeLinear && op.RoundsAway(x.n) && !x.opt.Custom {
		x.roundAway()
	}
	if a, ok := x.attrs["output_dtype"]; ok && x.opset < 21 && a.Int != 0 {
		if x.n.Op == op.QuantizeLinear {
			if x.n.Input(2) == nil {
				z := x.constant(x.out[0]+"_zero_point", tensor.New(x.n.Out[0].Type.DType, x.n.In[1].Type.Shape))
				x.in = []string{x.in[0], x.in[1], z}
			}
			delete(x.attrs, "output_dtype")
		} else if x.n.Out[0].Type.DType == x.n.In[1].Type.DType {
			delete(x.attrs, "output_dtype")
		}
	}
	x.plain()
}

// spaceToDepth in CRD order, which ONNX has for DepthToSpace only.
func (x *outNode) spaceToDepth() {
	if ir.AttrsOf[op.ModeAttr](x.n).Mode != "CRD" {
		delete(x.attrs, "mode")
		x.plain()
		return
	}
	s, b := x.n.In[0].Type.Shape, ir.AttrsOf[op.BlocksizeAttr](x.n).Blocksize
	t := x.types[x.in[0]].DType
	h, w := s[2]/b, s[3]/b
	split := []int{s[0], s[1], h, b, w, b}
	y := x.step("Reshape", nil, ir.T(t, split...), x.in[0], x.constant(x.out[0]+"_blocks", tensor.Ints(split...)))
	y = x.step("Transpose", ir.Attrs{"perm": ir.Ints(0, 1, 3, 5, 2, 4)}, ir.T(t, s[0], s[1], b, b, h, w), y)
	x.last("Reshape", y, x.constant(x.out[0]+"_shape", tensor.Ints(x.n.Out[0].Type.Shape...)))
}

// groupNorm before opset 21, where scale and bias became those of channels:
// InstanceNormalization of the groups, then scale and bias.
func (x *outNode) groupNorm() {
	if x.opset >= 21 {
		x.plain()
		return
	}
	s, groups := x.n.In[0].Type.Shape, ir.AttrsOf[op.GroupNormalizationAttrs](x.n).NumGroups
	t := x.types[x.in[0]].DType
	flat := []int{s[0], groups, tensor.Count(s[1:]) / max(groups, 1)}
	ones, zeros := tensor.New(t, []int{groups}), tensor.New(t, []int{groups})
	for i := range groups {
		ones.SetFloat(i, 1)
	}
	y := x.step("Reshape", nil, ir.T(t, flat...), x.in[0], x.constant(x.out[0]+"_groups", tensor.Ints(flat...)))
	y = x.like("InstanceNormalization", ir.Attrs{"epsilon": ir.Float(ir.AttrsOf[op.EpsilonAttr](x.n).Epsilon)}, y,
		x.constant(x.out[0]+"_ones", ones), x.constant(x.out[0]+"_zeros", zeros))
	back := x.temp(x.out[0]+"_normal", ir.T(t, s...))
	x.emit("Reshape", nil, []string{y, x.constant(x.out[0]+"_shape", tensor.Ints(s...))}, []string{back})
	per := append([]int{s[1]}, slices.Repeat([]int{1}, len(s)-2)...)
	channel := func(i int) string {
		return x.step("Reshape", nil, ir.T(t, per...), x.in[i],
			x.constant(x.out[0]+"_per_channel"+strconv.Itoa(i), tensor.Ints(per...)))
	}
	y = x.like("Mul", nil, back, channel(1))
	x.last("Add", y, channel(2))
}

// rmsNorm before opset 23: x / sqrt(mean(x*x) + epsilon) * scale.
func (x *outNode) rmsNorm() {
	if x.has("RMSNormalization") {
		x.plain()
		return
	}
	in := x.n.In[0].Type
	axis := ir.AttrsOf[op.AxisAttr](x.n).Axis
	if axis < 0 {
		axis += in.Rank()
	}
	mean := append([]int{}, in.Shape...)
	var axes []int
	for a := axis; a < in.Rank(); a++ {
		mean[a] = 1
		axes = append(axes, a)
	}
	y := x.like("Mul", nil, x.in[0], x.in[0])
	args, attrs := []string{y}, ir.Attrs{"axes": ir.Ints(axes...)}
	if x.opset >= 18 {
		args, attrs = append(args, x.constant(x.out[0]+"_axes", tensor.Ints(axes...))), nil
	}
	y = x.step("ReduceMean", attrs, ir.T(x.types[x.in[0]].DType, mean...), args...)
	y = x.like("Add", nil, y, x.scalar("_epsilon", float64(ir.AttrsOf[op.EpsilonAttr](x.n).Epsilon)))
	y = x.like("Sqrt", nil, y)
	y = x.like("Div", nil, x.in[0], y)
	x.last("Mul", y, x.in[1])
}

// gelu before opset 20: x/2 * (1 + erf(x/sqrt(2))), or with
// tanh(sqrt(2/pi) * (x + 0.044715*x^3)) in place of erf.
func (x *outNode) gelu() {
	if x.has("Gelu") {
		x.plain()
		return
	}
	in := x.in[0]
	var y string
	if ir.AttrsOf[op.GeluAttrs](x.n).Approximate == "tanh" {
		y = x.like("Mul", nil, in, in)
		y = x.like("Mul", nil, y, in)
		y = x.like("Mul", nil, y, x.scalar("_cubic", 0.044715))
		y = x.like("Add", nil, y, in)
		y = x.like("Mul", nil, y, x.scalar("_factor", math.Sqrt(2/math.Pi)))
		y = x.like("Tanh", nil, y)
	} else {
		y = x.like("Div", nil, in, x.scalar("_root", math.Sqrt2))
		y = x.like("Erf", nil, y)
	}
	y = x.like("Add", nil, y, x.scalar("_one", 1))
	y = x.like("Mul", nil, in, y)
	x.last("Mul", y, x.scalar("_half", 0.5))
}

// swish before opset 24: x * sigmoid(alpha*x).
func (x *outNode) swish() {
	if x.has("Swish") {
		x.plain()
		return
	}
	y := x.in[0]
	if a := ir.AttrsOf[op.AlphaAttr](x.n).Alpha; a != 1 {
		y = x.like("Mul", nil, y, x.scalar("_alpha", float64(a)))
	}
	x.last("Mul", x.in[0], x.like("Sigmoid", nil, y))
}

// hardSwish before opset 14: x * max(0, min(1, x/6 + 1/2)).
func (x *outNode) hardSwish() {
	if x.has("HardSwish") {
		x.plain()
		return
	}
	y := x.like("HardSigmoid", ir.Attrs{"alpha": ir.Float(1.0 / 6), "beta": ir.Float(0.5)}, x.in[0])
	x.last("Mul", x.in[0], y)
}

// mish before opset 18: x * tanh(softplus(x)).
func (x *outNode) mish() {
	if x.has("Mish") {
		x.plain()
		return
	}
	y := x.like("Softplus", nil, x.in[0])
	x.last("Mul", x.in[0], x.like("Tanh", nil, y))
}

// direction is a value of one direction, which operands of ONNX's recurrent
// operators have as a dimension.
func (x *outNode) direction(name, in string, to ...int) string {
	return x.step("Reshape", nil, ir.T(tensor.F32, to...), in, x.constant(x.out[0]+name, tensor.Ints(to...)))
}

func (x *outNode) qlstm() {
	hidden := x.n.In[2].Type.Shape[1]
	in := x.recurrentWeights(7)
	if x.n.Input(3) != nil {
		b := x.step("Concat", ir.Attrs{"axis": ir.Int(0)}, ir.T(tensor.F32, 8*hidden), x.in[3],
			x.constant(x.out[0]+"_no_bias", tensor.New(tensor.F32, []int{4 * hidden})))
		in[3] = x.direction("_b", b, 1, 8*hidden)
	}
	batch := x.n.In[0].Type.Shape[1]
	for i, name := range []string{4: "_h", 5: "_c"} {
		if name != "" && x.n.Input(i) != nil {
			in[i+1] = x.direction(name, x.in[i], 1, batch, hidden)
		}
	}
	attrs := ir.Attrs{}
	if a := ir.AttrsOf[op.QLSTMAttrs](x.n); a.CellClip > 0 {
		attrs["cell_clip"] = ir.Float(float32(math.Ldexp(float64(a.CellClip), a.CellScalePower)))
	}
	x.recurrent("LSTM", attrs, in, x.out)
}

// qgru is GRU with one direction, whose hidden state is both of its last results.
func (x *outNode) qgru() {
	hidden := x.n.In[2].Type.Shape[1]
	in := x.recurrentWeights(6)
	if x.n.Input(3) != nil || x.n.Input(4) != nil {
		var parts [2]string
		for i := range parts {
			if x.n.Input(3+i) != nil {
				parts[i] = x.in[3+i]
				continue
			}
			parts[i] = x.constant(x.out[0]+"_no_bias", tensor.New(tensor.F32, []int{3 * hidden}))
		}
		b := x.step("Concat", ir.Attrs{"axis": ir.Int(0)}, ir.T(tensor.F32, 6*hidden), parts[0], parts[1])
		in[3] = x.direction("_b", b, 1, 6*hidden)
	}
	if x.n.Input(5) != nil {
		in[5] = x.direction("_h", x.in[5], 1, x.n.In[0].Type.Shape[1], hidden)
	}
	out, state := x.out, ""
	if len(out) > 2 {
		state = out[2]
		if out = []string{out[0], out[1]}; out[1] == "" {
			out[1], state = state, ""
		}
	}
	reset := ir.AttrsOf[op.QGRUAttrs](x.n).LinearBeforeReset
	x.recurrent("GRU", ir.Attrs{"linear_before_reset": ir.Int(reset)}, in, out)
	if state != "" {
		x.emit("Identity", nil, []string{out[1]}, []string{state})
	}
}

// recurrentWeights are n operands, of which X, W and R are there.
func (x *outNode) recurrentWeights(n int) []string {
	in := make([]string, n)
	in[0] = x.in[0]
	for i, name := range []string{1: "_w", 2: "_r"} {
		if name != "" {
			in[i] = x.direction(name, x.in[i], append([]int{1}, x.n.In[i].Type.Shape...)...)
		}
	}
	return in
}

func (x *outNode) recurrent(name string, attrs ir.Attrs, in, results []string) {
	steps, batch, hidden := x.n.In[0].Type.Shape[0], x.n.In[0].Type.Shape[1], x.n.In[2].Type.Shape[1]
	shapes := [][]int{{steps, 1, batch, hidden}, {1, batch, hidden}, {1, batch, hidden}}
	var out []string
	for i, s := range results {
		if s == "" {
			out = append(out, "")
			continue
		}
		out = append(out, x.temp(s+"_"+strings.ToLower(name), ir.T(tensor.F32, shapes[i]...)))
	}
	attrs["hidden_size"] = ir.Int(hidden)
	attrs["direction"] = ir.Str(ir.AttrsOf[op.DirectionAttr](x.n).Direction)
	x.emit(name, attrs, in, out)
	for i, s := range results {
		if s != "" {
			x.emit("Reshape", nil, []string{out[i], x.constant(s+"_shape", tensor.Ints(x.n.Out[i].Type.Shape...))},
				[]string{s})
		}
	}
}

// window writes the padding of auto_pad SAME as numbers where there is
// dilation: ONNX Runtime refuses to compute it then.
func (x *outNode) window() {
	if a, ok := x.attrs["auto_pad"]; ok && strings.HasPrefix(a.String, "SAME") {
		dilated := slices.ContainsFunc(x.attrs["dilations"].Ints, func(d int64) bool { return d != 1 })
		if g, err := op.ConvGeometry(x.n); dilated && err == nil {
			x.attrs["pads"] = ir.Ints(append(append([]int{}, g.PadBegin...), g.PadEnd...)...)
			delete(x.attrs, "auto_pad")
		}
	}
	x.plain()
}
