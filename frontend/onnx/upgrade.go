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
// more than what they accept; every other operator is taken as it is. The
// facts are in ONNX's change log of operator versions. It is filled by init to
// avoid an initialisation cycle through Import.
var upgraders map[opKey]upgrader

func init() {
	upgraders = map[opKey]upgrader{
		{"", "Squeeze"}:    axesToInput(13, "axes"),
		{"", "Unsqueeze"}:  axesToInput(13, "axes"),
		{"", "ReduceSum"}:  axesToInput(13, "axes"),
		{"", "Split"}:      axesToInput(13, "split"),
		{"", "Clip"}:       clipBounds,
		{"", "Slice"}:      sliceInputs,
		{"", "Pad"}:        padInputs,
		{"", "TopK"}:       topK,
		{"", "Upsample"}:   upsample,
		{"", "Resize"}:     resize,
		{"", "Softmax"}:    coerced,
		{"", "LogSoftmax"}: coerced,
		{"", "Hardmax"}:    coerced,
		{"", "Dropout"}:    dropout,
		{"", "Scatter"}:    renamed("ScatterElements"),
		{"", "Constant"}:   constant,
		{"", "If"}:         ifConst,
		{"", "Loop"}:       loopConst,

		{"", "BatchNormalization"}: batchNorm,
		{"", "GroupNormalization"}: groupNorm,
	}
	for _, r := range []string{"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"} {
		upgraders[opKey{"", r}] = axesToInput(18, "axes")
	}
	for k, u := range contrib {
		upgraders[k] = u
	}
}

// axesToInput: until opset since, input 1 was an attribute of integers.
func axesToInput(since int, name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if c.opset < since {
			if a, ok := c.attrs[name]; ok {
				in := c.in
				if len(in) > 1 {
					return nil, c.errf("arity", "has %d inputs, want 1 in opset %d", len(in), c.opset)
				}
				c.in = append(in[:1:1], c.constant("."+name, ints64(a.Ints)))
				delete(c.attrs, name)
			}
		}
		return c.plain()
	}
}

func ints64(v []int64) *tensor.Dense { return tensor.Of([]int{len(v)}, append([]int64{}, v...)) }

func renamed(name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		return c.build(op.Get("", name), c.attrs, len(c.p.GetOutput()), c.in...)
	}
}

// floatLike is a scalar constant of the element type of a value.
func floatLike(v *ir.Value, x float64) *tensor.Dense {
	return tensor.FromFloats(v.Type.DType, nil, []float64{x})
}

// clipBounds: min and max were attributes until opset 11.
func clipBounds(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 11 && len(c.in) >= 1 && c.in[0] != nil {
		in := []*ir.Value{c.in[0], nil, nil}
		if a, ok := c.attrs["min"]; ok && a.Float > -math.MaxFloat32 {
			in[1] = c.constant(".min", floatLike(c.in[0], float64(a.Float)))
		}
		if a, ok := c.attrs["max"]; ok && a.Float < math.MaxFloat32 {
			in[2] = c.constant(".max", floatLike(c.in[0], float64(a.Float)))
		}
		delete(c.attrs, "min")
		delete(c.attrs, "max")
		c.in = in
	}
	return c.plain()
}

// sliceInputs: starts, ends and axes were attributes until opset 10.
func sliceInputs(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 10 && len(c.in) == 1 {
		in := []*ir.Value{c.in[0]}
		for _, name := range []string{"starts", "ends", "axes"} {
			if a, ok := c.attrs[name]; ok {
				in = append(in, c.constant("."+name, ints64(a.Ints)))
			}
			delete(c.attrs, name)
		}
		c.in = in
	}
	return c.plain()
}

// padInputs: pads and value were attributes until opset 11.
func padInputs(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 11 && len(c.in) == 1 && c.in[0] != nil {
		in := []*ir.Value{c.in[0], c.constant(".pads", ints64(c.attrs["pads"].Ints))}
		if a, ok := c.attrs["value"]; ok {
			in = append(in, c.constant(".value", floatLike(c.in[0], float64(a.Float))))
		}
		delete(c.attrs, "pads")
		delete(c.attrs, "value")
		c.in = in
	}
	return c.plain()
}

// topK: k was an attribute until opset 10.
func topK(c *nodeCtx) ([]*ir.Value, error) {
	if a, ok := c.attrs["k"]; ok && c.opset < 10 && len(c.in) == 1 {
		c.in = append(c.in[:1:1], c.constant(".k", tensor.Of([]int{1}, []int64{a.Int})))
		delete(c.attrs, "k")
	}
	return c.plain()
}

