// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// Found is what is known about a chip or a board by the name that people give it.
type Found struct {
	Query string `json:"query"`
	// Matches are boards of nncc, the likeliest first.
	Matches []Match `json:"matches"`
	// Not says what it is where nncc has no board for its core; "": nothing is known.
	Not string `json:"not,omitempty"`
}

// Match is a board of nncc that is, or is near to, what was asked for.
type Match struct {
	Board string `json:"board"`
	// Why says how it was found.
	Why string `json:"why"`
	// Exact: the board's file describes this chip. Otherwise its memories and clock
	// may be others.
	Exact bool `json:"exact"`

	class   class
	literal int // signs of the pattern that agree
}

// class is how a match was found, the surest last.
type class int

const (
	noMatch class = iota
	byText
	byBeginning
	byFamily
	byKit
	byPart
	byName
)

// maxMatches bounds what is shown.
const maxMatches = 8

// maxQuery bounds a name, in bytes.
const maxQuery = 80

// Find looks for a chip, a part number or a board's usual name among the boards that
// are shipped.
func Find(query string) Found {
	f := Found{Query: query, Matches: []Match{}}
	q := plain(query)
	if q == "" || len(query) > maxQuery {
		return f
	}
	for _, h := range shipped() {
		if m := h.match(q); m.class > noMatch {
			f.Matches = append(f.Matches, m)
		}
	}
	f.Matches = relatives(q, f.Matches)
	lists.Sort(f.Matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(b.literal, a.literal))
	})
	var best Match
	if len(f.Matches) > 0 {
		best = f.Matches[0]
	}
	not, literal := foreign(q)
	if not != "" && (best.class < byFamily || best.class < byName && literal > best.literal) {
		f.Matches, f.Not = []Match{}, not
	}
	// What is surely meant hides guesses.
	least := min(best.class, byKit)
	if best.class == byFamily {
		least = byBeginning
	}
	f.Matches = slices.DeleteFunc(f.Matches, func(m Match) bool { return m.class < least })
	f.Matches = f.Matches[:min(len(f.Matches), maxMatches)]
	return f
}

// match compares a board's names and patterns with a plain query.
func (h *header) match(q string) Match {
	m := Match{Board: h.Name}
	name := plain(h.Name)
	m.better(name == q || name == "cortex"+q, byName, 0, "its name")
	for _, a := range h.Aliases {
		m.better(plain(a) == q, byName, 0, "its other name "+a)
	}
	for _, p := range h.Parts {
		n := fits(p, q)
		m.better(n > 0, byPart, n, "parts "+p)
	}
	for _, k := range h.Kits {
		_, short, _ := strings.Cut(k, " ") // without the maker's name
		n := max(fits(k, q), fits(short, q))
		m.better(n >= minWithin, byKit, n, "on the board "+bare(k))
		m.better(within(plain(bare(k)), q), byText, 0, "on the board "+bare(k))
	}
	for _, k := range h.Families {
		n := fits(k, q)
		m.better(n > 0, byFamily, n, "the core of "+k+": its memories and clock go into a board file of yours")
	}
	m.better(strings.HasPrefix(name, q), byBeginning, 0, "its name begins so")
	m.better(within(plain(h.Doc), q), byText, 0, "so in its description")
	return m
}

// better takes a way of matching that holds and is surer than those before.
func (m *Match) better(holds bool, c class, literal int, why string) {
	if holds && (c > m.class || c == m.class && literal > m.literal) {
		m.class, m.literal, m.Exact, m.Why = c, literal, c >= byKit, why
	}
}

// minWithin is how long a word has to be that is looked for inside of others.
const minWithin = 4

func within(name, q string) bool {
	return len(q) >= minWithin && len(name) >= minWithin && (strings.Contains(name, q) || strings.Contains(q, name))
}

// relatives adds chips of the core that was found which begin like what was asked for,
// as an STM32F401 does like an STM32F411.
func relatives(q string, found []Match) []Match {
	core := slices.IndexFunc(found, func(m Match) bool { return m.class == byFamily })
	if core < 0 {
		return found
	}
	for _, h := range shipped() {
		if len(h.Parts) == 0 || slices.ContainsFunc(found, func(m Match) bool { return m.Board == h.Name }) ||
			!slices.ContainsFunc(h.Parts, func(p string) bool { return sameFamily(found[core].Board, p) }) {
			continue
		}
		for _, p := range h.Parts {
			n := common(plain(bare(p)), q)
			if n >= minRelative {
				found = append(found, Match{Board: h.Name, class: byBeginning, literal: n,
					Why: fmt.Sprintf("it describes %s: compare memories and clock", p)})
				break
			}
		}
	}
	return found
}

// minRelative is how many signs the names of relatives have in common.
const minRelative = 6

// sameFamily reports a part of a family of that core.
func sameFamily(core, part string) bool {
	for _, h := range shipped() {
		if h.Name == core {
			return slices.ContainsFunc(h.Families, func(f string) bool { return fits(f, plain(bare(part))) > 0 })
		}
	}
	return false
}

// common is how many signs two names begin with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// fits is how many signs of the pattern, wildcards left out, a plain name agrees with;
// 0: it does not fit.
func fits(pattern, name string) int {
	p := plain(pattern)
	if ok, err := path.Match(p, name); err != nil || !ok {
		return 0
	}
	return len(p) - strings.Count(p, "*") - strings.Count(p, "?")
}

// bare is a pattern up to its first wildcard.
func bare(pattern string) string {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// plain is a name without case and punctuation; wildcards stay.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '*', r == '?':
			return r
		}
		return -1
	}, strings.ReplaceAll(strings.ToLower(name), "+", "plus"))
}

//go:embed other.yaml
var otherFile []byte

// other are chips for whose core there is no board.
type other struct {
	Parts []string `yaml:"parts"`
	What  string   `yaml:"what"`
}

// others are the entries of other.yaml.
var others = sync.OnceValue(func() []other {
	t, err := parseTree("other.yaml", otherFile)
	bug.If(err != nil, "boards: %w", err)
	var out []other
	for _, k := range t.keys {
		var o other
		var f faults
		check(t.m[k], reflect.TypeFor[other](), k, &f)
		if err := f.err(); err != nil {
			panic(bug.Errorf("boards: %w", err))
		}
		if err := decode(t.m[k], reflect.ValueOf(&o).Elem(), k); err != nil {
			panic(bug.Errorf("boards: %w", err))
		}
		out = append(out, o)
	}
	return out
})

// foreign says what a chip is for whose core there is no board, and how many signs of
// the pattern agree; "": it is none of those known.
func foreign(q string) (what string, literal int) {
	for _, o := range others() {
		for _, p := range o.Parts {
			if n := fits(p, q); n > literal {
				what, literal = o.What, n
			}
		}
	}
	return what, literal
}
