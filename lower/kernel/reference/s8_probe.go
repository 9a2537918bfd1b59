// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Constants of the integer kernels are derived from what the interpreter
// computes: the node is evaluated on every value that its operands can take,
// and a kernel is used only where it gives the same for all of them.

// repeated is element k of d, count times, as a vector.
func repeated(d *tensor.Dense, k, count int) []byte {
	s := d.DType.Size()
	b := d.Bytes()[k*s : (k+1)*s]
	out := make([]byte, 0, s*count)
	for range count {
		out = append(out, b...)
	}
	return out
}

// pairTable is the function of two 8-bit inputs: the result for bit patterns a
// and b is at a<<8|b.
func pairTable(n *ir.Node) ([]byte, error) {
	const size = 1 << 16
	a, b := make([]byte, size), make([]byte, size)
	for i := range size {
		a[i], b[i] = byte(i>>8), byte(i)
	}
	in := make([]*tensor.Dense, 2)
	for i, v := range [][]byte{a, b} {
		d := kernel.Known(tensor.FromBytes(n.In[i].Type.DType, []int{size}, v))
		in[i] = d
	}
	y := kernel.Known(kernel.Probe(n, in, []int{size}))
	return y.Bytes(), nil
}

// tables are a function of one 8-bit value that depends on a constant.
type tables struct {
	x     int      // the run-time input
	rows  [][]byte // 256 results for every different value of the constant
	index []int    // the row of every element of the constant
}

// constTables are the tables of a node with two inputs, one of them constant.
var constTables = kernel.FactOf(func(n *ir.Node) (*tables, error) {
	k, why := kernel.RunInput(n)
	if why != "" {
		return nil, errors.New(why)
	}
	if n.In[1-k].Type.Quant.PerAxis() {
		return nil, fmt.Errorf("the constant %s is quantised along dimension %d, want one scale", n.In[1-k],
			n.In[1-k].Type.Quant.Axis)
	}
	c := n.In[1-k].Const
	size := c.DType.Size()
	seen := map[string]int{}
	t := &tables{x: k}
	var values []int // elements with the different values
	raw := c.Bytes()
	for i := range c.Len() {
		s := string(raw[i*size : (i+1)*size])
		if _, ok := seen[s]; !ok {
			seen[s] = len(values)
			values = append(values, i)
		}
		t.index = append(t.index, seen[s])
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the constant %s is empty", n.In[1-k])
	}
	if len(values) > 1<<12 {
		return nil, fmt.Errorf("the constant %s has %d different values, want at most %d", n.In[1-k], len(values),
			1<<12)
	}
	var cs []byte
	for _, i := range values {
		cs = append(cs, repeated(c, i, 256)...)
	}
	var err error
	in := make([]*tensor.Dense, 2)
	in[k] = kernel.AllBytes(n.In[k].Type.DType, len(values))
	if in[1-k], err = tensor.FromBytes(c.DType, []int{256 * len(values)}, cs); err != nil {
		return nil, err
	}
	y, err := kernel.Probe(n, in, []int{256 * len(values)})
	if err != nil {
		return nil, err
	}
	out := y.Bytes()
	for v := range values {
		t.rows = append(t.rows, out[256*v:256*(v+1)])
	}
	return t, nil
})

// normTables are constTables of BatchNormalization: a row for every channel.
var normTables = kernel.FactOf(func(n *ir.Node) (*tables, error) {
	var err error
	for i := 1; i <= 4; i++ {
		if n.ConstIn(i) == nil {
			return nil, fmt.Errorf("parameter %s is computed at run time, want a constant", n.In[i])
		}
	}
	t := &tables{index: ir.Identity(n.In[1].Const.Len())}
	channels := n.In[1].Const.Len()
	b := make([]byte, 256*channels)
	for i := range b {
		b[i] = byte(i / channels)
	}
	in := []*tensor.Dense{nil, n.In[1].Const, n.In[2].Const, n.In[3].Const, n.In[4].Const}
	if in[0], err = tensor.FromBytes(n.In[0].Type.DType, []int{256, channels}, b); err != nil {
		return nil, err
	}
	y, err := kernel.Probe(n, in, []int{256, channels})
	if err != nil {
		return nil, err
	}
	out := y.Bytes()
	for c := range channels {
		row := make([]byte, 256)
		for i := range row {
			row[i] = out[i*channels+c]
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
})
