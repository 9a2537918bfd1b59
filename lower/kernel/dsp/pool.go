package dsp

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

func pool(name, code, doc string, ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: name, Library: Library, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout,
		Rules: join(onDSP(code+"-00"), quantised.PoolRules(code)),
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Pool.Must(n)
			lo, hi, _ := op.PoolQuantClamp(n.Node)
			w := quantised.PoolWindow(g)
			f := fields("batches", g.N, "in_h", w.In.H, "in_w", w.In.W, "channels", g.C, "out_h", w.Out.H, "out_w",
				w.Out.W,
				"kernel_h", w.Kernel.H, "kernel_w", w.Kernel.W, "stride_h", w.Stride.H, "stride_w", w.Stride.W, "pad_h",
				w.Pad.H, "pad_w", w.Pad.W)
			f = append(f, clampOf(&op.MACParams{ActMin: lo, ActMax: hi}).bounds()...)
			return own(&call.Lowered{}, call.Call{Func: name, Args: []call.Arg{
				&call.Struct{Type: "nncc_dsp_pool_params", Fields: f}, i8In(0), i8Out(0)}})
		},
	}
}

var (
	avgPool = pool("nncc_dsp_avg_pool_s8", "DSP-AVG", "int8 average pooling", op.AveragePool, op.GlobalAveragePool)
	maxPool = pool("nncc_dsp_max_pool_s8", "DSP-MAXP", "int8 max pooling", op.MaxPool, op.GlobalMaxPool)
)
