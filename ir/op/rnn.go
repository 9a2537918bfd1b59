// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// RNNGeom is what LSTM, GRU and RNN share. Directions are numbered as in the
// weights; Reverse[d] says that direction d runs from the last step.
type RNNGeom struct {
	Seq, Batch, Input, Hidden int
	Gates                     int // 4, 3 or 1 blocks of Hidden rows in the weights
	Reverse                   []bool
	BatchFirst                bool                    // layout 1: batch before steps
	Clip                      float64                 // limits what activations get
	CellClip                  float64                 // limits an LSTM's cell state
	acts                      []func(float64) float64 // len(Reverse) lists in a row
	actNames                  []string
	actParams                 [][2]float64 // alpha, beta
}

// Dirs is the number of directions, 1 or 2.
func (g *RNNGeom) Dirs() int { return len(g.Reverse) }

// Act is activation k (0 is f) of direction d.
func (g *RNNGeom) Act(d, k int) func(float64) float64 { return g.acts[d*len(g.acts)/g.Dirs()+k] }

// ActName is the lower-case ONNX name of activation k of direction d.
func (g *RNNGeom) ActName(d, k int) string { return g.actNames[d*len(g.acts)/g.Dirs()+k] }

// ActParams are alpha and beta of activation k of direction d.
func (g *RNNGeom) ActParams(d, k int) (alpha, beta float64) {
	p := g.actParams[d*len(g.acts)/g.Dirs()+k]
	return p[0], p[1]
}

// rnnKind is what differs in the shapes of the three operators.
type rnnKind struct {
	gates int
	acts  []string // default activations of one direction
	peep  int      // index of the peephole input, 0 for none
}

var rnnKinds = map[string]rnnKind{
	"RNN":  {1, []string{"tanh"}, 0},
	"GRU":  {3, []string{"sigmoid", "tanh"}, 0},
	"LSTM": {4, []string{"sigmoid", "tanh", "tanh"}, 7},
}

// Recurrent reports LSTM, GRU and RNN.
func Recurrent(d *ir.OpDef) bool { return rnnKinds[d.Name].gates > 0 }

// RNNAttrs are those of all recurrent operators.
type RNNAttrs struct {
	ActivationAlpha []float32
	ActivationBeta  []float32
	Activations     []string
	Clip            *float32
	Direction       string `default:"forward"`
	HiddenSize      *int
	Layout          int `default:"0"`
}

// RNNGeometry checks an LSTM, GRU or RNN node. X is [steps, batch, input], or
// [batch, steps, input] with layout 1.
func RNNGeometry(n *ir.Node) (_ *RNNGeom, err error) {
	defer fail.Catch(&err)
	attrs := ir.AttrsOf[RNNAttrs](n)
	k := rnnKinds[n.Op.Name]
	for i, r := range []int{3, 3, 3} {
		wantRank(n, i, r)
	}
	g := &RNNGeom{Gates: k.gates}
	switch d := ir.AttrsOf[DirectionAttr](n).Direction; d {
	case "forward":
		g.Reverse = []bool{false}
	case "reverse":
		g.Reverse = []bool{true}
	case "bidirectional":
		g.Reverse = []bool{false, true}
	default:
		return nil, ir.Errf(n, "direction", "direction is %q, want forward, reverse or bidirectional", d)
	}
	x, r := n.In[0].Type.Shape, n.In[2].Type.Shape
	g.Seq, g.Batch, g.Input, g.Hidden = x[0], x[1], x[2], r[2]
	switch attrs.Layout {
	case 0:
	case 1:
		g.BatchFirst, g.Seq, g.Batch = true, x[1], x[0]
	default:
		return nil, ir.Errf(n, "layout", "layout is %d, want 0 or 1", attrs.Layout)
	}
	if h := attrs.HiddenSize; h != nil {
		refuse(n, *h != g.Hidden, "hidden-size", "hidden_size is %d, the recurrence weights have shape %v", *h, r)
	}
	refuse(n, g.Hidden < 1, "hidden-size", "the recurrence weights have shape %v: no hidden units", r)
	d, rows := g.Dirs(), k.gates*g.Hidden
	state := []int{d, g.Batch, g.Hidden}
	if g.BatchFirst {
		state = []int{g.Batch, d, g.Hidden}
	}
	want := [][]int{nil, {d, rows, g.Input}, {d, rows, g.Hidden}, {d, 2 * rows}, {g.Batch}, state, state,
		{d, 3 * g.Hidden}}
	for i := 1; i < len(n.In); i++ {
		if v := n.In[i]; v != nil && !sameShape(v.Type.Shape, want[i]) {
			return nil, ir.Errf(n, "shape-mismatch", "input %d (%s) has shape %v, want %v", i, v, v.Type.Shape, want[i])
		}
	}
	if v := n.Input(4); v != nil && v.Type.DType != tensor.I32 {
		return nil, ir.Errf(n, "dtype", "the sequence lengths %s are of type %s, want int32", v, v.Type.DType)
	}
	g.Clip = math.Inf(1)
	if attrs.Clip != nil {
		g.Clip = float64(*attrs.Clip)
		refuse(n, !(g.Clip > 0), "clip", "clip is %v, want a positive threshold", *attrs.Clip)
	}
	g.CellClip = math.Inf(1)
	if n.Op.Name == "LSTM" {
		if c := ir.AttrsOf[LSTMAttrs](n).CellClip; c != nil {
			g.CellClip = float64(*c)
			refuse(n, !(g.CellClip > 0), "clip", "cell_clip is %v, want a positive limit", *c)
		}
	}
	g.readActs(n, k.acts)
	return g, nil
}

