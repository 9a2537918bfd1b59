// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// layer is an operation before it has blocks, addresses and waits.
type layer struct {
	npu.Op
	name     string
	in, in2  *fmap
	out      *fmap
	kernel   []int16 // weights, [out][y][x][in]
	channels []npu.Channel
	table    []byte
	packed   []byte   // weights and scales of every core
	buffer   *area    // of the working memory, where they come to before it begins; nil: it reads the constants
	over     bool     // its result may take the place of an input
	striped  bool     // a part of a cascade
	zeros    [3]int64 // of input, second input, result
}

// builder turns nodes into layers.
type builder struct {
	cfg    *npu.Config
	maps   map[*ir.Value]*fmap
	layers []*layer
	fixed  map[*area]bool // inputs and constants
	beside bool           // there is memory beside a dedicated one
	scarce bool           // that has no room for all
}

func newBuilder(c *npu.Config) *builder {
	return &builder{cfg: c, maps: map[*ir.Value]*fmap{}, fixed: map[*area]bool{}}
}

// of is the map of a value: a new one in the working memory, a constant's with its data.
func (b *builder) of(v *ir.Value) *fmap {
	m := b.maps[v]
	if m == nil {
		a := &area{region: working}
		if v.Const != nil {
			a = b.constant(data(v))
		}
		m = newMap(v.Type, a)
		b.maps[v] = m
	}
	return m
}

// data is a constant in memory order.
func data(v *ir.Value) []byte {
	d := v.Const
	if v.Type.Rank() == 4 {
		d = d.Transpose(ir.NHWC(4))
	}
	return d.Bytes()
}

func (b *builder) constant(data []byte) *area {
	a := &area{region: constants, data: data, bytes: int64(len(data))}
	b.fixed[a] = true
	return a
}

// temporary is a map in the working memory that no value has.
func (b *builder) temporary(h, w, c, bits int) *fmap {
	return shaped(h, w, c, bits, true, &area{region: working})
}

// add appends a layer on the maps that it has.
func (b *builder) add(l *layer) *layer {
	b.layers = append(b.layers, l)
	return l
}

// place fills in where the maps of a layer lie.
func (l *layer) place() {
	l.IFM, l.OFM = l.in.placed(), l.out.placed()
	if l.IFM.Zero, l.OFM.Zero = l.zeros[0], l.zeros[2]; l.in2 != nil {
		l.IFM2 = l.in2.placed()
	}
	if l.IFM2.Zero = l.zeros[1]; l.Kind != npu.Elementwise { // what windows see
		l.See()
	}
}

// plain is an operation that takes every number as it is.
func plain(kind npu.Kind, in, out *fmap) *layer {
	l := &layer{in: in, out: out}
	l.Kind, l.Low, l.High = kind, limit(out, false), limit(out, true)
	l.Window = npu.Window{H: 1, W: 1, StrideX: 1, StrideY: 1, DilateX: 1, DilateY: 1, Split: 8}
	l.Scale = 1
	return l
}

// limit is the least or the greatest number of a map's type that a register holds.
func limit(m *fmap, high bool) int64 {
	bits := min(m.Bits, 16)
	switch {
	case m.Signed && high:
		return 1<<(bits-1) - 1
	case m.Signed:
		return -1 << (bits - 1)
	case high:
		return 1<<bits - 1
	}
	return 0
}

// copied appends copies of numbers between two lists of addresses, in loops. Both begin at elements of maps.
func (b *builder) copied(in, out *fmap, from, to []int64) string {
	both := make([]int64, len(from)) // a step of both is one of their sum
	for i := range from {
		both[i] = from[i]<<24 + to[i]
	}
	l, ok := loops(both)
	size := int64(in.Bits / 8)
	if !ok || len(l) > 4 {
		return fmt.Sprintf("%d elements move in a way that is no %s", len(from), "copy of four loops; want one")
	}
	step := func(v []int64, period int64) int64 {
		if period >= int64(len(v)) {
			return size
		}
		return v[period] - v[0]
	}
	n, x, y := [4]int64{1, 1, 1, 1}, [4]int64{}, [4]int64{}
	period, k := int64(1), 0
	if len(l) > 0 && (step(from, 1) != size || step(to, 1) != size) || len(l) == 0 {
		k = 1 // elements of one channel
	}
	for _, s := range l {
		if k == 4 {
			return "elements move in four loops whose elements are no neighbours, want three"
		}
		n[k], x[k], y[k] = s[0], step(from, period), step(to, period)
		period *= s[0]
		k++
	}
	for i := range n[3] {
		one := func(m *fmap, at int64, s [4]int64) *fmap {
			return m.view(func(c *fmap) {
				c.H, c.W, c.C, c.StrideY, c.StrideX = int(n[2]), int(n[1]), int(n[0]), s[2], s[1]
				c.from = at + i*s[3]
			})
		}
		b.add(plain(npu.Max, one(in, from[0], x), one(out, to[0], y)))
	}
	return ""
}

