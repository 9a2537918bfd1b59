// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// drawnNetwork is a network that a test puts together, node by node, with drawn weights.
type drawnNetwork struct {
	t    *testing.T
	g    *ir.Graph
	seed uint64
	same bool // all output channels of a convolution have the same weights, and no bias
}

// add is the result of a node, which has its own name as its origin.
func (d *drawnNetwork) add(o *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	d.t.Helper()
	n, err := d.g.Add(o, name, attrs, 1, in...)
	if err != nil {
		d.t.Fatal(err)
	}
	n.Origin = []string{name}
	return n.Out[0]
}

// conv is a k by k convolution that keeps the map's size.
func (d *drawnNetwork) conv(name string, x *ir.Value, to, k int) *ir.Value {
	d.t.Helper()
	d.seed++
	w := ir.Rand(d.seed, tensor.F32, []int{to, x.Type.Shape[1], k, k})
	b := ir.Rand(d.seed+100, tensor.F32, []int{to})
	if d.same {
		all := tensor.As[float32](w)
		first := all[:len(all)/to]
		for i := range to {
			copy(all[i*len(first):], first)
		}
		b = tensor.New(tensor.F32, b.Shape)
	}
	pads := ir.Attrs{"pads": ir.Ints(k/2, k/2, k/2, k/2)}
	return d.add(op.Conv, name, pads, x, d.g.AddConst("w_"+name, w), d.g.AddConst("b_"+name, b))
}

// profiled is the first model of a firmware, and what its run says, bit for bit.
func profiled(t *testing.T, c *driver.Config) (*driver.Compiled, *report.Verdict) {
	t.Helper()
	f, err := driver.Compile(c)
	require(t, err)
	vs, err := f.Profile(context.Background())
	require(t, err)
	if vs[0].Differs() {
		t.Errorf("%+v", vs[0].Outputs)
	}
	return f.Models[0], vs[0]
}
