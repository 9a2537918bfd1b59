// SPDX-License-Identifier: Apache-2.0

// Package fuse finds what can be computed together and makes it so where a
// kernel exists: parts of the graph that compute one 8-bit value from one
// other become a table, convolutions and the like take what follows them into
// their store loop, and element-wise nodes that remain become one loop.
package fuse

// Fusion is nodes that became one, or that could have and did not.
type Fusion struct {
	Kind   string   // table, curve, kernel, loop; none: they stay as they are
	Anchor string   // the node that stands for all
	Nodes  []string // all of them, in order
	Kernel string   // what computes them, where a kernel does
	Why    string   // why they stay, where Kind is none
	// Error is how far an interpolation (curve) is from the exact function at most, in steps of
	// the result, and Apart how far the separate nodes are.
	Error, Apart float64
}
