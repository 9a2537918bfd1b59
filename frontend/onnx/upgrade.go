package onnx

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// upgrader brings a node of any opset into the newest operators' form.
type upgrader func(c *nodeCtx) ([]*ir.Value, error)

// upgraders are the operators whose older versions differ from the newest in
// more than what they accept, and those that are expanded; every other operator
// is taken as it is. The facts are in ONNX's change log of operator versions.
// It is filled by init to avoid an initialisation cycle through Import.
var upgraders map[opKey]upgrader

func init() {
	upgraders = map[opKey]upgrader{
		{"", "Squeeze"}:          axesToInput(13, "axes"),
		{"", "Unsqueeze"}:        axesToInput(13, "axes"),
		{"", "ReduceSum"}:        axesToInput(13, "axes"),
		{"", "Split"}:            axesToInput(13, "split"),
		{"", "Clip"}:             clipBounds,
		{"", "Slice"}:            sliceInputs,
		{"", "Pad"}:              padInputs,
		{"", "TopK"}:             topK,
		{"", "Upsample"}:         asBytes(upsample),
		{"", "Resize"}:           asBytes(resize),
		{"", "GridSample"}:       asBytes((*nodeCtx).plain),
		{"", "Col2Im"}:           asBytes((*nodeCtx).plain),
		{"", "Softmax"}:          coerced,
		{"", "LogSoftmax"}:       coerced,
		{"", "Hardmax"}:          coerced,
		{"", "Dropout"}:          dropout,
		{"", "Scatter"}:          renamed("ScatterElements"),
		{"", "Constant"}:         constant,
		{"", "If"}:               ifElse,
		{"", "Loop"}:             loop,
		{"", "Scan"}:             scan,
		{"", "Identity"}:         identity,
		{"", "QuantizeLinear"}:   quantizeLinear,
		{"", "PRelu"}:            unsignedPRelu,
		{"", "ReduceLogSumExp"}:  expansion(reduceLogSumExp),
		{"", "DequantizeLinear"}: quantizeLinear,

		{"", "BatchNormalization"}: batchNorm,
		{"", "GroupNormalization"}: groupNorm,
	}
	for _, r := range []string{"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"} {
		upgraders[opKey{"", r}] = axesToInput(18, "axes")
	}
	for name, f := range expansions() {
		upgraders[opKey{"", name}] = expansion(f)
	}
	for name, f := range sequenceExpansions() {
		upgraders[opKey{"", name}] = expansion(f)
	}
	for name, f := range mlExpansions() {
		upgraders[opKey{mlDomain, name}] = expansion(f)
	}
	for k, u := range contrib {
		upgraders[k] = u
	}
}

// oneInput checks that a node of an old opset has its only input.
func (c *nodeCtx) oneInput() error {
	if len(c.in) != 1 || c.in[0] == nil {
		return c.errf("arity", "has %d inputs, want 1 in opset %d", len(c.in), c.opset)
	}
	return nil
}

// axesToInput: until opset since, input 1 was an attribute of integers.
func axesToInput(since int, name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if c.opset < since {
			if err := c.oneInput(); err != nil {
				return nil, err
			}
			v, err := c.takeInts(name)
			if err != nil {
				return nil, err
			}
			if v != nil {
				c.in = append(c.in[:1:1], c.constant("."+name, ints64(v)))
			}
		}
		return c.plain()
	}
}

func ints64(v []int64) *tensor.Dense { return tensor.Of([]int{len(v)}, append([]int64{}, v...)) }

// renamed takes a node for the standard operator of another name.
func renamed(name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		return c.build(op.Get("", name), c.attrs, len(c.p.GetOutput()), c.in...)
	}
}

// floatLike is a scalar constant of the element type of a value.
func floatLike(v *ir.Value, x float64) *tensor.Dense {
	return tensor.FromFloats(v.Type.DType, nil, []float64{x})
}

// clipBounds: min and max were attributes until opset 11, where the lowest and
// highest float stood for no bound.
func clipBounds(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 11 {
		if err := c.oneInput(); err != nil {
			return nil, err
		}
		lo, err := c.takeFloat("min", -math.MaxFloat32)
		if err != nil {
			return nil, err
		}
		hi, err := c.takeFloat("max", math.MaxFloat32)
		if err != nil {
			return nil, err
		}
		in := []*ir.Value{c.in[0], nil, nil}
		if lo > -math.MaxFloat32 {
			in[1] = c.constant(".min", floatLike(c.in[0], float64(lo)))
		}
		if hi < math.MaxFloat32 {
			in[2] = c.constant(".max", floatLike(c.in[0], float64(hi)))
		}
		c.in = in
	}
	return c.plain()
}

// sliceInputs: starts, ends and axes were attributes until opset 10.
func sliceInputs(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 10 {
		if err := c.oneInput(); err != nil {
			return nil, err
		}
		in := []*ir.Value{c.in[0]}
		for _, name := range []string{"starts", "ends", "axes"} {
			v, err := c.takeInts(name)
			if err != nil {
				return nil, err
			}
			if v == nil && name == "axes" {
				break
			}
			in = append(in, c.constant("."+name, ints64(v)))
		}
		c.in = in
	}
	return c.plain()
}