// readActs resolves the activations; alpha and beta lists are consumed in
// order by the functions that have such a parameter.
func (g *RNNGeom) readActs(n *ir.Node, def []string) {
	attrs := ir.AttrsOf[RNNAttrs](n)
	names := attrs.Activations
	if names == nil {
		for range g.Reverse {
			names = append(names, def...)
		}
	}
	refuse(n, len(names) != len(def)*g.Dirs(), "activations", "activations are %q, want %d names", names,
		len(def)*g.Dirs())
	alphas, betas := attrs.ActivationAlpha, attrs.ActivationBeta
	next := func(list *[]float32, d float64) float64 {
		if len(*list) > 0 {
			d = float64((*list)[0])
			*list = (*list)[1:]
		}
		return d
	}
	for _, name := range names {
		low := strings.ToLower(name)
		s, ok := rnnActs[low]
		refuse(n, !ok, "activations", "activation %q is unknown", name)
		a, b := 0.0, 0.0
		if s.params > 0 {
			a = next(&alphas, s.alpha)
		}
		if s.params > 1 {
			b = next(&betas, s.beta)
		}
		g.actNames = append(g.actNames, low)
		g.actParams = append(g.actParams, [2]float64{a, b})
		g.acts = append(g.acts, func(x float64) float64 { return s.f(x, a, b) })
	}
}

