// SPDX-License-Identifier: Apache-2.0

// Package plan packs buffers with known live ranges into one arena (Place) and
// finds the order of the steps of a program that needs the fewest live bytes
// (Order).
//
// It knows nothing of graphs, operators or types: buffers are byte counts with
// a first and a last step, steps are nodes that read and write values. All
// searches are seeded and limited by counted work, never by a clock, so the
// same call gives the same answer on every machine.
package plan

import "math"

// DefaultAlign is the alignment in bytes of every storage in the arena, and the
// unit that sizes are rounded up to, unless Options say otherwise.
const DefaultAlign = 16

// DefaultBudget is the work that a call of Place or Order may spend once its
// cheap methods have failed to reach the lower bound. A unit is about the
// inspection of one buffer or one word, a few nanoseconds.
const DefaultBudget = 1 << 25

// Options of Place and Order. The zero value means the defaults.
type Options struct {
	// Align is the least alignment of a storage and the rounding unit of sizes,
	// a power of two; 0 means DefaultAlign.
	Align int64
	// Budget limits the search in work units; 0 means DefaultBudget, a negative
	// number leaves only the cheap methods.
	Budget int64
	// Seed of the local search.
	Seed uint64
}

// resolved returns the options with defaults filled in.
func (o Options) resolved() (Options, error) {
	if o.Align == 0 {
		o.Align = DefaultAlign
	}
	if !isPow2(o.Align) || o.Align > maxAlign {
		return o, errorf("alignment %d is not a power of two up to %d", o.Align, int64(maxAlign))
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	return o, nil
}

// maxAlign keeps sums of alignments far from overflow; no memory asks for more.
const maxAlign = 1 << 20

func isPow2(v int64) bool { return v > 0 && v&(v-1) == 0 }

// roundUp returns v rounded up to a multiple of the power of two a. v must be
// at most math.MaxInt64-a.
func roundUp(v, a int64) int64 { return (v + a - 1) &^ (a - 1) }

// roundDown returns v rounded down (towards minus infinity) to a multiple of
// the power of two a.
func roundDown(v, a int64) int64 { return v &^ (a - 1) }

// addSat adds two numbers, staying at the ends of int64 where they overflow.
func addSat(a, b int64) int64 {
	switch s := a + b; {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	default:
		return s
	}
}

// mulSat multiplies two non-negative numbers, staying at math.MaxInt64 where
// they overflow.
func mulSat(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// maxTotal is the largest arena that is planned: sums of it and any alignment
// stay within int64.
const maxTotal = math.MaxInt64 / 4
