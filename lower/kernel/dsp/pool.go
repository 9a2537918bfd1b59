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
		Name: name, Library: Library, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout, Rules: join(onDSP(code+"-00"), quantised.PoolRules(code)),
		Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
			g, err := op.PoolGeometry(n)
			if err != nil {
				return nil, err
			}
			lo, hi, why := op.PoolQuantClamp(n)
			if why != "" {
				return nil, ir.Errf(n, "kernel", "%s", why)
			}
			in, out := quantised.Spatial(g.In, 1), quantised.Spatial(g.Out, 1)
			kernel, stride, pad := quantised.Spatial(g.Kernel, 1), quantised.Spatial(g.Strides, 1), quantised.Spatial(g.PadBegin, 0)
			f := fields("batches", g.N, "in_h", in.H, "in_w", in.W, "channels", g.C, "out_h", out.H, "out_w", out.W,
				"kernel_h", kernel.H, "kernel_w", kernel.W, "stride_h", stride.H, "stride_w", stride.W, "pad_h", pad.H, "pad_w", pad.W)
			f = append(f, clampOf(&op.MACParams{ActMin: lo, ActMax: hi}).bounds()...)
			return own(&call.Lowered{}, call.Call{Func: name, Args: []call.Arg{
				&call.Struct{Type: "nncc_dsp_pool_params", Fields: f}, i8In(0), i8Out(0)}}), nil
		},
	}
}

var (
	avgPool = pool("nncc_dsp_avg_pool_s8", "DSP-AVG", "int8 average pooling", op.AveragePool, op.GlobalAveragePool)
	maxPool = pool("nncc_dsp_max_pool_s8", "DSP-MAXP", "int8 max pooling", op.MaxPool, op.GlobalMaxPool)
)
