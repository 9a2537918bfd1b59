// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// idleBytes count as live for the garbage collector and are never touched, so
	// that they take no memory: half of them is what a small compilation may leave
	// behind between two collections. More saves no time that could be measured.
	idleBytes = 32 << 20
	// garbagePercent is the garbage between two collections in percent of what is
	// live. Tensors hold no pointers: to look for them again costs little.
	garbagePercent = 50
	// plentyBytes is up to where memory that was freed may wait for its next use
	// instead of going back to the system: weights of megabytes seldom fit where
	// others were.
	plentyBytes = 96<<20 + idleBytes
	// tensorPercent and graphPercent are what may be held above plentyBytes beyond what
	// is live, garbage and freed memory together, in percent of the tensors and of
	// what has pointers. Looking through pointers costs time: a graph has so much room
	// that garbagePercent, and never this limit, says when.
	tensorPercent, graphPercent = 30, 200
)

// idle holds idleBytes.
var idle []byte

// collect sets how much garbage there may be beside what is live.
func collect() {
	idle = make([]byte, idleBytes)
	debug.SetGCPercent(garbagePercent)
	limit()
}

// limit bounds the memory held by what was live at the end of the last collection, and
// does so again behind the next one.
func limit() {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(heap)
	live, graphs := int64(heap[0].Value.Uint64()), int64(heap[1].Value.Uint64())
	graphs = min(live, graphs)
	room := (live-graphs)/100*tensorPercent + graphs/100*graphPercent
	debug.SetMemoryLimit(max(plentyBytes, live+room))
	runtime.AddCleanup(new([16]byte), func(int) { limit() }, 0)
}
