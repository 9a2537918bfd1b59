// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// Host runs graphs, which it consumes, with the kernels of a table as one program of the host under the sanitizers;
// within is what floats may differ by (Guarded.Within), 0: bit for bit.
func Host(t *testing.T, table kernel.Table, within float64, graphs ...*ir.Graph) *Guarded {
	t.Helper()
	spec := testenv.Must(boards.Load("host"))(t)
	m := Guard(t, joined(graphs), table, kernel.Options{}, 1)
	m.Near, m.Within = within > 0, within
	m.RunBoard(t, spec, Sanitized())
	return m
}

// named finds what has a name in the text of a graph.
var named = regexp.MustCompile(`%|\b(?:name|out) "`)

// joined is one graph of several.
func joined(graphs []*ir.Graph) *ir.Graph {
	if len(graphs) == 1 {
		return graphs[0]
	}
	var text strings.Builder
	text.WriteString("graph \"joined\" {\n")
	for i, g := range graphs {
		s := g.String()
		s = s[strings.IndexByte(s, '\n')+1 : strings.LastIndexByte(s, '}')]
		text.WriteString(named.ReplaceAllString(s, fmt.Sprintf("${0}g%d.", i)))
	}
	return bug.Must(ir.Parse(text.String()+"}\n", op.Get))
}

// forced is a kernel's demand with the test's order in the place of "any order".
func forced(order func(rank int) []int, n *ir.Node, l kernel.Layout) kernel.Layout {
	rank := n.Out[0].Type.Rank()
	lower := func(v *ir.Value) bool { return v != nil && v.Const == nil && v.Type.Rank() < rank }
	if n.Op.Pattern <= ir.Broadcast && slices.ContainsFunc(n.In, lower) {
		return l // layout gives them the rank of the result first
	}
	if order == nil || l.Kind != kernel.Same || order(rank) == nil {
		return l
	}
	l = kernel.Layout{Kind: kernel.Fixed, In: make([][]int, len(n.In)), Out: make([][]int, len(n.Out))}
	for i, v := range n.In {
		if v != nil && v.Type.Rank() == rank {
			l.In[i] = order(rank)
		}
	}
	for i := range n.Out {
		l.Out[i] = order(rank)
	}
	return l
}

// called leaves out the helpers between reals and inputs and outputs, which no test of kernels calls: of a model with
// hundreds of inputs they take a compiler longer than all kernels.
func called(files []codegen.File) []codegen.File {
	return slices.DeleteFunc(slices.Clone(files), func(f codegen.File) bool {
		return strings.HasSuffix(f.Path, "_io.c")
	})
}
