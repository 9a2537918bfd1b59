// SPDX-License-Identifier: Apache-2.0

package helium

import "github.com/nncc/nncc/lower/kernel/quantised"

// shared are the rows that other cores have, too.
var shared = quantised.Shared{Library: Library, Prefix: "HELIUM"}

var (
	pairs   = shared.Pairs(onHelium(""))
	rounded = shared.Sums(onHelium(""))
	lines   = shared.Lines(onHelium(""))
	runs    = shared.Runs(onHelium(""))
	int16s  = shared.Wide(onHelium(""))
	limits  = shared.Limits(onHelium(""))
	two     = shared.Two(onHelium(""))
)
