// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards/stack"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// Origin is the part of a program that a piece of code or data comes from.
type Origin string

// Origins.
const (
	ModelCode Origin = "model"   // the emitted model itself
	Kernels   Origin = "kernels" // DIR/nncc, or a linked CMSIS-NN
	Harness   Origin = "harness" // DIR/harness: test program and start-up
	Libc      Origin = "libc"    // libc, libm, libgcc: what model and kernels need; the rest is the harness's
)

// Section is a program's content in bytes by kind.
type Section struct {
	Text    uint64 `json:"text"`
	ROData  uint64 `json:"rodata"`
	Weights uint64 `json:"weights"`
	Data    uint64 `json:"data"` // initialised: in flash and in RAM
	BSS     uint64 `json:"bss"`
}

// Sizes splits a program by origin. Alignment gaps are not counted.
type Sizes struct {
	By    map[Origin]Section `json:"by"`
	Arena uint64             `json:"arena"` // without the harness's guards
	Stack uint64             `json:"stack"` // reserved, not used

	harness []span             // where the code of the harness lies
	library []span             // and that of the C library
	sources map[string]Section // of the models' own files

	weights bool   // the last section that was read holds weights
	gap     uint64 // bytes behind it
}

// span are addresses from start to before end.
type span struct{ start, end uint32 }

// Code is the machine code that the model adds to a firmware: its own and its
// kernels'.
func (s Sizes) Code() uint64 { return s.By[ModelCode].Text + s.By[Kernels].Text }

// ROData is what the model adds to a firmware's flash beside code and weights:
// constants and initial values of the model and its kernels.
func (s Sizes) ROData() uint64 {
	m, k := s.By[ModelCode], s.By[Kernels]
	return m.ROData + m.Data + k.ROData + k.Data
}

// Data is what the model and its kernels add to a firmware's variables, initialised or
// not: the place of constants that are bound at run time.
func (s Sizes) Data() uint64 {
	m, k := s.By[ModelCode], s.By[Kernels]
	return m.Data + m.BSS + k.Data + k.BSS
}

// Flash is all that the model adds to a firmware's flash. The C library's
// functions are not in it: the rest of the firmware shares them.
func (s Sizes) Flash() uint64 { return s.Code() + s.ROData() + s.Weights() }

// Of is what some files of models take, without kernels and all else.
func (s Sizes) Of(files []string) Sizes {
	var t Section
	for _, f := range files {
		x := s.sources[f]
		t.Text, t.ROData, t.Weights = t.Text+x.Text, t.ROData+x.ROData, t.Weights+x.Weights
		t.Data, t.BSS = t.Data+x.Data, t.BSS+x.BSS
	}
	return Sizes{By: map[Origin]Section{ModelCode: t}, Arena: s.Arena, Stack: s.Stack}
}

// Weights of the model.
func (s Sizes) Weights() uint64 { return s.By[ModelCode].Weights + s.By[Kernels].Weights }

// isWeights says whether an input section holds weights: by its own name
// (-fdata-sections puts the symbol's into it) or by its file's.
func isWeights(section, file string) bool {
	return strings.HasPrefix(section, ".weights") || strings.HasPrefix(section, ".nncc.weights") ||
		strings.HasPrefix(section, ".rodata") && (strings.Contains(strings.ToLower(section), "weights") ||
			strings.Contains(file, "weights"))
}

const storeSection = ".bss.nncc_harness_store"

// partSection and the name of a region of the board is where the harness has the part of the
// arena for that region.
const partSection = storeSection + "."

// stagedSection begins the names of those of copies of constants.
const stagedSection = ".bss.nncc_harness_staged"

// weightsFileSection is where the harness has a weights file, which is the model's.
const weightsFileSection = ".weights.file"

// guards are the bytes NNCC_HARNESS_GUARD adds on both sides of the arena.
const guards = 2 * 64

var (
	inputRE  = regexp.MustCompile(`^ (\.\S+|COMMON|\*fill\*)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s*(\S.*|)$`)
	wrapRE   = regexp.MustCompile(`^ (\.\S+)$`)
	restRE   = regexp.MustCompile(`^\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$`)
	memberRE = regexp.MustCompile(`^(.*\.a)\([^)]*\)$`)
)

