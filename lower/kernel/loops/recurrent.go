// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// cell is a recurrent operator being written: one direction at a time, one
// sample of the batch after the other. State is double from step to step.
type cell struct {
	*fn
	g      *op.RNNGeom
	d      int // the direction
	rows   int // of the weights
	z, h   ref // gates [rows], state [H]
	next   ref // the state to be [H]
	memory ref // LSTM's cell state [H]
}

// recurrent writes LSTM, GRU and RNN.
func recurrent(f *fn) {
	g := kernel.Known(op.RNNGeometry(f.n))
	c := &cell{fn: f, g: g, rows: g.Gates * g.Hidden}
	f.in(0)
	f.in(1)
	f.in(2)
	for i := 3; i < len(f.n.In); i++ {
		if f.has(i) {
			f.in(i)
		}
	}
	c.z, c.h, c.next = f.scratch("z", tensor.F64, c.rows), f.scratch("h", tensor.F64, g.Hidden),
		f.scratch("next", tensor.F64, g.Hidden)
	if f.n.Op == op.LSTM {
		c.memory = f.scratch("memory", tensor.F64, g.Hidden)
	}
	for c.d = range g.Dirs() {
		c.direction()
	}
}

// state is the offset of unit k of sample b in initial_h and the like.
func (c *cell) state() string {
	if c.g.BatchFirst {
		return fmt.Sprintf("(b * %d + %d) * %d + k", c.g.Dirs(), c.d, c.g.Hidden)
	}
	return fmt.Sprintf("(%d + b) * %d + k", c.d*c.g.Batch, c.g.Hidden)
}

// output is the offset of unit k of step t.
func (c *cell) output(t string) string {
	g := c.g
	if g.BatchFirst {
		return fmt.Sprintf("((b * %d + %s) * %d + %d) * %d + k", g.Seq, t, g.Dirs(), c.d, g.Hidden)
	}
	return fmt.Sprintf("((%s * %d + %d) * %d + b) * %d + k", t, g.Dirs(), c.d, g.Batch, g.Hidden)
}

func (c *cell) direction() {
	g, f := c.g, c.fn
	f.loop("b", g.Batch)
	length := fmt.Sprint(g.Seq)
	if f.has(4) {
		f.line("const int32_t length = %s[b];", f.in(4).name)
		length = "length"
	}
	for i, s := range []ref{c.h, c.memory} {
		if s.name == "" {
			continue
		}
		v := "0.0"
		if f.has(5 + i) {
			v = load(f.in(5+i), c.state())
		}
		f.each("k", g.Hidden, "%s[k] = %s;", s.name, v)
	}
	f.loop("t", length)
	at := "t"
	if g.Reverse[c.d] {
		at = "at"
		f.line("const int32_t at = %s - 1 - t;", length)
	}
	switch f.n.Op {
	case op.LSTM:
		c.products(at, 0, 4*g.Hidden, c.h, true)
		c.lstm()
	case op.GRU:
		c.products(at, 0, 2*g.Hidden, c.h, true)
		c.gru(at)
	default:
		c.products(at, 0, g.Hidden, c.h, true)
		f.loop("k", g.Hidden)
		c.act("v", 0, "z[k]")
		f.line("next[k] = v;")
		f.close()
	}
	f.loop("k", g.Hidden)
	f.line("h[k] = next[k];")
	if f.wants(0) {
		f.store(f.out(0), c.output(at), "next[k]")
	}
	f.close()
	f.close()
	if f.has(4) && f.wants(0) { // what lies behind a shorter sequence is zero
		f.open("for (int32_t t = length; t < %d; t++)", g.Seq)
		f.loop("k", g.Hidden)
		f.store(f.out(0), c.output("t"), "0.0")
		f.close()
		f.close()
	}
	f.loop("k", g.Hidden)
	if f.wants(1) {
		f.store(f.out(1), c.state(), "h[k]")
	}
	if f.wants(2) {
		f.store(f.out(2), c.state(), "memory[k]")
	}
	f.close()
	f.close()
}

// products are rows lo to hi of W x + R s and of both biases, in z; without
// the recurrent part, of W x and its bias alone.
func (c *cell) products(at string, lo, hi int, s ref, both bool) {
	g, f := c.g, c.fn
	x, w, r := f.in(0), f.in(1), f.in(2)
	sample := fmt.Sprintf("(%s * %d + b)", at, g.Batch)
	if g.BatchFirst {
		sample = fmt.Sprintf("(b * %d + %s)", g.Seq, at)
	}
	f.open("for (int32_t i = %d; i < %d; i++)", lo, hi)
	f.line("double acc = 0.0;")
	f.loop("e", g.Input)
	f.line("acc += %s * %s;", load(x, fmt.Sprintf("%s * %d + e", sample, g.Input)),
		load(w, fmt.Sprintf("(%d + i) * %d + e", c.d*c.rows, g.Input)))
	f.close()
	if f.has(3) {
		sum := load(f.in(3), fmt.Sprintf("%d + i", c.d*2*c.rows))
		if both {
			sum = "(" + sum + " + " + load(f.in(3), fmt.Sprintf("%d + i", c.d*2*c.rows+c.rows)) + ")"
		}
		f.line("acc += %s;", sum)
	}
	if both {
		f.loop("e", g.Hidden)
		f.line("acc += %s[e] * %s;", s.name, load(r, fmt.Sprintf("(%d + i) * %d + e", c.d*c.rows, g.Hidden)))
		f.close()
	}
	f.line("z[i] = acc;")
	f.close()
}

