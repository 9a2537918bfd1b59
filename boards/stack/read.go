// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/thumb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Code is the machine code of one function.
type Code struct {
	Name       string
	Start, End uint32
	Bytes      []byte
	body       *body
}

// IsData reports an address in a literal pool or a table.
func (c *Code) IsData(addr uint32) bool { return c.body.isData(addr) }

// Codes are the functions of a linked ELF file for a 32-bit Arm core, in the order of
// their addresses.
func Codes(program string) ([]Code, error) {
	im, err := read(program)
	if err != nil {
		return nil, err
	}
	var out []Code
	for i := range im.bodies {
		b := &im.bodies[i]
		out = append(out, Code{b.name, b.start, b.end, b.code, b})
	}
	return out, nil
}

// Read takes the functions from a linked ELF file for a 32-bit Arm core with
// its symbols.
func Read(program string) (*Program, error) {
	im, err := read(program)
	if err != nil {
		return nil, err
	}
	p := &Program{Functions: lists.Map(im.bodies, im.function)}
	return p, nil
}

// read takes the code from a program.
func read(program string) (_ *image, err error) {
	defer fail.Catch(&err)
	e := fail.Must(elf.Open(program))
	defer e.Close()
	fail.If(e.Machine != elf.EM_ARM, "%s is for %v, not for an Arm core", program, e.Machine)
	syms, err := e.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	im := &image{}
	for i, s := range e.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS || s.Size == 0 {
			continue
		}
		data := fail.Must(s.Data())
		im.section(data, uint32(s.Addr), elf.SectionIndex(i), syms)
	}
	lists.Sort(im.bodies, func(a, b body) int { return cmp.Compare(a.start, b.start) })
	return im, nil
}

// image is the code of a program.
type image struct {
	bodies []body
}

// body is the code of one function.
type body struct {
	name       string
	start, end uint32
	code       []byte // from start
	data       []area // inside: literal pools and tables
	open       bool   // the symbol has no size: it may run on into the next one
}

type area struct{ start, end uint32 }

// section adds the functions of a section. What has no size ends where the
// next one begins.
func (im *image) section(code []byte, base uint32, at elf.SectionIndex, syms []elf.Symbol) {
	end := base + uint32(len(code))
	starts, sizes := map[uint32]elf.Symbol{}, map[uint32]uint32{}
	for _, s := range syms {
		if s.Section != at || elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		v := uint32(s.Value) &^ 1
		sizes[v] = max(sizes[v], uint32(s.Size))
		if old, ok := starts[v]; !ok || better(s, old) {
			starts[v] = s
		}
	}
	data, order := areas(syms, at, end), slices.Sorted(maps.Keys(starts))
	for i, v := range order {
		b := body{name: starts[v].Name, start: v, end: end}
		if n := sizes[v]; n > 0 && v+n <= end {
			b.end = v + n
		} else if i+1 < len(order) {
			b.end, b.open = order[i+1], true
		}
		if v < base || b.end > end {
			continue
		}
		b.code = code[v-base : b.end-base]
		b.data = append(b.data, lists.Filter(data, func(a area) bool { return a.start < b.end && a.end > v })...)
		im.bodies = append(im.bodies, b)
	}
}

// areas are the data in a section up to end, which mapping symbols tell from code.
func areas(syms []elf.Symbol, at elf.SectionIndex, end uint32) (out []area) {
	var marks []elf.Symbol
	for _, s := range syms {
		name, _, _ := strings.Cut(s.Name, ".")
		if s.Section == at && (name == "$t" || name == "$d") {
			marks = append(marks, s)
		}
	}
	lists.Sort(marks, func(a, b elf.Symbol) int { return cmp.Compare(uint32(a.Value), uint32(b.Value)) })
	for k, m := range marks {
		to := end
		if k+1 < len(marks) {
			to = uint32(marks[k+1].Value)
		}
		if m.Name[1] == 'd' {
			out = append(out, area{uint32(m.Value), to})
		}
	}
	return out
}

// better chooses one of two names of a function: the global one, the one with
// fewer underscores in front, the first of the alphabet.
func better(a, b elf.Symbol) bool {
	rank := func(s elf.Symbol) int {
		n := len(s.Name) - len(strings.TrimLeft(s.Name, "_"))
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			n += 8
		}
		return n
	}
	if x, y := rank(a), rank(b); x != y {
		return x < y
	}
	return a.Name < b.Name
}

func (im *image) at(addr uint32) int {
	i, found := slices.BinarySearchFunc(im.bodies, addr, func(b body, a uint32) int { return cmp.Compare(b.start, a) })
	if !found {
		i--
	}
	if i < 0 || addr >= im.bodies[i].end {
		return -1
	}
	return i
}

// word is the literal at an address of a function, false outside of it.
func (b *body) word(addr uint32) (uint32, bool) {
	if addr < b.start || addr+4 > b.end {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b.code[addr-b.start:]), true
}

func (b *body) isData(addr uint32) bool {
	return slices.ContainsFunc(b.data, func(a area) bool { return a.start <= addr && addr < a.end })
}

// function decodes a function from its first to its last instruction. Frames
// are added up without a look at branches: of two ways through a function that
// push, both count.
func (im *image) function(b body) Function {
	f := Function{Name: b.name}
	s := scan{im: im, b: &b, f: &f, value: map[uint16]uint32{}}
	for a := b.start; a+2 <= b.end; {
		if b.isData(a) {
			a += 2
			continue
		}
		h := binary.LittleEndian.Uint16(b.code[a-b.start:])
		if thumb.Wide(h) {
			if a+4 > b.end {
				break
			}
			s.wide(a, h, binary.LittleEndian.Uint16(b.code[a-b.start+2:]))
			a += 4
		} else {
			s.narrow(a, h)
			a += 2
		}
	}
	if b.open && !s.ends {
		s.goes(b.end, false)
	}
	s.finish()
	slices.Sort(f.Calls)
	f.Calls = slices.Compact(f.Calls)
	return f
}
