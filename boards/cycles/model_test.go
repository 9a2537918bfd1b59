// SPDX-License-Identifier: Apache-2.0

package cycles

import (
	"testing"

	"github.com/nncc/nncc/boards"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func board(t *testing.T, name string) *boards.Spec {
	t.Helper()
	s := testenv.Must(boards.Load(name))(t)
	return s
}

// halfwords makes text of instructions.
func halfwords(v ...uint16) []byte {
	var b []byte
	for _, h := range v {
		b = append(b, byte(h), byte(h>>8))
	}
	return b
}

const (
	nop     = 0xbf00
	ldrR1R0 = 0x6801 // ldr r1, [r0]
	ldrR2R0 = 0x6842 // ldr r2, [r0, #4]
	ldrR3R1 = 0x680b // ldr r3, [r1]
	addsR1  = 0x1c49 // adds r1, r1, #1
	bne     = 0xd1fc // bne two instructions back
	push    = 0xb5f0 // push {r4-r7, lr}
	pop     = 0xbdf0 // pop {r4-r7, pc}
	smlad   = 0xfb20 // smlad r0, r0, r1, r0
	smlad1  = 0x0001
	bl0     = 0xf000
	bl1     = 0xf800
)

// TestHandCounted: straight code and loops counted by hand.
func TestHandCounted(t *testing.T) {
	vldr, vmlav, vadd, le, leTo := []uint16{0xed91, 0x1f00}, []uint16{0xeef0, 0x0e22}, []uint16{0xef22, 0x0844},
		uint16(0xf00f), uint16(0xc003)
	gather := []uint16{0xfc91, 0x0e04}
	join := func(parts ...[]uint16) []uint16 {
		var v []uint16
		for _, p := range parts {
			v = append(v, p...)
		}
		return v
	}
	for _, c := range []struct {
		name, core string
		text       []uint16
		turns      int
		want       int
	}{
		{"a load", "cortex-m4", []uint16{ldrR1R0}, 1, 2},
		{"a load behind a load", "cortex-m4", []uint16{ldrR1R0, ldrR2R0}, 1, 3},
		{"a load that waits for its address", "cortex-m4", []uint16{ldrR1R0, ldrR3R1}, 1, 4},
		{"loads with something between", "cortex-m3", []uint16{ldrR1R0, nop, ldrR2R0}, 1, 5},
		{"five words pushed and popped", "cortex-m4", []uint16{push, pop}, 1, 6 + 6},
		{"five words pushed and popped", "cortex-m0plus", []uint16{push, pop}, 1, 6 + 6},
		{"a call that comes back", "cortex-m4", []uint16{bl0, bl1}, 1, 1},
		{"ten turns, nine taken", "cortex-m4", []uint16{nop, nop, bne}, 10, 10*3 + 9*2},
		{"ten turns, nine taken", "cortex-m0plus", []uint16{nop, nop, bne}, 10, 10*3 + 9},
		{"a load used at once", "cortex-m55", []uint16{ldrR1R0, addsR1}, 1, 3},
		{"a load used later", "cortex-m55", []uint16{ldrR1R0, nop, addsR1}, 1, 3},
		{"two vector loads", "cortex-m55", join(vldr, vldr), 1, 1 + 1 + 1},
		{"a vector load and a product", "cortex-m55", join(vldr, vmlav), 1, 2},
		{"products and additions by turns", "cortex-m55", join(vmlav, vadd, vmlav, vadd), 1, 4},
		{"three products", "cortex-m55", join(vmlav, vmlav, vmlav), 1, 5},
		{"a low-overhead loop", "cortex-m55", join(vldr, vmlav, []uint16{le, leTo}), 10, 20},
		{"a loop whose ends meet in one pipe", "cortex-m55", join(vmlav, vldr, vmlav, []uint16{le, leTo}), 10, 30 + 9},
		{"two independent instructions at once", "cortex-m7", []uint16{addsR1, nop, nop}, 1, 2},
		{"a sum that waits for a sum", "cortex-m7", []uint16{addsR1, addsR1}, 1, 2},
		{"two loads at once", "cortex-m7", []uint16{ldrR1R0, ldrR2R0}, 1, 1},
		{"an address is wanted early", "cortex-m7", []uint16{ldrR1R0, ldrR3R1}, 1, 3},
		{"a product a cycle", "cortex-m7", []uint16{smlad, smlad1, smlad, smlad1, smlad, smlad1}, 1, 3},
		{"blocks start alone", "cortex-m7", []uint16{push, nop}, 1, 4},
		{"vectors and scalars at once", "cortex-m85", join(vldr, []uint16{addsR1}, vmlav, []uint16{nop}), 1, 2},
		{"two vector loads", "cortex-m85", join(vldr, vldr), 1, 3},
		{"sixteen lanes gathered", "cortex-m55", gather, 1, 8},
	} {
		m := testenv.Must(For(board(t, c.core)))(t)
		b, n := m.Block(0x100, halfwords(c.text...)), m.Counter(nil)
		for range c.turns {
			n.Enter(b)
		}
		testenv.Check(t, n.Cycles == c.want, "%s on %s: %d cycles, counted by hand %d", c.name, c.core, n.Cycles,
			c.want)
	}
	spec := board(t, "cortex-m4")
	spec.Pipeline = boards.Pipeline{}
	testenv.Refused(t, testenv.Err(For(spec)), "cortex-m4")
}

// TestBytes: what loads and stores move.
func TestBytes(t *testing.T) {
	m := testenv.Must(For(board(t, "cortex-m55")))(t)
	// ldrb, strh, ldrd, push of 5, vldrw, vldrb.s16, vstrb.32
	b := m.Block(0, halfwords(0x7801, 0x8001, 0xe9d2, 0x0100, push, 0xed91, 0x1f00, 0xed91, 0x0e80, 0xed81, 0x0f00))
	n := m.Counter(nil)
	n.Enter(b)
	testenv.Check(t, n.Loaded == 1+8+16+8 && n.Stored == 2+20+4, "%d bytes loaded, %d stored", n.Loaded, n.Stored)
	got := n.ByClass()
	testenv.Check(t, got["vec_load"] == 2 && got["load"] == 1 && got["alu"] == 0 && n.Instructions == 7, "%v", got)
}

// TestFetch: lines are waited for once, until others take their place.
func TestFetch(t *testing.T) {
	block := func(pc, bytes uint32) *Block { return &Block{PC: pc, End: pc + bytes} }
	w := boards.Wait{States: 5, Line: 16, Cache: 64, Source: "test"}
	f := NewFetch(w)
	for i, c := range []struct {
		pc, bytes uint32
		want      int
	}{{0, 32, 10}, {0, 32, 0}, {20, 4, 0}, {64, 32, 10}, {0, 16, 0}, {128, 16, 5}, {16, 16, 5}} {
		testenv.Equal(t, f.run(block(c.pc, c.bytes)), c.want, "block %d: cycles, counted by hand", i)
	}
	w.Prefetch = true
	testenv.Equal(t, NewFetch(w).run(block(0, 64)), 5+3*1, "four lines in a row, prefetched: cycles")
	if f := NewFetch(boards.Wait{}); f != nil {
		t.Error("memory without wait states needs no Fetch")
	}
}

// TestBoardsHaveTables: every shipped board for an Arm core has a valid table.
func TestBoardsHaveTables(t *testing.T) {
	for _, name := range boards.List() {
		if s := board(t, name); s.Core != "host" {
			_, err := For(s)
			testenv.Check(t, err == nil, "%v", err)
		}
	}
	for _, c := range []struct {
		change func(p *boards.Pipeline)
		want   string
	}{
		{func(p *boards.Pipeline) { p.Prices = map[string]any{"laod": int64(2)} },
			"unknown name \"laod\"; did you mean load?; known: alu, "},
		{func(p *boards.Pipeline) { p.Taken = map[string]any{"jump": "two"} }, "taken.jump: two: want a whole number"},
		{func(p *boards.Pipeline) { p.Units = map[string]any{"alu": int64(-1)} }, "units.alu: -1: want"},
		{func(p *boards.Pipeline) { p.Stalls = "much" }, "stalls: \"much\"; known: , helium"},
	} {
		s := board(t, "cortex-m7")
		c.change(&s.Pipeline)
		testenv.Refused(t, testenv.Err(For(s)), c.want)
	}
}
