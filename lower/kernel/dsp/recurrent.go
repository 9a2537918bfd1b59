package dsp

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// lstm widens the inputs of a step once and multiplies them by narrow weights,
// four units at a time.
var lstm = &kernel.Kernel{
	Name: "nncc_dsp_lstm_s8", Library: Library, Doc: "int8 LSTM of one direction, packed weights",
	Ops: []*ir.OpDef{op.QLSTM},
	Rules: join(onDSP("DSP-LSTM-00"), quantised.OwnLSTMRules("DSP-LSTM"),
		gateWords.Exists("DSP-LSTM-04", "the sums of two units fit a word")),
	Lower: func(n *kernel.Node) *call.Lowered {
		w := gateWords.Must(n)
		p := quantised.LSTMs.Must(n)
		widest := (2*max(p.InputSize, p.HiddenSize) + 15) &^ 15
		l := quantised.CallLSTM(n, "nncc_dsp_lstm_s8", widest, w.input, w.hidden)
		l.Library = Library
		return l
	},
}

// packedGates are the weights of the products with X and with the hidden state.
type packedGates struct{ input, hidden *call.Blob }

var gateWords = kernel.NewFact(func(n *kernel.Node) (*packedGates, string) {
	p, why := quantised.LSTMs.Of(n)
	if why != "" {
		return nil, kernel.Unread
	}
	input, hidden := quantised.LSTMGates(p)
	w := &packedGates{}
	if w.input, why = packGates(input); why != "" {
		return nil, "products with the input: " + why
	}
	if w.hidden, why = packGates(hidden); why != "" {
		return nil, "products with the hidden state: " + why
	}
	return w, ""
})

// packGates are narrow weights, four units at a time; units that fill up the
// last four are zeros.
func packGates(gates []quantised.Gate) (*call.Blob, string) {
	var words []int32
	for k, g := range gates {
		units := len(g.Bias)
		size := len(g.Weights) / units
		order := narrow.rowOrder(size)
		p := proven{form: narrow}
		for u := 0; u < units; u += 4 {
			var four [4]scaled
			for i := range four {
				if u+i >= units {
					continue
				}
				x := scaled{start: int64(g.Bias[u+i]), row: g.Weights[(u+i)*size:][:size], real: true}
				lo, hi := pack.Reach(x.row)
				x.lo, x.hi = lo+x.start, hi+x.start
				if most := int64(math.MaxInt32) >> (1 + max(g.Shift, 0)); x.lo < -most || x.hi > most {
					return nil, fmt.Sprintf("gate %d, unit %d: sums reach from %d to %d and are shifted by %d",
						k, u+i, x.lo, x.hi, g.Shift)
				}
				four[i] = x
			}
			if !share(&four[0], &four[1]) || !share(&four[2], &four[3]) {
				return nil, fmt.Sprintf("gate %d, units %d to %d: a sum does not fit 24 bits, or two weights 16",
					k, u, u+3)
			}
			words = p.append(words, &four, order)
			words = words[:len(words)-12] // scales are those of the gate
		}
	}
	return &call.Blob{Hint: "packed", CType: "int8_t", Data: pack.Words(words), Align: 4, NoCast: true}, ""
}

// plainLSTM is for cores without the DSP extension, but with Thumb-2: on others
// the library's function is as short.
var plainLSTM = &kernel.Kernel{
	Name: "nncc_plain_lstm_s8", Library: Library, Doc: "int8 LSTM of one direction, packed weights",
	Ops:   []*ir.OpDef{op.QLSTM},
	Rules: join(thumb2("PLAIN-LSTM-00"), quantised.OwnLSTMRules("PLAIN-LSTM")),
	Lower: func(n *kernel.Node) *call.Lowered {
		l := quantised.BlockLSTM(n, "nncc_plain_lstm_s8")
		l.Library = Library
		return l
	},
}
