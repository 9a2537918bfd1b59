// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"math"
	"strings"
)

// recurrent is a QLSTM or QGRU being written.
type recurrent struct {
	*Writer
	text          string
	gates, units  int
	elem, op      string
	x, hidden     string // quantisations
	state, states string // quantisation and shape of the state
	args          []string
}

// Recurrent writes a QLSTM or QGRU on int8 or int16.
func (b *Writer) Recurrent(steps, batch, inputs, units int) {
	b.RecurrentOf(b.Chance(50), b.Chance(40), steps, batch, inputs, units)
}

// RecurrentOf writes a QGRU or QLSTM on int16 (wide) or int8 with random
// quantisation, with and without biases and given states, and one to three
// results.
func (b *Writer) RecurrentOf(gru, wide bool, steps, batch, inputs, units int) {
	r := &recurrent{Writer: b, gates: 4, units: units, elem: "i8", op: "QLSTM"}
	if gru {
		r.gates, r.op = 3, "QGRU"
	}
	power := -15
	if r.gates == 4 || b.Chance(30) {
		power = b.In(-15, -8)
	}
	r.state, r.states = fmt.Sprintf("q(%g:0)", math.Ldexp(1, power)), fmt.Sprintf("[%d,%d]", batch, units)
	xs := float32(b.One(1, 4, 16, 64)) * 0.004 * float32(0.5+b.Float64()) // large scales shift the sums to the left
	r.x, r.hidden = fmt.Sprintf("q(%g:%d)", xs, b.Zero()), fmt.Sprintf("q(0.0078125:%d)", b.One(0, 0, b.In(-30, 30)))
	if wide {
		r.elem, r.x = "i16", fmt.Sprintf("q(%g:0)", xs/256)
		r.hidden = fmt.Sprintf("q(%g:0)", 0.000030517578125*float64(b.One(1, 1, 2))*(0.25+b.Float64()))
	}
	r.operand("in", "x", fmt.Sprintf("%s[%d,%d,%d] %s", r.elem, steps, batch, inputs, r.x))
	r.weights("w", inputs)
	r.weights("r", units)
	r.optional(70, func() { r.bias("b") })
	if r.gates == 3 {
		r.optional(70, func() { r.bias("rb") })
	} else {
		r.optional(50, func() { r.operand("in", "h", r.elem+r.states+" "+r.hidden) })
	}
	r.optional(50, func() { r.operand("in", "c", "i16"+r.states+" "+r.state) })
	r.node(steps, batch, power)
}

// operand writes an operand that the node reads.
func (r *recurrent) operand(kind, name, what string) {
	r.text += fmt.Sprintf("%s %%%s# : %s\n", kind, name, what)
	r.args = append(r.args, "%"+name+"#")
}

func (r *recurrent) optional(pct int, write func()) {
	if r.Chance(pct) {
		write()
	} else {
		r.args = append(r.args, "-")
	}
}

func (r *recurrent) weights(name string, size int) {
	var scales []string
	unit := float32((r.n+1)%3+1) * 0.002 * float32(r.One(1, 1, 1, 16)) // large ones: products beyond int16
	for u := range r.gates * r.units {
		scales = append(scales, fmt.Sprintf("%g:0", unit*float32(1+u/r.units)))
	}
	v := make([]int, r.gates*r.units*size)
	all := r.Chance(5)
	for i := range v {
		if v[i] = r.In(-127, 127); all {
			v[i] = 127
		}
	}
	r.operand("const", name, fmt.Sprintf("i8[%d,%d] q(axis=0,%s) = {%s}", r.gates*r.units, size,
		strings.Join(scales, ","), commas(v...)))
}

func (r *recurrent) bias(name string) {
	n := r.gates * r.units
	r.operand("const", name, fmt.Sprintf("i32[%d] = %s", n, r.numbers(n, 4000, 1)))
}

func (r *recurrent) node(steps, batch, power int) {
	types := []string{fmt.Sprintf("%s[%d,%d,%d] %s", r.elem, steps, batch, r.units, r.hidden),
		r.elem + r.states + " " + r.hidden, "i16" + r.states + " " + r.state}
	var results []string
	outs := []string{"o#", "p#", "q#"}[:r.In(1, 3)]
	for i, o := range outs {
		results = append(results, "%"+o+" : "+types[i])
	}
	attrs := fmt.Sprintf("cell_scale_power=%d", power)
	if r.gates == 3 {
		attrs = fmt.Sprintf("state_scale_power=%d, linear_before_reset=%d", power, r.IntN(2))
	} else if r.Chance(40) {
		attrs += fmt.Sprintf(", cell_clip=%d", r.One(1, 200, 3000, 32767))
	}
	args := r.args
	for args[len(args)-1] == "-" {
		args = args[:len(args)-1]
	}
	r.Text(r.text+fmt.Sprintf("%s = nncc.%s(%s) {%s, direction=%q}", strings.Join(results, ", "), r.op,
		strings.Join(args, ", "), attrs, []string{"forward", "reverse"}[r.IntN(2)]), outs...)
}
