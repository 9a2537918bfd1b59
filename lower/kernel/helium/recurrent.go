package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// lstm computes four units of a gate at a time.
var lstm = &kernel.Kernel{
	Name: "nncc_helium_lstm_s8", Library: Library, Doc: "int8 LSTM of one direction, packed weights",
	Ops:   []*ir.OpDef{op.QLSTM},
	Rules: join(onHelium("HELIUM-LSTM-00"), quantised.OwnLSTMRules("HELIUM-LSTM")),
	Lower: func(n *kernel.Node) *call.Lowered {
		l := quantised.BlockLSTM(n, "nncc_helium_lstm_s8")
		l.Library = Library
		return l
	},
}
