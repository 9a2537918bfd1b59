// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// svdfRow is TensorFlow Lite's SVDF on int8.
var svdfRow = row("nncc_svdf", "NNCC-SVDF-S8", op.SVDF.Doc, natural,
	kernel.Rules{cond.New("SYMMETRIC", "constant weights, symmetric, with one scale each",
		func(n *kernel.Node) string {
			_, why := op.SVDFParams(n.Node)
			return why
		})}, func(l *lowering, n *kernel.Node) {
		fn, time := "nncc_svdf_s8", n.ConstIn(2)
		if time != nil && time.DType == tensor.I16 {
			fn = "nncc_svdf_s8_s16"
		}
		l.low.Kernel = fn
		p, _ := op.SVDFParams(n.Node)
		l.low.Unused = []int{1, 2, 3}
		features := make([]byte, len(p.Features))
		for i, v := range p.Features {
			features[i] = byte(v)
		}
		params := params("nncc_svdf_params", ints("batch", p.Batch, "inputs", p.Inputs, "units", p.Units, "rank",
			p.Rank, "memory", p.Memory, "feature_mult", call.T(p.FeatureMult), "feature_shift", call.T(p.FeatureShift),
			"output_mult", call.T(p.OutputMult), "output_shift", call.T(p.OutputShift), "output_zero",
			call.T(p.OutputZero), "state_zero", call.T(p.StateZero))...)
		l.call(fn, params, l.in(0), &call.Blob{Hint: "features", CType: "int8_t", Data: features,
			NoCast: true}, i32Blob("feature_bias", p.FeatureBias), blob("time", time), i32Blob("bias", p.Bias),
			l.in(4), l.out(0), l.out(1))
	}, op.SVDF)
