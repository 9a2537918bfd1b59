package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxCellSteps bounds the cell states that the int16 cell state covers where
// no calibration tells (see lstm_cell.go). A state grows by less than 1 a step,
// so short sequences need less.
const maxCellSteps = 64

// integerLSTM reports an LSTM that QLSTM computes: constant weights, default
// activations, no peepholes, no sequence lengths, zero initial state, and no
// reader of the final cell state.
func integerLSTM(n *ir.Node) bool {
	g, err := op.RNNGeometry(n)
	if err != nil || n.Op != op.LSTM || g.BatchFirst || ir.AttrsOf[op.LSTMAttrs](n).InputForget != 0 ||
		!math.IsInf(g.Clip, 1) || g.Seq < 1 {
		return false
	}
	for d := range g.Dirs() {
		for k, want := range []string{"sigmoid", "tanh", "tanh"} {
			if g.ActName(d, k) != want {
				return false
			}
		}
	}
	if n.Input(4) != nil || n.Input(7) != nil || !zeroState(n.Input(5)) || !zeroState(n.Input(6)) {
		return false
	}
	return len(n.Out) < 3 || len(n.Out[2].Uses()) == 0
}

// gateQuant is one symmetric scale for all rows of a gate of LSTM weights
// [dirs, 4*H, k], along dimension 1.
func gateQuant(w *tensor.Dense) *ir.Quant {
	rows := w.Shape[1]
	h := rows / 4
	peak := channelPeaks(w, 1)
	q := &ir.Quant{Axis: 1, Scale: make([]float32, rows), Zero: make([]int32, rows)}
	for r := range rows {
		top := 0.0
		for _, p := range peak[r/h*h:][:h] {
			top = max(top, p)
		}
		q.Scale[r] = float32(max(top/127, minScale))
	}
	return q
}

// cellPower is the exponent of the cell state's scale: what calibration found,
// else what covers sequences of this length.
func cellPower(n *ir.Node, steps int) int {
	if p, ok := notedCellPower(n); ok {
		return p
	}
	cover := math.Ceil(math.Log2(float64(min(max(steps, 1), maxCellSteps))))
	return int(cover) - 15
}

