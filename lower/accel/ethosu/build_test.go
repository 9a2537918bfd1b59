// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// drawing draws a chain of layers as the text of a graph.
type drawing struct {
	*rand.Rand
	consts, body string
	n            int
	c, h, w      int
	quant, kind  string
}

func (d *drawing) scale() string {
	if d.kind == "i16" {
		return fmt.Sprintf("q(%.6f:0)", (0.01+d.Float64()/10)/256)
	}
	return fmt.Sprintf("q(%.4f:%d)", 0.01+d.Float64()/10, d.IntN(41)-20)
}

func (d *drawing) value() string { return fmt.Sprintf("%%v%d", d.n) }

// then appends a node that gives c×h×w elements.
func (d *drawing) then(format string, c, h, w int, quant string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.n, d.c, d.h, d.w, d.quant = d.n+1, c, h, w, quant
	d.body += fmt.Sprintf("%s : %s[1,%d,%d,%d] %s = %s\n", d.value(), d.kind, c, h, w, quant, text)
}

func (d *drawing) constant(kind, shape, quant string) string {
	name := fmt.Sprintf("%%k%d", strings.Count(d.consts, "const"))
	d.consts += fmt.Sprintf("const %s : %s[%s] %s = rand %d\n", name, kind, shape, quant, d.IntN(1000))
	return name
}

func (d *drawing) conv() {
	kh, kw, s, dil := 1+d.IntN(min(d.h, 4)), 1+d.IntN(min(d.w, 4)), 1+d.IntN(3), 1
	group, out, in := 1, 1+d.IntN(40), d.c
	if d.c > 1 && d.IntN(3) == 0 {
		group, out, in = d.c, d.c, 1
	}
	if kh*2 <= d.h && kw*2 <= d.w && d.IntN(4) == 0 {
		dil = 2
	}
	pad := d.IntN(2)
	size := func(n, k int) int { return (n+pad-(k-1)*dil-1)/s + 1 }
	switch k := d.IntN(8); {
	case k == 0 && group == 1 && d.h*d.w < 100:
		w := d.constant("i8", fmt.Sprintf("%d,%d,%d,%d", d.c, out, kh, kw), "q(0.01:0)")
		d.then("ConvTranspose(%s, %s) {kernel_shape=[%d,%d], strides=[2,2]}", out, 2*(d.h-1)+kh, 2*(d.w-1)+kw,
			d.scale(), d.value(), w, kh, kw)
		return
	case k == 1 && d.c%2 == 0:
		group, in, out = 2, d.c/2, 2*(1+out/2)
	case k == 2 && kh*3 <= d.h && kw*3 <= d.w:
		dil = 3
	}
	w := d.constant("i8", fmt.Sprintf("%d,%d,%d,%d", out, in, kh, kw), "q(0.01:0)")
	b := d.constant(map[string]string{"i8": "i32", "i16": "i64"}[d.kind], fmt.Sprint(out), "")
	d.then("Conv(%s, %s, %s) {kernel_shape=[%d,%d], strides=[%d,%d], dilations=[%d,%d], pads=[%d,0,0,%d], group=%d}",
		out, size(d.h, kh), size(d.w, kw), d.scale(), d.value(), w, b, kh, kw, s, s, dil, dil, pad, pad, group)
}

func (d *drawing) pool() {
	kh, kw, s := 1+d.IntN(min(d.h, 4)), 1+d.IntN(min(d.w, 4)), 1+d.IntN(2)
	name := []string{"MaxPool", "AveragePool"}[d.IntN(2)]
	if d.IntN(3) == 0 && d.kind == "i8" {
		d.then("AveragePool(%s) {kernel_shape=[%d,%d]}", d.c, d.h-kh+1, d.w-kw+1, d.scale(), d.value(), kh, kw)
		return
	}
	d.then("%s(%s) {kernel_shape=[%d,%d], strides=[%d,%d]}", d.c, (d.h-kh)/s+1, (d.w-kw)/s+1, d.quant, name,
		d.value(), kh, kw, s, s)
}