func (c *cell) lstm() {
	g, f := c.g, c.fn
	H := g.Hidden
	peep := func(gate int) string { return load(f.in(7), fmt.Sprintf("%d + k", c.d*3*H+gate*H)) }
	f.loop("k", H)
	zi, zo, zf := "z[k]", fmt.Sprintf("z[%d + k]", H), fmt.Sprintf("z[%d + k]", 2*H)
	if f.has(7) {
		zi, zf = zi+" + "+peep(0)+" * memory[k]", zf+" + "+peep(2)+" * memory[k]"
	}
	c.act("in", 0, zi)
	if ir.AttrsOf[op.LSTMAttrs](f.n).InputForget != 0 {
		f.line("const double keep = 1.0 - in;")
	} else {
		c.act("keep", 0, zf)
	}
	c.act("fresh", 1, fmt.Sprintf("z[%d + k]", 3*H))
	f.line("memory[k] = keep * memory[k] + in * fresh;")
	if !math.IsInf(g.CellClip, 1) {
		f.line("memory[k] = nncc_min_f64(nncc_max_f64(memory[k], %s), %s);", num(-g.CellClip), num(g.CellClip))
	}
	if f.has(7) {
		zo += " + " + peep(1) + " * memory[k]"
	}
	c.act("out", 0, zo)
	f.line("const double m = memory[k];")
	f.line("next[k] = out * (%s);", c.function(2, "m"))
	f.close()
}

func (c *cell) gru(at string) {
	g, f := c.g, c.fn
	H := g.Hidden
	f.loop("k", 2*H)
	c.act("v", 0, "z[k]")
	f.line("z[k] = v;")
	f.close()
	if ir.AttrsOf[op.GRUAttrs](f.n).LinearBeforeReset != 0 {
		c.products(at, 2*H, 3*H, c.h, false)
		f.loop("k", H)
		f.line("double acc = 0.0;")
		f.each("e", H, "acc += h[e] * %s;", load(f.in(2), fmt.Sprintf("(%d + k) * %d + e", c.d*c.rows+2*H, H)))
		if f.has(3) {
			f.line("acc += %s;", load(f.in(3), fmt.Sprintf("%d + k", c.d*2*c.rows+c.rows+2*H)))
		}
		f.line("z[%d + k] += z[%d + k] * acc;", 2*H, H)
		f.close()
	} else {
		f.each("k", H, "next[k] = z[%d + k] * h[k];", H)
		c.products(at, 2*H, 3*H, c.next, true)
	}
	f.loop("k", H)
	c.act("v", 1, fmt.Sprintf("z[%d + k]", 2*H))
	f.line("next[k] = (1.0 - z[k]) * v + z[k] * h[k];")
	f.close()
}

// act declares a variable: activation k of a value, clipped.
func (c *cell) act(name string, k int, v string) {
	from := name + "_of"
	if clip := c.g.Clip; !math.IsInf(clip, 1) {
		c.line("const double %s_all = %s;", name, v)
		v = fmt.Sprintf("%s_all > %s ? %s : (%s_all < %s ? %s : %s_all)", name, num(clip), num(clip), name, num(-clip),
			num(-clip), name)
	}
	c.line("const double %s = %s;", from, v)
	c.line("const double %s = %s;", name, c.function(k, from))
}

// function is activation k of a variable.
func (c *cell) function(k int, v string) string {
	p, q := c.g.ActParams(c.d, k)
	a, b := num(p), num(q)
	switch c.g.ActName(c.d, k) {
	case "relu":
		return "nncc_max_f64(" + v + ", 0.0)"
	case "tanh":
		return "tanh(" + v + ")"
	case "sigmoid":
		return "nncc_sigmoid_f64(" + v + ")"
	case "affine":
		return a + " * " + v + " + " + b
	case "leakyrelu":
		return v + " < 0.0 ? " + a + " * " + v + " : " + v
	case "thresholdedrelu":
		return v + " > " + a + " ? " + v + " : 0.0"
	case "scaledtanh":
		return a + " * tanh(" + b + " * " + v + ")"
	case "hardsigmoid":
		return "nncc_min_f64(nncc_max_f64(" + a + " * " + v + " + " + b + ", 0.0), 1.0)"
	case "elu":
		return v + " < 0.0 ? " + a + " * expm1(" + v + ") : " + v
	case "softsign":
		return v + " / (1.0 + fabs(" + v + "))"
	}
	return "nncc_softplus_f64(" + v + ")"
}

func recurrentRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("recurrent", "recurrent layers of any float type", recurrent, nil, op.LSTM, op.GRU, op.RNN),
	}
}
