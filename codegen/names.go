package codegen

import (
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

// reservedPrefix are file or symbol names that a model's prefix must not take:
// its header would hide a system header, or its functions those of a library.
var reservedPrefix = words(`
	stdint stddef string math stdlib stdio limits float assert errno signal setjmp stdarg stdbool time ctype
	locale complex fenv inttypes iso646 tgmath wchar wctype
	nncc nncc_f32 nncc_s8 nncc_move nncc_fp nncc_harness main
	arm arm_nn arm_nnfunctions arm_nn_types arm_nn_math_types arm_mve arm_acle cmsis_gcc
	auto break case char const continue default do double else enum extern for goto if inline int long register
	restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm`)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// Prefix is the C prefix of a model: its name as an identifier that does not
// begin with a digit and collides with no header, keyword or library.
func Prefix(name string) string {
	p := Ident(name)
	if strings.Trim(p, "_") == "" {
		p = "model"
	}
	if p[0] >= '0' && p[0] <= '9' || p[0] == '_' {
		p = "m" + p
	}
	if reservedPrefix[strings.ToLower(p)] {
		p += "_model"
	}
	return p
}

// ioNames gives every input and output a C name. Two names are apart when all
// identifiers and macros derived from them are, in upper case too.
func ioNames(names []string) []string {
	taken := map[string]bool{}
	derived := func(c string) []string {
		u := strings.ToUpper(c)
		d := []string{"f:" + c, "f:quantize_" + c, "f:dequantize_" + c, "f:load_" + c, "f:store_" + c}
		for _, s := range []string{"BYTES", "ELEMS", "RANK", "SHAPE", "SCALE", "ZERO_POINT", "LAYOUT", "OFFSET", "ALIGN"} {
			d = append(d, "m:"+u+"_"+s)
		}
		return d
	}
	for _, r := range []string{"f:run", "f:reset", "f:step", "f:weights", "m:ARENA_BYTES", "m:ARENA_ALIGN", "m:H", "m:TRACE"} {
		taken[r] = true
	}
	out := make([]string, len(names))
	for i, n := range names {
		base := Ident(n)
		c := base
	search:
		for k := 2; ; k++ {
			for _, d := range derived(c) {
				if taken[d] {
					c = base + "_" + strconv.Itoa(k)
					continue search
				}
			}
			break
		}
		for _, d := range derived(c) {
			taken[d] = true
		}
		out[i] = c
	}
	return out
}

// comment makes text from a model safe inside a C comment: printable ASCII,
// nothing that ends or nests a comment, no line breaks, no backslash.
func comment(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case b.Len() > 120:
			return b.String() + "..."
		case r < 32 || r > 126 || r == '\\':
			b.WriteByte('?')
		case r == '/' || r == '*':
			if l := b.Len(); l > 0 && (b.String()[l-1] == '/' || b.String()[l-1] == '*') {
				b.WriteByte(' ')
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