func (d *drawing) layer() {
	switch k := d.IntN(7); {
	case k == 4 && d.kind == "i8":
		d.then("Softmax(%s) {axis=1}", d.c, d.h, d.w, "q(0.00390625:-128)", d.value())
	case k == 0:
		d.then("%s(%s)", d.c, d.h, d.w, d.scale(), []string{"Sigmoid", "Tanh", "Relu"}[d.IntN(3)], d.value())
	case k == 1:
		d.pool()
	case k == 2:
		before := d.value()
		d.then("Relu(%s)", d.c, d.h, d.w, d.scale(), before)
		d.then("%s(%s, %s)", d.c, d.h, d.w, d.scale(), []string{"Add", "Mul"}[d.IntN(2)], before, d.value())
	case k == 3:
		before, c := d.value(), d.c
		d.then("Relu(%s)", d.c, d.h, d.w, d.quant, before)
		d.then("Concat(%s, %s) {axis=1}", c+d.c, d.h, d.w, d.quant, before, d.value())
	default:
		d.conv()
	}
}

func drawn(seed uint64) string {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 7)), kind: "i8"}
	if d.IntN(3) == 0 {
		d.kind = "i16"
	}
	d.c, d.h, d.w, d.quant = 1+d.IntN(20), 1+d.IntN(20), 1+d.IntN(20), d.scale()
	in := fmt.Sprintf("in %s : %s[1,%d,%d,%d] %s\n", d.value(), d.kind, d.c, d.h, d.w, d.quant)
	for range 1 + d.IntN(5) {
		d.layer()
	}
	return "graph \"g\" {\n" + in + d.consts + d.body + "out \"o\" = " + d.value() + "\n}"
}

// execute runs a segment's stream on the simulator.
func (b *result) execute(t *testing.T, g *ir.Graph, in []*tensor.Dense) [][]byte {
	t.Helper()
	regions := map[int]*npu.Memory{constants: npu.Constant(b.data), working: npu.Scratch(b.working)}
	if b.slow > 0 {
		regions[memory] = npu.Scratch(b.slow)
	}
	if b.over.Scratch { // the input is the end of the working memory
		regions[working] = npu.Scratch(max(b.working, b.over.Ahead+g.In[b.over.I].Type.Bytes()))
	}
	var out [][]byte
	for i, v := range g.In {
		data := bytesOf(v, in[i])
		switch r, m := b.regions[i], regions[working]; {
		case b.copies(r):
			testenv.OK(t, regions[r].Put(b.at[i], data))
		case b.over.Scratch && b.over.I == i:
			testenv.OK(t, m.Put(b.over.Ahead, data))
			regions[r] = &npu.Memory{Data: m.Data[b.over.Ahead:], Known: m.Known[b.over.Ahead:], ReadOnly: true}
		default:
			regions[r] = npu.Constant(data)
		}
	}
	for i, v := range g.Out {
		if r := b.regions[len(g.In)+i]; !b.copies(r) {
			regions[r] = npu.Scratch(v.Type.Bytes())
		}
	}
	s := testenv.Must(npu.Parse(b.actions))(t)
	if err := s.Run(regions); err != nil {
		t.Fatalf("%v\n%s\n%s", err, g, listed(s))
	}
	for i, v := range g.Out {
		data, k := make([]byte, v.Type.Bytes()), len(g.In)+i
		testenv.OK(t, regions[b.regions[k]].Get(b.at[k], data))
		out = append(out, data)
	}
	return out
}

func bytesOf(v *ir.Value, d *tensor.Dense) []byte { return data(&ir.Value{Type: v.Type, Const: d}) }

// equal compares a graph's stream with the graph.
func equal(t *testing.T, c *npu.Config, g *ir.Graph, seed uint64, text string) {
	t.Helper()
	r, in := rand.New(rand.NewPCG(seed, 8)), make([]*tensor.Dense, len(g.In))
	for i, v := range g.In {
		raw := make([]byte, v.Type.Bytes())
		for k := range raw {
			raw[k] = byte(r.IntN(256))
		}
		in[i] = testenv.Must(tensor.FromBytes(v.Type.DType, v.Type.Shape, raw))(t)
	}
	want := testenv.Must(interp.Run(g, in, nil))(t)
	for _, most := range []int64{0, 1} { // as fast as it goes, and in cascades, in every mode of memory
		c := c.With(npu.Mode((int(seed)+int(most))%len(npu.Modes)), int(seed%8)<<9)
		b, err := build(c, g, most)
		testenv.Require(t, err == nil, "seed %d: %v\n%s", seed, err, text)
		for i, got := range b.execute(t, g, in) {
			testenv.Require(t, bytes.Equal(got, bytesOf(g.Out[i], want[i])),
				"seed %d on %s, mode %d, within %d bytes: result %d differs\n%s", seed, c.Name, c.Mode, most, i, text)
		}
	}
}

