// SPDX-License-Identifier: Apache-2.0

package param_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel/param"
)

// TestFields: fields come in the order of C, those of the window where they are not
// given, structs in structs with theirs, lists as arrays, and what is nil not at all.
func TestFields(t *testing.T) {
	w := param.ConvWindow(&op.ConvGeom{Windows: op.Windows{In: []int{7}, Out: []int{5}, Kernel: []int{3},
		Strides: []int{2}, PadBegin: []int{1}, Dilations: []int{1}}})
	for _, c := range []struct {
		p    param.Params
		want string
	}{
		{&param.DspPool{Channels: 4, Batches: 2, KernelW: 9, Low: call.T(-128)},
			"[{batches 2} {in_h 1} {in_w 7} {channels 4} {out_h 1} {out_w 5} {kernel_h 1} {kernel_w 9} {stride_h 1} " +
				"{stride_w 2} {pad_h 0} {pad_w 1} {low -128}]"},
		{&param.HeliumTransposeConv{Mac: &param.HeliumMatmul{Channels: 8}, KernelH: 2},
			"[{mac {[{channels 8}]}} {kernel_h 2}]"},
		{&param.CopyNd{Dims: []int{2, 3}}, "[{dims {[{ 2} { 3}]}}]"},
	} {
		testenv.Equal(t, fmt.Sprint(param.Struct(c.p, &w).Fields), c.want, c.p.CType())
	}
}