// parseMap adds up GNU ld's map file. origin maps the base name of objects
// and archives; all others are the C library.
func parseMap(r io.Reader, origin map[string]Origin) (Sizes, error) {
	s := Sizes{By: map[Origin]Section{}, sources: map[string]Section{}}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	begun, discard, section := false, false, ""
	members := map[string]Section{} // of the C library
	for sc.Scan() {
		line := sc.Text()
		if line == crossTable {
			s.unneeded(members, usesOf(sc), origin)
			break
		}
		if !begun {
			begun = strings.HasPrefix(line, "Linker script and memory map")
			continue
		}
		if line != "" && line[0] != ' ' {
			discard, section = strings.HasPrefix(line, "/DISCARD/"), ""
			continue
		}
		var at, bytes, file string
		if m := inputRE.FindStringSubmatch(line); m != nil {
			section, at, bytes, file = m[1], m[2], m[3], m[4]
		} else if m := wrapRE.FindStringSubmatch(line); m != nil {
			section = m[1] // a long name: the rest is on the next line
			continue
		} else if m := restRE.FindStringSubmatch(line); m != nil && section != "" {
			at, bytes, file = m[1], m[2], m[3]
		} else {
			section = ""
			continue
		}
		name := section
		section = ""
		n, err := strconv.ParseUint(bytes, 16, 64)
		if err != nil || n == 0 || discard {
			continue
		}
		from := originOf(file, origin)
		if s.add(name, file, n, from); from == Libc {
			members[file] = members[file].with(name, file, n, from)
		}
		start, err := strconv.ParseUint(at, 16, 32)
		switch code := (span{uint32(start), uint32(start + n)}); {
		case err != nil || !has(name, ".text"):
		case from == Harness:
			s.harness = append(s.harness, code)
		case from == Libc:
			s.library = append(s.library, code)
		}
	}
	if !begun && sc.Err() == nil {
		return s, errors.New("the linker's map file has no memory map")
	}
	return s, sc.Err()
}

// crossTable begins the linker's table of symbols: with each the file that defines it, and those that use it.
const crossTable = "Cross Reference Table"

// usesOf are the files that define what a file uses, by the linker's table.
func usesOf(sc *bufio.Scanner) map[string][]string {
	uses, defines := map[string][]string{}, ""
	for sc.Scan() {
		symbol, file, _ := strings.Cut(sc.Text(), " ")
		if file = strings.TrimSpace(file); symbol != "" {
			defines = file
		} else if file != "" {
			uses[file] = append(uses[file], defines)
		}
	}
	return uses
}

// unneeded gives the harness what comes from the C library for it alone.
func (s *Sizes) unneeded(members map[string]Section, uses map[string][]string, origin map[string]Origin) {
	var need func(file string)
	need = func(file string) {
		for _, x := range uses[file] {
			if _, ok := members[x]; ok {
				delete(members, x)
				need(x)
			}
		}
	}
	for file := range uses {
		if from := originOf(file, origin); from == ModelCode || from == Kernels {
			need(file)
		}
	}
	for _, m := range members {
		h, l := s.By[Harness], s.By[Libc]
		s.By[Harness] = Section{h.Text + m.Text, h.ROData + m.ROData, h.Weights, h.Data + m.Data, h.BSS + m.BSS}
		s.By[Libc] = Section{l.Text - m.Text, l.ROData - m.ROData, l.Weights, l.Data - m.Data, l.BSS - m.BSS}
	}
}

// originOf is where an object or a member of an archive comes from.
func originOf(file string, origin map[string]Origin) Origin {
	if m := memberRE.FindStringSubmatch(file); m != nil {
		file = m[1]
	}
	if from, ok := origin[filepath.Base(file)]; ok {
		return from
	}
	return Libc
}

func (s *Sizes) add(section, file string, n uint64, from Origin) {
	if m := memberRE.FindStringSubmatch(file); m != nil {
		file = m[1]
	}
	file = filepath.Base(file)
	if section == "*fill*" {
		s.gap = n
		return
	}
	weights := isWeights(section, file) && from != Libc && from != Harness
	if weights && s.weights { // what lies between weights is theirs
		n += s.gap
	}
	s.weights, s.gap = weights, 0
	if section == storeSection || strings.HasPrefix(section, partSection) {
		s.Arena += n - min(n, guards)
		return
	}
	if section == weightsFileSection {
		from = ModelCode
	}
	s.By[from] = s.By[from].with(section, file, n, from)
	if from == ModelCode {
		s.sources[file] = s.sources[file].with(section, file, n, from)
	}
}

