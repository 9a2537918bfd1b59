// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
)

func priced(n, worst float64) candidate {
	return candidate{price: cost.Cost{Instructions: n, Error: worst / 2, Worst: worst}}
}

// TestFastest: what is expected to take least wins, in cycles where all candidates
// have them; without a price the order of the rows decides.
func TestFastest(t *testing.T) {
	unknown := candidate{price: cost.Cost{Unknown: "never measured"}}
	timed := func(n, cycles float64) candidate {
		return candidate{price: cost.Cost{Instructions: n, Cycles: cycles}}
	}
	for _, c := range []struct {
		name       string
		goal       option.Optimize
		candidates []candidate
		want       int
	}{
		{"one", option.Speed, []candidate{priced(10, 0)}, 0},
		{"the first is cheaper", option.Speed, []candidate{priced(10, 0), priced(20, 0)}, 0},
		{"the second is cheaper", option.Speed, []candidate{priced(20, 0.1), priced(10, 0.1)}, 1},
		{"by less than the models are off", option.Speed, []candidate{priced(11, 0.3), priced(10, 0.3)}, 1},
		{"by less than a worse model costs", option.Speed, []candidate{priced(11, 0.1), priced(10, 1)}, 0},
		{"the same", option.Speed, []candidate{priced(10, 0.1), priced(10, 0.1)}, 0},
		{"the first has no price", option.Speed, []candidate{unknown, priced(1, 0)}, 0},
		{"the second has none", option.Speed, []candidate{priced(30, 0), unknown, priced(10, 0)}, 2},
		{"fewer cycles", option.Speed, []candidate{timed(10, 20), timed(11, 15)}, 1},
		{"fewer cycles, one without price", option.Speed, []candidate{timed(10, 20), unknown, timed(11, 15)}, 2},
		{"cycles of one alone", option.Speed, []candidate{timed(10, 20), priced(11, 0)}, 0},
		{"instructions are the goal", option.Balanced, []candidate{timed(10, 20), timed(11, 15)}, 0},
	} {
		o := &Options{Optimize: c.goal}
		testenv.Equal(t, o.fastest(c.candidates), c.want, "%s: candidate", c.name)
	}
}

// calling is a candidate that calls functions, for a price.
func calling(n float64, functions ...string) candidate {
	l := &call.Lowered{}
	for _, f := range functions {
		l.Calls = append(l.Calls, call.Call{Func: f})
	}
	return candidate{low: l, price: cost.Cost{Instructions: n}}
}

// TestSelection: four layers have a kernel each and share a slower one. Speed takes
// their own, size the shared one, balanced those whose instructions are worth
// their bytes; bytes and instructions go opposite ways.
func TestSelection(t *testing.T) {
	code := map[string]int{"a": 400, "b": 400, "c": 400, "d": 400, "any": 500, "setup": 300}
	candidates := [][]candidate{
		{calling(100_000, "setup", "a"), calling(150_000, "setup", "any")},
		{calling(2_000, "setup", "b"), calling(2_600, "setup", "any")},
		{calling(1_000, "setup", "c"), calling(1_300, "setup", "any")},
		{calling(900, "setup", "d"), calling(1_200, "setup", "any")},
	}
	type result struct {
		instructions float64
		bytes        int
	}
	got := map[option.Optimize]result{}
	for _, goal := range []option.Optimize{option.Speed, option.Balanced, option.Size} {
		w := &selection{o: &Options{Optimize: goal}, candidates: candidates, chosen: make([]int, len(candidates)),
			code: func(functions []string) map[string]int {
				out := map[string]int{}
				for _, f := range functions {
					out[f] = code[f]
				}
				return out
			}}
		w.improve()
		n, bytes := w.total()
		got[goal] = result{n, bytes}
		want := map[option.Optimize][]int{option.Speed: {0, 0, 0, 0}, option.Balanced: {0, 1, 1, 1},
			option.Size: {1, 1, 1, 1}}[goal]
		testenv.Check(t, slices.Equal(w.chosen, want), "--optimize %s takes %v, want %v (%v)", goal, w.chosen, want,
			got[goal])
	}
	if !(got[option.Size].bytes <= got[option.Balanced].bytes &&
		got[option.Balanced].bytes <= got[option.Speed].bytes) {
		t.Errorf("bytes: %v", got)
	}
	if !(got[option.Size].instructions >= got[option.Balanced].instructions &&
		got[option.Balanced].instructions >= got[option.Speed].instructions) {
		t.Errorf("instructions: %v", got)
	}
}

