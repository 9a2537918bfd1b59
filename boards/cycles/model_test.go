package cycles

import (
	"strings"
	"testing"
)

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
		{"sixteen lanes gathered", "cortex-m55", gather, 1, 8},
	} {
		m, err := For(c.core)
		if err != nil {
			t.Fatal(err)
		}
		b, n := m.Block(0x100, halfwords(c.text...)), m.Counter()
		for range c.turns {
			n.Enter(b)
		}
		if n.Cycles != c.want {
			t.Errorf("%s on %s: %d cycles, counted by hand %d", c.name, c.core, n.Cycles, c.want)
		}
	}
	if _, err := For("cortex-m7"); err == nil || !strings.Contains(err.Error(), "cortex-m4") {
		t.Errorf("a core without a table: %v", err)
	}
}

// TestBytes: what loads and stores move.
func TestBytes(t *testing.T) {
	m, err := For("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	// ldrb, strh, ldrd, push of 5, vldrw, vldrb.s16, vstrb.32
	b := m.Block(0, halfwords(0x7801, 0x8001, 0xe9d2, 0x0100, push, 0xed91, 0x1f00, 0xed91, 0x0e80, 0xed81, 0x0f00))
	n := m.Counter()
	n.Enter(b)
	if n.Loaded != 1+8+16+8 || n.Stored != 2+20+4 {
		t.Errorf("%d bytes loaded, %d stored", n.Loaded, n.Stored)
	}
	if got := n.ByClass(); got["vec_load"] != 2 || got["load"] != 1 || got["alu"] != 0 || n.Instructions != 7 {
		t.Errorf("%v", got)
	}
}
