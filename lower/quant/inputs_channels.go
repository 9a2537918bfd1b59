// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// What computes with the elements of one channel alone may stand before a normalisation: means over
// time, differences of neighbours, the largest of a window. It works as well on channels brought to one
// range, where a factor of a channel becomes one of its results, and an offset an offset. Which operators
// these are, and which results belong to a channel, is seen from what they give for drawn numbers.

// mostProbed bounds the work of an evaluation of such an operator, as ir.Work counts.
const mostProbed = 1 << 22

// digits are the exponents that number channels: odd, so that a square, a root, a product or a
// quotient of channels shows.
var digits = []int{-5, -3, -1, 1, 3, 5}

// probe evaluates a node on drawn numbers.
type probe struct {
	n       *ir.Node
	in      []*tensor.Dense // constants
	at      []int           // operands that are followed
	channel [][]int         // of their elements, counted over all sources
	trails  []trail
	gain    []float64 // of every channel
	bias    []float64 // of every result
}

// probeOf is nil for nodes that cannot be one of these.
func (r *region) probeOf(n *ir.Node) *probe {
	if n.Op.Eval == nil || n.Op.Impure || len(n.Body) > 0 || len(n.Out) != 1 || n.Out[0].Type.DType != tensor.F32 ||
		ir.Work(n) > mostProbed {
		return nil
	}
	p := &probe{n: n, in: make([]*tensor.Dense, len(n.In)), gain: make([]float64, r.channels())}
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const != nil && v.Type.DType.IsFloat():
			p.in[i] = v.Const.Cast(tensor.F64)
		case v.Const != nil:
			p.in[i] = v.Const
		case v.Type.DType != tensor.F32 || !r.operand(p, i):
			return nil
		}
	}
	return p
}

// operand adds one that is followed; false where that is not so, or a channel has several gains.
func (r *region) operand(p *probe, i int) bool {
	t := r.trails[p.n.In[i]]
	if t == nil {
		return false
	}
	of := make([]int, len(t))
	for e, m := range t {
		if m.from < 0 {
			return false
		}
		s := r.of(m.from)
		c := s.first + s.channel(m.from)
		if of[e] = c; p.gain[c] == 0 {
			p.gain[c] = m.gain
		}
		if !near(p.gain[c], m.gain) {
			return false
		}
	}
	p.at, p.channel, p.trails = append(p.at, i), append(p.channel, of), append(p.trails, t)
	return true
}

// channels counts those of all sources.
func (r *region) channels() (n int) {
	for _, s := range r.sources {
		s.first = n
		n += s.v.Type.Shape[s.axis]
	}
	return n
}

// of is what the node gives where element e of operand k, in channel c, is f(k, e, c).
func (p *probe) of(f func(k, e, c int) float64) []float64 {
	in := slices.Clone(p.in)
	for k, i := range p.at {
		x := lists.Make(len(p.channel[k]), func(e int) float64 { return f(k, e, p.channel[k][e]) })
		in[i] = tensor.Of(p.n.In[i].Type.Shape, x)
	}
	return fail.Must(ir.EvalNode(p.n, in))[0].Floats()
}

// kept follows an operator that computes with the elements of each channel alone.
func (r *region) kept(n *ir.Node) (done bool) {
	if !r.through {
		return false
	}

	p := r.probeOf(n)
	if p == nil {
		return false
	}
	zero := func(_, _, _ int) float64 { return 0 }
	p.bias = p.of(zero)
	if biased(n) {
		p.in[2] = nil
	}
	t, owner := filled(len(p.bias), mark{from: -1, gain: 1}), filled(len(p.bias), -1)
	for draw := range 2 {
		if !p.look(t, owner, uint64(draw)) {
			return false
		}
	}
	if slices.ContainsFunc(p.of(zero), func(x float64) bool { return x != 0 }) {
		return false
	}
	for e, c := range owner {
		if c >= 0 {
			t[e].from = r.element(c)
		}
	}
	mul := evenWeights(n)
	for e := range t {
		if len(mul) > 0 {
			m := mul[e/tensor.Count(n.Out[0].Type.Shape[2:])%len(mul)]
			t[e].gain, t[e].share = t[e].gain/m, t[e].share*m
		}
	}
	r.trails[n.Out[0]], r.kepts[n] = t, mul
	return true
}