// TestSelectionWithoutPrice: of two kernels whose instructions are estimated alike,
// because neither was measured, the one with fewer bytes is taken where bytes count.
func TestSelectionWithoutPrice(t *testing.T) {
	large, small := calling(1000, "wide"), calling(1000, "narrow")
	large.price.Unknown, small.price.Unknown = "never measured", "never measured"
	large.low.Calls[0].Args = []call.Arg{&call.Blob{Data: make([]byte, 32000)}}
	for goal, want := range map[option.Optimize]int{option.Speed: 0, option.Balanced: 1, option.Size: 1} {
		w := &selection{o: &Options{Optimize: goal}, candidates: [][]candidate{{large, small}}, chosen: []int{0},
			code: func([]string) map[string]int { return map[string]int{"any": 1000} }}
		if w.improve(); w.chosen[0] != want {
			t.Errorf("--optimize %s takes candidate %d, want %d", goal, w.chosen[0], want)
		}
	}
}

// TestDropIdle: a later kernel stays where all layers together save enough for its
// code, and the first one is taken again where they do not.
func TestDropIdle(t *testing.T) {
	code := map[string]int{"first": 1000, "later": 1000}
	for _, c := range []struct {
		saved float64 // by each of two layers of 1000
		want  []int
	}{{80, []int{1, 1, 0}}, {60, []int{0, 0, 0}}} {
		w := &selection{o: &Options{}, chosen: []int{1, 1, 0}, code: func(functions []string) map[string]int {
			out := map[string]int{}
			for _, f := range functions {
				out[f] = code[f]
			}
			return out
		}}
		for range w.chosen {
			first, later := calling(1000, "first"), calling(1000-c.saved, "later")
			later.price.Kernel = "later"
			w.candidates = append(w.candidates, []candidate{first, later})
		}
		w.dropIdle((*cost.Cost).ExpectedInstructions)
		testenv.Same(t, w.chosen, c.want, "%.0f saved by each layer", c.saved)
	}
}

// TestConstants: a faster kernel with more constants is taken as far as flash has room,
// the one that saves most for its bytes first; with another goal for what it is worth. Calls of one layer have the same
// constants.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		goal  option.Optimize
		flash int
		same  bool
		want  []int
	}{
		{option.Speed, 0, false, []int{1, 1}},
		{option.Speed, 4000, false, []int{1, 1}},
		{option.Speed, 3999, false, []int{0, 1}},
		{option.Speed, 3999, true, []int{1, 1}},
		{option.Speed, 2999, false, []int{0, 0}},
		{option.Balanced, 0, false, []int{0, 1}},
		{option.Balanced, 0, true, []int{1, 1}},
		{option.Size, 0, false, []int{0, 0}},
	} {
		w := &selection{o: &Options{Optimize: c.goal, Flash: c.flash}, chosen: []int{1, 1},
			code: func([]string) map[string]int { return map[string]int{"any": 2000} }}
		if c.same {
			x := tensor.New(tensor.I8, []int{1})
			w.weights = []*tensor.Dense{x, x}
		}
		for _, saved := range []float64{100, 600} { // of 2000, for half more flash each
			first, later := calling(1000, "first"), calling(1000-saved, "later")
			later.low.Calls[0].Args = []call.Arg{&call.Blob{Data: make([]byte, 1000)}}
			w.candidates = append(w.candidates, []candidate{first, later})
		}
		w.dropIdle((*cost.Cost).ExpectedInstructions)
		testenv.Same(t, w.chosen, c.want, "--optimize %s, %d bytes of flash", c.goal, c.flash)
	}
}
