// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"slices"

	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// mostParts of a layer's channels, whose weights come one behind the other.
const mostParts = 8

// trials change layers where that takes fewer cycles and no more memory.
type trials struct {
	*builder
	bin, room *result
	held      []*area
	inputs    int
	least     float64 // cycles
}

// faster changes layers that have their order, and places them again.
func (bin *result) faster(b *builder, held []*area, inputs int) {
	had := *bin
	t := &trials{b, bin, &had, held, inputs, b.cycles(b.layers)}
	for i := 0; i < len(b.layers); i++ {
		t.fill(b.layers[i].out.area)
	}
	for i := 0; i < len(b.layers); i++ {
		i += max(0, t.stream(i)-1)
	}
	bin.plan(b, held, inputs, true)
}

// better takes other layers if they are.
func (t *trials) better(layers []*layer) bool {
	cycles, had := t.cycles(layers), t.layers
	if cycles >= t.least {
		return false
	}
	t.layers = layers
	t.bin.plan(t.builder, t.held, t.inputs, true)
	b, r := t.bin, t.room
	if b.working > r.working || b.over.Ahead > r.over.Ahead || b.over.Behind > r.over.Behind {
		t.layers = had
		return false
	}
	t.least = cycles
	return true
}

const leastFilled = 1024 // bytes

// fill lets the maps of an area lie in runs of channels that are not all there.
func (t *trials) fill(a *area) {
	if a.bytes < leastFilled || !t.bricks(a) {
		return
	}
	had, bytes := a.maps[0].FeatureMap, a.bytes
	a.lay()
	layers, ok := slices.Clone(t.layers), true
	for i, l := range layers {
		if l.out.area == a || l.in.area == a || l.in2 != nil && l.in2.area == a {
			c := *l
			layers[i] = &c
			ok = ok && c.block(t.cfg)
		}
	}
	if ok && t.better(layers) {
		return
	}
	for _, m := range a.maps {
		m.FeatureMap = had
	}
	a.bytes = bytes
}

// stream lets the weights of a layer come to the working memory by transfers, while the layer in front computes. It may
// be cut into parts of its channels, so that the weights of one come while another one computes: then two buffers are
// in use at a time. It gives how many parts there are; 0: it reads the constants.
func (t *trials) stream(i int) (best int) {
	had, l := t.layers, t.layers[i]
	for n := 1; n <= mostParts && l.kernel != nil && !l.striped; n *= 2 {
		parts := t.parts(l, n)
		if parts == nil || n == 1 && t.cfg.Cycles([]*npu.Op{&parts[0].Op}) >= t.cfg.Cycles([]*npu.Op{&l.Op}) {
			break
		}
		if t.better(slices.Concat(had[:i], parts, had[i+1:])) {
			best = len(parts)
		}
	}
	return best
}

// cycles is what layers take.
func (b *builder) cycles(layers []*layer) float64 {
	var ops []*npu.Op
	for _, l := range layers {
		l.place()
		if l.buffer != nil {
			n := int64(len(l.packed))
			ops = append(ops, &npu.Op{Kind: npu.Transfer, From: npu.Range{Region: constants, Bytes: n},
				To: npu.Range{Region: working, Bytes: n}})
		}
		ops = append(ops, &l.Op)
	}
	return b.cfg.Cycles(ops)
}

// parts are n layers of some channels each, with buffers; nil: there are none.
func (b *builder) parts(l *layer, n int) (out []*layer) {
	each := max(1, (l.out.C/n+unit-1)/unit) * unit
	if n > 1 && (n-1)*each >= l.out.C {
		return nil
	}
	for from := 0; from < l.out.C; from += each {
		c := *l
		c.buffer = &area{region: working}
		if k := min(each, l.out.C-from); k < l.out.C {
			c.out = l.out.channels(from, k)
			if l.Kind == npu.Depthwise {
				c.in = l.in.channels(from, k)
			}
			size := len(l.kernel) / l.out.C
			c.channels, c.kernel = l.channels[from:][:k], l.kernel[from*size:][:k*size]
			c.packed = l.packed[:len(l.packed)*k/l.out.C]
		}
		if !c.block(b.cfg) {
			return nil
		}
		c.buffer.bytes = int64(len(c.packed))
		out = append(out, &c)
	}
	return out
}

// unit is what channels of parts are a multiple of.
const unit = 16

// channels are some of a map's, from a multiple of unit on.
func (m *fmap) channels(from, n int) *fmap {
	return m.view(func(r *fmap) {
		if r.C = n; m.Brick {
			r.from += int64(from/unit) * m.StrideC
		} else {
			r.from += int64(from * m.Bits / 8)
		}
	})
}
