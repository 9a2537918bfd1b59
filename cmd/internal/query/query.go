// SPDX-License-Identifier: Apache-2.0

// Package query answers what layers cost that are in no model: the verb cost. A query is a line of JSON, or a graph as
// text; an answer is a line of JSON.
package query

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/option"
)

// Query is a layer on a board. Weights and biases are those of the operator; what calls itself a constant is one, too.
type Query struct {
	ID         json.RawMessage            `json:"id,omitempty"` // of the caller's own; the answer repeats it
	Board      string                     `json:"board"`
	Op         string                     `json:"op"`
	Shapes     shapes                     `json:"shapes"`
	Attributes map[string]json.RawMessage `json:"attributes"`
	// Constants are integers behind the inputs with shapes: of Reshape, Pad, Slice, ...
	Constants [][]int64        `json:"constants"`
	Precision option.Precision `json:"-"`
	Word      string           `json:"precision"`
	Layer     string           `json:"layer"` // a graph as text, in place of all but the board
}

// Answer is what a layer costs; Error says why that is not known.
type Answer struct {
	ID           json.RawMessage `json:"id,omitempty"`
	Cycles       int             `json:"cycles"` // 0: the board has no table of them
	Instructions int             `json:"instructions"`
	WeightBytes  int             `json:"weight_bytes"`
	CodeBytes    int             `json:"code_bytes"`
	Kernel       string          `json:"kernel"`
	Off          float64         `json:"off"` // root of the mean square of the relative error, of the instructions
	// Note says that others of the kind stand in for layers of this form, which were not measured.
	Note  string `json:"note,omitempty"`
	Error string `json:"error,omitempty"`
}

// shapes are in the order of the operator's inputs.
type shapes [][]int

// UnmarshalJSON reads {"x": [1, 8, 16, 16], "w": [8, 8, 3, 3]} in the order of the text, or a list.
func (s *shapes) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, (*[][]int)(s))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	for _, err := d.Token(); d.More(); {
		var shape []int
		if _, err = d.Token(); err == nil {
			err = d.Decode(&shape)
		}
		if err != nil {
			return fmt.Errorf("shapes: %w", err)
		}
		*s = append(*s, shape)
	}
	return nil
}

// Pricers prices layers on boards, which it reads once.
type Pricers struct {
	mu sync.Mutex
	of map[string]*lower.Pricer
}

func (p *Pricers) board(name string) *lower.Pricer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.of[name]; x != nil {
		return x
	}
	o := fail.Must(board.Options(fail.Must(boards.Load(name))))
	x := fail.Must(lower.NewPricer(o))
	if p.of == nil {
		p.of = map[string]*lower.Pricer{}
	}
	p.of[name] = x
	return x
}

// Answer prices a layer.
func (p *Pricers) Answer(line []byte) (a Answer) {
	q := &Query{}
	err := json.Unmarshal(line, q)
	if err == nil {
		a, err = p.price(q)
	}
	if err != nil {
		a = Answer{Error: text.Line(err.Error())}
	}
	a.ID = q.ID
	return a
}

func (p *Pricers) price(q *Query) (a Answer, err error) {
	defer func() {
		if r := recover(); r != nil { // the next query is not to blame
			err = bug.Recovered(r)
		}
	}()
	defer fail.Catch(&err)
	x := p.board(q.Board)
	var kernels []string
	var g *ir.Graph
	if q.Layer != "" {
		g = fail.Must(ir.Parse(q.Layer, op.Get))
	} else {
		g = fail.Must(q.Graph())
	}
	fail.Check(errors.Join(g.Verify()...))
	list, err := x.Of(g)
	unknown := func(l lower.Priced) bool { return !l.Low.View && !l.Cost.Known() }
	if q.Layer == "" && (err != nil || slices.ContainsFunc(list, unknown)) { // what a program makes of it may have one
		float := *q
		float.Word = "float32"
		whole, of := x.Whole(fail.Must(float.Graph()), q.Precision)
		if of == nil && (err != nil || !slices.ContainsFunc(whole, unknown)) {
			list, err = whole, nil
		}
	}
	for _, l := range fail.Must(list, err) {
		if l.Low.View {
			continue
		}
		if l.Cost.Instructions == 0 {
			return a, fmt.Errorf("%s: %s", l.Low.Kernel, l.Cost.Unknown)
		}
		a.Instructions += int(math.Round(l.Cost.Instructions))
		a.Cycles += int(math.Round(l.Cost.Cycles))
		a.WeightBytes += l.Low.ConstBytes()
		a.CodeBytes += l.Code
		a.Note = cmp.Or(a.Note, l.Cost.Unknown)
		kernels, a.Off = append(kernels, l.Low.Kernel), max(a.Off, l.Cost.Error)
	}
	a.Kernel = strings.Join(kernels, " ")
	return a, nil
}

