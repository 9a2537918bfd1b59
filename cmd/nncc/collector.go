// SPDX-License-Identifier: Apache-2.0

package main

import "runtime/debug"

const (
	// idleBytes count as live for the garbage collector and are never touched, so
	// that they take no memory: half of them is what a small compilation may leave
	// behind between two collections. More saves no time that could be measured.
	idleBytes = 32 << 20
	// garbagePercent is the garbage between two collections in percent of what is
	// live. Tensors hold no pointers: to look for them again costs little.
	garbagePercent = 50
	// scarceBytes is where the collector works harder still.
	scarceBytes = 900 << 20
)

// idle holds idleBytes.
var idle []byte

// collect sets how much garbage there may be beside what is live.
func collect() {
	idle = make([]byte, idleBytes)
	debug.SetGCPercent(garbagePercent)
	debug.SetMemoryLimit(scarceBytes + idleBytes)
}
