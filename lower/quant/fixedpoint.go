// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// FixedPoint is a fixed-point number format as nnabla's converters have it:
//
//	q(x) = clip(sign(x) * floor(|x|/delta + 1/2) * delta)
//
// within ±(2^(n-1)-1)*delta when signed, [0, (2^n-1)*delta] when not. All of it
// is computed in float32. Source: nnabla, F.fixed_point_quantize and the graph
// converters FixedPointWeightConverter and FixedPointActivationConverter.
type FixedPoint struct {
	// N is the number of bits, 2 to 16; 0 is 8.
	N int
	// Sign tells signed from unsigned formats; SignDefault is signed for
	// weights and unsigned for activations.
	Sign Sign
	// Delta is the step. 0 takes the power of two that covers the largest
	// magnitude of each tensor: 2^ceil(log2(max|x|/m)) with m the largest code.
	Delta float64
	// Floor rounds the exponent of that power down instead, which saturates
	// the largest elements.
	Floor bool
}

// Sign of a fixed-point format.
type Sign uint8

// The values of Sign.
const (
	SignDefault Sign = iota
	Signed
	Unsigned
)

// ParseFixedPoint reads "n=8,sign=1,delta=auto-pow2" in any order. delta is a
// positive number, auto-pow2 or auto-pow2-floor; everything may be left out.
func ParseFixedPoint(s string) (_ *FixedPoint, err error) {
	defer fail.Catch(&err)
	f := &FixedPoint{}
	seen := map[string]bool{}
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, val, ok := strings.Cut(part, "=")
		fail.If(!ok, "%q is not of the form key=value; want for example n=8,sign=1,delta=auto-pow2", part)
		fail.If(seen[key], "%s is given twice", key)
		seen[key] = true
		switch key {
		case "n":
			f.N, err = strconv.Atoi(val)
			fail.If(err != nil || f.N < 2 || f.N > 16, "n is %q, want a number of bits from 2 to 16", val)
		case "sign":
			switch strings.ToLower(val) {
			case "1", "true":
				f.Sign = Signed
			case "0", "false":
				f.Sign = Unsigned
			default:
				fail.Errorf("sign is %q, want 0 or 1", val)
			}
		case "delta":
			if f.Floor = val == "auto-pow2-floor"; f.Floor || val == "auto-pow2" {
				continue
			}
			f.Delta, err = strconv.ParseFloat(val, 64)
			fail.If(err != nil || !(f.Delta >= minDelta && f.Delta <= maxDelta),
				"delta is %q, want a step from %g to %g, auto-pow2 or auto-pow2-floor", val, minDelta, maxDelta)
		default:
			fail.Errorf("unknown key %q%s; want n, sign or delta", key, text.Meant(key, []string{"sign", "delta"}))
		}
	}
	return f, nil
}

// Steps whose products with codes and with each other stay normal in float32.
const (
	minDelta = 0x1p-60
	maxDelta = 0x1p60
)

// format is a FixedPoint with everything decided for one tensor.
type format struct {
	dtype  tensor.DType
	lo, hi float32 // codes
	delta  float32
}

func (f *FixedPoint) signed(def bool) bool {
	return f.Sign == Signed || f.Sign == SignDefault && def
}

// format decides the step for a tensor whose largest magnitude is peak.
func (f *FixedPoint) format(signed bool, peak float64) format {
	n := f.N
	if n == 0 {
		n = 8
	}
	var k format
	if signed {
		k.hi = float32(int(1)<<(n-1) - 1)
		k.lo, k.dtype = -k.hi, tensor.I8
		if n > 8 {
			k.dtype = tensor.I16
		}
	} else {
		k.hi, k.dtype = float32(int(1)<<n-1), tensor.U8
		if n == 16 {
			k.dtype = tensor.U16
		} else if n > 8 {
			k.dtype = tensor.I16 // holds the codes, and has kernels
		}
	}
	delta := f.Delta
	if delta == 0 {
		delta = powerOfTwo(peak/float64(k.hi), f.Floor)
	}
	k.delta = float32(delta)
	return k
}

// powerOfTwo is the least power of two that is at least x, or with floor the
// greatest that is at most x; 1 for 0.
func powerOfTwo(x float64, floor bool) float64 {
	if !(x > 0) {
		return 1
	}
	frac, exp := math.Frexp(min(x, maxDelta)) // x = frac * 2^exp, frac in [1/2, 1)
	if floor || frac == 0.5 {
		exp--
	}
	return min(max(math.Ldexp(1, exp), minDelta), maxDelta)
}

// code is sign(x)*floor(|x|/delta + 1/2), clipped, in float32.
func (k format) code(x float32) float32 {
	a := x
	if a < 0 {
		a = -a
	}
	q := float32(math.Floor(float64(float32(a/k.delta) + 0.5)))
	if x < 0 {
		q = -q
	}
	return min(max(q, k.lo), k.hi)
}

func (k format) quant() *ir.Quant { return ir.PerTensor(k.delta, 0) }

