// SPDX-License-Identifier: Apache-2.0

package prune

import "github.com/nncc/nncc/ir"

// Ranges is the analysis alone.
func Ranges(g *ir.Graph) map[*ir.Value][]Range { return ranges(g) }