// sources are, for every element of a result in memory order, the number of the run-time input and of the element
// there that it is.
func sources(n *ir.Node) (inputs []int, at [][2]int, why string) {
	indices := dataInputs(n)
	p := &ir.Node{Name: n.Name, Op: n.Op, Attrs: n.Attrs, In: make([]*ir.Value, len(n.In)), Origin: n.Origin}
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil {
			p.In[i], in[i] = &ir.Value{Name: v.Name, Type: v.Type, Const: v.Const}, v.Const
		}
	}
	first := []int{0}
	for _, i := range indices {
		v := n.In[i]
		if v == nil {
			return nil, nil, fmt.Sprintf("input %d is left out, want a value", i)
		}
		in[i] = numbered(v.Type, first[len(first)-1]+1)
		p.In[i].Type, p.In[i].Const = ir.T(tensor.I32, v.Type.Shape...), nil
		first = append(first, first[len(first)-1]+v.Type.Elems())
	}
	for _, v := range n.Out {
		p.Out = append(p.Out, &ir.Value{Name: v.Name, Type: ir.T(tensor.I32, v.Type.Shape...), Def: p})
	}
	out, err := ir.EvalNode(p, in)
	if err != nil {
		return nil, nil, err.Error()
	}
	for k, v := range n.Out {
		for _, x := range inMemory(v.Type, out[k]) {
			i, _ := slices.BinarySearch(first, int(x))
			if i == 0 || i == len(first) {
				return nil, nil, "it fills elements with a constant, want copies of inputs only"
			}
			at = append(at, [2]int{i - 1, int(x) - 1 - first[i-1]})
		}
	}
	return indices, at, ""
}

// dataInputs are the inputs of a node that carry data.
func dataInputs(n *ir.Node) []int {
	switch list := n.Op.DataIn; {
	case list == nil:
		return []int{0}
	case slices.Equal(list, ir.AllInputs):
		return ir.Identity(len(n.In))
	default:
		return list
	}
}

// move makes results that are elements of inputs: other names for the same bytes where that is possible.
func (b *builder) move(n *ir.Node) string {
	inputs, at, why := sources(n)
	if why != "" {
		return why
	}
	for _, v := range n.Out {
		one := at[:v.Type.Elems()]
		at = at[len(one):]
		if !b.named(v, n, inputs, one) {
			if why := b.joined(v, n, inputs, one); why != "" {
				return why
			}
		}
	}
	return ""
}

// named lets a result be a part of one input.
func (b *builder) named(v *ir.Value, n *ir.Node, inputs []int, at [][2]int) bool {
	if len(at) == 0 {
		return false
	}
	in := b.of(n.In[inputs[at[0][0]]])
	h, w, c := dims(v.Type)
	m := *newMap(v.Type, &area{})
	m.area, m.from = in.area, in.address(at[0][1])
	m.Zero = in.Zero
	address := func(i int) int64 { return in.address(at[i][1]) }
	if w > 1 {
		m.StrideX = address(c) - m.from
	}
	if h > 1 {
		m.StrideY = address(w*c) - m.from
	}
	if w == 1 {
		m.StrideX = m.StrideY
	}
	for i := range at {
		if at[i][0] != at[0][0] || address(i) != m.address(i) {
			return false
		}
	}
	if m.StrideX < 0 || m.StrideY < 0 {
		return false
	}
	b.maps[v] = &m
	in.area.maps = append(in.area.maps, &m)
	return true
}

// joined makes a result of several inputs: those that nothing else needs are written there at once.
func (b *builder) joined(v *ir.Value, n *ir.Node, inputs []int, at [][2]int) string {
	out := b.of(v)
	to, from := make([][]int64, len(inputs)), make([][]int64, len(inputs))
	for i, x := range at {
		k := x[0]
		to[k] = append(to[k], out.address(i))
		from[k] = append(from[k], b.of(n.In[inputs[k]]).address(x[1]))
	}
	for k, i := range inputs {
		if len(to[k]) == 0 {
			continue
		}
		in := b.of(n.In[i])
		if b.inside(in, out, from[k], to[k]) {
			continue
		}
		if why := b.copied(in, out, from[k], to[k]); why != "" {
			return why
		}
	}
	return ""
}

// inside puts the whole area of a map into another one.
func (b *builder) inside(in, out *fmap, from, to []int64) bool {
	if in.area.within != nil || b.fixed[in.area] || in.area == out.area || len(in.area.maps) > 1 ||
		int64(len(from)*in.Bits/8) != in.area.bytes || in.from != 0 {
		return false
	}
	moved := *in
	step := func(i int) int64 { return to[i] - to[0] }
	if in.W > 1 {
		moved.StrideX = step(in.C)
	}
	if in.H > 1 {
		moved.StrideY = step(in.W * in.C)
	}
	for i := range to {
		if from[i] != in.address(i) || moved.address(i) != to[i]-to[0] {
			return false
		}
	}
	if in.area.parts && (in.StrideX != moved.StrideX || in.StrideY != moved.StrideY) {
		return false
	}
	in.StrideX, in.StrideY = moved.StrideX, moved.StrideY
	out.area.parts = true
	in.area.within, in.area.at, in.area.bytes = out.area, to[0], in.span()
	return true
}

// bind binds a graph's output to an area: its own bytes, or a copy of them.
func (b *builder) bind(v *ir.Value, end *area) *area {
	m := b.of(v)
	a := m.area
	if a.within == nil && !b.fixed[a] && m.from == 0 && a.bytes == int64(v.Type.Bytes()) && m.span() == a.bytes {
		a.region, a.copied, b.fixed[a] = end.region, end.copied, true
		return a
	}
	out := newMap(v.Type, end)
	from, to := make([]int64, v.Type.Elems()), make([]int64, v.Type.Elems())
	for i := range from {
		from[i], to[i] = m.address(i), out.address(i)
	}
	if why := b.copied(m, out, from, to); why != "" {
		panic(bug.Errorf("%s: %s", v, why))
	}
	return out.area
}
