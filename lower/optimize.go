// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/option"
)

// byteWeight says how much --optimize cares about bytes: a program is better if
// log(instructions) + weight * log(bytes) is less. With weight 1, bytes that are
// one percent of the kernels have to save one percent of the instructions.
var byteWeight = map[option.Optimize]float64{option.Speed: 0, option.Balanced: 0.5, option.Size: 1}

// What a later kernel has to save for the bytes that it brings along: one percent
// more flash is worth a twentieth of a percent of the program where it is code,
// which other layers may call, too, and as much as constantsWeight says where it is
// constants of one layer.
const newCodeWeight = 0.05

var constantsWeight = map[option.Optimize]float64{option.Speed: 0.05, option.Balanced: 0.5, option.Size: 1}

// selection chooses between the candidates of all nodes together, because what
// they call is in flash once.
type selection struct {
	o          *Options
	candidates [][]candidate // by node
	chosen     []int
	weights    []*tensor.Dense                         // by node; equal ones are in flash once
	code       func(functions []string) map[string]int // bytes of what functions bring along, by source
}

// improve trades instructions for bytes, step by step from the fastest program:
// give a function up, or use one wherever it can be used, whatever helps most.
func (w *selection) improve() {
	weight := byteWeight[w.o.Optimize]
	value := func() float64 {
		instructions, bytes := w.total()
		return math.Log(max(instructions, 1)) + weight*math.Log(float64(max(bytes, 1)))
	}
	functions := w.functions()
	for best := value(); ; {
		var next []int
		start, limit := slices.Clone(w.chosen), w.codeBytes() // constants are no reason for more code
		for _, f := range functions {
			for _, move := range w.moves(f) {
				copy(w.chosen, start)
				for _, m := range move {
					w.chosen[m.node] = m.candidate
				}
				if w.codeBytes() > limit {
					continue
				}
				if v := value(); v < best-1e-9 {
					best, next = v, slices.Clone(w.chosen)
				}
			}
		}
		if next == nil {
			w.chosen = start
			return
		}
		w.chosen = next
	}
}

// dropIdle takes the first candidates again where a later kernel saves the program
// too little for the bytes that it brings along.
func (w *selection) dropIdle(takes func(*cost.Cost) float64) {
	flash := w.leastFlash()
	all := lists.Sum(w.candidates, func(os []candidate) float64 { return takes(&os[0].price) })
	nodes := w.dropLarge(takes, all, flash)
	for _, k := range slices.Sorted(maps.Keys(nodes)) {
		with, were, gain := w.codeBytes(), map[int]int{}, 0.0
		for _, i := range nodes[k] {
			gain += w.gain(i, takes)
			were[i], w.chosen[i] = w.chosen[i], 0
		}
		if gain*float64(flash) > newCodeWeight*float64(with-w.codeBytes())*all {
			for i, k := range were {
				w.chosen[i] = k
			}
		}
	}
}

// dropLarge does so for constants, and gives the nodes whose later kernel stays, by
// kernel: those that save most for their bytes, as long as flash has room.
func (w *selection) dropLarge(takes func(*cost.Cost) float64, all float64, flash int) map[string][]int {
	type later struct {
		nodes []int // calls of one layer, or one node
		bytes int
		gain  float64
	}
	type packed struct {
		weights *tensor.Dense
		kernel  string
	}
	var list []*later
	same := map[packed]*later{}
	for i, os := range w.candidates {
		if w.chosen[i] == 0 || !os[0].price.Known() {
			continue
		}
		c := &os[w.chosen[i]]
		k := packed{kernel: c.price.Kernel}
		if len(w.weights) > 0 {
			k.weights = w.weights[i]
		}
		x := same[k]
		if x == nil || k.weights == nil {
			x = &later{bytes: c.flash().constants - os[0].flash().constants}
			same[k], list = x, append(list, x)
		}
		x.nodes, x.gain = append(x.nodes, i), x.gain+w.gain(i, takes)
	}
	slices.SortStableFunc(list, func(a, b *later) int {
		return cmp.Compare(b.gain/float64(max(b.bytes, 1)), a.gain/float64(max(a.bytes, 1)))
	})
	nodes, weight, used := map[string][]int{}, constantsWeight[w.o.Optimize], flash
	for _, x := range list {
		full := x.bytes > 0 && w.o.Flash > 0 && used+x.bytes > w.o.Flash
		if full || x.gain*float64(flash) < weight*float64(x.bytes)*all {
			for _, i := range x.nodes {
				w.chosen[i] = 0
			}
			continue
		}
		used += max(x.bytes, 0)
		kernel := w.candidates[x.nodes[0]][w.chosen[x.nodes[0]]].price.Kernel
		nodes[kernel] = append(nodes[kernel], x.nodes...)
	}
	return nodes
}

