// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Layer is the precision of one node: the element type of its activations and
// of its constant weights. The zero value is float.
type Layer struct {
	Data    tensor.DType // I8 or I16
	Weights tensor.DType // I8, or with data of 8 bits I4
}

// The precisions of layers.
var (
	Float   = Layer{}
	Int8    = Layer{tensor.I8, tensor.I8}
	Int16x8 = Layer{tensor.I16, tensor.I8}
	Int4    = Layer{tensor.I8, tensor.I4}
)

// layerNames are the precisions by the names of --layers-config.
var layerNames = map[string]Layer{"int8": Int8, "int16x8": Int16x8, "int4": Int4, "float32": Float}

func (l Layer) String() string {
	for s, x := range layerNames {
		if x == l {
			return s
		}
	}
	return fmt.Sprintf("%s data, %s weights", l.Data, l.Weights)
}

// ParseLayer is the precision of a name.
func ParseLayer(name string) (Layer, bool) {
	l, ok := layerNames[name]
	return l, ok
}

// LayerNames are the names of the precisions.
func LayerNames() []string { return slices.Sorted(maps.Keys(layerNames)) }

// TakesInt4 reports whether a node of a legalised float graph can have weights
// of 4 bits.
func TakesInt4(n *ir.Node) bool {
	r, ok := ruleFor(n)
	return ok && takesInt4(n, r)
}

// TakesInt16 is TakesInt4 for data of 16 bits.
func TakesInt16(n *ir.Node) bool {
	r, ok := ruleFor(n)
	return ok && takesInt16(n, r)
}

// follows reports operators whose inputs and outputs have one quantisation:
// they have the precision of what they read.
func (r *rule) follows() bool { return r.passive || r.share || r.join }

// assignLayers gives every node that can be quantised its precision. Operators
// without an int16 form stay float beside int16 ones.
func (c *calibrator) assignLayers() {
	c.layer = map[*ir.Node]Layer{}
	for _, n := range c.g.Nodes {
		r, ok := ruleFor(n)
		if !ok || c.front[n] || c.opt.Keep != nil && c.opt.Keep(n) {
			continue
		}
		l := c.followed(n, r)
		if l == Float {
			l = Int8
			if c.opt.Layer != nil {
				l = c.opt.Layer(n)
			}
		}
		if l.Weights == tensor.I4 && !takesInt4(n, r) {
			l.Weights = tensor.I8
		}
		if l == Float || l.Data == tensor.I16 && !takesInt16(n, r) {
			continue
		}
		if l.Data == tensor.I16 {
			r.fixed = n.Op.OutQuant[tensor.I16]
		}
		c.rules[n], c.layer[n] = r, l
		c.wide = c.wide || l.Data == tensor.I16
	}
}

// followed is the widest precision of the quantised producers of the inputs of
// a node that follows them; Float where there are none.
func (c *calibrator) followed(n *ir.Node, r rule) Layer {
	found := Float
	if !r.follows() {
		return found
	}
	for _, i := range r.in {
		if d := n.In[i].Def; d != nil {
			if x, ok := c.layer[d]; ok && (found == Float || x.Data == tensor.I16) {
				found = Layer{x.Data, tensor.I8}
			}
		}
	}
	return found
}

// takesInt4 reports operators that have kernels for packed weights.
func takesInt4(n *ir.Node, r rule) bool {
	if r.weight < 0 {
		return false
	}
	switch n.Op {
	case op.Conv:
		g := bug.Must(op.ConvGeometry(n))
		return len(g.In) <= 2 && (g.Group == 1 || op.IsDepthwise(g))
	case op.Gemm, op.MatMul:
		return n.In[1].Type.Rank() == 2
	}
	return false
}

// takesInt16 reports operators that have an int16 form.
func takesInt16(n *ir.Node, r rule) bool {
	switch n.Op {
	case op.Add, op.Mul, op.Sub, op.Div, op.Min, op.Max, op.ReduceMean, op.ReduceSum, op.ReduceMax, op.ReduceMin:
		return true
	case op.Resize:
		return ir.AttrsOf[op.ModeAttr](n).Mode == "nearest" &&
			ir.AttrsOf[op.CoordinateTransformationModeAttr](n).CoordinateTransformationMode != "tf_crop_and_resize"
	}
	if n.Op.Window.Pools() {
		g := bug.Must(op.PoolGeometry(n))
		return len(g.In) <= 2 && slices.Max(g.Dilations) == 1 && !(g.CountPad && g.Padded())
	}
	return r.passive || recurrentGates[n.Op] != nil || n.Op.WeightAxis != nil || n.Op.OutQuant[tensor.I16] != nil ||
		n.Op.Scalar != nil
}

