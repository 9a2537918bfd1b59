package onnx

import (
	"container/heap"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// topological gives an order in which every node comes behind those that it
// reads from, close to the given one. It is nil where the nodes are in such an
// order already, as ONNX wants them, and where there is none (a cycle).
func topological(nodes []*pb.NodeProto) []int {
	maker := makers(nodes)
	if _, _, early := firstEarly(nodes, maker); !early {
		return nil
	}
	missing := make([]int, len(nodes))
	readers := make([][]int, len(nodes))
	ready := &intHeap{}
	for i, n := range nodes {
		before := map[string]bool{}
		reads(n, before)
		for s := range before {
			if m, ok := maker[s]; ok {
				missing[i]++
				readers[m] = append(readers[m], i)
			}
		}
		if missing[i] == 0 {
			heap.Push(ready, i)
		}
	}
	order := make([]int, 0, len(nodes))
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, r := range readers[i] {
			if missing[r]--; missing[r] == 0 {
				heap.Push(ready, r)
			}
		}
	}
	if len(order) < len(nodes) {
		return nil
	}
	return order
}

// makers gives the node that makes each value.
func makers(nodes []*pb.NodeProto) map[string]int {
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

// firstEarly finds a node that reads what itself or a later one makes: its place
// and that of the other.
func firstEarly(nodes []*pb.NodeProto, maker map[string]int) (at, by int, found bool) {
	before := map[string]bool{}
	for i, n := range nodes {
		clear(before)
		reads(n, before)
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

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	o := *h
	x := o[len(o)-1]
	*h = o[:len(o)-1]
	return x
}
