// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Kind is a sort of layer: those whose time depends on the same features.
type Kind string

// The kinds.
const (
	Convolution Kind = "convolution" // windows times weights, all channels of a group
	Depthwise   Kind = "depthwise"   // a window and weights for each channel
	Transposed  Kind = "transposed"  // a convolution from its output to its input
	Matrix      Kind = "matrix"      // rows times constant weights
	Pool        Kind = "pool"
	Element     Kind = "element" // one result from one element of each operand
	Copy        Kind = "copy"    // data movement
	Other       Kind = "other"
)

var allKinds = []Kind{Convolution, Depthwise, Transposed, Matrix, Pool, Element, Copy, Other}

// Alike reports a kind whose layers take about the same time, of whatever operator they
// are: what some of them take estimates the others. Data movement is everything from one
// copy of a row to a permutation of five dimensions.
func (k Kind) Alike() bool { return k != Copy && k != Other }

// Geometry is what a layer's cost depends on; images are counted in N,
// one-dimensional layers have height 1. Element-wise layers have their elements
// in C, layers of kind Other in OC, with MACs beside them.
type Geometry struct {
	Kind           Kind
	N, IH, IW, C   int
	OH, OW, OC     int
	KH, KW, SH, SW int
	DH, DW, PH, PW int
	Groups         int
	MACs           int // multiplications, where they do not follow from the rest
	// Operands that are repeated along the others; constants that are not one
	// number.
	Broadcast int
	Parts     Parts
}

// Parts counts what an element-wise layer, or a loop of several, does for one
// element.
type Parts struct {
	Reads        int // operands
	Tables       int // functions of one int8 or int16 value
	Extremes     int // the larger or smaller one
	Divisions    int
	Sums         int // of int8
	Products     int // of int8, and what else has two operands
	WideSums     int // of int16
	EqualSums    int // of int16 with one scale
	WideProducts int // of int16
	Quantised    int // floats that become integers
	Plain        int // operators on plain numbers
	Library      int // calls of the C library, whose time no model knows
}

// field is a number of a geometry by its name in tables.
type field struct {
	name string
	at   *int
}

func (g *Geometry) fields() []field {
	p := &g.Parts
	return []field{{"N", &g.N}, {"IH", &g.IH}, {"IW", &g.IW}, {"C", &g.C}, {"OH", &g.OH}, {"OW", &g.OW}, {"OC", &g.OC},
		{"KH", &g.KH}, {"KW", &g.KW}, {"SH", &g.SH}, {"SW", &g.SW}, {"DH", &g.DH}, {"DW", &g.DW}, {"PH", &g.PH},
		{"PW", &g.PW}, {"groups", &g.Groups}, {"MACs", &g.MACs}, {"broadcast", &g.Broadcast}, {"reads", &p.Reads},
		{"tables", &p.Tables}, {"extremes", &p.Extremes}, {"divisions", &p.Divisions}, {"sums", &p.Sums},
		{"products", &p.Products},
		{"wideSums", &p.WideSums}, {"equalSums", &p.EqualSums},
		{"wideProducts", &p.WideProducts}, {"quantised", &p.Quantised}, {"plain", &p.Plain},
		{"library", &p.Library}}
}

// String is the geometry in tables: the kind, and every number that is not 0.
func (g Geometry) String() string {
	var b strings.Builder
	b.WriteString(string(g.Kind))
	for _, f := range g.fields() {
		if *f.at != 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, *f.at)
		}
	}
	return b.String()
}

// ParseGeometry reads what String wrote.
func ParseGeometry(text string) (Geometry, error) {
	var g Geometry
	words := strings.Fields(text)
	if len(words) == 0 {
		return g, fmt.Errorf("a geometry is empty, want a kind and numbers")
	}
	g.Kind = Kind(words[0])
	if features[g.Kind] == nil {
		return g, fmt.Errorf("unknown kind of layer %q", words[0])
	}
	fields := map[string]*int{}
	for _, f := range g.fields() {
		fields[f.name] = f.at
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		at := fields[name]
		if at == nil {
			return g, fmt.Errorf("%q: a geometry has no number %q", text, name)
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return g, fmt.Errorf("%q: %w", text, err)
		}
		*at = n
	}
	return g, nil
}

// traits are forms of layers that variants treat apart, a bit for each: a model answers for
// those only that it was measured with.
type traits uint8

// traitNames are those of the bits in tables. Rows: more than one pixel, or row of a
// matrix. Library: calls of the C library.
var traitNames = []string{"broadcast", "dilated", "grouped", "library", "rows", "transposed"}

