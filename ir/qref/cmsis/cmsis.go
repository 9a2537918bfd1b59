// SPDX-License-Identifier: Apache-2.0

// Package cmsis is what nncc knows about CMSIS-NN: which inner function a call
// runs on which core, how much scratch it takes, what it asks of its operands,
// what it reads behind their ends and what it gets wrong. The knowledge is the
// table cmsis.csv.
//
// The package knows shapes, not graphs: dimensions are NHWC, filters
// {output channels, H, W, input channels}, depthwise ones {1, H, W, channels}.
package cmsis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// Revision of CMSIS-NN that the table describes.
const Revision = "99f736a6 (2026-07-15)"

// Build is what a CMSIS-NN library was compiled for: the macros ARM_MATH_MVEI
// and ARM_MATH_DSP.
type Build uint8

// The builds; their bits make the sets in rows.
const (
	PlainC Build = 1 << iota // M0, M0+, M3, M23, M33 without DSP
	DSP                      // M4, M7, M33, M35P
	MVE                      // M52, M55, M85 with Helium
)

// All builds.
const All = PlainC | DSP | MVE

var buildNames = map[string]Build{"mve": MVE, "dsp": DSP, "c": PlainC, "all": All}

func (b Build) String() string {
	return strings.Join(lists.Filter([]string{"mve", "dsp", "c"}, func(s string) bool { return b&buildNames[s] != 0 }),
		" ")
}

// Dims are NHWC dimensions.
type Dims struct{ N, H, W, C int }

// Tile is a vertical and a horizontal value, as cmsis_nn_tile.
type Tile struct{ H, W int }

// Query describes one call. Fields that a function does not have stay zero:
// Filter is the window of a pooling, the second operand of Min and Max.
type Query struct {
	Build    Build
	ArmClang bool // compiled by Arm Compiler 6.10.50 or later

	In, Filter, Out       Dims
	Stride, Pad, Dilation Tile // Pad: top and left
	ChMult                int  // depthwise

	InOffset, FilterOffset, OutOffset int
	HasBias, PerChannel               bool
	SingleRounding                    bool
	Rank                              int  // of a transposition
	Identity                          bool // a transposition that moves nothing
}

// Kind is what a row says.
type Kind uint8

// The kinds of rows.
const (
	Route    Kind = iota // under its conditions Function calls Value
	Scratch              // bytes of scratch, first row that applies
	Wants                // what must hold, else the call fails or is undefined
	Align                // where the condition holds the kernel works in whole steps
	OverRead             // elements read behind the end of arrays
	Defect               // under its conditions the function is wrong (Value says how)
)

var kindNames = [...]string{"route", "scratch", "wants", "align", "overread", "defect"}

func (k Kind) String() string { return kindNames[k] }

// Term is one condition; all terms of a row must hold. That of a comparison has its sides, too.
type Term struct {
	Text                    string
	Is                      expr
	Left, Right             expr
	LeftText, Op, RightText string
}

// Holds evaluates the condition.
func (t *Term) Holds(q *Query) bool { return t.Is(q) != 0 }

func holds(all []Term, q *Query) bool {
	return !slices.ContainsFunc(all, func(t Term) bool { return !t.Holds(q) })
}

// Row is a line of the table.
type Row struct {
	ID       string
	Kind     Kind
	Function string
	Builds   Build
	When     []Term
	WhenText string
	Value    string
	Bytes    expr   // Scratch; nil: that of the function it routes to
	AsConv   bool   // Route: Value gets the filter of a convolution
	Until    string // Defect: first revision without it, "" where Revision has it
	Worth    expr   // Route: worth a word when it is not taken; nil: never
	Says     string
	Source   string
}

func (r *Row) applies(fn string, kind Kind, q *Query) bool {
	return r.Kind == kind && r.Function == fn && r.Builds&q.Build != 0 && holds(r.When, q)
}

// asConv is a depthwise query with one input channel as the convolution that
// the library makes of it.
func (q *Query) asConv() *Query {
	c := *q
	c.Filter = Dims{q.Filter.C, q.Filter.H, q.Filter.W, q.Filter.N}
	return &c
}

// Missed is a better function that was not taken, and why.
type Missed struct {
	Row *Row
	Why []string
}

// Choice is the way of a call through the library.
type Choice struct {
	Kernel string   // the inner function that runs
	Chain  []string // all functions on the way, the one called first
	Missed []Missed
	Says   string // what the kernel does

	queries []*Query // what each function of the chain is asked
}

// Ask gives the inner function that runs when fn is called.
func Ask(fn string, q *Query) Choice {
	c := Choice{Kernel: fn, Chain: []string{fn}, queries: []*Query{q}}
	for {
		next, r := step(c.Kernel, q, &c.Missed)
		if r == nil {
			return c
		}
		c.Says = r.Says
		if next == c.Kernel {
			return c
		}
		if r.AsConv {
			q = q.asConv()
		}
		c.Kernel = next
		c.Chain, c.queries = append(c.Chain, next), append(c.queries, q)
	}
}

