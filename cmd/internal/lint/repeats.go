// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/token"
	"hash/maphash"
	"regexp"
	"strconv"
	"strings"
)

// line is the words and signs of a line of code, with 0 for strings and numbers.
type line []string

// place is a line of one of the sources, repeat the first lines of two places that share six or more.
type (
	place  struct{ file, at int }
	repeat struct{ a, b place }
)

const (
	shared = 6 // lines that make a pair
	common = 8 // what stands in more places is idiom
)

// repeats counts the pairs of places of the sources with six or more lines in a row that are equal but for names,
// strings and numbers. A name stands for the same name throughout.
func repeats(code [][]line) int {
	places := map[uint64][]place{}
	for i, lines := range code {
		for at := 0; at+shared <= len(lines); at++ {
			h := shape(lines[at : at+shared])
			places[h] = append(places[h], place{i, at})
		}
	}
	same := map[repeat]bool{}
	for _, list := range places {
		if len(list) > common {
			continue
		}
		for i, a := range list {
			for _, b := range list[i+1:] {
				if a.file != b.file || b.at-a.at >= shared {
					same[repeat{a, b}] = true
				}
			}
		}
	}
	starts := 0
	for r := range same {
		if !same[repeat{place{r.a.file, r.a.at - 1}, place{r.b.file, r.b.at - 1}}] {
			starts++
		}
	}
	return starts
}

// shape hashes lines with their names numbered as they come.
func shape(lines []line) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	numbers := map[string]int{}
	for _, l := range lines {
		for _, w := range l {
			if isName(w) && !token.IsKeyword(w) && !cKeywords[w] {
				n, ok := numbers[w]
				if !ok {
					n = len(numbers)
					numbers[w] = n
				}
				w = "name " + strconv.Itoa(n)
			}
			h.WriteString(w)
			h.WriteByte(' ')
		}
		h.WriteByte('\n')
	}
	return h.Sum64()
}

func isName(w string) bool { return w[0] == '_' || w[0]|' ' >= 'a' && w[0]|' ' <= 'z' }

var (
	seed      = maphash.MakeSeed()
	cKeywords = map[string]bool{"while": true, "do": true, "static": true, "void": true, "int": true, "float": true,
		"double": true, "char": true, "sizeof": true, "asm": true, "__asm": true}
	// part is a comment, a string, a word or number, or a sign.
	part = regexp.MustCompile("//.*|/\\*.*?\\*/|`[^`]*`|\"(\\\\.|[^\"\\\\])*\"|'(\\\\.|[^'\\\\])*'|\\w+|[^\\w\\s]")
	// idle are lines that repeat by their nature: what they import, and middles of comments.
	idle = regexp.MustCompile(`^\s*(/\*|\* |package |import |#include)`)
)

// significant are the lines of a text that have words beside comments and values.
func significant(text []byte) (out []line) {
	for s := range strings.Lines(string(text)) {
		if idle.MatchString(s) {
			continue
		}
		var l line
		named := false
		for _, w := range part.FindAllString(s, -1) {
			switch c := w[0]; {
			case c == '/' && len(w) > 1:
				continue
			case strings.IndexByte("`\"'0123456789", c) >= 0:
				w = "0"
			default:
				named = named || isName(w)
			}
			l = append(l, w)
		}
		if named {
			out = append(out, l)
		}
	}
	return out
}
