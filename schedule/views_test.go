// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
)

// indices are the constants that Slice nodes of the texts below use: i0 is {0}
// and so on, ax0 axis 0.
const indices = `
	const %i0 : i64[1] = {0}
	const %i1 : i64[1] = {1}
	const %i2 : i64[1] = {2}
	const %i3 : i64[1] = {3}
	const %i4 : i64[1] = {4}
	const %i8 : i64[1] = {8}
`

// TestViews: concats, splits and views of all kinds, with the nodes that must
// and those that must not have code.
func TestViews(t *testing.T) {
	for _, c := range []struct {
		name, src string
		code      string // operators of the steps in graph order
	}{
		{"concat", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Concat(%a, %b) {axis=0}
			%y = Tanh(%c)
			out "y" = %y`, "Relu Sigmoid Tanh"},
		{"concat along an inner axis is copied", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Concat(%a, %b) {axis=1}
			out "y" = %c`, "Concat Relu Sigmoid"},
		{"an input of the concat is read by a step that would like to overwrite it", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Concat(%a, %b) {axis=0}
			%d = Tanh(%a)
			%e = Tanh(%c)
			out "d" = %d
			out "e" = %e`, "Relu Sigmoid Tanh Tanh"},
		{"one value in two concats", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Concat(%a, %b) {axis=0}
			%d = Concat(%b, %a) {axis=0}
			%y = Add(%c, %d)
			out "y" = %y`, "Add Concat Relu Sigmoid"},
		{"one value twice in a concat", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%c = Concat(%a, %a) {axis=0}
			out "y" = %c`, "Concat Relu"},
		{"a concat of one", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%c = Concat(%a) {axis=0}
			%y = Tanh(%c)
			out "y" = %y`, "Relu Tanh"},
		{"graph input and constant as parts", `
			in %x : f32[2,4]
			const %k : f32[1,4] = rand 1
			%a = Relu(%x)
			%c = Concat(%a, %x) {axis=0}
			%d = Concat(%c, %k) {axis=0}
			out "y" = %d`, "Concat Concat Relu"},
		{"parts that are graph outputs: by 16 bytes", `
			in %x : f32[2,4]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Concat(%a, %b) {axis=0}
			out "a" = %a
			out "b" = %b
			out "c" = %c`, "Relu Sigmoid"},
		{"parts that are graph outputs: not by 12 bytes", `
			in %x : f32[1,3]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Concat(%a, %b) {axis=0}
			out "b" = %b
			out "c" = %c`, "Concat Relu Sigmoid"},
		{"concat of concats", `
			in %x : f32[1,4]
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%c = Tanh(%x)
			%d = Exp(%x)
			%e = Concat(%a, %b) {axis=0}
			%f = Concat(%c, %e) {axis=0}
			%g = Concat(%f, %d) {axis=0}
			%y = Relu(%g)
			%z = Tanh(%e)
			out "y" = %y
			out "z" = %z`, "Exp Relu Relu Sigmoid Tanh Tanh"},
		{"concat of reshaped values", `
			in %x : f32[2,4]
			const %s : i64[1] = {8}
			%a = Relu(%x)
			%b = Sigmoid(%x)
			%u = Reshape(%a, %s)
			%v = Reshape(%b, %s)
			%c = Concat(%u, %v) {axis=0}
			%d = Tanh(%a)
			%y = Relu(%c)
			out "d" = %d
			out "y" = %y`, "Relu Relu Sigmoid Tanh"},
		{"split", `
			in %x : f32[4,4]
			%r = Relu(%x)
			%a, %b = Split(%r) {axis=0}
			%c = Sigmoid(%a)
			%d = Tanh(%b)
			%e = Add(%r, %r)
			out "c" = %c
			out "d" = %d
			out "e" = %e`, "Add Relu Sigmoid Tanh"},
		{"split and joined again", `
			in %x : f32[4,4]
			%r = Relu(%x)
			%a, %b = Split(%r) {axis=0}
			%t = Tanh(%b)
			%c = Concat(%a, %b, %t) {axis=0}
			%y = Tanh(%c)
			out "y" = %y`, "Relu Tanh Tanh"},
		{"split and joined in another order", `
			in %x : f32[4,4]
			%r = Relu(%x)
			%a, %b = Split(%r) {axis=0}
			%c = Concat(%b, %a) {axis=0}
			%y = Tanh(%c)
			out "y" = %y`, "Concat Relu Tanh"},
		{"a piece joined with others: the rest of its storage would fall on them", `
			in %x : f32[4,4]
			%r = Relu(%x)
			%a, %b = Split(%r) {axis=0}
			%t = Tanh(%b)
			%c = Concat(%a, %t) {axis=0}
			out "y" = %c`, "Concat Relu Tanh"},
		{"slices that overlap", `
			in %x : f32[4,4]` + indices + `
			%r = Relu(%x)
			%a = Slice(%r, %i0, %i3, %i0)
			%b = Slice(%r, %i1, %i4, %i0)
			%y = Add(%a, %b)
			out "y" = %y`, "Add Relu"},
		{"a slice is added to what it is a slice of: not in place", `
			in %x : f32[4,4]` + indices + `
			%r = Relu(%x)
			%a = Slice(%r, %i0, %i1, %i0)
			%y = Add(%r, %a)
			%b = Slice(%y, %i2, %i3, %i0)
			%z = Sub(%b, %y)
			out "z" = %z`, "Add Relu Sub"},
		{"slices of slices, views of views", `
			in %x : f32[8,4]` + indices + `
			const %s : i64[1] = {16}
			const %q : i64[2] = {2,8}
			%r = Relu(%x)
			%a = Slice(%r, %i2, %i8, %i0)
			%b = Slice(%a, %i1, %i3, %i0)
			%c = Slice(%a, %i0, %i4, %i0)
			%u = Reshape(%c, %s)
			%v = Reshape(%u, %q)
			%d = Tanh(%v)
			%e = Sigmoid(%b)
			%y = Relu(%u)
			out "d" = %d
			out "e" = %e
			out "y" = %y`, "Relu Relu Sigmoid Slice Tanh"}, // %c copied: the arena is smaller, %r dies sooner
		{"pieces that nobody reads", `
			in %x : f32[4,6]
			%r = Relu(%x)
			%a, %b, %c = Split(%r) {axis=1}
			%d, %e = Split(%r) {axis=0}
			%y = Tanh(%b)
			%z = Tanh(%e)
			out "y" = %y
			out "z" = %z`, "Relu Split Tanh Tanh"},
		{"an output that shows an input", `
			in %x : f32[4,4]` + indices + `
			%a = Slice(%x, %i1, %i3, %i0)
			%y = Concat(%x, %x) {axis=1}
			out "a" = %a
			out "y" = %y`, "Concat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, low := lowered(t, c.src)
			p := built(t, g, low).Program
			arena(t, p)
			var names []string
			for _, s := range p.Steps {
				names = append(names, s.Op)
			}
			if got := sorted(names); got != c.code {
				t.Errorf("code for %s, want %s\n%s", got, c.code, p)
			}
		})
	}
}

