// SPDX-License-Identifier: Apache-2.0

package paths_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/paths"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestMost: bounds of small programs, in which s is the stretch, lib_ a function of the C
// library and stop ends it. ran says how often the instruction behind a label and those up to
// the next label were executed; "a+b" is one block from a on.
func TestMost(t *testing.T) {
	cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	for name, c := range map[string]struct {
		arch, text string
		ran        map[string]uint64
		want       uint64
		seen       uint64
		why        string
	}{
		"both ways": {text: `s: cmp r0, #0
	beq l1
l0:	nop
	nop
	nop
l1:	nop
l2:	bl stop
`, ran: map[string]uint64{"s": 1, "l1": 1, "l2": 1}, want: 7, seen: 4},
		"a loop": {text: `s: movs r1, #5
l0:	cmp r0, #0
	beq l2
l1:	nop
	nop
l2:	subs r1, #1
	bne l0
l3:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 5, "l1": 2, "l2": 5, "l3": 1}, want: 2 + 5*6, seen: 26},
		"loops in a loop": {text: `s: nop
l0:	nop
l1:	subs r2, #1
	bne l1
l2:	subs r1, #1
	bne l0
l3:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 3, "l1": 12, "l2": 3, "l3": 1}, want: 2 + 3*3 + 12*2, seen: 35},
		"two entries": {text: `s: cmp r0, #0
	beq l1
l0:	nop
l1:	subs r1, #1
	bne l0
l2:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 3, "l1": 4, "l2": 1}, want: 3 + 1 + 4*3, seen: 14},
		// The slow way, l5, is never taken, and the head at l4 neither.
		"a copied head": {text: `s: movs r1, #5
l0:	cmp r2, #0
	beq l5
l1:	nop
l2:	subs r1, #1
	cmp r3, #0
	beq l4
l3:	cmp r1, #0
	bne l0
l6:	b l7
l4:	cmp r1, #0
	beq l7
	cmp r2, #0
	bne l1
l5:	.rept 20
	nop
	.endr
	b l2
l7:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 5, "l1": 5, "l2": 5, "l3": 5, "l6": 1, "l7": 1}, want: 1 + 23 + 5*28 + 2,
			seen: 43},
		"conditional instructions": {text: `s: cmp r0, #0
	ite eq
	moveq r1, r2
	movne r1, r3
	it eq
	beq l1
l0:	nop
l1:	bl stop
`, ran: map[string]uint64{"s": 1, "l1": 1}, want: 8, seen: 7},
		"a switch": {text: `s: tbb [pc, r0]
table:	.byte (l0 - table) / 2
	.byte (l1 - table) / 2
l0:	nop
	nop
	b l2
l1:	nop
l2:	bl stop
`, ran: map[string]uint64{"s": 1, "l1": 1, "l2": 1}, want: 5, seen: 3},
		"low-overhead loops": {arch: "armv8.1-m.main", text: `s: wls lr, r0, l2
l0:	cbz r1, l1
	nop
l1:	le lr, l0
l2:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 9, "l1": 9, "l2": 1}, want: 2 + 9*3, seen: 29},
		"calls": {text: `s: bl f
l0:	bl stop
	.type f, %function
f:	push {lr}
	cmp r0, #0
	beq l2
l1:	bl lib_a
l2:	pop {pc}
	.type lib_a, %function
lib_a: nop
	nop
	bx lr
`, ran: map[string]uint64{"s": 1, "f": 1, "l2": 1, "l0": 1}, want: 2 + 5 + 3, seen: 6},
		"a function with a loop": {text: `s: bl f
l0:	bl stop
	.type f, %function
f:	nop
l1:	subs r1, #1
	bne l1
l2:	bx lr
`, ran: map[string]uint64{"s": 1, "f": 1, "l1": 4, "l2": 1, "l0": 1}, want: 2 + 2 + 8, seen: 12},
		"a jump through a register": {text: `s: mov pc, r0
l0:	cbz r1, l2
l1:	nop
l2:	subs r2, #1
	bne l0
l3:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 2, "l2": 2, "l3": 1}, want: 2 + 2*5, seen: 8},
		// The first turn of the inner loop begins in its middle.
		"a jump into a loop": {text: `s: movs r3, #2
l0:	movs r1, #3
	bx r5
l1:	nop
	nop
l2:	nop
	nop
	nop
	subs r1, #1
	bne l1
l3:	subs r3, #1
	bne l0
l4:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 2, "l1+l2": 4, "l2": 2, "l3": 2, "l4": 1}, want: 2 + 2*4 + 6*7, seen: 48},
		"a conditional jump through a register": {text: `s: bx r6
l0:	nop
l1:	nop
	subs r1, #1
	it ne
	bxne r6
l2:	bl stop
`, ran: map[string]uint64{"s": 1, "l1": 3, "l2": 1}, want: 2 + 3*4, seen: 14},
		"a jump through a register to what is behind it": {text: `s: bx r6
l0:	nop
	subs r1, #1
	it ne
	bxne r6
l1:	cbz r0, l3
l2:	nop
l3:	bl stop
`, ran: map[string]uint64{"s": 1, "l0": 3, "l1": 1, "l3": 1}, want: 2 + 3*4 + 2, seen: 15},
		"jumps to what the stack holds": {text: `s: ldr pc, [sp, #4]
l0:	nop
	nop
l1:	nop
	subs r1, #1
	bne l0
l2:	ldr pc, [sp, #8]
l3:	bl stop
`, ran: map[string]uint64{"s": 1, "l0+l1": 3, "l1": 1, "l2": 1, "l3": 1}, want: 2 + 4*5, seen: 21},
		"a return by a load": {text: `s: bl f
l0:	bl stop
	.type f, %function
f:	str lr, [sp, #-4]!
	cbz r0, l2
l1:	nop
l2:	ldr pc, [sp], #4
`, ran: map[string]uint64{"s": 1, "f": 1, "l2": 1, "l0": 1}, want: 2 + 4, seen: 5},
		"a loop of the library": {text: `s: cbz r0, l0
	bl lib_a
l0:	bl stop
	.type lib_a, %function
lib_a: subs r0, #1
	bne lib_a
	bx lr
`, ran: map[string]uint64{"l0": 1}, why: "s calls lib_a: lib_a loops as often as data says"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.arch == "" {
				c.arch = "armv7-m"
			}
			program, at, size := assemble(t, cc, c.arch, c.text)
			ran := paths.Ran{}
			for label, n := range c.ran {
				list := strings.Split(label, "+")
				b := paths.Block{Start: at[list[0]]}
				for _, l := range list {
					b.Bytes += size[l]
				}
				ran[b] = n
			}
			if len(c.ran) == 1 {
				ran[paths.Block{Start: at["s"], Bytes: 2}] = 1
			}
			p, err := paths.Read(program, at["stop"], func(a uint32) bool { return a == at["lib_a"] && a != 0 })
			testenv.OK(t, err)
			s := paths.Stretch{From: at["s"], Ran: ran}
			most, err := p.Most(s)
			if c.why != "" {
				testenv.Refused(t, err, c.why)
				return
			}
			testenv.Check(t, err == nil && most == c.want, "at most %d instructions (%v), want %d", most, err, c.want)
			if seen, err := p.Seen(s); err != nil || seen != c.seen {
				t.Errorf("%d instructions seen (%v), want %d", seen, err, c.seen)
			}
		})
	}
}

// assemble links a text and gives where its labels lie, and how far it is to the next one.
func assemble(t *testing.T, cc, arch, text string) (program string, at, size map[string]uint32) {
	t.Helper()
	dir := t.TempDir()
	src, program := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.elf")
	text = ".syntax unified\n.thumb\n.text\n.global _start\n_start:\n.type s, %function\n" + text +
		"\n.type stop, %function\nstop:\n\tbx lr\n.balign 4\nend: nop\n"
	testenv.OK(t, os.WriteFile(src, []byte(text), 0o644))
	out, err := exec.Command(cc, "-march="+arch, "-mthumb", "-nostdlib", "-o", program, src).CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, out)
	e := testenv.Must(elf.Open(program))(t)
	defer e.Close()
	syms := testenv.Must(e.Symbols())(t)
	at, size = map[string]uint32{}, map[string]uint32{}
	for _, s := range syms {
		if s.Section < elf.SHN_LORESERVE && elf.ST_TYPE(s.Info) != elf.STT_SECTION && !strings.HasPrefix(s.Name, "$") {
			at[s.Name] = uint32(s.Value) &^ 1
		}
	}
	for name, a := range at {
		next := at["end"]
		for _, b := range at {
			if b > a && b < next {
				next = b
			}
		}
		size[name] = next - a
	}
	return program, at, size
}