// dataType is the element type in which v is quantised: that of the node that
// makes it, else the widest that a reader asks for.
func (c *calibrator) dataType(v *ir.Value) tensor.DType {
	if v.Def != nil {
		if _, ok := c.rules[v.Def]; ok {
			return c.layer[v.Def].Data
		}
	}
	if v.Def == nil && slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return c.listens(u.Node) }) {
		return tensor.I16
	}
	if !c.wide { // thousands may read v
		return tensor.I8
	}
	for _, u := range v.Uses() {
		if _, ok := c.reads(u); ok && c.layer[u.Node].Data == tensor.I16 {
			return tensor.I16
		}
	}
	return tensor.I8
}

// symmetric16 covers [lo, hi] with the steps of int16 around 0.
func symmetric16(lo, hi float64) affine {
	peak := max(-lo, hi, 0)
	if !(peak > 0) || math.IsInf(peak, 0) {
		return affine{1.0 / 32768, 0}
	}
	return affine{max(float64(float32(peak/math.MaxInt16)), minScale), 0}
}

// edge is the quantisation in which node n reads run-time value v: v's own, or
// where v has another element type one that n's inputs need: that of its
// output where all have one quantisation, for int16 one that holds the int8
// value exactly, for int8 one for v's range.
func (c *calibrator) edge(n *ir.Node, r rule, v *ir.Value) ir.Type {
	t, own := c.layer[n].Data, c.dataType(v)
	switch {
	case t == own:
		return v.Type.WithQuant(t, c.params[v].quant())
	case r.follows():
		return v.Type.WithQuant(t, c.params[n.Out[0]].quant())
	case t == tensor.I16:
		return v.Type.WithQuant(t, ir.PerTensor(float32(c.params[v].scale/128), 0))
	}
	return v.Type.WithQuant(t, c.rangeFor(&group{members: []*ir.Value{v}}, t, c.opt.Method).quant())
}

// converted is d, a dequantised value, quantised once more as t; made once.
func (c *calibrator) converted(at *ir.Node, d *ir.Value, t ir.Type) *ir.Value {
	key := weightKey{d, fmt.Sprint(t.DType, *t.Quant)}
	if v := c.weights[key]; v != nil {
		return v
	}
	v := linearPair(c.g, at, d, t)
	c.weights[key] = v
	return v
}

// wideBias is a scale for the int32 form of int16's 64-bit biases: the least
// power of two times s for which b fits.
func wideBias(b, s float64) float64 {
	for math.Abs(b)/s > maxAcc && s < math.MaxFloat32/4 {
		s *= 2
	}
	return s
}

// int4Scale is the scale of the least squared error for int4 weights: the
// largest ones may be clipped where the others gain more.
func int4Scale(w *tensor.Dense, axis, ch int, peak float64) float64 {
	inner, dim := 1, 1
	if axis >= 0 {
		inner, dim = tensor.Strides(w.Shape)[axis], w.Shape[axis]
	}
	best, least := peak/7, math.Inf(1)
	for f := 1.0; f > 0.4; f -= 1.0 / 64 {
		s, sum := peak*f/7, 0.0
		for i, k := 0, w.Len(); i < k; i++ {
			if axis >= 0 && i/inner%dim != ch {
				continue
			}
			v := w.Float(i)
			e := v - s*min(max(math.RoundToEven(v/s), -7), 7)
			sum += e * e
		}
		if sum < least {
			best, least = s, sum
		}
	}
	return best
}

// oneScale reports that a fully connected layer loses at most a bit when all
// its channels take the largest one's scale: then CMSIS-NN's int16 kernel for
// these layers can be called, which has one multiplier.
func oneScale(n *ir.Node, peak []float64) bool {
	if n.Op != op.Gemm && n.Op != op.MatMul {
		return false
	}
	sum := lists.Sum(peak, func(p float64) float64 { return p * p })
	most := slices.Max(peak)
	return most*most*float64(len(peak)) <= bitRatio*bitRatio*sum
}

