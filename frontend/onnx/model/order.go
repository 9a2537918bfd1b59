// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// Topological gives an order in which every node comes behind those that it
// reads from, close to the given one. It is nil where the nodes are in such an
// order already, as ONNX wants them, and where there is none (a cycle).
func Topological(nodes []*pb.NodeProto) []int {
	maker := Makers(nodes)
	if _, _, early := FirstEarly(nodes, maker); !early {
		return nil
	}
	missing := make([]int, len(nodes))
	readers := make([][]int, len(nodes))
	var ready []int // in order
	for i, n := range nodes {
		before := map[string]bool{}
		Reads(n, before)
		for s := range before {
			if m, ok := maker[s]; ok {
				missing[i]++
				readers[m] = append(readers[m], i)
			}
		}
		if missing[i] == 0 {
			ready = append(ready, i)
		}
	}
	order := make([]int, 0, len(nodes))
	for len(ready) > 0 {
		i := ready[0]
		ready, order = ready[1:], append(order, i)
		for _, r := range readers[i] {
			if missing[r]--; missing[r] == 0 {
				at, _ := slices.BinarySearch(ready, r)
				ready = slices.Insert(ready, at, r)
			}
		}
	}
	if len(order) < len(nodes) {
		return nil
	}
	return order
}

// Makers gives the node that makes each value.
func Makers(nodes []*pb.NodeProto) map[string]int {
	maker := make(map[string]int, len(nodes))
	for i, n := range nodes {
		for _, o := range n.GetOutput() {
			if _, dup := maker[o]; o != "" && !dup {
				maker[o] = i
			}
		}
	}
	return maker
}

// FirstEarly finds a node that reads what itself or a later one makes: its place
// and that of the other.
func FirstEarly(nodes []*pb.NodeProto, maker map[string]int) (at, by int, found bool) {
	before := map[string]bool{}
	for i, n := range nodes {
		clear(before)
		Reads(n, before)
		by = -1
		for s := range before {
			if m, ok := maker[s]; ok && m >= i && (by < 0 || m < by) {
				by = m
			}
		}
		if by >= 0 {
			return i, by, true
		}
	}
	return 0, 0, false
}

// Reads adds every name that a node reads, in its subgraphs too.
func Reads(n *pb.NodeProto, want map[string]bool) {
	for _, s := range n.GetInput() {
		want[s] = true
	}
	for _, a := range n.GetAttribute() {
		for _, g := range Subgraphs(a) {
			for _, o := range g.GetOutput() {
				want[o.GetName()] = true
			}
			for _, m := range g.GetNode() {
				Reads(m, want)
			}
		}
	}
}

// Subgraphs are the graphs in an attribute.
func Subgraphs(a *pb.AttributeProto) []*pb.GraphProto {
	if a.GetG() != nil {
		return append([]*pb.GraphProto{a.GetG()}, a.GetGraphs()...)
	}
	return a.GetGraphs()
}
