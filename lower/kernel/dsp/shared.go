// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// shared are the rows that other cores have, too.
var shared = quantised.Shared{Library: Library, Was: "DSP", Core: cond.NoHelium}

var (
	pairs, rounded = shared.Pairs(), shared.Sums()
	lines, runs    = shared.Lines(), shared.Runs()
	limits, two    = shared.Limits(), shared.Two()
	int16s         = shared.Wide()
)