// TestDrawn: the streams of drawn chains of layers give the numbers of the model, on every configuration.
func TestDrawn(t *testing.T) {
	from, count := testenv.Range(t, 60)
	refusals := 0
	for seed := uint64(from); seed < uint64(from+count); seed++ {
		text, c := drawn(seed), &npu.Configs[seed%uint64(len(npu.Configs))]
		g := irtest.Parse(t, text)
		for _, n := range g.Nodes {
			if refused(c, n) != "" {
				refusals++
				t.Logf("seed %d: %s: %s", seed, n.Op.Name, refused(c, n))
				g = nil
				break
			}
		}
		if g == nil {
			continue
		}
		equal(t, c, g, seed, text)
	}
	manyEnds(t)
	testenv.Check(t, refusals < count/2, "%d of %d are refused", refusals, count)
}

// drawnLSTM is an LSTM as the text of a graph, with states or without.
func drawnLSTM(seed uint64) string {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 11)), kind: "i8"}
	steps, batch, in, units, power := 1+d.IntN(6), 1+d.IntN(3), 1+d.IntN(40), 1+d.IntN(40), -15+d.IntN(8)
	hidden, cell := d.scale(), fmt.Sprintf("q(%.17g:0)", math.Ldexp(1, power))
	end := func(kind, q string) string { return fmt.Sprintf("%s[%d,%d] %s", kind, batch, units, q) }
	ends := []string{end("i8", hidden), end("i16", cell)}
	text, states := fmt.Sprintf("in %%x : i8[%d,%d,%d] %s\n", steps, batch, in, d.scale()), ""
	if d.IntN(3) > 0 {
		text += "in %h : " + ends[0] + "\nin %c : " + ends[1] + "\n"
		states = ", %h, %c"
	}
	w, r := d.constant("i8", fmt.Sprintf("%d,%d", 4*units, in), "q(0.01:0)"), d.constant("i8",
		fmt.Sprintf("%d,%d", 4*units, units), "q(0.02:0)")
	return fmt.Sprintf("graph \"g\" {\n%s%s%%y : i8[%d,%d,%d] %s, %%m : %s, %%n : %s = nncc.QLSTM(%%x, %s, %s, %s%s) "+
		"{cell_scale_power=%d, cell_clip=%d, direction=%q}\nout \"y\" = %%y\nout \"h\" = %%m\nout \"c\" = %%n\n}",
		text, d.consts, steps, batch, units, hidden, ends[0], ends[1], w, r, d.constant("i32", fmt.Sprint(4*units), ""),
		states, power, d.IntN(2)*d.IntN(9000), []string{"forward", "reverse"}[d.IntN(2)])
}

// TestLSTM: the streams of drawn LSTMs give the numbers of the model.
func TestLSTM(t *testing.T) {
	from, count := testenv.Range(t, 12)
	for seed := uint64(from); seed < uint64(from+count); seed++ {
		text := drawnLSTM(seed)
		equal(t, &npu.Configs[seed%uint64(len(npu.Configs))], irtest.Parse(t, text), seed, text)
	}
}

