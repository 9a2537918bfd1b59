// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// Emitted folders are linked into one image, written by the same version of
// nncc or by different ones. So a source of an emitted folder defines every
// symbol under a name with a digest of all that the function is made of, its
// source with everything that this includes and calls: what has the same name
// is the same code, and what is not the same code has another name. Definitions
// are weak where the compiler can say so, so that the same function may come
// from two folders, in an archive or as an object; one of them is used.
//
// The texts of functions keep the plain names. Each source and each header
// begins with macros that rename what it defines and names, a model has a header
// of those that its source needs (Names), and headers are included by their place beside the file, never
// by the include path, on which the folder of another version may come first.
//
// Functions of CMSIS-NN are different: whether a model calls ours or those of an
// installed library is decided by the arm_nnfunctions.h that the include path
// gives. Ours renames them (cmsis_nn/nncc_cmsis_names.h), all with one digest.

// cmsisNames is included by our arm_nnfunctions.h.
const cmsisNames = "cmsis_nn/nncc_cmsis_names.h"

// driverHeader is the header FAMILY/FAMILY_driver.h: it declares the functions of
// an accelerator's driver, which a vendor may implement instead.
var driverHeader = regexp.MustCompile(`^(\w+)/(\w+)_driver\.h$`)

// Accelerator reports whether an emitted file belongs to the driver or simulator
// of an accelerator.
func (x *Library) Accelerator(file string) bool {
	dir := path.Dir(file)
	_, ok := x.files[path.Join(dir, dir+"_driver.h")]
	return ok
}

// roundingMacro changes results where a source mentions it: such sources have
// another name with it.
const roundingMacro = "CMSIS_NN_USE_SINGLE_ROUNDING"

// digest is the end of an emitted symbol.
var digest = regexp.MustCompile(`_r[0-9a-f]{8}s?$`)

// Plain is the name in the sources of a symbol of a linked program: without the
// digest. Other names stay as they are.
func Plain(symbol string) string { return digest.ReplaceAllString(symbol, "") }

