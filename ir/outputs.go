// SPDX-License-Identifier: Apache-2.0

package ir

import "slices"

// AddOutput makes v a graph output under the given name.
func (g *Graph) AddOutput(name string, v *Value) {
	g.noteOutput(len(g.Out), v)
	g.Out = append(g.Out, v)
	g.OutNames = append(g.OutNames, name)
}

func (g *Graph) noteOutput(i int, v *Value) {
	if g.outs == nil {
		g.outs = map[*Value][]int{}
	}
	g.outs[v] = append(g.outs[v], i)
}

// SetOutput puts v in the place of output i, which keeps its name.
func (g *Graph) SetOutput(i int, v *Value) {
	old := g.Out[i]
	if at := g.outs[old]; len(at) > 1 {
		g.outs[old] = slices.DeleteFunc(at, func(k int) bool { return k == i })
	} else {
		delete(g.outs, old)
	}
	g.Out[i] = v
	g.noteOutput(i, v)
}

// ReplaceOutput puts v in the place of every output that is old.
func (g *Graph) ReplaceOutput(old, v *Value) {
	if old == v {
		return
	}
	at := g.outs[old]
	delete(g.outs, old)
	for _, i := range at {
		g.Out[i] = v
		g.noteOutput(i, v)
	}
}

// ClearOutputs takes all outputs away.
func (g *Graph) ClearOutputs() { g.Out, g.OutNames, g.outs = nil, nil, nil }

// IsOutput reports whether v is a graph output.
func (g *Graph) IsOutput(v *Value) bool { return len(g.outs[v]) > 0 }