// types are the data and weights of a precision.
func (q *Query) types() (data, weights tensor.DType) {
	switch {
	case q.Precision.Float():
		return tensor.F32, tensor.F32
	case q.Precision == option.Int16x8:
		return tensor.I16, tensor.I8
	}
	return tensor.I8, tensor.I8
}

// The scales of data and of weights.
const dataScale, weightScale = 1. / 32, 1. / 128

// Graph is the layer alone, with typical scales and weights.
func (q *Query) Graph() (_ *ir.Graph, err error) {
	defer fail.Catch(&err)
	if q.Word != "" {
		q.Precision = fail.Must(option.Parse[option.Precision](q.Word))
	}
	domain, name := "", q.Op
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		domain, name = name[:i], name[i+1:]
	}
	d := op.Get(domain, name)
	if d == nil {
		all := lists.Map(op.All(), func(d *ir.OpDef) string { return d.Name })
		return nil, fmt.Errorf("there is no operator %q%s", q.Op, text.Meant(q.Op, all))
	}
	attrs := ir.Attrs{}
	for name, value := range q.Attributes {
		attrs[name] = fail.Must(attribute(d, name, value))
	}
	g := ir.New("layer")
	in := fail.Must(q.inputs(g, d))
	n := fail.Must(g.Add(d, "layer", attrs, max(1, d.MinOut), in...))
	q.finish(n)
	for _, v := range n.Out {
		g.AddOutput(v.Name, v)
	}
	return g, nil
}

// inputs are those of operator d.
func (q *Query) inputs(g *ir.Graph, d *ir.OpDef) (in []*ir.Value, err error) {
	data, weights := q.types()
	r := rand.New(rand.NewPCG(1, 1))
	quantised := func(t tensor.DType, shape []int, scale float64) ir.Type {
		x := ir.Type{DType: t, Shape: shape}
		if !q.Precision.Float() {
			x.Quant = ir.PerTensor(float32(scale), 0)
		}
		return x
	}
	for i, shape := range q.Shapes {
		elems, err := tensor.Elems(shape)
		if err != nil || elems > 1<<26 || slices.ContainsFunc(shape, func(n int) bool { return n < 1 }) {
			return nil, fmt.Errorf("input %d has shape %v: want sizes from 1, at most %d elements", i, shape, 1<<26)
		}
		switch {
		case i > 0 && i < biasOf(d) && (d != op.MatMul || len(shape) < 3): // batches of right sides are computed
			v := g.AddConst("w", random(r, weights, shape))
			v.Type = quantised(weights, shape, weightScale)
			in = append(in, v)
		case i > 0 && i == biasOf(d):
			in = append(in, g.AddConst("b", bias(r, q.Precision, shape)))
		default:
			in = append(in, g.AddInput("x", quantised(data, shape, dataScale)))
		}
	}
	for _, c := range q.Constants {
		in = append(in, g.AddConst("c", tensor.Of([]int{len(c)}, c)))
	}
	return in, nil
}

// biasOf is which input of an operator is its bias, behind those that are weights; 0: there are none.
func biasOf(d *ir.OpDef) int {
	switch {
	case op.Recurrent(d):
		return 3
	case d.WeightAxis != nil:
		return 2
	}
	return 0
}