// step is the first route of fn whose conditions hold; the best one that was
// worth a word is noted.
func step(fn string, q *Query, missed *[]Missed) (string, *Row) {
	noted := false
	for _, r := range rows() {
		if r.Kind != Route || r.Function != fn {
			continue
		}
		if r.applies(fn, Route, q) {
			return r.Value, r
		}
		if !noted && r.Builds&q.Build != 0 && r.Worth != nil && r.Worth(q) != 0 {
			*missed, noted = append(*missed, Missed{r, r.against(q)}), true
		}
	}
	return "", nil
}

// against says which conditions of a row do not hold.
func (r *Row) against(q *Query) []string {
	var out []string
	for _, t := range r.When {
		if !t.Holds(q) {
			out = append(out, t.fails(q))
		}
	}
	return out
}

// fails is "stride.w is 2, wanted 1".
func (t *Term) fails(q *Query) string {
	if t.Op == "" {
		return "not " + t.Text
	}
	want := t.RightText
	if v := fmt.Sprint(t.Right(q)); v != want {
		want += " = " + v
	}
	if t.Op != "==" {
		want = t.Op + " " + want
	}
	return fmt.Sprintf("%s is %d, wanted %s", t.LeftText, t.Left(q), want)
}

// Reason says why better functions were not taken, "" when none was missed:
// "arm_convolve_s8 instead of arm_convolve_1x1_s8_fast: stride.w is 2, wanted 1".
func (c *Choice) Reason() string {
	var s []string
	for _, m := range c.Missed {
		if m.Row.Value != c.Kernel {
			s = append(s, fmt.Sprintf("%s instead of %s: %s", c.Kernel, m.Row.Value, strings.Join(m.Why, ", ")))
		}
	}
	return strings.Join(s, "; ")
}

// Size is the scratch memory of a call of fn, in bytes. It panics for a
// function that the table has no size for.
func Size(fn string, q *Query) int {
	for _, r := range rows() {
		if !r.applies(fn, Scratch, q) {
			continue
		}
		if r.Bytes != nil {
			return r.Bytes(q)
		}
		next, route := step(fn, q, &[]Missed{})
		if route.AsConv {
			q = q.asConv()
		}
		return Size(next, q)
	}
	panic(bug.Errorf("no row has no scratch size for %s in builds for %s", fn, q.Build))
}

// Defects are the defects that a call of fn meets on its way through the
// library in its present Revision. Sizes that the library gets wrong are none:
// Size has the right ones.
func Defects(fn string, q *Query) []*Row { return met(fn, q, Defect, false) }

// Past are the defects that older revisions had on that way; Row.Until names
// the first revision without.
func Past(fn string, q *Query) []*Row { return met(fn, q, Defect, true) }

func met(fn string, q *Query, kind Kind, past bool) []*Row {
	var out []*Row
	c := Ask(fn, q)
	for i, f := range c.Chain {
		for _, r := range rows() {
			if r.applies(f, kind, c.queries[i]) && (r.Until != "") == past && r.Value != "scratch" {
				out = append(out, r)
			}
		}
	}
	return out
}

// Unmet are the conditions that a call of fn breaks: what was found and what
// is wanted.
func Unmet(fn string, q *Query) []string {
	var out []string
	c := Ask(fn, q)
	for i, f := range c.Chain {
		for _, r := range rows() {
			if r.Kind == Wants && r.Function == f && r.Builds&q.Build != 0 && !holds(r.When, c.queries[i]) {
				out = append(out, fmt.Sprintf("%s wants %s: %s", f, r.Says, strings.Join(r.against(c.queries[i]),
					", ")))
			}
		}
	}
	return out
}

// runColumns is MAX_COL_COUNT: so many products the int16 kernels of CMSIS-NN
// sum up in 32 bits before they go on in 64.
const runColumns = 512

// Conv16Limit reports why arm_convolve_wrapper_s16 must not be called with an
// int64 bias.
func Conv16Limit(q *Query, filter []int8) string {
	for _, d := range Defects("arm_convolve_wrapper_s16", q) {
		return d.Says
	}
	cols := q.Filter.H * q.Filter.W * q.Filter.C
	if q.Build != MVE && q.Out.H*q.Out.W%2 != 0 { // the last output pixel is summed up in 32 bits
		return overflow16(filter, cols, cols)
	}
	return FC16Limit(filter, cols)
}

// FC16Limit reports why arm_fully_connected_s16 must not be called.
func FC16Limit(filter []int8, depth int) string {
	return overflow16(filter, depth, min(depth, runColumns))
}

// overflow16 reports a row of the filter whose first columns could sum up to
// more than 32 bits with the most negative data.
func overflow16(filter []int8, cols, first int) string {
	if first*127 <= math.MaxInt32>>15 && first < runColumns {
		return "" // -128 included
	}
	for r := 0; r+cols <= len(filter); r += cols {
		sum := int64(0)
		for _, w := range filter[r : r+first] {
			sum += max(int64(w), -int64(w))
		}
		if sum<<15 > math.MaxInt32 {
			return "the kernel sums up more products in 32 bits than they hold"
		}
	}
	return ""
}
