// SPDX-License-Identifier: Apache-2.0

package dsp

import "github.com/nncc/nncc/lower/kernel/quantised"

// shared are the rows that other cores have, too.
var shared = quantised.Shared{Library: Library, Prefix: "DSP"}

var (
	pairs   = shared.Pairs(noHelium("")[0])
	rounded = shared.Sums(noHelium("")[0])
	lines   = shared.Lines(noHelium("")[0])
	runs    = shared.Runs(noHelium("")[0])
	int16s  = shared.Wide(noHelium("")[0])
	limits  = shared.Limits(noHelium("")[0])
	two     = shared.Two(noHelium("")[0])
)
