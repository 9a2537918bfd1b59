package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// vector is the size of a vector register in bytes.
const vector = 16

// layer is a product with constant weights: a row of int8 for every output
// channel, in the order in which the kernel meets the inputs.
type layer struct {
	rows [][]int8
	bias []int32 // nil: none
	p    *op.MACParams
	// generic: functions that more layers share (kernel.Options)
	generic bool
}

func layerOf(n *ir.Node, w *tensor.Dense, channels int, p *op.MACParams) *layer {
	l := &layer{p: p, rows: make([][]int8, channels), bias: kernel.Bias(n, channels)}
	v := tensor.As[int8](w)
	for c := range l.rows {
		l.rows[c] = v[c*len(v)/channels : (c+1)*len(v)/channels]
	}
	return l
}

// channel gives the start of the sum, the multiplier and the shift of a channel.
func (l *layer) channel(c int) (start, mult, shift int32) {
	if len(l.bias) > 0 {
		start = l.bias[c]
	}
	start = int32(pack.Bias(l.rows[c], l.p.InOff, start)) // sums wrap, here and on the core
	if len(l.p.Mult) == 1 {
		c = 0
	}
	mult, shift = l.p.Mult[c], l.p.Shift[c]
	if mult == 0 && shift > -1 {
		shift = -1 // a product of 0 may be shifted as it pleases the kernel
	}
	return start, mult, shift
}

// shifts is the rule of the kernels' requantisation.
func (l *layer) shifts() string {
	for c := range l.rows {
		if _, _, s := l.channel(c); s > -1 || s < -31 {
			return fmt.Sprintf("channel %d is requantised by a shift of %d, want 1 to 31 to the right: an effective scale below 0.5", c, s)
		}
	}
	return ""
}

// relu: no value below the zero point survives the clamp.
func (l *layer) relu() bool { return l.p.ActMin >= l.p.OutOff }

// words appends 32-bit words.
func words(b []byte, v ...int32) []byte { return append(b, pack.Words(v)...) }

// records packs the rows for the kernels nncc_helium_matmul_* (nncc_helium.h) in
// records of four channels and rows of the given number of vectors.
func (l *layer) records(vectors int) []byte {
	var b []byte
	n := len(l.rows)
	for at := 0; at < n; at += 4 {
		first := at
		if at+4 > n {
			first = max(n-4, 0)
		}
		var head [12]int32
		for i := 0; i < 4 && first+i < n; i++ {
			head[i], head[4+i], head[8+i] = l.channel(first + i)
		}
		b = words(b, head[:]...)
		for v := range vectors {
			for c := first; c < first+4; c++ {
				for k := v * vector; k < (v+1)*vector; k++ {
					x := byte(0)
					if c < n && k < len(l.rows[c]) {
						x = byte(l.rows[c][k])
					}
					b = append(b, x)
				}
			}
		}
	}
	return b
}

// part are n channels of the layer from first on.
func (l *layer) part(first, n int) *layer {
	x := &layer{rows: l.rows[first:][:n], p: l.p}
	if len(l.bias) > 0 {
		x.bias = l.bias[first:][:n]
	}
	if len(l.p.Mult) > 1 {
		p := *l.p
		p.Mult, p.Shift = p.Mult[first:][:n], p.Shift[first:][:n]
		x.p = &p
	}
	return x
}

// mac is nncc_helium_matmul_params for rows of depth bytes, at least step bytes apart (or
// so far), of which the input has no more behind the last one.
func (l *layer) mac(pitch call.Arg, channels, depth, step, vectors int, apart call.Arg) []call.Field {
	single := (vectors*vector - depth + step - 1) / step
	return []call.Field{
		call.F("pitch", pitch), call.FI("zero", int(l.p.OutOff)), call.FI("act_min", int(l.p.ActMin)), call.FI("act_max", int(l.p.ActMax)),
		call.FI("channels", channels), call.F("step", apart), call.FI("vectors", vectors),
		call.FI("tail", depth-(roundUp(depth, vector)-vector)), call.FI("single", single),
	}
}

// inRows and outRows are input 0 and output 0 in rows of n bytes: the channels
// of a pixel.
func inRows(n int) (call.Pitch, call.Rows) { return call.Pitch{Row: n}, call.Rows{Bytes: n} }
func outRows(n int) (call.Pitch, call.Rows) {
	return call.Pitch{Output: true, Row: n}, call.Rows{Output: true, Bytes: n}
}

// unrolled is the longest row in vectors that a kernel takes without a loop.
const unrolled = 9

// dot names the kernel for rows of at least the given number of vectors, and
// how many vectors it wants. Generic kernels clamp anyhow, and longer rows than
// three vectors go through one loop, which takes at least six.
func (l *layer) dot(vectors int) (fn string, want int) {
	if l.generic && vectors > 3 {
		return "nncc_helium_matmul_unroll3_s8", roundUp(max(vectors, 6), 3)
	}
	if vectors <= unrolled {
		relu := ""
		if l.relu() && !l.generic {
			relu = "_relu"
		}
		return fmt.Sprintf("nncc_helium_matmul_k%d%s_s8", vectors, relu), vectors
	}
	by := 5
	for _, n := range []int{4, 3} {
		if roundUp(vectors, n) < roundUp(vectors, by) {
			by = n
		}
	}
	return fmt.Sprintf("nncc_helium_matmul_unroll%d_s8", by), roundUp(vectors, by)
}

// ruleOf asks about a node in the terms of its kernel, which read finds.
func ruleOf[T any](code, doc string, read func(n *ir.Node) (T, string), check func(n *ir.Node, x T) string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: doc, Check: func(n *ir.Node, _ *kernel.Options) string {
		if !quantised.KnownOperands(n) {
			return kernel.Unread
		}
		x, why := read(n)
		if why != "" {
			return kernel.Unread
		}
		return check(n, x)
	}}
}
