// SPDX-License-Identifier: Apache-2.0

// Package stack bounds the stack that a Cortex-M program needs, from its
// machine code: what each function pushes, whom it calls, and the deepest way
// down. It reads linked programs, so the C library, the compiler's own
// functions, assembly and installed libraries count like emitted C.
package stack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Function is one function of a program.
type Function struct {
	Name string
	// Frame is what it takes from the stack itself, in bytes: all that its
	// instructions push, added up.
	Frame int
	// Dynamic says why Frame is not all of it; empty where it is.
	Dynamic string
	// Calls are the functions that it calls or jumps to by name, indices of
	// Program.Functions in ascending order.
	Calls []int
	// Indirect is a call through a register. Constants says that the function
	// loads addresses of functions, which are then among Calls: compilers call so
	// what they call often.
	Indirect, Constants bool
}

// Program is the functions of a program, in the order of their addresses.
type Program struct {
	Functions []Function
}

// Pointers names the functions that a function can call through pointers; nil
// where it has no business calling through any.
type Pointers func(caller string) []string

// Path is the deepest way down from a function.
type Path struct {
	Bytes int
	// Names of the functions on it, the caller first.
	Names []string
}

// Find gives the index of a function, -1 without one of that name.
func (p *Program) Find(name string) int {
	return slices.IndexFunc(p.Functions, func(f Function) bool { return f.Name == name })
}

// Deepest is the most stack that a call of a function takes, its own frame
// included. It is an error, with the way there, if a function calls itself, moves
// the stack pointer by a number that is not in its code, or calls through a
// pointer that the table does not know.
func (p *Program) Deepest(entry string, pointers Pointers) (Path, error) {
	at := p.Find(entry)
	if at < 0 {
		return Path{}, fmt.Errorf("the program has no function %s", entry)
	}
	w := walk{p: p, pointers: pointers, done: map[int]Path{}}
	return w.down(at)
}

// Reached are the functions that a call of any of the entries can come to, in
// the order of their addresses.
func (p *Program) Reached(entries []string, pointers Pointers) []Function {
	w := walk{p: p, pointers: pointers}
	seen := make([]bool, len(p.Functions))
	var visit func(at int)
	visit = func(at int) {
		if at < 0 || seen[at] {
			return
		}
		seen[at] = true
		next, _ := w.next(at)
		for _, k := range next {
			visit(k)
		}
	}
	for _, e := range entries {
		visit(p.Find(e))
	}
	var out []Function
	for i, f := range p.Functions {
		if seen[i] {
			out = append(out, f)
		}
	}
	return out
}

// walk goes down a program.
type walk struct {
	p        *Program
	pointers Pointers
	above    []int
	done     map[int]Path
}

func (w *walk) names(at int) string {
	s := lists.Map(append(slices.Clone(w.above), at), func(k int) string { return w.p.Functions[k].Name })
	return strings.Join(s, " > ")
}

func (w *walk) down(at int) (_ Path, err error) {
	defer fail.Catch(&err)
	if r, ok := w.done[at]; ok {
		return r, nil
	}
	f := &w.p.Functions[at]
	if slices.Contains(w.above, at) {
		return Path{}, fmt.Errorf("recursion: %s", w.names(at))
	}
	if f.Dynamic != "" {
		return Path{}, fmt.Errorf("%s: %s", w.names(at), f.Dynamic)
	}
	next := fail.Must(w.next(at))
	var deepest Path
	w.above = append(w.above, at)
	for _, k := range next {
		r := fail.Must(w.down(k))
		if r.Bytes > deepest.Bytes || deepest.Names == nil {
			deepest = r
		}
	}
	w.above = w.above[:len(w.above)-1]
	r := Path{f.Frame + deepest.Bytes, append([]string{f.Name}, deepest.Names...)}
	w.done[at] = r
	return r, nil
}

// next are the functions that a function can call.
func (w *walk) next(at int) ([]int, error) {
	f := &w.p.Functions[at]
	if !f.Indirect {
		return f.Calls, nil
	}
	targets := w.pointers(f.Name)
	if targets == nil && f.Constants {
		return f.Calls, nil
	}
	if targets == nil {
		return f.Calls, fmt.Errorf("%s calls through a pointer, and no table says what", w.names(at))
	}
	next := slices.Clone(f.Calls)
	for i, g := range w.p.Functions {
		name, _, _ := strings.Cut(g.Name, ".") // without what compilers append: window_max.lto_priv.0
		if slices.Contains(targets, name) {
			next = append(next, i)
		}
	}
	slices.Sort(next)
	return slices.Compact(next), nil
}
