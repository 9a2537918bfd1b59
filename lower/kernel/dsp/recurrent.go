// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// recurrentRows widen the inputs of a step once and multiply them by four units
// of a gate at a time; without the DSP extension they are portable C.
func recurrentRows() []*kernel.Kernel {
	var rows []*kernel.Kernel
	for _, k := range quantised.RecurrentKinds {
		words := gateWords(k)
		fn, plain := "nncc_dsp_"+k.Suffix(), "nncc_plain_"+k.Suffix()
		rows = append(rows, &kernel.Kernel{Name: fn, Library: Library, Doc: k.Doc(), Ops: []*ir.OpDef{k.Op},
			Was: "DSP-" + k.Was(), Rules: kernel.All(cond.DSP, k.Rules(),
				words.Exists("WORD-SUMS", "the sums of two units fit a word")),
			Lower: func(n *kernel.Node) *call.Lowered {
				r, w := quantised.Recurrents.Must(n), words.Must(n)
				widest := (2*max(r.Inputs, r.Units) + 15) &^ 15
				return r.Call(n, fn, Library, widest, w.input, w.hidden)
			},
		}, &kernel.Kernel{Name: plain, Library: Library, Doc: k.Doc(), Ops: []*ir.OpDef{k.Op},
			Was: "PLAIN-" + k.Was(), Rules: kernel.All(cond.NoExtension, k.Rules()),
			Lower: func(n *kernel.Node) *call.Lowered { return quantised.CallRecurrent(n, plain, Library, 0) }})
	}
	return rows
}

// packedGates are the weights of the products with X and with the hidden state.
type packedGates struct{ input, hidden *call.Blob }

func gateWords(k quantised.RecurrentKind) *kernel.Fact[*packedGates] {
	return kernel.NewFact(func(n *kernel.Node) (*packedGates, string) {
		r, why := quantised.Recurrents.Of(n)
		if why != "" || n.In[0].Type.DType != k.Elem {
			return nil, kernel.Unread
		}
		w := &packedGates{}
		if w.input, why = packGates(r.Input, k.Elem); why != "" {
			return nil, "products with the input: " + why
		}
		if w.hidden, why = packGates(r.Hidden, k.Elem); why != "" {
			return nil, "products with the hidden state: " + why
		}
		return w, ""
	})
}

// packGates are the weights of four units at a time; units that fill up the last
// four are zeros.
func packGates(gates []quantised.Gate, elem tensor.DType) (*call.Blob, string) {
	var words []int32
	for k, g := range gates {
		for u := 0; u < len(g.Bias); u += 4 {
			four, why := unitsOf(&g, u, elem)
			if why != "" {
				return nil, fmt.Sprintf("gate %d, %s", k, why)
			}
			if elem == tensor.I16 {
				words = appendWide(words, four)
				continue
			}
			p := proven{form: narrow}
			if !share(&four[0], &four[1]) || !share(&four[2], &four[3]) {
				return nil, fmt.Sprintf("gate %d, units from %d on: a sum does not fit 24 bits, or two weights 16",
					k, u)
			}
			words = p.append(words, four, narrow.rowOrder(len(four[0].row)))
			words = words[:len(words)-12] // scales are those of the gate
		}
	}
	return &call.Blob{Hint: "packed", CType: "int8_t", Data: pack.Words(words), Align: 4, NoCast: true}, ""
}

// unitsOf are four units of a gate; the reason says which sum does not fit.
func unitsOf(g *quantised.Gate, u int, elem tensor.DType) (four []scaled, why string) {
	four = make([]scaled, 4)
	size := len(g.Weights) / len(g.Bias)
	for i := range four {
		if u+i >= len(g.Bias) {
			continue
		}
		x := scaled{start: int64(g.Bias[u+i]), row: g.Weights[(u+i)*size:][:size], real: true}
		lo, hi := pack.Reach(x.row)
		if elem == tensor.I16 {
			lo, hi = 129*(lo-hi), 129*(hi-lo) // 32768 of 255
		}
		x.lo, x.hi = lo+x.start, hi+x.start
		if most := int64(math.MaxInt32) >> (1 + max(g.Shift, 0)); x.lo < -most || x.hi > most {
			return four, fmt.Sprintf("unit %d: sums reach from %d to %d and are shifted by %d",
				u+i, x.lo, x.hi, g.Shift)
		}
		four[i] = x
	}
	return four, ""
}

// appendWide are weights for inputs of 16 bits: start values, then for every 4
// inputs a word of each unit with the bytes 0, 2, 1, 3.
func appendWide(words []int32, four []scaled) []int32 {
	for i := range four {
		words = append(words, int32(four[i].start))
	}
	size := len(four[0].row)
	for from := 0; from < size; from += 4 {
		for i := range four {
			w := int32(0)
			for b, k := range []int{0, 2, 1, 3} {
				if from+k < size {
					w |= at(&four[i], from+k) & 0xff << (8 * b)
				}
			}
			words = append(words, w)
		}
	}
	return words
}
