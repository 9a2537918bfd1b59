package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// The cell state of an integer LSTM is int16 with a power of two as its scale.
// No value of an ONNX graph is the state of every step, so Q/DQ nodes cannot
// say what it is. The initial state can: calibration makes it the
// DequantizeLinear of int32 zeros whose scale is that of the state, which
// changes nothing in float and survives export and import.

// cellMargin is how many times the largest cell state of the calibration the
// integers cover. A bit more or less of int16 is hardly seen in the int8
// output, a state that saturates is.
const cellMargin = 2

// Exponents that arm_lstm_unidirectional_s8 can work with.
const (
	minCellPower = -15
	maxCellPower = -4
)

// cellStates observes the cell states of the LSTMs that become integer ones,
// and notes their scales.
func (c *calibrator) cellStates() error {
	var nodes []*ir.Node
	for _, n := range c.g.Nodes {
		if _, ok := c.rules[n]; ok && n.Op == op.LSTM {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	peaks := make([][]float64, len(c.opt.Samples))
	err := forSamples(len(peaks), func(_, i int) error {
		peaks[i] = make([]float64, len(nodes))
		_, err := interp.Run(c.g, c.opt.Samples[i], func(v *ir.Value, d *tensor.Dense) {
			for k, n := range nodes {
				if n.In[0] == v {
					peaks[i][k] = cellPeak(n, d)
				}
			}
		})
		return err
	})
	if err != nil {
		return err
	}
	for k, n := range nodes {
		top := 0.0
		for _, p := range peaks {
			top = max(top, p[k])
		}
		if err := c.setCellPower(n, powerCovering(cellMargin*top)); err != nil {
			return err
		}
	}
	return nil
}

// powerCovering is the smallest exponent whose scale times 32767 reaches top.
func powerCovering(top float64) int {
	if !(top > 0) {
		return minCellPower
	}
	return min(max(int(math.Ceil(math.Log2(top/math.MaxInt16))), minCellPower), maxCellPower)
}

// setCellPower makes the initial cell state of n zeros with the scale 2^power.
func (c *calibrator) setCellPower(n *ir.Node, power int) error {
	g, err := op.RNNGeometry(n)
	if err != nil {
		return err
	}
	zero := tensor.New(tensor.I32, []int{g.Dirs(), g.Batch, g.Hidden})
	t := ir.Type{DType: tensor.I32, Shape: zero.Shape, Quant: ir.PerTensor(float32(math.Ldexp(1, power)), 0)}
	d, err := Linear(c.g, n, op.DequantizeLinear, c.g.AddConst(n.Name+".cell", zero), t)
	if err != nil {
		return err
	}
	c.g.SetInput(n, 6, d)
	return nil
}

// notedCellPower is the exponent that setCellPower left with an LSTM.
func notedCellPower(n *ir.Node) (int, bool) {
	v := n.Input(6)
	if v == nil || v.Def == nil || v.Def.Op != op.DequantizeLinear {
		return 0, false
	}
	_, q, ok := params(v.Def)
	if !ok || q.PerAxis() {
		return 0, false
	}
	frac, exp := math.Frexp(float64(q.Scale[0]))
	return exp - 1, frac == 0.5 && exp-1 >= minCellPower && exp-1 <= maxCellPower
}

// zeroState reports an initial state that is absent or zero.
func zeroState(v *ir.Value) bool {
	if v == nil {
		return true
	}
	d, zero := v.Const, 0.0
	if v.Def != nil && v.Def.Op == op.DequantizeLinear && v.Def.In[0].Const != nil {
		_, q, ok := params(v.Def)
		if !ok || q.PerAxis() {
			return false
		}
		d, zero = v.Def.In[0].Const, float64(q.Zero[0])
	}
	if d == nil {
		return false
	}
	for i, k := 0, d.Len(); i < k; i++ {
		if d.Float(i) != zero {
			return false
		}
	}
	return true
}

// cellPeak is the largest magnitude of the cell states of all steps, for an
// LSTM as integerLSTM takes it and its input x [steps, batch, input].
func cellPeak(n *ir.Node, x *tensor.Dense) float64 {
	g, err := op.RNNGeometry(n)
	if err != nil {
		panic(bug.Errorf("%w", err))
	}
	xs, I, H, rows := x.Floats(), g.Input, g.Hidden, 4*g.Hidden
	w, r := n.ConstIn(1).Floats(), n.ConstIn(2).Floats()
	bias := make([]float64, g.Dirs()*2*rows)
	if b := n.ConstIn(3); b != nil {
		bias = b.Floats()
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	peak := 0.0
	z := make([]float64, rows)
	for d := range g.Dirs() {
		wd, rd, bd := w[d*rows*I:][:rows*I], r[d*rows*H:][:rows*H], bias[d*2*rows:][:2*rows]
		for b := range g.Batch {
			h, c := make([]float64, H), make([]float64, H)
			for t := range g.Seq {
				at := t
				if g.Reverse[d] {
					at = g.Seq - 1 - t
				}
				in := xs[(at*g.Batch+b)*I:][:I]
				for k := range z {
					z[k] = bd[k] + bd[rows+k] + dot(wd[k*I:], in) + dot(rd[k*H:], h)
				}
				for u := range H { // gates i, o, f, c
					c[u] = sigmoid(z[2*H+u])*c[u] + sigmoid(z[u])*math.Tanh(z[3*H+u])
					h[u] = sigmoid(z[H+u]) * math.Tanh(c[u])
					peak = max(peak, math.Abs(c[u]))
				}
			}
		}
	}
	return peak
}

func dot(w, x []float64) (s float64) {
	for i, v := range x {
		s += v * w[i]
	}
	return s
}