// Emitted gives the texts of sources as they are written into a folder: files
// are those that Files returned. The same file has the same text in all folders.
func (x *Library) Emitted(files []File) []File {
	var out []File
	for _, f := range files {
		out = append(out, File{f.Path, x.emitted(f.Path)})
		if f.Path == "cmsis_nn/arm_nnfunctions.h" {
			out = append(out, File{cmsisNames, x.cmsisNamesHeader()})
		}
	}
	lists.Sort(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Names are the preprocessor lines that rename what files define, for a source
// that calls it: to be read before their headers. The functions of CMSIS-NN are
// left to the header that the include path gives; NNCC_CMSIS_NN_EXPECTED says
// which of ours belongs to the files.
func (x *Library) Names(files []File) string {
	var own []string
	cmsis := false
	for _, f := range files {
		if cmsis = cmsis || isCMSIS(f.Path); !isCMSIS(f.Path) {
			own = append(own, f.Path)
		}
	}
	var b strings.Builder
	x.renames(&b, own)
	if cmsis {
		d, _ := x.digest("cmsis_nn/arm_nnfunctions.h")
		fmt.Fprintf(&b, "#define NNCC_CMSIS_NN_EXPECTED 0x%su\n", d)
	}
	return b.String()
}

// CMSISHeader declares the functions of CMSIS-NN's interface. The include path
// says whose it is: an installed library's, or that below nncc/cmsis_nn.
const CMSISHeader = "arm_nnfunctions.h"

// IsCMSIS reports a function of CMSIS-NN's interface.
func IsCMSIS(function string) bool { return isCMSIS(Shipped().defines[function]) }

func isCMSIS(file string) bool { return strings.HasPrefix(file, "cmsis_nn/") }

var quotedName = regexp.MustCompile(`(?m)^([ \t]*#[ \t]*include[ \t]*")([^"]+)"`)

// emitted is the text of a file with the places of headers and, in a source,
// the names of symbols.
func (x *Library) emitted(file string) []byte {
	text := quotedName.ReplaceAllFunc(x.files[file](), func(line []byte) []byte {
		m := quotedName.FindSubmatch(line)
		to, ok := x.resolve(file, string(m[2]))
		if !ok {
			return line
		}
		return fmt.Appendf(nil, "%s%s\"", m[1], relative(path.Dir(file), to))
	})
	head := ""
	switch {
	case strings.HasSuffix(file, ".c"):
		head = x.prologue(file)
	case file == "cmsis_nn/arm_nnfunctions.h":
		head = "#include \"" + path.Base(cmsisNames) + "\"\n\n"
	case strings.HasSuffix(file, ".h") && !isCMSIS(file):
		head = x.headerNames(file)
	}
	at := 0
	if bytes.HasPrefix(text, []byte("/*")) { // behind the comment that says what the file is
		if end := bytes.Index(text, []byte("*/\n")); end > 0 {
			at = end + 3
		}
	}
	return slices.Concat(text[:at], []byte(head), text[at:])
}

// headerNames renames what a header names, so that it declares the same
// functions whoever includes it first: several sources may be one translation
// unit.
func (x *Library) headerNames(file string) string {
	x.byFile()
	var b strings.Builder
	var own []string
	for _, w := range tokens(string(x.files[file]())) {
		if f, ok := x.defines[w]; ok && !isCMSIS(f) && !slices.Contains(own, w) {
			own = append(own, w)
		}
	}
	x.renameSymbols(&b, own)
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// relative is the path of a file as a quoted include in another folder.
func relative(from, to string) string {
	if from == "." {
		return to
	}
	if rest, ok := strings.CutPrefix(to, from+"/"); ok {
		return rest
	}
	return strings.Repeat("../", strings.Count(from, "/")+1) + to
}

// prologue renames what a source defines and uses and makes its definitions
// weak.
func (x *Library) prologue(file string) string {
	var b strings.Builder
	b.WriteString("/* Functions are linked under names with a digest of their sources: versions of nncc stay apart. " +
		"*/\n")
	defined := lists.Map(x.symbols(file), func(s string) string { return s })
	if isCMSIS(file) {
		b.WriteString("#include \"" + path.Base(cmsisNames) + "\"\n")
	} else {
		x.renames(&b, x.closure(file))
	}
	if len(defined) > 0 {
		b.WriteString("#if defined(__ELF__) || defined(__APPLE__) || defined(__ICCARM__)\n")
		x.choose(&b, defined, func(s, full string) string { return "#pragma weak " + full })
		b.WriteString("#endif\n")
	}
	return b.String() + "\n"
}

// renames writes macros for all symbols of files.
func (x *Library) renames(b *strings.Builder, files []string) {
	var symbols []string
	for _, f := range files {
		symbols = append(symbols, x.symbols(f)...)
	}
	x.renameSymbols(b, symbols)
}

func (x *Library) renameSymbols(b *strings.Builder, symbols []string) {
	vendor := map[string][]string{} // by accelerator
	var others []string
	for _, s := range symbols {
		if v := x.vendor[s]; v != "" {
			vendor[v] = append(vendor[v], s)
		} else {
			others = append(others, s)
		}
	}
	slices.Sort(others)
	line := func(s, full string) string { return "#define " + s + " " + full }
	x.choose(b, others, line)
	for _, v := range slices.Sorted(maps.Keys(vendor)) {
		slices.Sort(vendor[v])
		b.WriteString("#ifndef " + strings.ToUpper(v) + "_DRIVER_INSTALLED\n")
		x.choose(b, vendor[v], line)
		b.WriteString("#endif\n")
	}
}

// choose writes a line for every symbol, and other lines where the rounding
// changes what a symbol is.
func (x *Library) choose(b *strings.Builder, symbols []string, line func(s, full string) string) {
	var rounded []string
	for _, s := range symbols {
		d, rounds := x.digest(x.defines[s])
		if rounds {
			rounded = append(rounded, s)
			continue
		}
		b.WriteString(line(s, s+"_r"+d) + "\n")
	}
	if len(rounded) == 0 {
		return
	}
	b.WriteString("#ifdef " + roundingMacro + "\n")
	for i, end := range []string{"s", ""} {
		if i > 0 {
			b.WriteString("#else\n")
		}
		for _, s := range rounded {
			d, _ := x.digest(x.defines[s])
			b.WriteString(line(s, s+"_r"+d+end) + "\n")
		}
	}
	b.WriteString("#endif\n")
}

func (x *Library) cmsisNamesHeader() []byte {
	var b strings.Builder
	b.WriteString(`/*
 * nncc_cmsis_names.h: the names under which the functions of this folder are linked, with a digest of their sources. An
 * installed CMSIS-NN and the folders of other versions of nncc stay apart from them.
 */
#ifndef NNCC_CMSIS_NAMES_H
#define NNCC_CMSIS_NAMES_H

`)
	var files []string
	for f := range x.files {
		if isCMSIS(f) {
			files = append(files, f)
		}
	}
	d, _ := x.digest("cmsis_nn/arm_nnfunctions.h")
	fmt.Fprintf(&b, "#define NNCC_CMSIS_NN 0x%su\n\n", d)
	x.renames(&b, files)
	b.WriteString("\n#endif /* NNCC_CMSIS_NAMES_H */\n")
	return []byte(b.String())
}

// symbols are what a file defines, sorted.
func (x *Library) symbols(file string) []string { return x.byFile()[file] }

func (x *Library) byFile() map[string][]string {
	x.once.Do(func() {
		x.defined = map[string][]string{}
		for s, f := range x.defines {
			x.defined[f] = append(x.defined[f], s)
		}
		for _, l := range x.defined {
			slices.Sort(l)
		}
		x.vendor = map[string]string{}
		for f, text := range x.files {
			m := driverHeader.FindStringSubmatch(f)
			if m == nil || m[1] != m[2] {
				continue
			}
			for _, w := range tokens(string(text())) {
				x.vendor[w] = m[1]
			}
		}
	})
	return x.defined
}

// closure is a file with all that it includes and calls, sorted.
func (x *Library) closure(file string) []string {
	seen := map[string]bool{file: true}
	list := []string{file}
	for i := 0; i < len(list); i++ {
		for _, n := range x.needed(list[i]) {
			if !seen[n] {
				seen[n] = true
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list
}

type digested struct {
	hex    string
	rounds bool
}

// digest is that of a file's closure; all of CMSIS-NN's family count as one.
// rounds says that the rounding macro changes it.
func (x *Library) digest(file string) (hex string, rounds bool) {
	key := digestKey(file)
	x.mu.Lock()
	defer x.mu.Unlock()
	if d, ok := x.digests[key]; ok {
		return d.hex, d.rounds
	}
	set := map[string]bool{}
	for f := range x.files {
		if f == file || key == "cmsis_nn/" && isCMSIS(f) {
			for _, n := range x.closure(f) {
				set[n] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(set))
	var d digested
	at := &x.hashed
	for _, f := range list {
		at = at.behind(f, x.files[f]())
		d.rounds = d.rounds || at.rounds
	}
	d.hex = at.hex()
	x.digests[key] = d
	return d.hex, d.rounds
}

// digestKey is what files of one digest have in common.
func digestKey(file string) string {
	if isCMSIS(file) {
		return "cmsis_nn/"
	}
	return file
}

// prefix is the hash of some files, one behind the other. Lists of files are sorted and begin
// alike: what several begin with is hashed once.
type prefix struct {
	state  []byte // of the hash, nil of no files
	rounds bool   // the last file mentions the rounding macro
	next   map[string]*prefix
}

// behind is the prefix that is longer by a file.
func (p *prefix) behind(file string, text []byte) *prefix {
	if n := p.next[file]; n != nil {
		return n
	}
	h := p.hash()
	fmt.Fprintf(h, "%s %d\n%s", file, len(text), text)
	state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	bug.If(err != nil, "hash: %w", err)
	if p.next == nil {
		p.next = map[string]*prefix{}
	}
	p.next[file] = &prefix{state: state, rounds: bytes.Contains(text, []byte(roundingMacro))}
	return p.next[file]
}

// hash is one that has seen the files.
func (p *prefix) hash() hash.Hash {
	h := sha256.New()
	if p.state == nil {
		return h
	}
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(p.state); err != nil {
		panic(bug.Errorf("hash: %w", err))
	}
	return h
}

func (p *prefix) hex() string { return fmt.Sprintf("%x", p.hash().Sum(nil)[:4]) }

// memo is what names are made of, computed once.
type memo struct {
	hashed  prefix
	once    sync.Once
	mu      sync.Mutex
	defined map[string][]string
	vendor  map[string]string // the accelerator for names in the header of its driver
	digests map[string]digested
}