func traitsOf(g *Geometry) (t traits) {
	grouped := g.Groups > 1 && (g.Kind == Convolution || g.Kind == Transposed) || g.Kind == Depthwise && g.C != g.OC
	for i, has := range []bool{g.Broadcast > 0, g.DH > 1 || g.DW > 1, grouped, g.Parts.Library > 0, g.N*g.OH*g.OW > 1,
		g.Kind == Transposed} {
		if has {
			t |= 1 << i
		}
	}
	return t
}

func (t traits) covers(x traits) bool { return x&^t == 0 }

// Elements is an element-wise geometry of n elements.
func Elements(n int, p Parts) Geometry {
	return Geometry{Kind: Element, N: 1, IH: 1, IW: 1, C: n, OH: 1, OW: 1, OC: n, KH: 1, KW: 1, SH: 1, SW: 1, DH: 1,
		DW: 1, Groups: n, Parts: p}
}

// Rows is what some rows of a layer cost in one call. Models are fitted to whole maps;
// what a call loses at the ends of its few pixels and rows stands besides.
func (t *Target) Rows(l *Layer, some, all int) float64 {
	part, g := *l, &l.Geometry
	part.Geometry = g.some(some, all)
	n := t.Of(&part).Instructions
	pixels := part.Geometry.N * part.Geometry.OH * part.Geometry.OW
	if pixels == 0 {
		return n
	}
	return n + t.lost(&part.Geometry)*n/float64(pixels)
}

// Channels is what some of all channels of a matrix product's result cost in one call.
func (t *Target) Channels(l *Layer, some, all int) float64 {
	part := *l
	part.Geometry.OC = part.Geometry.OC * some / all
	return t.Of(&part).Instructions
}

// Copied is what a copy of bytes in a row takes.
func (t *Target) Copied(bytes int) float64 {
	if t.ISA == "mve" {
		return 60 + float64(bytes)/4
	}
	return 60 + float64(bytes)*0.55
}

// Turned is what bytes of planes take to become channels last where they lie, more than beside themselves. Three planes
// of bytes have code of their own.
func (t *Target) Turned(planes, bytes int) float64 {
	if planes == 3 {
		return t.Copied(bytes / 2)
	}
	return t.Copied(bytes + bytes/4)
}

// lost is how many pixels the time of a call goes to that computes nothing: blocks of
// pixels that are not full, and rows that two rows of a window share. Measured in maps
// of 24 rows that were computed by 1, 2, 4 and 24 of them.
func (t *Target) lost(g *Geometry) float64 {
	row := float64(g.N * g.OW)
	switch g.Kind {
	case Depthwise:
		return row * t.shared(g)
	case Convolution:
		if t.ISA != "mve" {
			return 0.5
		}
		if g.C < 16 && g.KH > 1 {
			return 3 + row/4
		}
		return 3
	}
	return 0
}

// shared is the part of a row that rows of depthwise windows share.
func (t *Target) shared(g *Geometry) float64 {
	switch {
	case g.SH == 1 && g.OH == 1:
		return 1.3
	case g.SH == 1:
		return 0.3
	case t.ISA != "mve":
		return 0.37
	}
	return 0.05
}

// some is the geometry of some rows of a layer's result, which has all of them.
func (g Geometry) some(some, all int) Geometry {
	switch {
	case some == all:
	case g.Kind == Matrix || g.N >= all: // rows of matrices, lines, pixels
		g.N = g.N * some / all
	case g.Kind == Transposed:
		g.IH, g.OH = g.IH*some/all, g.OH*some/all
	case g.OH == all:
		g.OH, g.PH, g.IH = some, 0, (some-1)*g.SH+(g.KH-1)*g.DH+1
	case g.OW >= all: // pixels
		g.IW, g.OW = g.IW*some/all, g.OW*some/all
	default:
		g.C, g.OC, g.MACs = g.C*some/all, g.OC*some/all, g.MACs*some/all
		if g.Kind == Element {
			g.Groups = g.C
		}
	}
	return g
}

// mostPixels are those for which kernels read weights once at most that do not say how many.
const mostPixels = 4

// Reads is how often a call reads its constants at least: a convolution or product of
// several rows reads them again for every few pixels, a depthwise layer for every two
// rows of the output, everything else once.
func (l *Layer) Reads() int {
	g := &l.Geometry
	n := 1
	switch g.Kind {
	case Convolution, Matrix:
		k := cmp.Or(l.Pixels, mostPixels)
		n = (g.N*g.OH*g.OW + k - 1) / k
	case Depthwise:
		n = (g.N*g.OH + 1) / 2
	}
	return max(n, 1)
}