// padInputs: pads and value were attributes until opset 11.
func padInputs(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 11 {
		if err := c.oneInput(); err != nil {
			return nil, err
		}
		pads, err := c.takeInts("pads")
		if err != nil {
			return nil, err
		}
		value, err := c.takeFloat("value", 0)
		if err != nil {
			return nil, err
		}
		c.in = []*ir.Value{c.in[0], c.constant(".pads", ints64(pads))}
		if value != 0 {
			c.in = append(c.in, c.constant(".value", floatLike(c.in[0], float64(value))))
		}
	}
	return c.plain()
}

// topK: k was an attribute until opset 10.
func topK(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 10 {
		if err := c.oneInput(); err != nil {
			return nil, err
		}
		k, err := c.takeInt("k", 0)
		if err != nil {
			return nil, err
		}
		c.in = append(c.in[:1:1], c.constant(".k", tensor.Of([]int{1}, []int64{k})))
	}
	return c.plain()
}

// upsample is Resize with the rules of opset 10. Scales were an attribute in
// opset 7 and an input in opset 9.
func upsample(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) < 1 || c.in[0] == nil {
		return nil, c.errf("arity", "has no input")
	}
	var scales *ir.Value
	if a, ok := c.take("scales"); ok {
		if err := c.kind("scales", a, ir.AttrFloats, "a list of floats"); err != nil {
			return nil, err
		}
		scales = c.constant(".scales", tensor.Of([]int{len(a.Floats)}, append([]float32{}, a.Floats...)))
	} else if len(c.in) > 1 {
		scales = c.in[1]
	}
	if scales == nil {
		return nil, c.errf("arity", "has no scales")
	}
	return c.resize10(c.in[0], scales)
}

// resize in opset 10 had (X, scales).
func resize(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 11 {
		if len(c.in) != 2 || c.in[0] == nil || c.in[1] == nil {
			return nil, c.errf("arity", "has %d inputs, want 2 in opset %d", len(c.in), c.opset)
		}
		return c.resize10(c.in[0], c.in[1])
	}
	return c.plain()
}

// resize10 resamples as Upsample and Resize did until opset 10: asymmetric
// coordinates; mode nearest takes the source element below where a dimension
// grows and the one above where it shrinks.
func (c *nodeCtx) resize10(x, scales *ir.Value) ([]*ir.Value, error) {
	mode, err := c.takeStr("mode", "nearest")
	if err != nil {
		return nil, err
	}
	resize := op.Get("", "Resize")
	attrs := func(nearest string) ir.Attrs {
		return ir.Attrs{"mode": ir.Str(mode), "coordinate_transformation_mode": ir.Str("asymmetric"), "nearest_mode": ir.Str(nearest)}
	}
	if mode != "nearest" || scales.Const == nil {
		return c.build(resize, attrs("floor"), 1, x, nil, scales)
	}
	n := scales.Const.Len()
	down, up := make([]float32, n), make([]float32, n)
	shrinks, grows := false, false
	for i := range n {
		s := float32(scales.Const.Float(i))
		down[i], up[i] = min(s, 1), max(s, 1)
		shrinks, grows = shrinks || s < 1, grows || s > 1
	}
	switch {
	case !shrinks:
		return c.build(resize, attrs("floor"), 1, x, nil, scales)
	case !grows:
		return c.build(resize, attrs("ceil"), 1, x, nil, scales)
	}
	y, err := c.sub(resize, ".down", attrs("ceil"), x, nil, c.constant(".down_scales", tensor.Of([]int{n}, down)))
	if err != nil {
		return nil, err
	}
	return c.build(resize, attrs("floor"), 1, y, nil, c.constant(".up_scales", tensor.Of([]int{n}, up)))
}

// coerced: until opset 13 Softmax and its kin worked on the input flattened to
// two dimensions at axis (default 1). The same as today's when axis is the last
// dimension, or all dimensions behind it have size 1.
func coerced(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset >= 13 {
		return c.plain()
	}
	if err := c.oneInput(); err != nil {
		return nil, err
	}
	a, err := c.takeInt("axis", 1)
	if err != nil {
		return nil, err
	}
	shape := c.in[0].Type.Shape
	rank := len(shape)
	if a < int64(-rank) || a > int64(rank) {
		return nil, c.errf("axis", "axis %d is out of range for rank %d", a, rank)
	}
	axis := int(a)
	if axis < 0 {
		axis += rank
	}
	outer, inner := tensor.Count(shape[:axis]), tensor.Count(shape[axis:])
	if axis < rank && tensor.Count(shape[axis+1:]) == 1 {
		c.attrs["axis"] = ir.Int(axis)
		return c.plain()
	}
	flat, err := c.sub(op.Get("", "Reshape"), ".flat", nil, c.in[0], c.constant(".flat_shape", tensor.Ints(outer, inner)))
	if err != nil {
		return nil, err
	}
	y, err := c.sub(op.Get("", c.p.GetOpType()), ".rows", ir.Attrs{"axis": ir.Int(1)}, flat)
	if err != nil {
		return nil, err
	}
	return c.build(op.Get("", "Reshape"), ir.Attrs{}, 1, y, c.constant(".shape", tensor.Ints(shape...)))
}

