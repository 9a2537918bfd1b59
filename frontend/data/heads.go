// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/postprocess"
)

// Post is what is declared of a model's outputs, as their shapes have it; fields are nil
// where nothing is.
type Post struct {
	Boxes    *postprocess.Boxes
	Classes  *postprocess.Classes
	Keywords *postprocess.Keywords
	Diags    diag.List
}

// outputs are a model's, with the size of its input.
type outputs struct {
	names         []string
	types         []ir.Type
	width, height int // of the input; 0: not known
	nhwc          bool
}

// maxPredictions bounds the predictions of a detector.
const maxPredictions = 1 << 20

// Resolve finds what is declared in the outputs of a model. in are its inputs.
func (o *Outputs) Resolve(in []*ir.Value, names []string, types []ir.Type) (_ *Post, err error) {
	defer fail.Catch(&err)
	p := &Post{}
	m := &outputs{names: names, types: types}
	for _, v := range in {
		if l := layoutOf(v.Type.Shape); l != "" && m.width == 0 {
			m.height, m.width, m.nhwc = v.Type.Shape[2], v.Type.Shape[3], l == "nhwc"
			if m.nhwc {
				m.height, m.width = v.Type.Shape[1], v.Type.Shape[2]
			}
		}
	}
	under := func(what string, resolve func()) {
		err := fail.Caught(resolve)
		if err != nil {
			err = text.Errorf("--postprocess: %s: %w", what, err)
		}
		fail.Check(err)
	}
	if o.Boxes != nil {
		under("boxes", func() { p.Boxes = o.boxes(m) })
	}
	if c := o.Classes; c != nil {
		under("classes", func() {
			i, n := m.scores(c.From, c.Threshold)
			p.Classes = &postprocess.Classes{Output: i, Count: n, Scores: activation(c.Activation), Top: min(c.Top, n),
				Threshold: singles(c.Threshold)}
		})
	}
	if k := o.Keywords; k != nil {
		under("keywords", func() {
			i, n := m.scores(k.From, k.Threshold)
			if len(k.Ignore) > 0 && slices.Max(k.Ignore) >= n {
				fail.Errorf("ignore: %d, and output %s has the classes 0 to %d", slices.Max(k.Ignore), names[i], n-1)
			}
			p.Keywords = &postprocess.Keywords{Output: i, Count: n, Scores: activation(k.Activation), Window: k.Window,
				Threshold: singles(k.Threshold), Quiet: k.Quiet, Ignore: k.Ignore}
		})
	}
	return p, nil
}

func activation(name string) postprocess.Activation {
	return postprocess.Activation(max(slices.Index(postprocess.Activations(), name), 0))
}

func singles(list []float64) []float32 {
	return lists.Each(list, func(x float64) float32 { return float32(x) })
}

// find is the index of an output.
func (m *outputs) find(key, name string) int {
	i := slices.Index(m.names, name)
	if i < 0 {
		fail.Errorf("%s: the model has no output %s%s; outputs: %s", key, name, near(name, m.names), m.list())
	}
	return i
}

// list are the outputs with their shapes, for messages.
func (m *outputs) list() string {
	return strings.Join(lists.Make(len(m.names), func(i int) string {
		return fmt.Sprintf("%s %s", m.names[i], shapeText(m.types[i].Shape))
	}), ", ")
}

// scores are an output with a value for each class, and how many there are.
func (m *outputs) scores(from string, threshold []float64) (output, n int) {
	fail.If(from == "" && len(m.names) != 1, "from: which output has the scores? The model has %s", m.list())
	if from == "" {
		from = m.names[0]
	}
	output = m.find("from", from)
	t := m.types[output]
	n = t.Elems()
	most := slices.Max(append([]int{1}, t.Shape...))
	switch {
	case !t.DType.IsFloat() && t.Quant == nil:
		fail.Errorf("from: output %s is of type %s; want scores, reals or quantised", from, t.DType)
	case n == 0 || n != most:
		fail.Errorf("from: output %s of shape %s; want one value for each class", from, shapeText(t.Shape))
	case len(threshold) != 1 && len(threshold) != n:
		fail.Errorf("threshold: %d numbers; want one, or %d for the classes of %s", len(threshold), n, from)
	}
	return output, n
}

// detector is a declaration being resolved.
type detector struct {
	*Boxes
	h     *head
	m     *outputs
	out   *postprocess.Boxes
	box   int    // values of a box
	like  *grid  // has the predictions that the output at hand should have; nil: not known
	depth int    // values of a prediction that it has at least, most often so many; 0: not known
	from  string // file of the declaration
}

