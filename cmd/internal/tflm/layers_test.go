// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"slices"
	"strings"
)

// drawer draws models of one operator in each of some types.
type drawer struct {
	op    string
	types string
	draw  func(l *layer)
}

// typesOf are its types.
func (d drawer) typesOf() []string { return strings.Fields(d.types) }

// drawers are all of them; an operator may have several.
var drawers = slices.Concat(stateless, states)

var stateless = slices.Concat(windows, products, dynamic, functions, pairs, reductions, moves, further)