type rnnAct struct {
	params      int // how many of alpha, beta it takes
	alpha, beta float64
	f           func(x, a, b float64) float64
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// rnnActs are the activation functions that the ONNX specification lists for
// recurrent operators, with their default parameters.
var rnnActs = map[string]rnnAct{
	"relu":    {0, 0, 0, func(x, _, _ float64) float64 { return max(x, 0) }},
	"tanh":    {0, 0, 0, func(x, _, _ float64) float64 { return math.Tanh(x) }},
	"sigmoid": {0, 0, 0, func(x, _, _ float64) float64 { return logistic(x) }},
	"affine":  {2, 1, 0, func(x, a, b float64) float64 { return a*x + b }},
	"leakyrelu": {1, 0.01, 0, func(x, a, _ float64) float64 {
		if x < 0 {
			return a * x
		}
		return x
	}},
	"thresholdedrelu": {1, 1, 0, func(x, a, _ float64) float64 {
		if x > a {
			return x
		}
		return 0
	}},
	"scaledtanh":  {2, 1, 1, func(x, a, b float64) float64 { return a * math.Tanh(b*x) }},
	"hardsigmoid": {2, 0.2, 0.5, func(x, a, b float64) float64 { return min(max(a*x+b, 0), 1) }},
	"elu": {1, 1, 0, func(x, a, _ float64) float64 {
		if x < 0 {
			return a * math.Expm1(x)
		}
		return x
	}},
	"softsign": {0, 0, 0, func(x, _, _ float64) float64 { return x / (1 + math.Abs(x)) }},
	"softplus": {0, 0, 0, func(x, _, _ float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }},
}

func inferRNN(n *ir.Node) ([]ir.Type, error) {
	wantType(n, 0, floatTypes)
	idx := []int{0, 1, 2, 3, 5, 6, 7}
	wantSameTypes(n, idx...)
	g := fail.Must(RNNGeometry(n))
	dt := n.In[0].Type.DType
	y, h := []int{g.Seq, g.Dirs(), g.Batch, g.Hidden}, []int{g.Dirs(), g.Batch, g.Hidden}
	if g.BatchFirst {
		y, h = []int{g.Batch, g.Seq, g.Dirs(), g.Hidden}, []int{g.Batch, g.Dirs(), g.Hidden}
	}
	types := []ir.Type{ir.T(dt, y...), ir.T(dt, h...)}
	if n.Op.Name == "LSTM" {
		types = append(types, ir.T(dt, h...))
	}
	return types, nil
}

func sequenceLengths(n *ir.Node) []ir.Limit {
	g := fail.Must(RNNGeometry(n))
	return []ir.Limit{ir.Counts(4, "sequence length", g.Seq)}
}

func rnnMACs(n *ir.Node) int64 {
	g := fail.Must(RNNGeometry(n))
	return int64(g.Seq) * int64(g.Batch) * int64(g.Dirs()) * int64(g.Gates) * int64(g.Hidden) * int64(g.Input+g.Hidden)
}

// rnnState is one direction during evaluation: weights of this direction, the input
// products of all steps, and the state of the batch.
type rnnState struct {
	g          *RNNGeom
	dir        int
	w, across  []float64 // [gates*H, input]; recurrent ones transposed, [H, gates*H]
	wb, rb, p  []float64 // biases [gates*H] each, peepholes [3*H]; nil when absent
	pre, gates []float64 // x*W' of one step, and the step's working gates, [batch, gates*H]
	h, c       []float64 // [batch, H]
}

// act is activation k on a clipped value.
func (s *rnnState) act(k int, x float64) float64 {
	if x > s.g.Clip {
		x = s.g.Clip
	} else if x < -s.g.Clip {
		x = -s.g.Clip
	}
	return s.g.Act(s.dir, k)(x)
}

// recur runs a recurrent operator: step makes the new state of batch entry b
// in nh and nc from s.gates, the products of this step, and the old state.
func recur(n *ir.Node, g *RNNGeom, prepare func(s *rnnState), step func(s *rnnState, b int, nh,
	nc []float64)) func(in []*tensor.Dense) []*tensor.Dense {
	return func(in []*tensor.Dense) []*tensor.Dense {
		swap := func(d *tensor.Dense) *tensor.Dense {
			if d != nil && g.BatchFirst {
				return d.Transpose([]int{1, 0, 2})
			}
			return d
		}
		x := tensor.As[float64](swap(in[0]))
		B, H, I, D := g.Batch, g.Hidden, g.Input, g.Dirs()
		rows := g.Gates * H
		y := make([]float64, g.Seq*D*B*H)
		lastH, lastC := make([]float64, D*B*H), make([]float64, D*B*H)
		w, r, bias := tensor.As[float64](in[1]), tensor.As[float64](in[2]), floats[float64](opt(in, 3))
		h0, c0 := floats[float64](swap(opt(in, 5))), floats[float64](swap(opt(in, 6)))
		peep := floats[float64](opt(in, 7))
		lens := make([]int, B)
		for b := range lens {
			lens[b] = g.Seq
			if d := opt(in, 4); d != nil {
				lens[b] = int(d.Int(b))
			}
		}
		parallel(D, func(d int) {
			s := &rnnState{g: g, dir: d, w: w[d*rows*I:][:rows*I],
				across: transposed(H, rows, r[d*rows*H:][:rows*H], H), // for all steps
				gates:  make([]float64, B*rows), h: make([]float64, B*H), c: make([]float64, B*H)}
			if bias != nil {
				s.wb, s.rb = bias[d*2*rows:][:rows], bias[d*2*rows+rows:][:rows]
			}
			if peep != nil {
				s.p = peep[d*3*H:][:3*H]
			}
			if h0 != nil {
				copy(s.h, h0[d*B*H:])
			}
			if c0 != nil {
				copy(s.c, c0[d*B*H:])
			}
			all := make([]float64, g.Seq*B*rows)
			gemm(false, true, g.Seq*B, rows, I, 1, x, max(I, 1), s.w, max(I, 1), 0, all, rows)
			nh, nc := make([]float64, H), make([]float64, H)
			s.pre = make([]float64, B*rows)
			for t := 0; t < g.Seq; t++ {
				for b := 0; b < B; b++ { // a reversed sequence runs back from its own last step
					at := t
					if g.Reverse[d] && t < lens[b] {
						at = lens[b] - 1 - t
					}
					copy(s.pre[b*rows:][:rows], all[(at*B+b)*rows:])
				}
				prepare(s)
				for b := 0; b < B; b++ {
					if t >= lens[b] {
						continue
					}
					step(s, b, nh, nc)
					copy(s.h[b*H:], nh)
					copy(s.c[b*H:], nc)
					at := t
					if g.Reverse[d] {
						at = lens[b] - 1 - t
					}
					copy(y[((at*D+d)*B+b)*H:][:H], nh)
				}
			}
			copy(lastH[d*B*H:], s.h)
			copy(lastC[d*B*H:], s.c)
		})
		yd, hd, cd := tensor.Of([]int{g.Seq, D, B, H}, y), tensor.Of([]int{D, B, H}, lastH),
			tensor.Of([]int{D, B, H}, lastC)
		if g.BatchFirst {
			yd = yd.Transpose([]int{2, 0, 1, 3})
		}
		if n.Op.MaxOut < 3 {
			return []*tensor.Dense{yd, swap(hd)}
		}
		return []*tensor.Dense{yd, swap(hd), swap(cd)}
	}
}

// recurrentProduct is gates = pre + h*R' (+ both biases), for the rows from
// lo to hi of the weights.
func (s *rnnState) recurrentProduct(h []float64, lo, hi int) {
	rows, H := s.g.Gates*s.g.Hidden, s.g.Hidden
	if s.g.Batch == 0 {
		return
	}
	for b := 0; b < s.g.Batch; b++ {
		dst, src := s.gates[b*rows:][:rows], s.pre[b*rows:][:rows]
		for i := lo; i < hi; i++ {
			dst[i] = src[i]
			if s.wb != nil {
				dst[i] += s.wb[i] + s.rb[i]
			}
		}
	}
	gemm(false, false, s.g.Batch, hi-lo, H, 1, h, H, s.across[lo:], rows, 1, s.gates[lo:], rows)
}

// recurrent defines an operator by what evaluates it.
func recurrent(d ir.OpDef, float func(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense) *ir.OpDef {
	d.MinIn, d.Infer, d.Limits, d.Pattern, d.MACs = 3, inferRNN, sequenceLengths, ir.Opaque, rnnMACs
	d.Eval = func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return inFloat(in, float(n, fail.Must(RNNGeometry(n)))), nil
	}
	return def(d)
}

// LSTMAttrs are the attributes of LSTM.
type LSTMAttrs struct {
	RNNAttrs
	InputForget int `default:"0"`
	// CellClip limits the magnitude of a new cell state. ONNX has no such attribute.
	CellClip *float32
}

// LSTM is ONNX's long short-term memory. Inputs: X, W [dirs, 4*H, input] and R
// [dirs, 4*H, H] with the gates in the order i, o, f, c; B [dirs, 8*H] (input,
// then recurrence biases), sequence_lens [batch] int32, initial_h, initial_c
// [dirs, batch, H], peepholes P [dirs, 3*H] in the order i, o, f. Outputs: Y
// [steps, dirs, batch, H], the last hidden and the last cell state [dirs,
// batch, H]; layout 1 moves batch to the front. The activations are f, g, h.
// cell_clip, which ONNX lacks, limits new cell states to [-cell_clip, cell_clip].
// On quantised values it follows the general rule (dequantise, compute in
// float64, quantise); the integer LSTM is the nncc operator QLSTM.
var LSTM = recurrent(ir.OpDef{Name: "LSTM", Doc: "long short-term memory",
	Attrs: ir.Declare[LSTMAttrs](), MaxIn: 8, MaxOut: 3}, lstmFloat)

func lstmFloat(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense {
	H := g.Hidden
	coupled, limit := ir.AttrsOf[LSTMAttrs](n).InputForget != 0, g.CellClip
	return recur(n, g, func(s *rnnState) { s.recurrentProduct(s.h, 0, 4*H) },
		func(s *rnnState, b int, nh, nc []float64) {
			z, c := s.gates[b*4*H:][:4*H], s.c[b*H:][:H]
			for k := range nh {
				zi, zo, zf, zc := z[k], z[H+k], z[2*H+k], z[3*H+k]
				if s.p != nil {
					zi += s.p[k] * c[k]
					zf += s.p[2*H+k] * c[k]
				}
				i := s.act(0, zi)
				f := 1 - i
				if !coupled {
					f = s.act(0, zf)
				}
				nc[k] = min(max(f*c[k]+i*s.act(1, zc), -limit), limit)
				if s.p != nil {
					zo += s.p[H+k] * nc[k]
				}
				nh[k] = s.act(0, zo) * g.Act(s.dir, 2)(nc[k])
			}
		})
}

// GRUAttrs are the attributes of GRU.
type GRUAttrs struct {
	RNNAttrs
	LinearBeforeReset int `default:"0"`
}

// GRU is ONNX's gated recurrent unit. W [dirs, 3*H, input] and R [dirs, 3*H,
// H] hold the gates in the order z (update), r (reset), h (hidden); B [dirs,
// 6*H]. With linear_before_reset the reset gate multiplies the recurrent
// product and its bias instead of the hidden state. Outputs: Y [steps, dirs,
// batch, H] and the last hidden state. The activations are f, g.
var GRU = recurrent(ir.OpDef{Name: "GRU", Doc: "gated recurrent unit",
	Attrs: ir.Declare[GRUAttrs](), MaxIn: 6, MaxOut: 2}, gruFloat)

func gruFloat(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense {
	H := g.Hidden
	linear := ir.AttrsOf[GRUAttrs](n).LinearBeforeReset != 0
	prepare := func(s *rnnState) {
		s.recurrentProduct(s.h, 0, 2*H) // z and r
		for b := 0; b < g.Batch; b++ {
			for k := range 2 * H {
				s.gates[b*3*H+k] = s.act(0, s.gates[b*3*H+k])
			}
		}
		if !linear {
			reset := lists.Make(g.Batch*H, func(i int) float64 { return s.gates[i/H*3*H+H+i%H] * s.h[i] })
			s.recurrentProduct(reset, 2*H, 3*H)
			return
		}
		rec := make([]float64, g.Batch*H)
		gemm(false, false, g.Batch, H, H, 1, s.h, H, s.across[2*H:], 3*H, 0, rec, H)
		for i, v := range rec {
			b, k := i/H, i%H
			z := s.pre[b*3*H+2*H+k]
			if s.wb != nil {
				v += s.rb[2*H+k]
				z += s.wb[2*H+k]
			}
			s.gates[b*3*H+2*H+k] = z + s.gates[b*3*H+H+k]*v
		}
	}
	return recur(n, g, prepare, func(s *rnnState, b int, nh, _ []float64) {
		z, h := s.gates[b*3*H:][:3*H], s.h[b*H:][:H]
		for k := range nh {
			nh[k] = (1-z[k])*s.act(1, z[2*H+k]) + z[k]*h[k]
		}
	})
}

// RNN is ONNX's simple recurrent unit: h = f(W*x + R*h + both biases), with W
// [dirs, H, input], R [dirs, H, H], B [dirs, 2*H].
var RNN = recurrent(ir.OpDef{Name: "RNN", Doc: "simple recurrent unit",
	Attrs: ir.Declare[RNNAttrs](), MaxIn: 6, MaxOut: 2}, rnnFloat)

func rnnFloat(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense {
	H := g.Hidden
	return recur(n, g, func(s *rnnState) { s.recurrentProduct(s.h, 0, H) }, func(s *rnnState, b int, nh, _ []float64) {
		for k := range nh {
			nh[k] = s.act(0, s.gates[b*H+k])
		}
	})
}
