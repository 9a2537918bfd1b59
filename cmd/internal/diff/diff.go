// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

// Schema is the version of Diff as JSON; fields are only added.
const Schema = 1

// Diff is what changed from one compilation to another.
type Diff struct {
	Schema int      `json:"schema"`
	Old    Side     `json:"old"`
	New    Side     `json:"new"`
	Models []Row    `json:"models"`
	Gates  []Gate   `json:"gates"` // of --max-growth, a row a model and limit
	Notes  []string `json:"notes"`
}

// Side is one of the two.
type Side struct {
	Path    string `json:"path"`
	Version string `json:"version"` // of nncc
}

// Row is a model.
type Row struct {
	Name    string `json:"name"`
	OldName string `json:"old_name,omitempty"` // where it is another
	Board   string `json:"board"`
	// Status is same, changed, added or removed.
	Status  string   `json:"status"`
	Metrics []Change `json:"metrics"`
	Layers  []Layer  `json:"layers"` // those that are not the same
	// LayersSame counts the others.
	LayersSame int `json:"layers_same"`

	old, now *Model
	pairs    []pair
}

// Change is a figure on both sides; null where a side does not have it.
type Change struct {
	Metric string   `json:"metric"`
	Unit   string   `json:"unit,omitempty"`
	Old    *float64 `json:"old"`
	New    *float64 `json:"new"`
	// Delta is new less old, Percent of the old; null where they cannot be compared.
	Delta   *float64 `json:"delta"`
	Percent *float64 `json:"percent,omitempty"`
	// Basis is how the figures were found, where there is more than one way.
	Basis string `json:"basis,omitempty"`
	Note  string `json:"note,omitempty"` // why there is no delta

	metric *metric
}

// Layer is a layer that is not the same.
type Layer struct {
	Name    string `json:"name"`
	OldName string `json:"old_name,omitempty"` // of a renamed one
	Op      string `json:"op"`
	// Status is changed, renamed (whatever else changed), added or removed.
	Status string `json:"status"`
	// PartOf is the layer that computes the nodes of a removed one now.
	PartOf    string   `json:"part_of,omitempty"`
	Kernel    string   `json:"kernel"` // the function that does the work
	OldKernel string   `json:"old_kernel,omitempty"`
	Changes   []Change `json:"changes"`
}

// Compare compares models by name and board, then by name; the only two that are left
// are the same one under another name.
func Compare(old, now []*Model) *Diff {
	d := &Diff{Schema: Schema, Models: []Row{}, Gates: []Gate{}, Notes: []string{}}
	d.Old.Version, d.New.Version = version(old), version(now)
	of := map[*Model]*Model{}
	restOld, restNew := slices.Clone(old), slices.Clone(now)
	for _, alike := range []func(a, b *Model) bool{
		func(a, b *Model) bool { return a.Model.Name == b.Model.Name && a.Board == b.Board },
		func(a, b *Model) bool { return a.Model.Name == b.Model.Name },
	} {
		restNew = slices.DeleteFunc(restNew, func(n *Model) bool {
			i := slices.IndexFunc(restOld, func(o *Model) bool { return alike(o, n) })
			if i >= 0 {
				of[n] = restOld[i]
				restOld = slices.Delete(restOld, i, i+1)
			}
			return i >= 0
		})
	}
	if len(restOld) == 1 && len(restNew) == 1 {
		of[restNew[0]], restOld = restOld[0], nil
	}
	d.Models = append(d.Models, lists.Map(now, func(n *Model) Row { return compare(of[n], n) })...)
	d.Models = append(d.Models, lists.Map(restOld, func(o *Model) Row { return compare(o, nil) })...)
	for _, r := range d.Models {
		if r.old != nil && r.now != nil && r.old.Board != r.now.Board {
			d.Notes = append(d.Notes, r.Name+": the boards differ: "+r.old.Board+" and "+r.now.Board)
		}
	}
	return d
}

func version(list []*Model) string {
	for _, m := range list {
		if m.Version != "" {
			return m.Version
		}
	}
	return ""
}

func compare(old, now *Model) Row {
	either := cmp.Or(now, old)
	r := Row{Name: either.Model.Name, Board: either.Board, Status: "same", Metrics: []Change{}, Layers: []Layer{},
		old: old, now: now}
	var oldLayers, newLayers []layer
	if old != nil {
		oldLayers = old.Layers
		if old.Model.Name != r.Name {
			r.OldName = old.Model.Name
		}
	}
	if now != nil {
		newLayers = now.Layers
	}
	for i := range metrics {
		if c, ok := metrics[i].compare(old, now); ok {
			r.Metrics = append(r.Metrics, c)
			if c.Delta == nil || *c.Delta != 0 {
				r.Status = "changed"
			}
		}
	}
	r.pairs = match(oldLayers, newLayers)
	for _, p := range r.pairs {
		if l, same := p.row(); same {
			r.LayersSame++
		} else {
			r.Layers = append(r.Layers, l)
			r.Status = "changed"
		}
	}
	switch {
	case old == nil:
		r.Status = "added"
	case now == nil:
		r.Status = "removed"
	}
	return r
}

