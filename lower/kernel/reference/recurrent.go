package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// integerLSTM is the LSTM of nncc_recurrent.h in C.
var integerLSTM = &kernel.Kernel{
	Name: "nncc_lstm_s8", Library: "nncc", Doc: "int8 LSTM of one direction",
	Ops:   []*ir.OpDef{op.QLSTM},
	Rules: quantised.OwnLSTMRules("NNCC-LSTM-S8"), Layout: natural,
	Lower: func(n *kernel.Node) *call.Lowered {
		l := quantised.BlockLSTM(n, "nncc_lstm_s8")
		l.Library = "nncc"
		return l
	},
}
