// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// rnnActs are the kernels' names of ONNX's activations.
var rnnActs = map[string]call.Lit{
	"sigmoid": "NNCC_RNN_SIGMOID", "tanh": "NNCC_RNN_TANH", "relu": "NNCC_RNN_RELU", "affine": "NNCC_RNN_AFFINE",
	"leakyrelu":       "NNCC_RNN_LEAKY_RELU",
	"thresholdedrelu": "NNCC_RNN_THRESHOLDED_RELU", "scaledtanh": "NNCC_RNN_SCALED_TANH",
	"hardsigmoid": "NNCC_RNN_HARD_SIGMOID", "elu": "NNCC_RNN_ELU",
	"softsign": "NNCC_RNN_SOFTSIGN", "softplus": "NNCC_RNN_SOFTPLUS",
}

// rnnParams are the parameters of the recurrent kernels.
func rnnParams(n *ir.Node, g *op.RNNGeom) *call.Struct {
	direction := map[string]int{"forward": 0, "reverse": 1,
		"bidirectional": 2}[ir.AttrsOf[op.DirectionAttr](n).Direction]
	f := ints("seq", g.Seq, "batch", g.Batch, "in_n", g.Input, "hidden", g.Hidden, "direction", direction)
	perDir := 1
	switch n.Op {
	case op.LSTM:
		f = append(f, call.FI("input_forget", ir.AttrsOf[op.LSTMAttrs](n).InputForget))
		perDir = 3
	case op.GRU:
		f = append(f, call.FI("linear_before_reset", ir.AttrsOf[op.GRUAttrs](n).LinearBeforeReset))
		perDir = 2
	}
	if !math.IsInf(g.Clip, 1) {
		f = append(f, call.F("clip", f32(float32(g.Clip))))
	}
	if !math.IsInf(g.CellClip, 1) {
		f = append(f, call.F("cell_clip", f32(float32(g.CellClip))))
	}
	acts := make([]call.Field, 3*g.Dirs())
	for i := range acts {
		acts[i].Value = call.Nested{Fields: ints("kind", 0)}
	}
	for d := range g.Dirs() {
		for k := range perDir {
			a, b := g.ActParams(d, k)
			acts[3*d+k].Value = call.Nested{Fields: []call.Field{call.F("kind", rnnActs[g.ActName(d, k)]),
				call.F("alpha", f32(float32(a))), call.F("beta", f32(float32(b)))}}
		}
	}
	return params("nncc_rnn_params", append(f, call.F("act", call.Nested{Fields: acts}))...)
}

// swapped is a state or sequence of a batch-first node as the kernels want it,
// the first two dimensions exchanged.
func (l *lowering) swapped(i int, g *op.RNNGeom) call.Arg {
	if l.n.Input(i) == nil || !g.BatchFirst {
		return l.in(i)
	}
	return l.arranged(i, l.n.In[i].Type.Shape, []int{1, 0, 2})
}

// rnnOutput is where the kernel writes output i: NULL where it is absent, and
// scratch where batch-first order makes a copy necessary, which finish emits.
func (l *lowering) rnnOutput(i int, g *op.RNNGeom, finish *[]func()) call.Arg {
	if !wanted(l.n, i) {
		return call.Null{}
	}
	if !g.BatchFirst {
		return l.out(i)
	}
	t := l.n.Out[i].Type
	kernel, perm := []int{g.Dirs(), g.Batch, g.Hidden}, []int{1, 0, 2}
	if i == 0 {
		kernel, perm = []int{g.Seq, g.Dirs(), g.Batch, g.Hidden}, []int{2, 0, 1, 3}
	}
	m := move{elem: t.DType.Size(), dims: t.Shape, x: permuted(tensor.Strides(kernel), perm),
		y: tensor.Strides(t.Shape)}
	if m.identity() {
		return l.out(i)
	}
	s := l.scratch(t.DType, t.Elems())
	*finish = append(*finish, func() { l.move(m, bytesOf(s), bytesOf(l.out(i))) })
	return s
}