func (t Section) with(section, file string, n uint64, from Origin) Section {
	switch {
	case isWeights(section, file) && from != Libc && from != Harness:
		t.Weights += n
	case has(section, ".text") || has(section, ".vectors") || has(section, ".init") || has(section, ".fini"):
		t.Text += n
	case has(section, ".rodata") || has(section, ".ARM"):
		if section != ".ARM.attributes" {
			t.ROData += n
		}
	case has(section, ".data"):
		t.Data += n
	case has(section, ".bss") || section == "COMMON":
		t.BSS += n
	}
	return t
}

func has(section, kind string) bool { return section == kind || strings.HasPrefix(section, kind+".") }

// objectSizes adds up objects before linking, by kind of content: an upper
// bound, because the linker drops what nobody calls. The C library gets a
// share that no libm or libgcc function set exceeds.
func objectSizes(objects []string, lib string) map[string]uint64 {
	const libc = 64 << 10
	size := map[string]uint64{"data": 2 << 10}
	for _, o := range objects {
		f := fail.Must(elf.Open(o))
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 {
				continue
			}
			n := s.Size + s.Addralign
			switch {
			case s.Name == storeSection:
				size["arena"] += n
			case strings.HasPrefix(s.Name, partSection):
				size[arenaIn(strings.TrimPrefix(s.Name, partSection))] += n
			case strings.HasPrefix(s.Name, stagedSection):
				size["staged"] += n
			case s.Flags&elf.SHF_EXECINSTR != 0:
				size["code"] += n
			case isWeights(s.Name, filepath.Base(o)):
				size["weights"] += n
			case s.Flags&elf.SHF_WRITE != 0:
				size["data"] += n
			default:
				size["rodata"] += n
			}
		}
		f.Close()
	}
	if lib != "" {
		st := fail.Must(os.Stat(lib))
		size["code"] += min(uint64(st.Size()), 256<<10) // the linker takes some of it
	}
	size["code"] += libc
	return size
}

// StackBound is the most stack that functions of a program can take, whatever
// their input: it is read from the machine code, not measured.
type StackBound struct {
	stack.Path
	// Functions that can be reached from them, those with the largest frames
	// first; also where there is no bound.
	Functions []stack.Function
}

// Stack bounds what the deepest of some functions takes, from its call down.
// The error says why there is no bound: a host program, recursion, memory taken
// by a number that is only known when it runs, an unknown call.
func (im *Image) Stack(entries ...string) (*StackBound, error) {
	p, err := stack.Read(im.ELF)
	if err == nil {
		for i := range p.Functions {
			p.Functions[i].Name = runtimec.Plain(p.Functions[i].Name)
		}
	}
	if err != nil {
		var format *elf.FormatError
		if errors.As(err, &format) {
			return nil, errors.New("the program is no ELF file")
		}
		return nil, err
	}
	b := &StackBound{Functions: p.Reached(entries, runtimec.PointerTargets)}
	lists.Sort(b.Functions, func(x, y stack.Function) int {
		return cmp.Or(cmp.Compare(y.Frame, x.Frame), cmp.Compare(x.Name, y.Name))
	})
	for _, e := range entries {
		way, err := p.Deepest(e, runtimec.PointerTargets)
		if err != nil {
			return b, err
		}
		if way.Bytes > b.Bytes || b.Names == nil {
			b.Path = way
		}
	}
	return b, nil
}

// wrapperFrames are what the harness's functions between its measurement and the
// models' run functions put on the stack (model_glue.c).
func wrapperFrames(program string) []int {
	p, err := stack.Read(program)
	if err != nil {
		return nil // of a host program, no stack is measured
	}
	var frames []int
	for {
		at := p.Find(fmt.Sprintf("run_model_%d", len(frames)))
		if at < 0 {
			return frames
		}
		frames = append(frames, p.Functions[at].Frame)
	}
}

func (im *Image) wrapper(model int) int {
	if model < len(im.frames) {
		return im.frames[model]
	}
	return 0
}

var stackedRE = regexp.MustCompile(`\b(PC|LR)=0x([0-9a-f]{8})`)

// where names the functions that a fault report's PC and LR point into.
func where(program, report string) string {
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		return ""
	}
	text := ""
	for _, m := range stackedRE.FindAllStringSubmatch(report, 2) {
		at, err := strconv.ParseUint(m[2], 16, 32)
		if err != nil {
			continue
		}
		at &^= 1 // the Thumb bit
		for _, s := range syms {
			start := s.Value &^ 1
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && at >= start && at < start+s.Size {
				how := "in"
				if m[1] == "LR" {
					how = "return address in"
				}
				text += fmt.Sprintf(", %s %s+0x%x", how, runtimec.Plain(s.Name), at-start)
				break
			}
		}
	}
	return text
}
