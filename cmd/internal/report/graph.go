// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/quant"
)

// Graph is what the program computes: nodes in order, also those without code and
// those within the segments of an accelerator, and the values between them.
type Graph struct {
	Nodes   []GraphNode `json:"nodes"`
	Tensors []Tensor    `json:"tensors"`
}

// GraphNode is a node of the graph. In and Out are indices of tensors.
type GraphNode struct {
	Name    string     `json:"name"`
	Op      string     `json:"op"`
	Layer   int        `json:"layer"`             // index in .layers, -1: no code
	Segment *int       `json:"segment,omitempty"` // id of the accelerator's segment
	MACs    int64      `json:"macs,omitempty"`
	In      []int      `json:"in"`
	Out     []int      `json:"out"`
	Consts  []Constant `json:"constants,omitempty"`
	chain   string     // with which it runs a few rows at a time
}

// Tensor is a value at run time.
type Tensor struct {
	Name      string   `json:"name"`
	DType     string   `json:"dtype"`
	Shape     []int    `json:"shape"`
	Layout    string   `json:"layout,omitempty"` // NHWC where memory is in that order
	Scale     *float32 `json:"scale,omitempty"`
	ZeroPoint *int32   `json:"zero_point,omitempty"`
	Bytes     int      `json:"bytes"`
	// SQNR is the signal-to-noise ratio against the float model, with the errors of all
	// layers before, in dB; of models that were quantised here.
	SQNR *float64 `json:"sqnr_db,omitempty"`
	// Calibration is the index in .calibration.per_layer.
	Calibration *int `json:"calibration,omitempty"`
}

// Constant is an operand that is known at compile time: weights, mostly.
type Constant struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	// Scales is how many there are: one, or one for each channel; least and largest.
	Scales     int     `json:"scales,omitempty"`
	LeastScale float32 `json:"least_scale,omitempty"`
	MostScale  float32 `json:"most_scale,omitempty"`
	// Histogram is of the integers where the constant is quantised, else of the reals;
	// only of weights.
	Histogram *quant.Histogram `json:"histogram,omitempty"`
}

// graphBuilder collects the graph of a report.
type graphBuilder struct {
	o       *Subject
	out     *Graph
	tensors map[*ir.Value]int
	layers  map[*ir.Node]int
	rows    map[string][]int // rows of .calibration.per_layer by the layer that makes the value
}

func newGraph(o *Subject) *Graph {
	b := &graphBuilder{o: o, out: &Graph{Nodes: []GraphNode{}, Tensors: []Tensor{}}, tensors: map[*ir.Value]int{},
		layers: map[*ir.Node]int{}, rows: map[string][]int{}}
	for i, n := range o.Lowered.Schedule.Nodes {
		b.layers[n] = i
	}
	if c := o.Lowered.Calibration; c != nil {
		for i, l := range c.Layers {
			b.rows[l.Layer] = append(b.rows[l.Layer], i)
		}
	}
	g := o.Lowered.Graph
	for _, v := range g.In {
		b.tensor(v)
	}
	for _, n := range g.Nodes {
		if n.Op == op.Segment {
			b.segment(n)
		} else {
			b.node(n, nil)
		}
	}
	return b.out
}

func (b *graphBuilder) node(n *ir.Node, segment *ir.Node) {
	x := GraphNode{Name: n.Label(), Op: opName(n), Layer: -1, MACs: macs(n), In: []int{}, Out: []int{}}
	step := n
	if segment != nil {
		step = segment
		id := ir.AttrsOf[op.SegmentAttrs](segment).Id
		x.Segment = &id
	}
	if i, ok := b.layers[step]; ok {
		x.Layer = i
	}
	x.chain = step.Chain
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const != nil:
			x.constant(n, i)
		default:
			if t := b.tensor(v); !slices.Contains(x.In, t) {
				x.In = append(x.In, t)
			}
		}
	}
	for _, g := range n.Body {
		for _, m := range g.Nodes {
			for i, v := range m.In {
				if v != nil && v.Const != nil {
					x.constant(m, i)
				}
			}
		}
	}
	x.Out = append(x.Out, lists.Map(n.Out, b.tensor)...)
	b.out.Nodes = append(b.out.Nodes, x)
}

// segment adds the nodes of a segment: what it reads and gives are the values outside.
func (b *graphBuilder) segment(n *ir.Node) {
	body := n.Body[0]
	for i, v := range body.In {
		if i < len(n.In) && n.In[i] != nil {
			b.tensors[v] = b.tensor(n.In[i])
		}
	}
	for i, v := range body.Out {
		if _, ok := b.tensors[v]; !ok && i < len(n.Out) {
			b.tensors[v] = b.tensor(n.Out[i])
		}
	}
	for _, m := range body.Nodes {
		b.node(m, n)
	}
}

func (b *graphBuilder) tensor(v *ir.Value) int {
	if i, ok := b.tensors[v]; ok {
		return i
	}
	t := Tensor{Name: v.Name, DType: v.Type.DType.ONNXName(), Shape: append([]int{}, v.Type.Shape...),
		Bytes: v.Type.Bytes()}
	if v.Type.Order != nil && !v.Type.SameMemory(nil) {
		t.Layout = "NHWC"
	}
	if q := v.Type.Quant; q != nil && !q.PerAxis() {
		s, z := q.Scale[0], q.Zero[0]
		t.Scale, t.ZeroPoint = &s, &z
	}
	b.calibrated(v, &t)
	b.tensors[v] = len(b.out.Tensors)
	b.out.Tensors = append(b.out.Tensors, t)
	return b.tensors[v]
}

// calibrated adds what calibration says of a value: the row of the last of the nodes
// behind it whose result has this quantisation.
func (b *graphBuilder) calibrated(v *ir.Value, t *Tensor) {
	if b.o.Lowered.Calibration == nil || t.Scale == nil {
		return
	}
	origins := []string{""} // of inputs
	if v.Def != nil {
		origins = v.Def.Origin
	}
	layers := b.o.Lowered.Calibration.Layers
	for _, layer := range slices.Backward(origins) {
		var same []int
		for _, i := range b.rows[layer] {
			l := layers[i]
			if float32(l.Scale) == *t.Scale && l.Zero == int(*t.ZeroPoint) && (v.Def != nil || l.Name == v.Name) {
				same = append(same, i)
			}
		}
		if len(same) > 0 {
			i := same[min(v.Index, len(same)-1)]
			db := layers[i].SQNR
			t.SQNR, t.Calibration = &db, &i
			return
		}
	}
}

// constant adds operand i of a node, unless it is a single number or a bias.
func (x *GraphNode) constant(n *ir.Node, i int) {
	v := n.In[i]
	if v.Const.Len() < 2 || i == 2 && n.Op.WeightAxis != nil {
		return
	}
	c := Constant{Name: v.Name, DType: v.Type.DType.ONNXName(), Shape: append([]int{}, v.Type.Shape...)}
	if q := v.Type.Quant; q != nil {
		c.Scales, c.LeastScale, c.MostScale = len(q.Scale), slices.Min(q.Scale), slices.Max(q.Scale)
	}
	if i == 1 && n.Op.MACs != nil {
		c.Histogram = quant.HistogramOf(v.Const)
	}
	x.Consts = append(x.Consts, c)
}