func rnnRow(fn, was string, d *ir.OpDef, states []int, scratch int) *kernel.Kernel {
	return row(fn, was, d.Doc, natural, kernel.Rules{cond.Float32(0, 1, 2, 3, 5, 6, 7), cond.NotEmpty},
		func(l *lowering, n *kernel.Node) {
			g := kernel.Known(op.RNNGeometry(n.Node))
			args := []call.Arg{rnnParams(n.Node, g), l.swapped(0, g), l.in(1), l.in(2), l.in(3)}
			if d == op.LSTM {
				args = append(args, l.in(7)) // peepholes
			}
			for _, i := range states {
				args = append(args, l.swapped(i, g))
			}
			args = append(args, l.in(4))
			var finish []func()
			for i := range d.MaxOut {
				args = append(args, l.rnnOutput(i, g, &finish))
			}
			l.call(fn, append(args, l.scratch(tensor.F32, scratch*g.Hidden))...)
			for _, f := range finish {
				f()
			}
		}, d)
}

func rnnKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		rnnRow("nncc_lstm_f32", "NNCC-LSTM-F32", op.LSTM, []int{5, 6}, 6),
		rnnRow("nncc_gru_f32", "NNCC-GRU-F32", op.GRU, []int{5}, 5),
		rnnRow("nncc_rnn_f32", "NNCC-RNN-F32", op.RNN, []int{5}, 2),
	}
}

// integerRecurrent are LSTM and GRU of nncc_recurrent.h in C.
func integerRecurrent() []*kernel.Kernel {
	var rows []*kernel.Kernel
	for _, k := range quantised.RecurrentKinds {
		fn := "nncc_" + k.Suffix()
		rows = append(rows, &kernel.Kernel{Name: fn, Library: "nncc", Doc: k.Doc(), Ops: []*ir.OpDef{k.Op},
			Was: "NNCC-" + k.Was() + "-Q", Rules: k.Rules(), Layout: natural,
			Lower: func(n *kernel.Node) *call.Lowered { return quantised.CallRecurrent(n, fn, "nncc", 0) }})
	}
	return rows
}

// svdfRow is TensorFlow Lite's SVDF on int8.
var svdfRow = row("nncc_svdf", "NNCC-SVDF-S8", op.SVDF.Doc, natural, kernel.Rules{cond.New("SYMMETRIC",
	"constant weights, symmetric, with one scale each", func(n *kernel.Node) string {
		_, why := op.SVDFParams(n.Node)
		return why
	})}, func(l *lowering, n *kernel.Node) {
	fn, time := "nncc_svdf_s8", n.ConstIn(2)
	if time != nil && time.DType == tensor.I16 {
		fn = "nncc_svdf_s8_s16"
	}
	l.low.Kernel = fn
	p, _ := op.SVDFParams(n.Node)
	l.low.Unused = []int{1, 2, 3}
	features := lists.Each(p.Features, func(v int8) byte { return byte(v) })
	params := params("nncc_svdf_params", ints("batch", p.Batch, "inputs", p.Inputs, "units", p.Units, "rank",
		p.Rank, "memory", p.Memory, "feature_mult", call.T(p.FeatureMult), "feature_shift", call.T(p.FeatureShift),
		"output_mult", call.T(p.OutputMult), "output_shift", call.T(p.OutputShift), "output_zero",
		call.T(p.OutputZero), "state_zero", call.T(p.StateZero))...)
	l.low.Overlap = []call.Overlap{{I: 4, Out: 1, Exact: true}}
	l.call(fn, params, l.in(0), &call.Blob{Hint: "features", CType: "int8_t", Data: features,
		NoCast: true}, array("feature_bias", p.FeatureBias), blob("time", time), array("bias", p.Bias),
		l.in(4), l.out(0), l.out(1))
}, op.SVDF)