// compare gives the figures of both sides; false: neither has one.
func (m *metric) compare(old, now *Model) (Change, bool) {
	var a, b []figure
	if old != nil {
		a = m.of(old)
	}
	if now != nil {
		b = m.of(now)
	}
	c := Change{Metric: m.key, Unit: m.unit, metric: m}
	for _, x := range a {
		for _, y := range b {
			if x.basis == y.basis {
				c.Old, c.New, c.Basis = &x.value, &y.value, x.basis
				c.subtract()
				return c, true
			}
		}
	}
	if len(a) > 0 {
		c.Old, c.Basis = &a[0].value, a[0].basis
	}
	if len(b) > 0 {
		c.New, c.Basis = &b[0].value, b[0].basis
	}
	if len(a) > 0 && len(b) > 0 {
		c.Basis, c.Note = "", "old: "+a[0].basis+", new: "+b[0].basis
	}
	return c, len(a)+len(b) > 0
}

func (c *Change) subtract() {
	d := *c.New - *c.Old
	c.Delta = &d
	if *c.Old != 0 && c.Unit != "dB" && c.Metric != "top1" {
		p := 100 * d / *c.Old
		c.Percent = &p
	}
}

// row describes a pair of layers; true: nothing changed.
func (p pair) row() (Layer, bool) {
	l := p.names()
	l.Changes = []Change{}
	same := l.Status == "changed" && l.OldKernel == ""
	for i := range metrics {
		m := &metrics[i]
		if m.layer == nil || m.key == "flash" { // the layers' part of which are their weights
			continue
		}
		c := Change{Metric: m.key, Unit: m.unit, metric: m}
		c.Old, c.New = p.figure(m)
		if c.Old != nil && c.New != nil {
			c.subtract()
		}
		// What only one side was measured for says nothing about a layer of both.
		if c.Delta == nil && (p.both() || c.Old == c.New) || c.Delta != nil && *c.Delta == 0 {
			continue
		}
		same = same && c.Delta != nil && math.Abs(*c.Delta) < m.least
		l.Changes = append(l.Changes, c)
	}
	return l, same
}

// names says what became of the layer.
func (p pair) names() Layer {
	switch {
	case p.old == nil:
		return Layer{Name: p.now.Name, Op: p.now.Op, Kernel: p.now.inner(), Status: "added"}
	case p.now == nil:
		return Layer{Name: p.old.Name, Op: p.old.Op, OldKernel: p.old.inner(), Status: "removed", PartOf: p.partOf}
	}
	l := Layer{Name: p.now.Name, Op: p.now.Op, Kernel: p.now.inner(), Status: "changed"}
	if p.old.Name != p.now.Name {
		l.OldName, l.Status = p.old.Name, "renamed"
	}
	if p.old.inner() != l.Kernel {
		l.OldKernel = p.old.inner()
	}
	return l
}

// pair is a layer of both sides; old or now is nil where the other side has none.
type pair struct {
	old, now *layer
	// partOf is the new layer that computes an old one's nodes, too.
	partOf string
}

func (p pair) both() bool { return p.old != nil && p.now != nil }

// figure is what the layer of each side has of a figure; nil: nothing.
func (p pair) figure(m *metric) (old, now *float64) {
	if p.old != nil {
		old = m.layer(p.old)
	}
	if p.now != nil {
		now = m.layer(p.now)
	}
	return old, now
}

// match pairs layers by name (the nth of a name with the nth), then by the ONNX nodes
// that they share: the most first. The order is that of the new layers, with removed
// ones behind the old layer before them.
func match(old, now []layer) []pair {
	of := make([]int, len(now)) // index of the old layer, -1: none
	taken := make([]bool, len(old))
	byName := map[string][]int{}
	for i, l := range old {
		byName[l.Name] = append(byName[l.Name], i)
	}
	for k, l := range now {
		of[k] = -1
		if list := byName[l.Name]; len(list) > 0 {
			of[k], byName[l.Name] = list[0], list[1:]
			taken[list[0]] = true
		}
	}
	matchByNodes(old, now, of, taken)
	return inOrder(old, now, of, taken)
}

func matchByNodes(old, now []layer, of []int, taken []bool) {
	byNode := map[string][]int{}
	for i, l := range old {
		if !taken[i] {
			for _, n := range l.ONNXNodes {
				byNode[n] = append(byNode[n], i)
			}
		}
	}
	type candidate struct{ shared, old, now int }
	var all []candidate
	for k, l := range now {
		if of[k] >= 0 {
			continue
		}
		shared := map[int]int{}
		for _, n := range l.ONNXNodes {
			for _, i := range byNode[n] {
				shared[i]++
			}
		}
		for i, n := range shared {
			all = append(all, candidate{n, i, k})
		}
	}
	lists.Sort(all, func(a, b candidate) int {
		return slices.Compare([]int{-a.shared, a.now, a.old}, []int{-b.shared, b.now, b.old})
	})
	for _, c := range all {
		if of[c.now] < 0 && !taken[c.old] {
			of[c.now], taken[c.old] = c.old, true
		}
	}
}

func inOrder(old, now []layer, of []int, taken []bool) []pair {
	home := map[string]string{} // which new layer computes a node
	for _, l := range now {
		for _, n := range l.ONNXNodes {
			home[n] = l.Name
		}
	}
	behind := map[int][]pair{} // removed layers by the old layer before them that stayed
	last := -1
	for i := range old {
		if taken[i] {
			last = i
			continue
		}
		p := pair{old: &old[i]}
		for _, n := range old[i].ONNXNodes {
			if p.partOf = home[n]; p.partOf != "" {
				break
			}
		}
		behind[last] = append(behind[last], p)
	}
	out := behind[-1]
	for k := range now {
		p := pair{now: &now[k]}
		if of[k] >= 0 {
			p.old = &old[of[k]]
		}
		out = append(out, p)
		if of[k] >= 0 {
			out = append(out, behind[of[k]]...)
		}
	}
	return out
}