// upsample is Resize with asymmetric coordinates and floor rounding. Scales
// were an attribute in opset 7 and an input in opset 9.
func upsample(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) < 1 {
		return nil, c.errf("arity", "has no input")
	}
	var scales *ir.Value
	if a, ok := c.attrs["scales"]; ok {
		scales = c.constant(".scales", tensor.Of([]int{len(a.Floats)}, append([]float32{}, a.Floats...)))
	} else if len(c.in) > 1 {
		scales = c.in[1]
	}
	if scales == nil {
		return nil, c.errf("arity", "has no scales")
	}
	mode := "nearest"
	if a, ok := c.attrs["mode"]; ok {
		mode = a.String
	}
	attrs := ir.Attrs{"mode": ir.Str(mode), "coordinate_transformation_mode": ir.Str("asymmetric"), "nearest_mode": ir.Str("floor")}
	return c.build(op.Get("", "Resize"), attrs, 1, c.in[0], nil, scales)
}

// resize in opset 10 had (X, scales), asymmetric coordinates, floor rounding.
func resize(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 11 && len(c.in) == 2 {
		c.in = []*ir.Value{c.in[0], nil, c.in[1]}
		c.attrs["coordinate_transformation_mode"] = ir.Str("asymmetric")
		c.attrs["nearest_mode"] = ir.Str("floor")
	}
	return c.plain()
}

// coerced: until opset 13 Softmax and its kin worked on the input flattened to
// two dimensions at axis (default 1). The same as today's when axis is the last
// dimension, or all dimensions behind it have size 1.
func coerced(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset >= 13 || len(c.in) != 1 || c.in[0] == nil {
		return c.plain()
	}
	axis := 1
	if a, ok := c.attrs["axis"]; ok {
		axis = int(a.Int)
	}
	shape := c.in[0].Type.Shape
	rank := len(shape)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis > rank {
		return nil, c.errf("axis", "axis %d is out of range for rank %d", axis, rank)
	}
	tail := 1
	for _, d := range shape[min(axis+1, rank):] {
		tail *= d
	}
	if axis < rank && tail == 1 {
		c.attrs["axis"] = ir.Int(axis)
		return c.plain()
	}
	outer, inner := 1, 1
	for i, d := range shape {
		if i < axis {
			outer *= d
		} else {
			inner *= d
		}
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

// dropout does nothing in inference; ratio was an attribute until opset 12.
func dropout(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) < 1 || c.in[0] == nil {
		return nil, c.errf("arity", "has no input")
	}
	if len(c.in) > 2 && c.in[2] != nil && (c.in[2].Const == nil || c.in[2].Const.Int(0) != 0) {
		return nil, c.errf("training", "runs in training mode, which nncc does not support; export the model for inference")
	}
	if len(c.p.GetOutput()) < 2 || c.p.GetOutput()[1] == "" {
		return c.build(op.Get("", "Identity"), ir.Attrs{}, 1, c.in[0])
	}
	return c.build(op.Get("", "Dropout"), ir.Attrs{}, 2, c.in[0])
}

// constant gives its tensor a name of the graph.
func constant(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.p.GetAttribute()) == 1 && c.p.GetAttribute()[0].GetName() == "sparse_value" {
		return nil, c.errf("sparse", "sparse tensors are not supported")
	}
	return c.plain()
}

// batchNorm of older opsets had attributes and outputs for training.
func batchNorm(c *nodeCtx) ([]*ir.Value, error) {
	delete(c.attrs, "spatial")
	delete(c.attrs, "is_test")
	if c.opset < 14 {
		delete(c.attrs, "momentum")
	}
	if len(c.in) == 5 && c.in[4] != nil && c.in[4].Const != nil {
		for i, d := 0, c.in[4].Const; i < d.Len(); i++ {
			eps := 1e-5
			if a, ok := c.attrs["epsilon"]; ok {
				eps = float64(a.Float)
			}
			if v := d.Float(i); !(v+eps > 0) {
				return nil, c.errf("bn-variance", "variance %v of channel %d (input %s) plus epsilon %v is not positive: the result is NaN", v, i, quote(c.p.GetInput()[4]), eps)
			}
		}
	}
	return c.plain()
}

// groupNorm until opset 21 had scale and bias per group.
func groupNorm(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 21 && len(c.in) == 3 && c.in[0] != nil && c.in[0].Type.Rank() > 1 {
		channels := c.in[0].Type.Shape[1]
		for _, i := range []int{1, 2} {
			v := c.in[i]
			if v == nil || v.Type.Rank() != 1 || v.Type.Shape[0] == channels || v.Type.Shape[0] == 0 || channels%v.Type.Shape[0] != 0 {
				continue
			}
			groups := v.Type.Shape[0]
			idx := make([]int, channels)
			for k := range idx {
				idx[k] = k / (channels / groups)
			}
			w, err := c.sub(op.Get("", "Gather"), ".per_channel"+string(rune('0'+i)), ir.Attrs{"axis": ir.Int(0)}, v, c.constant(".group_index", tensor.Ints(idx...)))
			if err != nil {
				return nil, err
			}
			c.in[i] = w
		}
	}
	return c.plain()
}