// evenWeights are factors of the output channels of a convolution that give each of them weights of one
// size: some models hold units in them.
func evenWeights(n *ir.Node) []float64 {
	if n.Op != op.Conv {
		return nil
	}
	w := n.ConstIn(1).Floats()
	mul := make([]float64, n.In[1].Type.Shape[0])
	for i, x := range w {
		mul[i*len(mul)/len(w)] += math.Abs(x)
	}
	for o, sum := range mul {
		mul[o] = 1 / max(sum, 1e-30)
	}
	return mul
}

// biased reports an operator with weights and a bias that is constant.
func biased(n *ir.Node) bool { return weightAxis(n) >= 0 && n.ConstIn(2) != nil }

// element is one of a channel, counted over all sources.
func (r *region) element(channel int) int {
	i := len(r.sources) - 1
	for r.sources[i].first > channel {
		i--
	}
	s := r.sources[i]
	return s.at + (channel-s.first)*tensor.Count(s.v.Type.Shape[s.axis+1:])
}

// look notes for drawn numbers which channel every result is of, and what becomes of factors and
// offsets; false where it is of several, where they become other things, or where another draw said
// otherwise.
func (p *probe) look(t trail, owner []int, draw uint64) bool {
	r := rand.New(rand.NewPCG(draw, 1))
	x := make([][]float64, len(p.at))
	for k := range x {
		x[k] = make([]float64, len(p.channel[k]))
		for e := range x[k] {
			x[k][e] = r.NormFloat64()
		}
	}
	scaled := func(power func(c int) int) []float64 {
		return p.of(func(k, e, c int) float64 { return math.Ldexp(x[k][e], power(c)) })
	}
	one := scaled(func(int) int { return 0 })
	of := p.numbers(one, scaled)
	powers := lists.Make(len(p.gain), func(int) int { return r.IntN(81) - 40 })
	for e, y := range scaled(func(c int) int { return powers[c] }) {
		c := of[e]
		if c == none {
			continue
		}
		if c < 0 || c >= len(powers) || powerOf(y, one[e]) != powers[c] || owner[e] >= 0 && owner[e] != c {
			return false
		}
		owner[e] = c
	}
	return p.offsets(t, owner, x, one, draw > 0)
}

// none and several are numbers of results that are of no channel, and that may be of several.
const none, several = -1, -2

// numbers are the channels of results, one being what they are, scaled what they become of powers of two.
func (p *probe) numbers(one []float64, scaled func(power func(c int) int) []float64) []int {
	of := make([]int, len(one))
	for place := 1; place < len(p.gain) || place == 1; place *= len(digits) {
		for e, y := range scaled(func(c int) int { return digits[c/place%len(digits)] }) {
			d := slices.Index(digits, powerOf(y, one[e]))
			switch {
			case y == 0 && one[e] == 0:
				of[e] = none
			case d < 0 || of[e] < 0:
				of[e] = several
			default:
				of[e] += d * place
			}
		}
	}
	return of
}

// powerOf is the exponent k where y is 2^k times x; a number out of all ranges where there is none.
func powerOf(y, x float64) int {
	l := math.Log2(y / x)
	if k := math.Round(l); math.Abs(l-k) < 1e-6 {
		return int(k)
	}
	return math.MinInt
}

// offsets notes what becomes of offsets, and of factors with them; false where that depends on the
// numbers, of which one is what they give by themselves.
func (p *probe) offsets(t trail, owner []int, x [][]float64, one []float64, again bool) bool {
	share := p.of(func(k, e, _ int) float64 { return x[k][e] + p.trails[k][e].share })
	whole := p.of(func(k, e, c int) float64 { return x[k][e]*p.gain[c] + p.trails[k][e].shift })
	for e, c := range owner {
		gain, size := 1.0, max(math.Abs(whole[e]), 1e-30)
		if c >= 0 {
			gain = p.gain[c]
		}
		part, shift := share[e]-one[e], whole[e]-gain*one[e]
		if math.Abs(part) < 1e-6 {
			part = 0
		}
		if math.Abs(shift) < 1e-9*size {
			shift = 0
		}
		shift += p.bias[e]
		if again && (math.Abs(part-t[e].share) > 1e-7 || math.Abs(shift-t[e].shift) > 1e-7*max(size, math.Abs(shift))) {
			return false
		}
		t[e].gain, t[e].share, t[e].shift = gain, part, shift
	}
	return true
}
