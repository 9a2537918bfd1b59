// SPDX-License-Identifier: Apache-2.0

package qref_test

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
)

// TestBadArgumentsAreErrors calls the kernels with arguments that do not fit:
// each must answer with an error, none may panic.
func TestBadArgumentsAreErrors(t *testing.T) {
	one := qref.Tile{H: 1, W: 1}
	d := qref.Dims{N: 1, H: 2, W: 2, C: 2}
	s8 := func(n int) []int8 { return make([]int8, n) }
	s32 := func(n int) []int32 { return make([]int32, n) }
	conv := qref.ConvParams{In: d, Filter: qref.Dims{N: 2, H: 1, W: 1, C: 2}, Out: d, Stride: one, Dilation: one,
		Mult: s32(2), Shift: s32(2)}
	testenv.OK(t, qref.Conv(&conv, s8(8), s8(4), nil, s8(8)))
	for name, f := range map[string]func() error{
		"conv without stride": func() error {
			c := conv
			c.Stride = qref.Tile{}
			return qref.Conv(&c, s8(8), s8(4), nil, s8(8))
		},
		"conv groups": func() error {
			c := conv
			c.Filter.C = 3
			return qref.Conv(&c, s8(8), s8(6), nil, s8(8))
		},
		"conv bias":  func() error { return qref.Conv(&conv, s8(8), s8(4), s32(1), s8(8)) },
		"conv input": func() error { return qref.Conv(&conv, s8(7), s8(4), nil, s8(8)) },
		"empty conv": func() error { return qref.Conv(&qref.ConvParams{}, nil, nil, nil, nil) },
		"depthwise":  func() error { return qref.Depthwise(&qref.DepthwiseParams{}, nil, nil, nil, nil) },
		"transpose conv": func() error {
			return qref.TransposeConv(&qref.TransposeConvParams{In: d, Out: d, Filter: d, Stride: one}, s8(8), s8(8),
				nil, s8(8))
		},
		"fully connected": func() error {
			return qref.FullyConnected(&qref.FCParams{Rows: 1, Depth: 2, Cols: 3, Mult: s32(2), Shift: s32(2)}, s8(2),
				s8(6), nil, s8(3))
		},
		"add": func() error {
			return qref.Add(&qref.AddParams{Scales: fixp.NewAddScales(1, 1, 1)}, s8(2), s8(3), s8(2))
		},
		"mul": func() error { return qref.Mul(&qref.MulParams{}, s8(2), s8(2), s8(1)) },
		"average in the padding": func() error {
			return qref.AvgPool(&qref.PoolParams{In: d, Out: d, Kernel: one, Stride: qref.Tile{H: 4, W: 4}}, s8(8),
				s8(8))
		},
		"max pool": func() error { return qref.MaxPool(&qref.PoolParams{In: d, Out: d, Kernel: one}, s8(8), s8(8)) },
		"softmax": func() error {
			return qref.Softmax(&qref.SoftmaxParams{Rows: 1, Size: 2, Shift: 40}, s8(2), s8(2))
		},
		"lstm": func() error {
			return qref.LSTM(&qref.LSTMParams{Batch: 1, Time: 1, InputSize: 1, HiddenSize: 1}, s8(1), s8(1),
				make([]int16, 1), nil)
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
