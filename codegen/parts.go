// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
)

// An arena that no memory of the board holds is in parts, one in each of several memories.
// The functions of such a model take a structure of pointers, <name>_arenas, in the place
// of one pointer. <name>_run and <name>_step do not exist: what was written for one arena
// does not link.

// partView is a part of the arena.
type partView struct {
	Region string // as the board's file calls it
	Field  string // of <name>_arenas
	Macro  string // in front of _BYTES and _SECTION
	Bytes  int
	First  bool
}

// Section is where compilers are told to put the part: linkers that know nothing of it put
// it beside other variables without a value.
func (v partView) Section() string { return ".bss.nncc.arena." + v.Region }

// cppWords are keywords of C++ that C does not have, and macros of compilers.
var cppWords = words(`and and_eq asm bitand bitor bool catch class compl concept const_cast constexpr consteval
	constinit co_await co_return co_yield decltype delete dynamic_cast explicit export false friend module mutable
	namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
	static_assert static_cast template this thread_local throw true try typeid typename using virtual xor xor_eq
	linux unix`)

// partViews names the parts of a program's arena.
func partViews(p *program.Program, prefix string) []partView {
	var out []partView
	taken := map[string]bool{}
	for i, x := range p.Parts {
		base := Ident(strings.ToLower(x.Name))
		if reservedPrefix[base] || cppWords[base] || base[0] >= '0' && base[0] <= '9' {
			base = "in_" + base
		}
		field := base
		for k := 2; taken[field]; k++ {
			field = base + "_" + strconv.Itoa(k)
		}
		taken[field] = true
		out = append(out, partView{Region: x.Name, Field: field, Bytes: x.Bytes, First: i == 0,
			Macro: strings.ToUpper(prefix + "_ARENA_" + field)})
	}
	return out
}

// reserve keeps names that the parts of an arena have from inputs and outputs.
func (n *ioNaming) reserve(prefix string, parts []partView) {
	if len(parts) == 0 {
		return
	}
	for _, s := range []string{"arenas", "run_in", "step_in", "check_in", "parts"} {
		n.taken[prefix+"_"+s] = true
	}
	for _, x := range parts {
		n.taken[x.Macro+"_BYTES"], n.taken[x.Macro+"_SECTION"] = true, true
	}
}

// arenaForm is how the C of a model speaks of its arena.
type arenaForm struct {
	Parts  []partView // none: the arena is in one piece
	prefix string

	ArenaParam, ArenaConst string // the parameter of functions that write to the arena, and of those that read there
	ArenaName, ArenaArg    string // the name of these parameters, and the argument for them in examples
	Base, ConstBase        string // to which the parameter a of steps points; for those that only read
	FromArena              string // what a is made of
	Run, Step              string // ends of the names of the functions for a run and for one step
	ArenaCheck             string // the function that looks at an arena
	// Of the C++ class: the parameter of the constructor, the type of the member arena_, that as an argument.
	SessionParam, SessionMember, Member string
}

func newArenaForm(parts []partView, prefix string) arenaForm {
	if all, kind := prefix+"_arenas", "const "+prefix+"_arenas"; len(parts) > 0 {
		return arenaForm{Parts: parts, prefix: prefix, ArenaParam: kind + " *arenas", ArenaConst: kind + " *arenas",
			ArenaName: "arenas", ArenaArg: "&arenas", Base: kind, ConstBase: kind, FromArena: "arenas", Run: "run_in",
			Step: "step_in", ArenaCheck: prefix + "_check_in", SessionParam: kind + " &arenas",
			SessionMember: all + " ", Member: "&arena_"}
	}
	return arenaForm{prefix: prefix, ArenaParam: "void *arena", ArenaConst: "const void *arena", ArenaName: "arena",
		ArenaArg: "arena", Base: "uint8_t", ConstBase: "const uint8_t", FromArena: "(uint8_t *)arena", Run: "run",
		Step: "step", ArenaCheck: prefix + "_check", SessionParam: "void *arena", SessionMember: "void *",
		Member: "arena_"}
}

// Split reports an arena in parts.
func (a arenaForm) Split() bool { return len(a.Parts) > 0 }

// NoArena and Misaligned are conditions on the parameter.
func (a arenaForm) NoArena() string {
	if !a.Split() {
		return "(arena == NULL)"
	}
	s := "(arenas == NULL)"
	for _, x := range a.Parts {
		s += fmt.Sprintf(" || (arenas->%s == NULL)", x.Field)
	}
	return s
}

// Misaligned is true where the arena does not begin at a multiple of its alignment.
func (a arenaForm) Misaligned() string {
	at := "(uintptr_t)arena"
	if a.Split() {
		all := lists.Map(a.Parts, func(x partView) string { return "(uintptr_t)arenas->" + x.Field })
		at = "(" + strings.Join(all, " | ") + ")"
	}
	return fmt.Sprintf("(%s & (%s_ARENA_ALIGN - 1u)) != 0u", at, strings.ToUpper(a.prefix))
}

// bases are the memories of the parts, as the steps see them.
func (a arenaForm) bases() []*base {
	var out []*base
	for _, x := range a.Parts {
		out = append(out, &base{Pointer: "a->" + x.Field, Tag: strings.ToUpper(x.Field) + "_AT",
			Doc: fmt.Sprintf("The part of the arena in %s: where values and the scratch memory of steps lie, in bytes "+
				"from its beginning. Those that are not needed at the same time share bytes.", comment(x.Region))})
	}
	return out
}

// PartInfo is what the harness needs to know of a part of the arena.
type PartInfo struct {
	Region string
	Field  string // of the structure
	Macro  string // bytes
	Bytes  int
}

// info is what others need to know of the parts.
func (a arenaForm) info() []PartInfo {
	return lists.Map(a.Parts, func(x partView) PartInfo {
		return PartInfo{x.Region, x.Field, x.Macro + "_BYTES", x.Bytes}
	})
}

// siteView is memory of Zephyr's sample for the arena or a part of it, which Kconfig places.
type siteView struct {
	Region   string // of a part
	What     string // for people
	Choice   string // names in Kconfig: of the choice, and the beginning of its options
	Symbol   string
	Defaults []string // of the choice: the first one that is there
	Section  string   // of the linker, where that is chosen
	Macro    string   // behind the declaration
}

// Sites are those of the sample.
func (v *firmwareView) Sites() []siteView {
	all := "NNCC_" + v.Upper + "_ARENA"
	if !v.Split() {
		return []siteView{{What: "arena", Choice: all, Symbol: all, Defaults: []string{all + "_NOINIT"},
			Section: ".noinit.nncc", Macro: "ARENA_SECTION"}}
	}
	var out []siteView
	for _, x := range v.First().Parts {
		symbol := all + "_" + strings.ToUpper(x.Field)
		s := siteView{Region: x.Region, What: fmt.Sprintf("part of the arena for %s", x.Region),
			Choice: symbol + "_PART", Symbol: symbol, Section: ".noinit.nncc." + x.Field, Macro: x.Macro + "_SECTION"}
		for _, kind := range []string{"DTCM", "CCM"} { // memories that boards of Zephyr name
			if strings.Contains(strings.ToUpper(x.Region), kind) {
				s.Defaults = append(s.Defaults, symbol+"_"+kind)
			}
		}
		s.Defaults = append(s.Defaults, symbol+"_NOINIT")
		out = append(out, s)
	}
	return out
}

// Split reports the one model of a folder whose arena is in parts.
func (v *firmwareView) Split() bool { return v.First().Split() }

// ArenaArg is the argument for the arena in examples.
func (v *firmwareView) ArenaArg() string { return v.First().ArenaArg }