// boxes resolves a detector.
func (o *Outputs) boxes(m *outputs) *postprocess.Boxes {
	b := o.Boxes
	i := slices.IndexFunc(heads, func(h head) bool { return h.name == b.Head })
	if i < 0 {
		list := lists.Map(heads, func(h head) string { return fmt.Sprintf("%s (%s)", h.name, h.doc) })
		fail.Errorf("head is missing: want one of %s", strings.Join(list, ", "))
	}
	d := &detector{Boxes: b, h: &heads[i], m: m, from: o.From}
	k := b.idle(d.h)
	fail.If(len(k) > 0, "%s: head %s knows none; take it out, or choose the head that it belongs to",
		strings.Join(k, ", "), d.h.name)
	d.size()
	d.coding()
	d.maps()
	d.thresholds()
	return d.out
}

// size finds the input's pixels.
func (d *detector) size() {
	if d.Width == 0 {
		d.Width, d.Height = d.m.width, d.m.height
	}
	fail.If(d.Width == 0, "size is missing: no input of the model has the axes of a picture; want WIDTHxHEIGHT")
}

// coding says what the numbers of a box are.
func (d *detector) coding() {
	h := d.h
	d.out = &postprocess.Boxes{Coding: h.coding, Bins: 1, UnitX: 1, UnitY: 1, Scores: h.scores, Background: -1,
		IoU: float32(d.IoU), Agnostic: d.Suppress == "all", Candidates: d.Candidates, Most: d.Most,
		AllLabels: d.Label == "all" || d.Label == "" && h.coding == postprocess.Points,
		Width:     float32(d.Width), Height: float32(d.Height), Threshold: singles(d.Threshold)}
	if d.Suppress == "none" || d.Suppress == "" && h.name == "rows" {
		d.out.IoU = 2
	}
	fail.If(d.Most > d.Candidates, "most: %d are given of the %d that are compared; want at most as many (candidates)",
		d.Most, d.Candidates)
	d.numbers()
	if d.Activation != "" {
		d.out.Scores = activation(d.Activation)
	}
	d.box = 4
	switch d.out.Coding {
	case postprocess.Distances:
		d.out.Bins, d.box = d.Bins, 4*d.Bins
	case postprocess.Points:
		d.box = 2
	}
	d.unit()
}

// numbers reads box: what the numbers are where the model may have decoded them.
func (d *detector) numbers() {
	h, out, box := d.h, d.out, d.Box
	raw := strings.Contains(h.keys, decodedKeys) // the model may have decoded them, or not
	if box == "" && raw && d.flat() && len(d.Strides) == 0 {
		box = "xywh"
	}
	if box == "" || box == "raw" && raw {
		return
	}
	coding := map[string]postprocess.Coding{"xywh": postprocess.Centre, "yxhw": postprocess.Centre}[box]
	out.YFirst = strings.HasPrefix(box, "yx")
	offsets := h.coding == postprocess.Offsets
	switch {
	case offsets && coding == postprocess.Centre: // the order of its offsets
		return
	case offsets || h.coding == postprocess.Points || box == "raw":
		fail.Errorf("box: %s, which head %s has not", box, h.name)
	}
	out.Coding = coding
	if raw {
		out.Scores = postprocess.None
	}
}

// unit reads unit: what decoded numbers are in.
func (d *detector) unit() {
	if d.Unit != "fraction" {
		return
	}
	fail.If(d.out.Coding != postprocess.Corners && d.out.Coding != postprocess.Centre,
		"unit: fraction is of boxes that the model has decoded; say what they are by box")
	d.out.UnitX, d.out.UnitY = d.out.Width, d.out.Height
}

// flat reports that the first output has no axes of a map.
func (d *detector) flat() bool {
	names := append(slices.Clone(d.From), d.Boxes.Boxes...)
	i := 0
	if len(names) > 0 {
		i = max(slices.Index(d.m.names, names[0]), 0)
	}
	return i < len(d.m.types) && len(trim(d.m.types[i].Shape)) <= 2
}

// trim is a shape without its first axes of 1.
func trim(shape []int) []int {
	for len(shape) > 1 && shape[0] == 1 {
		shape = shape[1:]
	}
	return shape
}

// thresholds checks what is said of classes.
func (d *detector) thresholds() {
	out := d.out
	n := out.Labels()
	if d.h.name == "rows" {
		n = len(out.Threshold)
	}
	fail.If(d.Background >= out.Classes,
		"background: %d, and there are the classes 0 to %d", d.Background, out.Classes-1)
	fail.If(len(out.Threshold) != 1 && len(out.Threshold) != n,
		"threshold: %d numbers; want one, or %d for the classes", len(out.Threshold), n)
	cells := lists.Sum(out.Maps, func(m postprocess.Map) int { return m.Rows * m.Cols * m.Anchors })
	fail.If(cells > maxPredictions, "%d predictions; at most %d are taken", cells, maxPredictions)
}
