// SPDX-License-Identifier: Apache-2.0

// Package kerneltest drives kernels by random layers: it compiles graphs with a
// table of kernels, runs the emitted C on the host under the sanitizers, on QEMU
// and on an installed CMSIS-NN, and compares with the interpreter.
package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

// dice are random numbers in the words of those who draw layers.
type dice struct{ *rand.Rand }

// In is a number in [lo, hi].
func (d dice) In(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

// One draws one of the values.
func (d dice) One(v ...int) int { return v[d.IntN(len(v))] }

// Chance is true in so many percent of draws.
func (d dice) Chance(pct int) bool { return d.IntN(100) < pct }

// Writer collects layers as IR text; all results are outputs.
type Writer struct {
	dice
	text strings.Builder
	outs []string
	n    int
}

// NewWriter starts a graph of layers.
func NewWriter(seed uint64) *Writer {
	return &Writer{dice: dice{rand.New(rand.NewPCG(seed, 77))}}
}

// Graph parses what was written.
func (b *Writer) Graph(t testing.TB) *ir.Graph {
	t.Helper()
	text := "graph \"layers\" {\n" + b.text.String()
	for _, o := range b.outs {
		text += fmt.Sprintf("out %q = %%%s\n", o, o)
	}
	g, err := ir.Parse(text+"}\n", op.Get)
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, text)
	}
	return g
}

var (
	// results are the values of a text that are results.
	results = regexp.MustCompile(`%(y\w*#)`)
	// narrow stands for so many constants of int8 without the least number.
	narrow = regexp.MustCompile(`narrow \d+`)
)

// Text writes a layer as it stands in text, # for its number, which names of values end in; y#, and other names that
// begin with y, are its results.
func (b *Writer) Text(text string) {
	b.n++
	n := strconv.Itoa(b.n)
	text = narrow.ReplaceAllStringFunc(text, func(s string) string {
		k, _ := strconv.Atoi(s[len("narrow "):])
		v := lists.Make(k, func(int) int { return b.In(-127, 127) })
		return "{" + commas(v...) + "}"
	})
	b.text.WriteString(strings.ReplaceAll(text, "#", n) + "\n")
	for _, o := range results.FindAllStringSubmatch(text, -1) {
		if out := strings.ReplaceAll(o[1], "#", n); !slices.Contains(b.outs, out) {
			b.outs = append(b.outs, out)
		}
	}
}

// commas is comma separated.
func commas(v ...int) string {
	s := lists.Each(v, func(x int) string { return strconv.Itoa(x) })
	return strings.Join(s, ",")
}

// Kind is a kind of layers, as Writer.Text takes them, whose instructions are counted together.
type Kind struct {
	Name   string
	Layers []string
}

// ReadKinds reads kinds: a line with # and the name, then layers with empty lines between them.
func ReadKinds(t *testing.T, path string) []Kind {
	t.Helper()
	b := testenv.Must(os.ReadFile(path))(t)
	var kinds []Kind
	for _, part := range strings.Split("\n"+string(b), "\n# ")[1:] {
		name, layers, _ := strings.Cut(strings.TrimSpace(part), "\n")
		kinds = append(kinds, Kind{Name: name, Layers: strings.Split(layers, "\n\n")})
	}
	return kinds
}