// dropout does nothing in inference; ratio was an attribute until opset 12, and
// the mask had the input's type until opset 10.
func dropout(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) < 1 || c.in[0] == nil {
		return nil, c.errf("arity", "has no input")
	}
	if c.opset < 12 {
		c.in = c.in[:1]
		delete(c.attrs, "ratio")
	}
	if len(c.in) > 2 && c.in[2] != nil {
		if v := c.in[2]; v.Const == nil {
			return nil, c.dynamicf("dynamic", v, "training_mode (input 2, %s) is computed at run time; want a constant false", v)
		}
		if v := c.in[1]; v != nil && v.Const == nil && c.in[2].Const.Len() == 1 && c.in[2].Const.Int(0) != 0 {
			return nil, c.dynamicf("dynamic", v, "the ratio (input 1, %s) is computed at run time, in training mode; want a constant 0", v)
		}
	}
	if len(c.p.GetOutput()) > 1 && c.p.GetOutput()[1] != "" {
		out, err := c.plain()
		if err != nil || c.opset >= 10 || len(out) < 2 {
			return out, err
		}
		mask, err := c.sub(op.Get("", "Cast"), ".mask", ir.Attrs{"to": ir.Int(c.in[0].Type.DType.ONNXCode())}, out[1])
		return []*ir.Value{out[0], mask}, err
	}
	n := &ir.Node{Name: c.name, Op: op.Get("", "Dropout"), Attrs: c.attrs, In: c.in, Out: make([]*ir.Value, 1)}
	if _, err := ir.InferNode(n); err != nil { // training mode and the like
		return nil, err
	}
	return c.build(op.Identity, nil, 1, c.in[0])
}

// constant gives its tensor a name of the graph.
func constant(c *nodeCtx) ([]*ir.Value, error) {
	for _, a := range c.p.GetAttribute() {
		if n := a.GetName(); n == "value_string" || n == "value_strings" {
			return nil, c.errf("dtype-unsupported", "holds text (%s), which has no place in firmware that computes with numbers", n)
		}
	}
	return c.plain()
}

// quantizeLinear checks the scale of a QuantizeLinear or DequantizeLinear: a
// number that is finite and not negative, and no input of the model. Scales
// that the model computes (dynamic quantisation) are left to run time.
func quantizeLinear(c *nodeCtx) ([]*ir.Value, error) {
	name := c.p.GetOpType()
	var data *ir.Value
	if name == op.DequantizeLinear.Name && len(c.in) > 0 {
		data = c.in[0]
	}
	if err := c.checkScale(1, data); err != nil {
		return nil, err
	}
	if data != nil && data.Type.DType == tensor.I32 && len(c.in) > 2 && c.in[2] != nil && c.in[2].Const != nil {
		for k := range c.in[2].Const.Len() {
			if z := c.in[2].Const.Int(k); z != 0 {
				return nil, c.errf("zero-point", "the zero point holds %d at index %d, want 0: 32-bit integers have none", z, k)
			}
		}
	}
	if len(c.in) > 1 && c.in[1] != nil && c.in[1].Type.DType == tensor.I32 { // QuantizeLinear permits it
		s, err := c.sub(op.Get("", "Cast"), ".scale", ir.Attrs{"to": ir.Int(tensor.F32.ONNXCode())}, c.in[1])
		if err != nil {
			return nil, err
		}
		c.in = append([]*ir.Value{c.in[0], s}, c.in[2:]...)
	}
	return c.build(op.Get("", name), c.attrs, 1, c.in...)
}

// leastScale is the smallest normal number of float32: below it, one over the
// scale is no number, and a step has not the precision that it should have.
const leastScale = 0x1p-126

// checkScale checks the scale in input i, of data that are dequantised with it;
// nil: something is quantised. Only constants may have steps of no size: then
// all of them are 0, as weights of a channel that is off.
func (c *nodeCtx) checkScale(i int, data *ir.Value) error {
	if i >= len(c.in) || c.in[i] == nil {
		return nil // the arity is checked elsewhere
	}
	s, name := c.in[i], ""
	if i < len(c.p.GetInput()) {
		name = " " + quote(c.p.GetInput()[i])
	}
	if s.IsInput() {
		return c.dynamicf("scale-dynamic", s, "the scale%s is an input of the model, want a constant (bind it with --set)", name)
	}
	if s.Const == nil {
		return nil
	}
	for k := range s.Const.Len() {
		switch v := s.Const.Float(k); {
		case v != v || math.IsInf(v, 0):
			return c.errf("scale-value", "the scale%s holds %v at index %d, want a finite number", name, v, k)
		case v < 0:
			return c.errf("scale-value", "the scale%s holds %v at index %d, want a positive number", name, v, k)
		case v < leastScale && (data == nil || data.Const == nil):
			return c.errf("scale-value", "the scale%s holds %v at index %d, want at least %g: data have no steps of that size", name, v, k, leastScale)
		}
	}
	return nil
}