// lstm converts an LSTM to one QLSTM a direction. ONNX's weights have the
// directions in front; Y is [steps, dirs, batch, H].
func (c *converter) lstm(n *ir.Node) (bool, error) {
	if !integerLSTM(n) {
		return false, nil
	}
	x, ok := c.intForm(n.In[0])
	if !ok || x.t.DType != tensor.I8 {
		return false, nil
	}
	var t ir.Type
	for i, v := range n.Out {
		if len(v.Uses()) == 0 && !c.g.IsOutput(v) {
			continue
		}
		w, wanted := c.want[v]
		if !wanted || i > 1 || t.Quant != nil && !t.Quant.Equal(w.Quant) {
			return false, nil
		}
		t = w
	}
	if t.Quant == nil {
		return false, nil
	}
	g, err := op.RNNGeometry(n)
	if err != nil {
		return false, err
	}
	w, okW := c.gates(n.In[1], g.Hidden)
	r, okR := c.gates(n.In[2], g.Hidden)
	if !okW || !okR {
		return false, nil
	}
	var b *tensor.Dense
	if v := n.Input(3); v != nil {
		if b, _ = c.constData(v); b == nil {
			return false, nil
		}
	}
	outs := 1 // Y; the last hidden state only where it is read
	if len(n.Out) > 1 && len(n.Out[1].Uses()) > 0 {
		outs = 2
	}
	var y, yh []*ir.Value
	for d := range g.Dirs() {
		in := []*ir.Value{x.v, c.direction(w, d), c.direction(r, d)}
		if b != nil {
			in = append(in, c.lstmBias(n, b, d, x.t.Quant, in[1].Type.Quant))
		}
		dir := "forward"
		if g.Reverse[d] {
			dir = "reverse"
		}
		name := n.Name
		if d > 0 {
			name += ".reverse"
		}
		m, err := c.g.InsertBefore(n, op.QLSTM, name, ir.Attrs{"cell_scale_power": ir.Int(cellPower(n, g.Seq)),
			"direction": ir.Str(dir)}, outs, in...)
		if err != nil {
			return false, err
		}
		m.Origin = n.Origin
		for _, v := range m.Out {
			v.Type = v.Type.WithQuant(t.DType, t.Quant)
		}
		for k, list := range []*[]*ir.Value{&y, &yh} {
			shape := append([]int(nil), n.Out[0].Type.Shape...)
			shape[1] = 1
			if k == 1 {
				shape = []int{1, g.Batch, g.Hidden}
			}
			if k >= outs || len(n.Out[k].Uses()) == 0 {
				continue
			}
			s, err := c.g.InsertBefore(n, op.Reshape, m.Out[k].Name+".shaped", nil, 1, m.Out[k],
				c.g.AddConst(m.Out[k].Name+".shape", tensor.Ints(shape...)))
			if err != nil {
				return false, err
			}
			s.Origin = n.Origin
			s.Out[0].Type = s.Out[0].Type.WithQuant(t.DType, t.Quant)
			*list = append(*list, s.Out[0])
		}
	}
	for k, list := range [][]*ir.Value{y, yh} {
		if len(list) == 0 {
			continue
		}
		v := list[0]
		if len(list) > 1 {
			m, err := c.g.InsertBefore(n, op.Concat, n.Name+".directions", ir.Attrs{"axis": ir.Int(1 - k)}, 1, list...)
			if err != nil {
				return false, err
			}
			m.Origin = n.Origin
			m.Out[0].Type = m.Out[0].Type.WithQuant(t.DType, t.Quant)
			v = m.Out[0]
		}
		c.have[n.Out[k]] = form{v, v.Type}
	}
	return true, nil
}

// gates are int8 weights [dirs, 4*H, k] with one scale a gate.
func (c *converter) gates(v *ir.Value, h int) (form, bool) {
	f, ok := c.have[v]
	if !ok || f.v == nil || f.v.Const == nil || f.t.DType != tensor.I8 {
		return f, false
	}
	q := f.t.Quant
	if q.PerAxis() && q.Axis != 1 {
		return f, false
	}
	for r := range f.t.Shape[1] {
		if q.ScaleAt(r) != q.ScaleAt(r/h*h) || q.ZeroAt(r) != 0 {
			return f, false
		}
	}
	return f, true
}

// direction is the part [4*H, k] of LSTM weights.
func (c *converter) direction(f form, d int) *ir.Value {
	s := f.t.Shape
	k := s[1] * s[2]
	data := append([]int8(nil), tensor.As[int8](f.v.Const)[d*k:][:k]...)
	v := c.g.AddConst(f.v.Name, tensor.Of(s[1:], data))
	q := *f.t.Quant
	if q.PerAxis() {
		q.Axis = 0
	}
	v.Type.Quant = &q
	return v
}

// lstmBias is the sum of both ONNX biases of direction d, [dirs, 8*H], in
// steps of the products of input and input weights.
func (c *converter) lstmBias(n *ir.Node, b *tensor.Dense, d int, x, w *ir.Quant) *ir.Value {
	rows := b.Shape[1] / 2
	q := &ir.Quant{Axis: 0, Scale: make([]float32, rows), Zero: make([]int32, rows)}
	out := tensor.New(tensor.I32, []int{rows})
	for r := range rows {
		s := float64(x.Scale[0]) * float64(w.ScaleAt(r))
		q.Scale[r] = float32(s)
		at := d*2*rows + r
		out.SetInt(r, ir.ClampInt(math.Round((b.Float(at)+b.Float(at+rows))/s), -maxAcc, maxAcc))
	}
	v := c.g.AddConst(n.Name+".bias", out)
	v.Type.Quant = q
	return v
}
