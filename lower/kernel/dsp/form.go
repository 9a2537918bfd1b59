// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// form is a kind of packed weights.
type form uint8

const (
	narrow       form = iota // two weights in half a word
	wide                     // a weight in half a word
	plain                    // bytes, for cores without the DSP extension
	nibbles                  // four weights of 4 bits in half a word
	plainNibbles             // the same for cores without the DSP extension
	relu                     // narrow ones of channels 0 and 2, 1 and 3; an output is one multiplication
)

// manyChannels is from where on weights of 4 bits take at most 1.3 times the instructions of
// narrow ones: the sums of the inputs that they need are computed once for all channels.
const manyChannels = 8

// formFor is what the weights of a node begin with whose groups have so many channels; narrow
// ones may turn out wide.
func formFor(n *kernel.Node, channels int) form {
	switch fours := n.In[1].Type.DType == tensor.I4; {
	case !n.Core.DSP && fours:
		return plainNibbles
	case !n.Core.DSP:
		return plain
	case fours && channels >= manyChannels:
		return nibbles
	}
	return narrow
}

// isPlain are the forms for cores without the DSP extension.
func (f form) isPlain() bool { return f == plain || f == plainNibbles }

// suffix ends the names of the matrix kernels.
func (f form) suffix() string {
	switch f {
	case wide:
		return "_w16_s8"
	case nibbles, plainNibbles:
		return "_w4_s8"
	}
	return "_s8"
}

// widen and mat2 are the kernel's inner functions for two pixels.
func (p *proven) widen() call.Func {
	switch {
	case p.form.isPlain():
		return "nncc_plain_widen_2rows_s8"
	case p.up > 0:
		return call.Func(fmt.Sprintf("nncc_dsp_widen_2rows_x%d_s8", 1<<p.up))
	}
	return "nncc_dsp_widen_2rows_s8"
}

func (p *proven) mat2(table []byte) call.Func {
	name := "nncc_dsp_matmul_2rows"
	switch p.form {
	case plain:
		name = "nncc_plain_matmul_2rows"
	case plainNibbles:
		name = "nncc_plain_matmul_2rows_w4"
	case wide:
		name += "_w16"
	case nibbles:
		name += "_w4"
	case relu:
		name += "_relu"
	}
	if table != nil {
		name += "_lut"
	}
	return call.Func(name + p.order(kernel.Ahead, kernel.Short) + "_s8")
}

// order is the end of a body's name that has several orders: the core's, if it is one of them.
func (p *proven) order(has ...kernel.Order) string {
	if o := p.options.Core.Order; slices.Contains(has, o) {
		return string(o)
	}
	return string(kernel.Fewest)
}

// pairBytes are the words of inputs of two pixels, with those that are loaded ahead.
func (p *proven) pairBytes(pairs int) int {
	if p.options.Core.Order == kernel.Ahead {
		pairs++
	}
	return 8 * pairs
}

// rowOrder is the order of n inputs for kernels of one pixel.
func (f form) rowOrder(n int) []int {
	o := f.order(0, n)
	if f.isPlain() {
		return o[:n]
	}
	for len(o)%8 != 0 {
		o = append(o, -1)
	}
	return o
}

// order is the order in which n bytes from at on are widened.
func (f form) order(at, n int) []int {
	if f.isPlain() {
		return bytesOrder(at, n)
	}
	return runOrder(at, n)
}

// words are the words of widened inputs of a pixel.
func (f form) words(order []int) int {
	if f.isPlain() {
		return len(order)
	}
	return len(order) / 2
}
