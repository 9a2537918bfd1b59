// SPDX-License-Identifier: Apache-2.0

// Package mla is the MLA, an accelerator beside a Cortex-M core, as a target:
// the rules by which it takes or refuses a node, with reasons; its limits, which
// a board file sets; and the compiler from an integer graph to a segment file
// (package lm), whose commands a driver submits. See README.md.
package mla

import "github.com/nncc/nncc/lower/accel"

// Kind is the name by which a board file asks for this accelerator:
// `accelerators: [{name: mla0, kind: mla, params: {...}}]`.
const Kind = "mla"

// Limits are the parameters of one MLA. A board file sets them under `params`;
// what it leaves out has the value of Defaults.
type Limits struct {
	ConvStride   int // largest stride of Conv
	ConvDilation int // largest dilation of Conv
	ConvKernel   int // largest kernel height and width of Conv and ConvTranspose, 0: any
	PoolWindow   int // pool windows and reduced regions are smaller than this in each dimension
	// DeconvStrides are the strides that ConvTranspose may have, and
	// DepthwiseDeconvStrides those that a depthwise one may have.
	DeconvStrides          []int
	DepthwiseDeconvStrides []int
	SoftmaxLen             int // longest axis of Softmax
	MaxBatch               int // largest dimension 0 of any tensor, 0: any
	ChannelAlign           int // channels of Conv and ConvTranspose are multiples of this
	MemoryBytes            int // working memory of a segment, 0: any
	MinWork                int // MACs from which a segment of its own pays for its transfers
	BF16                   int // 1: it also computes in bfloat16
}

// Defaults are the limits of the facts that the rules stand on; what no source
// gives (alignment, memory, batch) is unlimited.
func Defaults() Limits {
	return Limits{ConvStride: 31, ConvDilation: 63, PoolWindow: 128, DeconvStrides: []int{1, 2, 4, 8, 16},
		DepthwiseDeconvStrides: []int{1, 2},
		SoftmaxLen:             4095, ChannelAlign: 1}
}

// params are the keys of a board file, with where their values go.
func (l *Limits) params() []accel.Param {
	return []accel.Param{ // the sum of exponentials in Softmax has no room for more than 4095
		{Name: "conv_stride", Doc: "largest stride of Conv", Low: 1, One: &l.ConvStride},
		{Name: "conv_dilation", Doc: "largest dilation of Conv", Low: 1, One: &l.ConvDilation},
		{Name: "conv_kernel", Doc: "largest kernel side of Conv and ConvTranspose, 0: any", One: &l.ConvKernel},
		{Name: "pool_window", Doc: "pool windows and reduced regions are smaller than this", Low: 2,
			One: &l.PoolWindow},
		{Name: "deconv_strides", Doc: "strides that ConvTranspose may have", Low: 1, List: &l.DeconvStrides},
		{Name: "depthwise_deconv_strides", Doc: "strides that a depthwise ConvTranspose may have", Low: 1,
			List: &l.DepthwiseDeconvStrides},
		{Name: "softmax_len", Doc: "longest axis of Softmax, at most 4095", Low: 1, High: 4095, One: &l.SoftmaxLen},
		{Name: "max_batch", Doc: "largest batch, 0: any", One: &l.MaxBatch},
		{Name: "channel_align", Doc: "channels of Conv and ConvTranspose are multiples of this", Low: 1,
			One: &l.ChannelAlign},
		{Name: "memory_bytes", Doc: "working memory of a segment, 0: any", One: &l.MemoryBytes},
		{Name: "min_work", Doc: "MACs from which a segment of its own pays", One: &l.MinWork},
		{Name: "bf16", Doc: "1: convolutions, sums, products and functions also run in bfloat16", One: &l.BF16},
	}
}

// ParseLimits decodes the params of a board's accelerator over the defaults. A
// key that does not exist, or a value of the wrong kind, is an error.
func ParseLimits(params map[string]any) (Limits, error) {
	l := Defaults()
	err := accel.DecodeParams(params, l.params())
	return l, err
}
