// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"

	"github.com/nncc/nncc/ir/tensor"
)

// Limit is the range of an integer input whose elements say where in a tensor something lies,
// or how much of it there is: indices, coordinates, lengths, counts.
type Limit struct {
	Input int
	What  string // what an element is, in the singular: "index", "sequence length"
	// Least and Most are the ends, both within: one pair for all elements, or one for each index of
	// the last dimension.
	Least, Most []int
}

// Indices are the limits of input i as indices into dimensions of these sizes, where negative ones
// count from the end: one size for all elements, or one for each index of the last dimension.
func Indices(i int, sizes ...int) Limit {
	l := Limit{Input: i, What: "index", Least: make([]int, len(sizes)), Most: make([]int, len(sizes))}
	for k, n := range sizes {
		l.Least[k], l.Most[k] = -n, n-1
	}
	return l
}

// Counts are the limits of input i as indices, lengths or counts from 0 to most.
func Counts(i int, what string, most int) Limit {
	return Limit{Input: i, What: what, Least: []int{0}, Most: []int{most}}
}

// LimitsOf are the limits of a node's inputs that are there, nil where it has no elements to compute.
func LimitsOf(n *Node) []Limit {
	if n.Op.Limits == nil {
		return nil
	}
	elems := 0
	for _, v := range n.Out {
		if v != nil {
			elems += v.Type.Elems()
		}
	}
	if elems == 0 {
		return nil
	}
	var out []Limit
	for _, l := range n.Op.Limits(n) {
		if n.Input(l.Input) != nil {
			out = append(out, l)
		}
	}
	return out
}

// check is an error about the first element of d, input l.Input of n, that lies outside.
func (l Limit) check(n *Node, d *tensor.Dense) error {
	for i, count := 0, d.Len(); i < count; i++ {
		k := i % len(l.Least)
		if v := d.Int(i); v < int64(l.Least[k]) || v > int64(l.Most[k]) {
			e := Errf(n, "index", "%s %d is out of range: element %v of input %d (%s)", l.What, v,
				unravel(i, d.Shape), l.Input, n.In[l.Input])
			e.Want, e.Tensor = fmt.Sprintf("%d to %d", l.Least[k], l.Most[k]), n.In[l.Input].Name
			return e
		}
	}
	return nil
}

// unravel is element i of a tensor as coordinates.
func unravel(i int, shape []int) []int {
	at := make([]int, len(shape))
	for k, s := range tensor.Strides(shape) {
		at[k] = i / s % shape[k]
	}
	return at
}

// checkLimits holds the inputs of a node that are there, constants or given, against their limits.
func checkLimits(n *Node, limits []Limit, in func(i int) *tensor.Dense) error {
	for _, l := range limits {
		if d := in(l.Input); d != nil {
			if err := l.check(n, d); err != nil {
				return err
			}
		}
	}
	return nil
}