// fixedPoint quantises weights and activations as asked for, and nothing else.
func (c *calibrator) fixedPoint() {
	c.rules = map[*ir.Node]rule{}
	if f := c.opt.FixedWeights; f != nil {
		for _, n := range slices.Clone(c.g.Nodes) {
			c.fixedWeights(n, f)
		}
	}
	if f := c.opt.FixedActivations; f != nil {
		c.fixedActivations(f)
	}
}

// fixedWeights gives the constant weights and biases of a multiply-accumulate
// operator fixed-point values, each tensor with its own step when it is
// automatic: an initialiser of integers and a DequantizeLinear with scale
// delta and zero point 0.
func (c *calibrator) fixedWeights(n *ir.Node, f *FixedPoint) {
	if weightAxis(n) < 0 || n.Quantised() {
		return
	}
	for i := 1; i < len(n.In) && i <= 2; i++ {
		v := n.In[i]
		if v == nil || v.Const == nil || v.Const.DType != tensor.F32 {
			continue
		}
		k := f.format(f.signed(true), slices.Max(channelPeaks(v.Const, -1)))
		t := v.Type.WithQuant(k.dtype, k.quant())
		key := weightKey{v, fmt.Sprint("fixed", k)}
		d := c.weights[key]
		if d == nil || c.g.Index(d.Def) > c.g.Index(n) {
			q := tensor.New(k.dtype, v.Const.Shape)
			for e, x := range tensor.As[float32](v.Const) {
				q.SetInt(e, int64(k.code(x)))
			}
			d = Linear(c.g, n, op.DequantizeLinear, c.g.AddConst(v.Name+".quantized", q), t)
			c.weights[key] = d
		}
		c.g.SetInput(n, i, d)
	}
}

// activates reports a node that is an activation function or has absorbed
// one; positive that its output is never negative.
func activates(n *ir.Node) (positive, ok bool) {
	if n.Quantised() || len(n.Out) != 1 || n.Out[0].Type.DType != tensor.F32 {
		return false, false
	}
	positive, ok = n.Op.Activation && n.Op.NonNegative, n.Op.Activation
	if n.Op == op.Clip {
		if lo, _, known := op.ClipBounds(n); known && lo >= 0 {
			positive = true
		}
		return positive, ok
	}
	if canAct(n.Op) && op.HasAct(n) {
		lo, _ := op.ActBounds(n)
		return lo >= 0, true
	}
	return positive, ok
}

func canAct(d *ir.OpDef) bool {
	return d.Declares("act_min")
}

// fixedActivations puts a Q/DQ pair behind every activation, whose own part in
// an unsigned format (x below 0 becomes 0) stays where it was. An unsigned
// format is not for activations that give negative numbers: these stay float.
//
// QuantizeLinear rounds a value exactly between two codes to the even one, the
// formula away from zero; Options.SpellRounding writes the formula out.
func (c *calibrator) fixedActivations(f *FixedPoint) {
	signed := f.signed(false)
	var list []*ir.Node
	var values []*ir.Value
	for _, n := range c.g.Nodes {
		if positive, ok := activates(n); ok && (signed || positive) {
			list, values = append(list, n), append(values, n.Out[0])
		}
	}
	seen := &survey{samples: c.opt.Samples}
	if f.Delta == 0 && len(list) > 0 {
		seen.run(c.g, values, nil, c.opt.memory)
	}
	for _, n := range list {
		peak := 0.0
		if s := seen.of(n.Out[0], every); s != nil {
			peak = max(-s.lo, s.hi)
		}
		c.fixedActivation(n, f.format(signed, peak))
	}
}

// fixedActivation quantises the output of n.
func (c *calibrator) fixedActivation(n *ir.Node, k format) {
	v := n.Out[0]
	readers := slices.Clone(v.Uses())
	isOut := c.g.IsOutput(v)
	at := c.after(v)
	lo, hi := k.dtype.IntRange()
	x := v
	insert := func(o *ir.OpDef, in ...*ir.Value) {
		x = c.g.Insert(at, n, o, v.Name+"."+strings.ToLower(o.Name), nil, in...)
	}
	scalar := func(name string, f float32) *ir.Value { return c.g.AddConst(v.Name+"."+name, tensor.Scalar(f)) }
	if float32(hi) != k.hi || float32(lo) != k.lo {
		// Codes that the element type has and the format lacks.
		insert(op.Clip, x, scalar("least", k.lo*k.delta), scalar("most", k.hi*k.delta))
	}
	if c.opt.SpellRounding {
		a, magnitude := x, op.Relu
		if k.lo < 0 {
			magnitude = op.Get("", "Abs")
		}
		insert(magnitude, a)
		insert(op.Div, x, scalar("delta", k.delta))
		insert(op.Add, x, scalar("half", 0.5))
		insert(op.Get("", "Floor"), x)
		insert(op.Mul, x, scalar("delta", k.delta))
		if k.lo < 0 {
			mag := x
			insert(op.Get("", "Sign"), a)
			insert(op.Mul, x, mag)
		}
	}
	d := linearPair(c.g, at, x, v.Type.WithQuant(k.dtype, k.quant()))
	for _, u := range readers {
		c.g.SetInput(u.Node, u.Index, d)
	}
	if isOut {
		c.g.ReplaceOutput(v, d)
	}
}