func sorted(names []string) string {
	for i := range names {
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return strings.Join(names, " ")
}

// tangle is a random graph of views and element-wise operators over rows of
// four floats, with values that are read many times.
func tangle(r *rand.Rand) *ir.Graph {
	g := ir.New("tangle")
	var vals []*ir.Value
	for i := range 1 + r.IntN(2) {
		vals = append(vals, g.AddInput(fmt.Sprintf("x%d", i), ir.T(tensor.F32, 1+r.IntN(4), 4)))
	}
	pick := func() *ir.Value { return vals[max(0, len(vals)-1-r.IntN(5))] }
	add := func(d *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) {
		n, err := g.Add(d, "n", attrs, nout, in...)
		if err == nil && n.Out[0].Type.Elems() > 400 {
			g.Remove(n)
			err = fmt.Errorf("too large")
		}
		if err == nil {
			vals = append(vals, n.Out...)
		}
	}
	ints := func(v ...int) *ir.Value { return g.AddConst("c", tensor.Ints(v...)) }
	for range 5 + r.IntN(12) {
		v := pick()
		rows := v.Type.Shape[0]
		switch r.IntN(9) {
		case 0, 1:
			add([]*ir.OpDef{op.Relu, op.Sigmoid, op.Tanh}[r.IntN(3)], nil, 1, v)
		case 2:
			add(op.Add, nil, 1, v, pick())
		case 3:
			add(op.Sub, nil, 1, v, v)
		case 4:
			in := []*ir.Value{v}
			for range r.IntN(3) {
				in = append(in, pick())
			}
			add(op.Concat, ir.Attrs{"axis": ir.Int(0)}, 1, in...)
		case 5:
			if lo := r.IntN(rows); true {
				add(op.Slice, nil, 1, v, ints(lo), ints(lo+1+r.IntN(rows-lo)), ints(0))
			}
		case 6:
			if rows%2 == 0 {
				add(op.Split, ir.Attrs{"axis": ir.Int(0)}, 2, v)
			}
		case 7:
			add(op.Reshape, nil, 1, v, ints(-1, 4))
		case 8:
			add(op.Concat, ir.Attrs{"axis": ir.Int(1)}, 1, v, v)
			if w := vals[len(vals)-1]; w.Type.Shape[1] != 4 {
				add(op.Reshape, nil, 1, w, ints(-1, 4))
				last := len(vals) - 1
				vals = append(vals[:last-1], vals[last])
			}
		}
	}
	for i, v := range vals {
		if v.Def != nil && (len(v.Uses()) == 0 || i == len(vals)-1 || r.IntN(8) == 0) {
			g.AddOutput(fmt.Sprintf("y%d", i), v)
		}
	}
	if len(g.Out) == 0 {
		return tangle(r)
	}
	return g
}

// TestTangles replays random graphs of views.
func TestTangles(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 60
	}
	silent := 0
	for seed := range n {
		g := tangle(rand.New(rand.NewPCG(seed, 3)))
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		p := built(t, g, low).Program
		arena(t, p)
		for _, s := range p.Views {
			if len(s.Parts) > 0 {
				silent++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d concats and splits are views", silent)
}

// TestFaults: programs with buffers moved onto each other are found out, by
// Verify and (mostly: bytes can be equal by chance) by Replay.
func TestFaults(t *testing.T) {
	faults, unseen := 0, 0
	for seed := range uint64(40) {
		g := tangle(rand.New(rand.NewPCG(seed, 4)))
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		r := built(t, g, low)
		p := r.Program
		value := map[string]*ir.Value{}
		for _, v := range g.In {
			value[v.Name] = v
		}
		for _, n := range g.Nodes {
			for _, v := range n.Out {
				value[v.Name] = v
			}
		}
		alone := func(b program.Buffer) bool { // nothing lies inside it, it inside nothing, and somebody reads it
			for _, x := range p.Buffers {
				if x.AliasOf >= 0 && p.Buffers[x.AliasOf].Name == b.Name {
					return false
				}
			}
			return b.AliasOf < 0 && b.Bytes > 0 && (len(value[b.Name].Uses()) > 0 || g.IsOutput(value[b.Name]))
		}
		for i := range p.Buffers {
			for j := range p.Buffers {
				a, b := &p.Buffers[i], p.Buffers[j]
				if i == j || !alone(*a) || !alone(b) || a.First > b.Last || b.First > a.Last || b.Offset+
					a.Bytes > p.ArenaBytes {
					continue
				}
				at := a.Offset
				a.Offset = b.Offset
				faults++
				if p.Verify() == nil {
					t.Errorf("seed %d: Verify does not see %s at the place of %s\n%s", seed, a.Name, b.Name, p)
				}
				if replayed(g, r, 5) == nil {
					unseen++
				}
				a.Offset = at
			}
		}
	}
	t.Logf("%d faults, %d not seen by Replay", faults, unseen)
	if faults < 50 || unseen*10 > faults {
		t.Errorf("%d faults, %d not seen by Replay", faults, unseen)
	}
}
