// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"github.com/nncc/nncc/ir/lists"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxIdent bounds the part of an identifier that comes from a model.
const maxIdent = 48

// Ident turns any text into the tail of a C identifier: letters, digits and
// underscores, never empty. It may begin with a digit.
func Ident(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() >= maxIdent {
			break
		}
		if r < 128 && (r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// reservedPrefix are names that a model's prefix must not take, in lower case:
// keywords; headers of the C library, of compilers and of what those include
// (the emitted folder is on the include path, so that <name>.h would hide
// them); files of the emitted folder.
var reservedPrefix = words(`
	auto break case char const continue default do double else enum extern for goto if inline int long register
	restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm main
	assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
	stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
	alloca ansidecl byteswap cdefs endian features fcntl float128 getopt ieeefp intrinsics lock machine malloc memory
	newlib pthread reent sched strings unistd xlocale yvals ycheck
	cmsis nncc arm makefile readme`)

// reservedStart are the beginnings of the names of our runtime and of CMSIS.
var reservedStart = []string{"nncc_", "arm_", "cmsis_"}

// runtimeHeader is a header of the runtime that a model called nncc would have a second time.
const runtimeHeader = "nncc_model"

func words(s string) map[string]bool { return lists.Set(strings.Fields(s)) }

// Prefix is the C prefix of a model: its name as an identifier that does not
// begin with a digit and collides with no header, keyword or library.
func Prefix(name string) string {
	p := Ident(name)
	if strings.Trim(p, "_") == "" {
		p = "model"
	}
	if p[0] >= '0' && p[0] <= '9' || p[0] == '_' {
		p = Ident("m" + p)
	}
	low := strings.ToLower(p)
	bad := reservedPrefix[low] ||
		slices.ContainsFunc(reservedStart, func(s string) bool { return strings.HasPrefix(low, s) })
	if bad && !strings.HasSuffix(p, "_model") {
		p += "_model"
	}
	if strings.EqualFold(p, runtimeHeader) {
		p = "nncc_net_model"
	}
	return p
}

// ownNames are what a model's files define besides the names derived from
// inputs and outputs, without prefix: %P and %U stand for it in both cases.
var ownNames = regexp.MustCompile(
	`^(%P_(run|reset|check|keep|step|info|step_names|step_\d+|p\d+|weights_bin|weights_\d+_.*|` +
		`stage|staged|staged_at|staged_\d+|unstage|` +
		`bind|weights_(i32|u32|i64|f32|f64|at|file|layout|crc|word|check)|` +
		`io_round|io_quantise|io_check|preprocess_check|preprocess_(params|table)_\d+|postprocess_\w+)|` +
		`%U_(ARENA_BYTES|ARENA_ALIGN|STATE_BYTES|STATE_ALIGN|STEPS|WEIGHTS_FILE_BYTES|WEIGHTS_FILE_ALIGN|` +
		`STAGED_BYTES|STAGED_ALIGN|STAGE_H|WEIGHTS_SECTION|SECTIONS_H|H|HPP|TRACE|ALIGNED|WEIGHTS_H|` +
		`PREPROCESS_H|POSTPROCESS_\w+))$`)

// libraryTypes are identifiers with an underscore that <stdint.h> and
// <stddef.h> define: a model "int8" with an input "t" would meet one.
var libraryTypes = regexp.MustCompile(`^(u?int(8|16|32|64|ptr|max|_least\d+|_fast\d+)|size|ptrdiff|wchar|max_align)_t$`)

// derived are all identifiers that stand for an input or output called c.
func derived(prefix, c string) []string {
	d := []string{prefix + "_" + c}
	for _, s := range []string{"quantize", "dequantize", "load", "store", "preprocess", "preprocess_ring", "ring",
		"ring_reset", "ring_push", "scale", "zero_point", "classes"} {
		d = append(d, prefix+"_"+s+"_"+c)
	}
	for _, s := range []string{"BYTES", "ELEMS", "RANK", "SHAPE", "SCALE", "ZERO_POINT", "FRAME_WIDTH", "FRAME_HEIGHT",
		"FRAME_BYTES", "SAMPLES", "UNTIL", "FROM", "CLASSES"} {
		d = append(d, strings.ToUpper(prefix+"_"+c)+"_"+s)
	}
	return d
}

// ioNaming gives the inputs and outputs of all models of a firmware C names.
type ioNaming struct {
	prefixes []string // of all models
	taken    map[string]bool
}

func newIONaming(prefixes ...string) *ioNaming { return &ioNaming{prefixes, map[string]bool{}} }

// own reports an identifier that the files of some model define for themselves.
func (n *ioNaming) own(ident string) bool {
	for _, p := range n.prefixes {
		if s, ok := strings.CutPrefix(ident, p); ok && ownNames.MatchString("%P"+s) {
			return true
		}
		if s, ok := strings.CutPrefix(ident, strings.ToUpper(p)); ok && ownNames.MatchString("%U"+s) {
			return true
		}
	}
	return false
}

// free reports a name of which all derived identifiers are free.
func (n *ioNaming) free(prefix, c string) bool {
	return !slices.ContainsFunc(derived(prefix, c), func(d string) bool {
		return n.taken[d] || n.own(d) || libraryTypes.MatchString(d)
	})
}

// names gives every input and output of a model a C name. Two names are apart when
// all identifiers and macros derived from them are, those of other models included.
func (n *ioNaming) names(prefix string, names []string) []string {
	out := make([]string, len(names))
	next := map[string]int{} // the first number behind a base that may be free
	for i, name := range names {
		base := Ident(name)
		c, k := base, max(next[base], 1)
		if k > 1 {
			c = base + "_" + strconv.Itoa(k)
		}
		for !n.free(prefix, c) {
			k++
			if c = base + "_" + strconv.Itoa(k); slices.ContainsFunc(derived(prefix, c), n.own) {
				// step_2, postprocess_x_2: with any number it is a name of the file's own
				base, k = "x_"+base, 1
				c = base
			}
		}
		next[base] = k + 1
		for _, d := range derived(prefix, c) {
			n.taken[d] = true
		}
		out[i] = c
	}
	return out
}

// comment makes text from a model safe inside a C comment, a Makefile or CMake
// comment and Markdown: printable ASCII on one line, nothing that ends or nests
// a comment, no backslash, no trigraph.
func comment(s string) string { return safe(s, 120) }

// longComment is comment for text that wrap breaks into lines.
func longComment(s string) string { return safe(s, 4000) }

func safe(s string, limit int) string {
	var b strings.Builder
	last := byte(0)
	for _, r := range s {
		if b.Len() > limit {
			b.WriteString("...")
			break
		}
		c := byte('_')
		if r >= 32 && r <= 126 && r != '\\' {
			c = byte(r)
		}
		if (c == '/' || c == '*') && (last == '/' || last == '*') || c == '?' && last == '?' {
			b.WriteByte(' ')
		}
		b.WriteByte(c)
		last = c
	}
	return b.String()
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// makeWord is a text as one word of a command in a Makefile's variable: quoted
// for the shell, then for make, so that neither replaces anything in it.
func makeWord(s string) string {
	if !plainWord.MatchString(s) {
		s = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	slashes := 0
	for _, c := range []byte(s) {
		switch c {
		case '$':
			b.WriteByte('$')
		case '#': // backslashes in front of it are halved
			b.WriteString(strings.Repeat(`\`, slashes+1))
		}
		if slashes++; c != '\\' {
			slashes = 0
		}
		b.WriteByte(c)
	}
	return b.String()
}

// markdown is a text that stays one in Markdown.
func markdown(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "[", "&#91;", "]", "&#93;", "`", "&#96;", "*",
		"&#42;", "|", "&#124;", "!", "&#33;").Replace(s)
}
