// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// nodeView is a node with everything that is known of it.
type nodeView struct {
	Index       int
	Name, Op    string
	Class, Runs string // colour, and in words where it runs
	Layer       *Layer // nil: no code
	LayerIndex  int
	Alone       bool // the only node of its layer
	Packed      bool // it is told by the script
	Segment     *int
	MACs        int64
	In, Out     []tensorView
	Consts      []Constant
	Refused     bool // by a better kernel, or the accelerator
	Reasons     []refusalLine
	in, out     []int
}

// tensorView is a tensor that a node reads or gives.
type tensorView struct {
	*Tensor
	At   int  // index in .graph.tensors
	From bool // a node before gives it, and has its facts
}

// refusalLine is one reason against a node.
type refusalLine struct{ Target, Text, Code string }

// reasons are those of a node: of each kernel, or why it is outside of the segments.
func reasons(refused []Rejection, f *Fallback) []refusalLine {
	var out []refusalLine
	for _, x := range refused {
		for _, y := range x.Reasons {
			out = append(out, refusalLine{x.Target, y.Text, y.Code})
		}
	}
	if f != nil && len(out) == 0 {
		for _, y := range f.Reasons {
			out = append(out, refusalLine{Text: y})
		}
	}
	return out
}

// nodes lists those of the graph, or the layers where the report has no graph.
func (p *page) nodes() {
	g := p.Graph
	if g == nil {
		g = &Graph{}
		for i, l := range p.Layers {
			g.Nodes = append(g.Nodes, GraphNode{Name: l.Name, Op: l.Op, Layer: i, MACs: l.MACs})
		}
	}
	alone := map[int]int{}
	for _, n := range g.Nodes {
		alone[n.Layer]++
	}
	refused, fallback := map[string][]Rejection{}, map[string]*Fallback{}
	for _, x := range p.Rejections {
		refused[x.Node] = append(refused[x.Node], x)
	}
	for i := range p.Fallback {
		fallback[p.Fallback[i].Node] = &p.Fallback[i]
	}
	known, made := map[string]bool{}, map[int]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		known[n.Name] = true
		if i < mostRows {
			v := p.newNode(g, i, made)
			v.Alone, v.Refused = alone[n.Layer] == 1, len(refused[n.Name]) > 0
			v.Reasons = reasons(refused[n.Name], fallback[n.Name])
			p.Nodes = append(p.Nodes, v)
		}
	}
	for _, x := range p.Rejections {
		if !known[x.Node] && len(p.Refused) < mostRows {
			p.Refused = append(p.Refused, x)
		}
	}
}

// newNode is node i of a graph, with its layer and its tensors; made are those of the
// nodes before.
func (p *page) newNode(g *Graph, i int, made map[int]bool) *nodeView {
	n := &g.Nodes[i]
	v := &nodeView{Index: i, Name: n.Name, Op: n.Op, LayerIndex: n.Layer, Segment: n.Segment, MACs: n.MACs,
		Consts: n.Consts, in: n.In, out: n.Out, Class: "view", Runs: "no code"}
	if n.Layer >= 0 && n.Layer < len(p.Layers) {
		v.Layer = &p.Layers[n.Layer]
		v.Class, v.Runs = kernelClass(*v.Layer), runsOn(*v.Layer)
	}
	for _, t := range n.In {
		if x := g.tensor(t); x != nil {
			v.In = append(v.In, tensorView{x, t, made[t]})
		}
	}
	for _, t := range n.Out {
		made[t] = true
		if x := g.tensor(t); x != nil {
			v.Out = append(v.Out, tensorView{x, t, false})
		}
	}
	return v
}

// The classes of layers, by whose kernel they run: of colours, and words of the legend.
var classes = []struct{ Class, Text string }{
	{"accelerator", "accelerator"}, {"own", "nncc's kernels for the core"}, {"cmsis", "CMSIS-NN"},
	{"portable", "portable C (fallback)"}, {"none", "runs nowhere"}, {"view", "no code: the same memory"},
	{"io", "input, output"}}

// noKernel marks a layer of a model that does not compile.
const noKernel = "none"

// kernelClass is the CSS class of a layer: whose kernel it runs.
func kernelClass(l Layer) string {
	switch {
	case l.Kernel == noKernel:
		return "none"
	case l.Library == cmsisnn.Library:
		return "cmsis"
	case kernel.IsOptimized(l.Library):
		return "own"
	case l.Library == portable || l.Library == "":
		return "portable"
	case l.Library == "view" || l.Kernel == "": // or a model that could not be imported
		return "view"
	}
	return "accelerator"
}

// runsOn says in a word or two where a layer runs.
func runsOn(l Layer) string {
	switch kernelClass(l) {
	case "none":
		return "nowhere"
	case "portable":
		return "portable C"
	case "view":
		if l.Kernel == "" {
			return l.Library
		}
		return "no code"
	case "accelerator":
		return strings.ToUpper(l.Library)
	case "cmsis":
		return "CMSIS-NN"
	}
	switch name := strings.TrimPrefix(l.Library, "nncc-"); name {
	case "helium":
		return "Helium"
	default:
		return strings.ToUpper(name)
	}
}
