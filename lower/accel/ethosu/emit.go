// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// result is a segment's stream with what it needs.
type result struct {
	actions, data []byte
	stored        map[string]int64 // where data lie
	working, slow int              // bytes, of the working memory and of what it has no room for
	regions       []int            // of inputs and results, in their order; those that are copied lie at
	at            []int            // bytes in the working memory
	weights       int              // bytes of weights and scales
	over          call.Overlap     // of the working memory with an input, which is read first
}

// ends are the regions of inputs and results: those that neither constants nor working memory have; the first is for
// what a dedicated memory has no room for.
var ends = []int{memory, 3, 4, 5, 6, 7}

// build turns a segment's graph into a stream. Memory beside a dedicated one takes a region only where it is needed.
func build(c *npu.Config, g *ir.Graph, most int64) (*result, error) {
	beside := c.Dedicated() && len(g.In)+len(g.Out) > len(ends)
	r, err := buildIn(c, g, most, beside, false)
	if err == nil && c.Dedicated() && r.working > c.Cache {
		return buildIn(c, g, most, true, true)
	}
	return r, err
}

func buildIn(c *npu.Config, g *ir.Graph, most int64, beside, scarce bool) (*result, error) {
	b, bin := newBuilder(c), &result{stored: map[string]int64{}}
	free, rest := ends, working
	if b.beside, b.scarce = beside, scarce; beside {
		free, rest = ends[1:], memory
	}
	region := func() *area {
		a := &area{region: rest, copied: len(free) == 0}
		if !a.copied {
			a.region, free = free[0], free[1:]
		}
		bin.regions = append(bin.regions, a.region)
		return a
	}
	var held []*area
	for _, v := range g.In {
		a := region()
		b.maps[v] = newMap(v.Type, a)
		b.fixed[a] = true
		held = append(held, a)
	}
	for _, n := range g.Nodes {
		if why := b.lower(n); why != "" {
			return nil, ir.Errf(n, "ethosu", "%s", why)
		}
	}
	for _, v := range g.Out {
		held = append(held, b.bind(v, region()))
	}
	b.fuse()
	b.brick()
	for _, l := range b.layers {
		if !l.block(c) {
			return nil, bug.Errorf("%s: no blocks of %s fit", g.Name, l.Name())
		}
	}
	bin.plan(b, held, len(g.In), false)
	bin.within(b, held, len(g.In), most)
	if scarce {
		bin.spill(b, held, len(g.In))
	}
	bin.faster(b, held, len(g.In))
	if err := bin.write(b); err != nil {
		return nil, bug.Errorf("%s: %w", g.Name, err)
	}
	for _, a := range held {
		bin.at = append(bin.at, int(a.at))
	}
	return bin, nil
}

// lower turns a node into layers by the first form that takes it.
func (b *builder) lower(n *ir.Node) string {
	why := n.Op.Name + " has no form on the device"
	for _, f := range forms {
		if !f.is(n.Op) {
			continue
		}
		had := len(b.layers)
		if why = f.lower(b, n); why == "" {
			return ""
		}
		b.layers = b.layers[:had]
	}
	return why
}

// block chooses blocks, and packs weights by them.
func (l *layer) block(c *npu.Config) bool {
	if l.place(); l.table != nil {
		l.Through(0)
	}
	from := constants
	if l.buffer != nil {
		from = working
	}
	for i := range l.Weights {
		l.Weights[i].Region, l.Scales[i].Region = from, from
	}
	if l.packed == nil { // how deep blocks are changes little of how much there is
		l.Block.C = npu.MostDeep
		l.pack(c)
	}
	if !l.Choose(c, float64(len(l.packed))) {
		return false
	}
	l.pack(c)
	return true
}

