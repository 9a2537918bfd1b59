// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// limited are nodes of the operators whose inputs have limits, %i being the input.
var limited = []string{
	"in %i : i64[2]\n%y = nncc.Within(%i) {least=-2, most=5}",
	"in %x : f32[3,2]\nin %i : i64[2]\n%y = Gather(%x, %i) {axis=1}",
	"in %x : f32[3,2]\nin %i : i32[1,2]\n%y = GatherElements(%x, %i)",
	"in %x : f32[2,3,4]\nin %i : i64[2,1]\n%y = GatherND(%x, %i) {batch_dims=1}",
	"in %x : f32[3,2]\nin %i : i64[1,2]\nin %u : f32[1,2]\n%y = ScatterElements(%x, %i, %u)",
	"in %x : f32[3,2]\nin %i : i64[4,2]\nin %u : f32[4]\n%y = ScatterND(%x, %i, %u)",
	"in %x : f32[3,2]\nin %i : i64[2]\n%y = ReverseSequence(%x, %i)",
	"in %x : f32[1,1,2,2]\nin %i : i64[1,1,2,2]\n%y = MaxUnpool(%x, %i) {kernel_shape=[2,2], strides=[2,2]}",
	"in %x : f32[2,1,4,4]\nin %r : f32[3,4]\nin %i : i64[3]\n%y = RoiAlign(%x, %r, %i)",
	"in %x : f32[3,2,4]\nin %w : f32[1,8,4]\nin %r : f32[1,8,2]\nin %i : i32[2]\n" +
		"%y = LSTM(%x, %w, %r, -, %i) {direction=\"reverse\"}",
	"in %x : f32[3,2,4]\nin %w : f32[2,6,4]\nin %r : f32[2,6,2]\nin %i : i32[2]\n" +
		"%y = GRU(%x, %w, %r, -, %i) {direction=\"bidirectional\"}",
	"in %x : f32[3,2,4]\nin %w : f32[1,2,4]\nin %r : f32[1,2,2]\nin %i : i32[2]\n%y = RNN(%x, %w, %r, -, %i)",
}

// TestLimits: each element of an input with limits is taken at both ends, refused beyond, at run time and as a
// constant, with node, tensor, what was found and what is wanted. Every operator with limits is tried.
func TestLimits(t *testing.T) {
	tried := map[*ir.OpDef]bool{}
	for _, text := range limited {
		g, err := ir.Parse("graph \"g\" {\n"+text+"\nout \"y\" = %y\n}\n", op.Get)
		testenv.Require(t, err == nil, "%v\n%s", err, text)
		n := g.Nodes[0]
		tried[n.Op] = true
		for _, l := range ir.LimitsOf(n) {
			for k := range n.In[l.Input].Type.Elems() {
				least, most := int64(l.Least[k%len(l.Least)]), int64(l.Most[k%len(l.Most)])
				for v, good := range map[int64]bool{least: true, most: true, least - 1: false, most + 1: false,
					math.MaxInt32: false, math.MinInt32: false} {
					in := make([]*tensor.Dense, len(n.In))
					for i, v := range n.In {
						if v != nil {
							in[i] = tensor.New(v.Type.DType, v.Type.Shape)
						}
					}
					in[l.Input].SetInt(k, v)
					_, atRunTime := ir.EvalNode(n, in)
					fixed := n.Bare()
					fixed.In = slices.Clone(n.In)
					fixed.In[l.Input] = &ir.Value{Name: "i", Type: n.In[l.Input].Type, Const: in[l.Input]}
					_, constant := ir.InferNode(fixed)
					for _, err := range []error{atRunTime, constant} {
						testenv.Check(t, good == (err == nil) && (good || names(err, n, "%i")),
							"%s: element %d is %d: %v", n, k, v, err)
					}
				}
			}
		}
	}
	for _, d := range op.All() {
		testenv.Check(t, d.Limits == nil || tried[d], "%s has limits and is not tried", d.Name)
	}
}

// names reports a diagnosis that names node and tensor, and says what is wanted.
func names(err error, n *ir.Node, tensor string) bool {
	var d *ir.Diag
	return errors.As(err, &d) && d.Code == "index" && d.Node == n.String() && d.Want != "" &&
		strings.Contains(d.Msg, tensor)
}