// leastScale16 is leastScale for int16 data without constant weights: sums and
// products that are never shifted left.
func (c *calibrator) leastScale16(n *ir.Node, r rule, in func(i int) float64) float64 {
	switch {
	case r.weight >= 0: // sums of 64 bits
	case weightAxis(n) >= 0:
		a := n.In[0].Type.Shape
		return in(0) * in(1) * float64(a[len(a)-1])
	case n.Op == op.Mul:
		return in(0) * in(1) * (1 + 0x1p-20)
	case n.Op == op.Add:
		return max(in(0), in(1)) * 0x1p-14 * (1 + 0x1p-20)
	case len(r.in) == 1 && n.Op.Scalar != nil && !n.Op.Straight && n.Op.Quant == ir.QFloat:
		return curveScale(func(v float64) float64 { return n.Op.Scalar(n, v*in(0)) }, c.params[n.Out[0]].scale)
	}
	return 0
}

// curveScale is the least scale of int16 results, from the given one on, with which straight
// lines between the points of a table miss f by less than curveError steps: finer steps would
// not be right. One that would take more than curveBits of the result is not looked for.
func curveScale(f func(v float64) float64, scale float64) float64 {
	const finer = 32
	c := &curve{f: f, at: make([]float64, 1<<16+1)}
	for i := 0; i < len(c.at); i += curveApart {
		c.evaluate(i)
	}
	for k := range curveBits * finer {
		if s := float64(float32(wholeLines(c.at, scale*math.Exp2(float64(k)/finer)))); c.near(s) {
			return s
		}
	}
	return scale
}

// curve is a function of int16 values that is evaluated where that decides something.
type curve struct {
	f     func(v float64) float64
	at    []float64                  // by value, from -32768 on
	known [1<<16/curveApart + 1]bool // between two values that are known from the beginning
}

// curveApart is how far apart these are.
const curveApart = 16

func (c *curve) evaluate(i int) { c.at[i] = c.f(float64(math.MinInt16 + i)) }

// near reports a table that misses the function by less than curveError steps everywhere.
// Between two values it bends by at most half of the larger second difference beside them,
// and the results of both are rounded: where that is little enough, no other value is looked at.
func (c *curve) near(scale float64) bool {
	table := fixp.NewInterpolatedLUT16(func(v float64) float64 { return c.at[int(v)-math.MinInt16] / scale })
	miss := func(i int) float64 {
		exact := min(max(c.at[i]/scale, math.MinInt16), math.MaxInt16)
		return math.Abs(exact - float64(table.At(int16(math.MinInt16+i))))
	}
	bend := func(i int) float64 { // halves of a second difference, in steps
		if i == 0 || i == len(c.at)-1 {
			return 0
		}
		return math.Abs(c.at[i-curveApart]-2*c.at[i]+c.at[i+curveApart]) / (2 * scale)
	}
	for i := 0; i < 1<<16; i += curveApart {
		m, next := miss(i), i+curveApart
		if !(m < curveError) {
			return false
		}
		if next < 1<<16 && max(m, miss(next))+1+max(bend(i), bend(next)) < curveError {
			continue
		}
		for k := i + 1; k < next && !c.known[i/curveApart]; k++ {
			c.evaluate(k)
		}
		c.known[i/curveApart] = true
		for k := i + 1; k < next; k++ {
			if !(miss(k) < curveError) {
				return false
			}
		}
	}
	return true
}

// curveBits is how many bits of a result its table may take: a layer in float costs hundreds of instructions.
const curveBits = 4

// wholeLines is the scale, or the one with which the range ends at the next point of a table where f leaves it between
// two: the line between them would cut the corner.
func wholeLines(f []float64, scale float64) float64 {
	const distance, most = 1 << 16 / (fixp.LUT16Len - 1), math.MaxInt16
	least := scale
	for i := distance; i < len(f); i += distance {
		a, b := math.Abs(f[i-distance]), math.Abs(f[i])
		if lo, hi := min(a, b), max(a, b); lo < most*scale && hi > most*scale {
			least = max(least, hi/most)
		}
	}
	return least
}