// fuse gives the table of a layer to the one in front of it, where nothing else reads that one's result.
func (b *builder) fuse() {
	readers, writer := map[*area]int{}, map[*area]*layer{}
	for _, l := range b.layers {
		for _, m := range []*fmap{l.in, l.in2} {
			if m != nil {
				root, _ := m.area.root()
				readers[root]++
			}
		}
		root, _ := l.out.area.root()
		if writer[root] = l; root != l.out.area {
			writer[root] = nil
		}
	}
	b.layers = slices.DeleteFunc(b.layers, func(l *layer) bool {
		from := writer[l.in.area]
		if l.table == nil || l.Kind != npu.Max || from == nil || from.table != nil || l.in.area.region != working ||
			readers[l.in.area] != 1 || len(l.in.area.maps) != 1 || l.in.Signed != l.out.Signed || l.zeros[2] != 0 {
			return false
		}
		from.table, from.out = l.table, l.out
		root, _ := l.out.area.root()
		writer[root] = nil
		return true
	})
}

// write packs constants and writes the stream.
func (bin *result) write(b *builder) (err error) {
	defer fail.Catch(&err)
	w := npu.NewWriter(b.cfg)
	seen := map[*area]bool{}
	for _, l := range b.layers {
		for _, m := range []*fmap{l.in, l.in2} {
			if m != nil && m.area.data != nil && !seen[m.area] {
				m.area.at, seen[m.area] = bin.constant(m.area.data), true
			}
		}
	}
	t := &tables{cfg: b.cfg, bin: bin}
	for _, l := range b.layers {
		l.place()
		fail.Check(bin.load(w, l))
		fail.Check(t.load(w, l))
		if err := w.Add(&l.Op); err != nil {
			return fmt.Errorf("%s: %w", l.Name(), err)
		}
	}
	bin.actions = w.Bytes()
	return nil
}

// constant appends data and says where it lies; equal data lie there once.
func (bin *result) constant(data []byte) int64 {
	at, ok := bin.stored[string(data)]
	if ok {
		return at
	}
	at = int64(len(bin.data))
	bin.stored[string(data)] = at
	bin.data = append(bin.data, data...)
	for len(bin.data)%align != 0 {
		bin.data = append(bin.data, 0)
	}
	return at
}

// pack makes weights and scales of a layer.
func (l *layer) pack(c *npu.Config) {
	if l.kernel == nil {
		return
	}
	l.packed = nil
	weights, scales := l.Pack(c, l.kernel), npu.PackScales(c, l.channels)
	add := func(r *npu.Range, b []byte) {
		r.From, r.Bytes = int64(len(l.packed)), int64(len(b))
		l.packed = append(l.packed, b...)
	}
	for i := range weights {
		add(&l.Weights[i], weights[i])
		add(&l.Scales[i], scales[i])
	}
}

// load stores weights and scales of a layer, and brings them to their buffer.
func (bin *result) load(w *npu.Writer, l *layer) error {
	if l.packed == nil {
		return nil
	}
	had := len(bin.data)
	from := npu.Range{Region: constants, From: bin.constant(l.packed), Bytes: int64(len(l.packed))}
	bin.weights += min(len(bin.data)-had, len(l.packed))
	at := from
	if l.buffer != nil {
		at.Region, at.From = working, l.buffer.at
	}
	for i := range l.Weights {
		for _, r := range []*npu.Range{&l.Weights[i], &l.Scales[i]} {
			r.Region = at.Region
			r.From += at.From
		}
	}
	if l.buffer == nil {
		return nil
	}
	return w.Add(&npu.Op{Kind: npu.Transfer, From: from, To: at})
}

// tables are those in the shared memory.
type tables struct {
	cfg  *npu.Config
	bin  *result
	slot [8][]byte
	next int
}

// load brings a layer's table into the shared memory where it is not there.
func (t *tables) load(w *npu.Writer, l *layer) error {
	if l.table == nil {
		if t.cfg.SharesTables() {
			clear(t.slot[:])
		}
		return nil
	}
	n := len(l.table) / 256
	for i := 0; i < len(t.slot); i += n {
		if bytes.Equal(t.slot[i], l.table) {
			l.Through(i)
			return nil
		}
	}
	at := t.next / n * n % len(t.slot)
	t.next = at + n
	clear(t.slot[at:][:n])
	t.slot[at] = l.table
	l.Through(at)
	size := int64(len(l.table))
	return w.Add(&npu.Op{Kind: npu.Transfer, From: npu.Range{Region: constants, From: t.bin.constant(l.table),
		Bytes: size}, To: t.cfg.TableAt(at, size)})
}