// finish gives weights a scale for each channel, and results theirs.
func (q *Query) finish(n *ir.Node) {
	if q.Precision.Float() {
		return
	}
	scale := dataScale
	prescribed := n.Op.OutQuant[n.In[0].Type.DType]
	if f := n.Op.WeightAxis; f != nil && n.In[1].Const != nil {
		w := n.In[1]
		axis := f(n)
		per := &ir.Quant{Axis: axis}
		for c := range w.Type.Shape[axis] {
			per.Scale, per.Zero = append(per.Scale, float32(weightScale*(1+float64(c%7)/16))), append(per.Zero, 0)
		}
		w.Type.Quant = per
		depth := float64(w.Type.Elems() / w.Type.Shape[axis])
		scale = dataScale * weightScale * 40 * math.Sqrt(depth)
		if n.In[0].Type.DType == tensor.I16 {
			scale /= 256
		}
	}
	for _, y := range n.Out {
		if y.Type.DType == n.In[0].Type.DType && y.Type.Quant == nil {
			y.Type.Quant = cmp.Or(prescribed, ir.PerTensor(float32(scale), 0))
		}
	}
}

func random(r *rand.Rand, t tensor.DType, shape []int) *tensor.Dense {
	d := tensor.New(t, shape)
	for i := range d.Len() {
		if t == tensor.F32 {
			d.SetFloat(i, r.NormFloat64())
		} else {
			d.SetInt(i, int64(r.IntN(255))-127)
		}
	}
	return d
}

// bias is that of a layer, in the integers of its sums.
func bias(r *rand.Rand, p option.Precision, shape []int) *tensor.Dense {
	t := tensor.I32
	switch {
	case p.Float():
		t = tensor.F32
	case p == option.Int16x8:
		t = tensor.I64
	}
	d := tensor.New(t, shape)
	for i := range d.Len() {
		d.SetFloat(i, float64(r.IntN(2001)-1000))
	}
	return d
}

// attribute is a value in the kind that the operator declares.
func attribute(d *ir.OpDef, name string, value json.RawMessage) (ir.Attr, error) {
	at := slices.IndexFunc(d.Attrs, func(s ir.AttrSpec) bool { return s.Name == name })
	if at < 0 {
		all := lists.Map(d.Attrs, func(s ir.AttrSpec) string { return s.Name })
		return ir.Attr{}, fmt.Errorf("%s has no attribute %q; it has: %s", d.Name, name, strings.Join(all, ", "))
	}
	a := ir.Attr{Kind: d.Attrs[at].Kind}
	var to any
	switch a.Kind {
	case ir.AttrInt:
		to = &a.Int
	case ir.AttrFloat:
		to = &a.Float
	case ir.AttrString:
		to = &a.String
	case ir.AttrInts:
		to = &a.Ints
	case ir.AttrFloats:
		to = &a.Floats
	case ir.AttrStrings:
		to = &a.Strings
	default:
		return a, fmt.Errorf("attribute %s is a tensor: want a graph as text (layer)", name)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return a, fmt.Errorf("attribute %s: %w", name, err)
	}
	return a, nil
}

// mostLine bounds a query.
const mostLine = 16 << 20

// ErrNone says that there was no query.
var ErrNone = errors.New("no query on standard input: want a JSON object a line, such as " +
	`{"board": "cortex-m4", "op": "Conv", "shapes": {"x": [1, 8, 16, 16], "w": [8, 8, 3, 3]}}`)

// Serve answers the lines of r in their order, on all cores.
func Serve(r io.Reader, w io.Writer) (err error) {
	defer fail.Catch(&err)
	p := &Pricers{}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	waiting := make(chan chan Answer, 4*runtime.GOMAXPROCS(0))
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	in := bufio.NewScanner(r)
	in.Buffer(nil, mostLine)
	go func() {
		defer close(waiting)
		for in.Scan() {
			line := bytes.Clone(in.Bytes())
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			a := make(chan Answer, 1)
			slots <- true
			waiting <- a
			go func() {
				a <- p.Answer(line)
				<-slots
			}()
		}
	}()
	none := ErrNone
	for a := range waiting {
		none = nil
		fail.Check(enc.Encode(<-a))
		if len(waiting) == 0 { // the caller may wait for it
			fail.Check(out.Flush())
		}
	}
	return cmp.Or(in.Err(), out.Flush(), none)
}