// TestStreamed: weights come by transfers, of whole layers and of parts of their channels, and give the same numbers.
func TestStreamed(t *testing.T) {
	for i := range 2 { // those that read constants most slowly
		d := &drawing{Rand: rand.New(rand.NewPCG(uint64(i), 9)), kind: "i8", c: 8, h: 20, w: 20}
		d.quant = d.scale()
		in := fmt.Sprintf("in %s : i8[1,%d,%d,%d] %s\n", d.value(), d.c, d.h, d.w, d.quant)
		for _, k := range []int{64, 48, 48, 96} {
			s, before := 1+d.n%2, d.value()
			w := d.constant("i8", fmt.Sprintf("%d,%d,1,1", k, d.c), "q(0.01:0)")
			d.then("Conv(%s, %s) {kernel_shape=[1,1], strides=[%d,%d]}", k, (d.h-1)/s+1, (d.w-1)/s+1, d.scale(),
				before, w, s, s)
		}
		c, text := &npu.Configs[i], "graph \"g\" {\n"+in+d.consts+d.body+"out \"o\" = "+d.value()+"\n}"
		g := irtest.Parse(t, text)
		equal(t, c, g, 1, text)
		transfers, convolutions := 0, 0
		s := testenv.Must(npu.Parse(testenv.Must(build(c, g, 0))(t).actions))(t)
		testenv.OK(t, s.Ops(func(o *npu.Op) error {
			if o.Kind == npu.Conv {
				convolutions++
			} else if o.To.Region == working {
				transfers++
			}
			return nil
		}))
		testenv.Check(t, transfers > 0 && convolutions >= 4, "%s: %d transfers, %d convolutions\n%s", c.Name,
			transfers, convolutions, listed(s))
	}
}

// TestCascades: layers in stripes need less memory and more cycles; what a dedicated memory has no room for lies beside
// it. More of a network in faster memory takes fewer cycles.
func TestCascades(t *testing.T) {
	d := &drawing{Rand: rand.New(rand.NewPCG(3, 9)), kind: "i8", c: 4, h: 40, w: 40}
	d.quant = d.scale()
	in := fmt.Sprintf("in %s : i8[1,%d,%d,%d] %s\n", d.value(), d.c, d.h, d.w, d.quant)
	for _, k := range []int{16, 32, 16, 4} {
		w, before := d.constant("i8", fmt.Sprintf("%d,%d,3,3", k, d.c), "q(0.01:0)"), d.value()
		d.then("Conv(%s, %s) {kernel_shape=[3,3], pads=[1,1,1,1]}", k, d.h, d.w, d.scale(), before, w)
	}
	g := irtest.Parse(t, "graph \"g\" {\n"+in+d.consts+d.body+"out \"o\" = "+d.value()+"\n}")
	for i := range npu.Configs {
		base, last := &npu.Configs[i], 0.0
		for mode := npu.SRAMOnly; mode <= npu.DedicatedSRAM; mode++ {
			c := base.With(mode, 1<<15)
			whole, least := testenv.Must(build(c, g, 0))(t), testenv.Must(build(c, g, 1))(t)
			s := testenv.Must(npu.Parse(whole.actions))(t)
			s.Config = c
			cycles := testenv.Must(estimate(s))(t).Cycles
			testenv.Check(t, cycles >= last, "%s: %.0f cycles in mode %d, %.0f with less in slow memory", c.Name,
				cycles, mode, last)
			last = cycles
			testenv.Check(t, 2*least.working < whole.working || mode == npu.DedicatedSRAM && whole.working <= c.Cache,
				"%s in mode %d: %d bytes in stripes, %d whole, %d beside", c.Name, mode, least.working, whole.working,
				whole.slow)
		}
	}
}

func listed(s *npu.Stream) string {
	var b strings.Builder
	if err := s.Ops(func(o *npu.Op) error { b.WriteString(o.Describe()); return nil }); err != nil {
		b.WriteString(err.Error())
	}
	return b.String()
}

// manyEnds: inputs and results for which there are no regions are copied.
func manyEnds(t *testing.T) {
	t.Helper()
	text := "graph \"g\" {\n"
	for i := range 9 {
		text += fmt.Sprintf("in %%x%d : i8[1,16,6,%d] q(0.05:3)\n", i, 5+i)
	}
	for i := range 9 {
		text += fmt.Sprintf("%%y%d : i8[1,16,3,%d] q(0.05:3) = MaxPool(%%x%d) {kernel_shape=[2,1], strides=[2,1]}\n", i,
			5+i, i)
	}
	for i := range 9 {
		text += fmt.Sprintf("out \"o%d\" = %%y%d\n", i, i)
	}
	g := irtest.Parse(t, text+"}")
	equal(t, &npu.Configs[2], g, 1, text)
}