// gain is what the candidate of node i saves that was chosen, beside the first one.
func (w *selection) gain(i int, takes func(*cost.Cost) float64) float64 {
	return takes(&w.candidates[i][0].price) - takes(&w.candidates[i][w.chosen[i]].price)
}

// leastFlash are the bytes of the first candidates and of all their constants.
func (w *selection) leastFlash() int {
	n, chosen := 0, slices.Clone(w.chosen)
	for i, os := range w.candidates {
		n, w.chosen[i] = n+os[0].flash().constants, 0
	}
	n += w.codeBytes()
	copy(w.chosen, chosen)
	return n
}

func (w *selection) functions() []string {
	var out []string
	for _, os := range w.candidates {
		if len(os) < 2 {
			continue
		}
		for k := range os {
			out = append(out, os[k].flash().functions...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// swap is another candidate for a node.
type swap struct {
	node, candidate int
	loss            float64 // instructions
}

// mostMoves bounds how many sets of nodes are tried for a function.
const mostMoves = 24

// moves are the ways to take function f out of the program, or to use it in more
// nodes: in the one that loses least by it, in the next one, too, ... in all.
func (w *selection) moves(f string) [][]swap {
	var without, with []swap
	needed := false
	for i, os := range w.candidates {
		now := &os[w.chosen[i]]
		uses := slices.Contains(now.flash().functions, f)
		best := -1
		for k := range os {
			x := &os[k]
			if now.price.Estimated() && x.price.Estimated() && slices.Contains(x.flash().functions, f) != uses &&
				(best < 0 || x.price.Instructions < os[best].price.Instructions) {
				best = k
			}
		}
		switch {
		case best < 0:
			needed = needed || uses
		case uses:
			without = append(without, swap{i, best, 0})
		default:
			with = append(with, swap{i, best, os[best].price.Instructions - now.price.Instructions})
		}
	}
	var out [][]swap
	if !needed && len(without) > 0 {
		out = append(out, without)
	}
	lists.Sort(with, func(a, b swap) int { return cmp.Compare(a.loss, b.loss) })
	step := max(1, len(with)/mostMoves)
	for n := 1; n < len(with); n += step {
		out = append(out, with[:n])
	}
	if len(with) > 0 {
		out = append(out, with)
	}
	return out
}

// SelectionCost is what the chosen kernels are predicted to cost.
type SelectionCost struct {
	Instructions float64 // of the layers that have a price
	Priced       int     // how many they are
	CodeBytes    int     // of the kernels; 0 where the core has no table of them
}

func (w *selection) cost() SelectionCost {
	r := SelectionCost{CodeBytes: w.codeBytes()}
	for i, os := range w.candidates {
		if p := os[w.chosen[i]].price; p.Known() && !os[w.chosen[i]].low.View {
			r.Instructions += p.Instructions
			r.Priced++
		}
	}
	return r
}

// total is the program's predicted instructions, and the bytes of its kernels
// with what its constants have more than the smallest ones.
func (w *selection) total() (instructions float64, bytes int) {
	bytes = w.codeBytes()
	for i, os := range w.candidates {
		x := &os[w.chosen[i]]
		instructions += x.price.Instructions
		if len(os) > 1 {
			least := x.flash().constants
			bytes += least
			for k := range os {
				least = min(least, os[k].flash().constants)
			}
			bytes -= least
		}
	}
	return instructions, bytes
}

// codeBytes is the size of all sources that the chosen candidates call.
func (w *selection) codeBytes() int {
	var functions []string
	for i, os := range w.candidates {
		functions = append(functions, os[w.chosen[i]].flash().functions...)
	}
	slices.Sort(functions)
	bytes := 0
	for _, n := range w.code(slices.Compact(functions)) {
		bytes += n
	}
	return bytes
}

// ownLibrary reports nncc's kernels for an instruction set.
func ownLibrary(name string) bool { return kernel.IsOptimized(name) && name != cmsisnn.Library }
