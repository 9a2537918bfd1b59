// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/stream"
)

// join puts b behind a.
func join(a, b *tensor.Dense, axis int) *tensor.Dense {
	s := slices.Clone(a.Shape)
	s[axis] += b.Shape[axis]
	y := tensor.New(a.DType, s)
	for i := range y.Len() {
		at := i / tensor.Count(s[axis+1:]) % s[axis]
		src, k := a, at
		if at >= a.Shape[axis] {
			src, k = b, at-a.Shape[axis]
		}
		inner := tensor.Count(s[axis+1:])
		outer := i / inner / s[axis]
		y.SetFloat(i, src.Float((outer*src.Shape[axis]+k)*inner+i%inner))
	}
	return y
}

// fed runs the streaming form step by step beside the whole window.
func fed(t *testing.T, g *ir.Graph, r *stream.Result, axis, steps int, seed uint64) {
	t.Helper()
	state := map[string]*tensor.Dense{}
	for _, s := range r.States {
		state[s.In] = s.Init
	}
	x := g.In[0].Type
	window := tensor.New(x.DType, x.Shape)
	for k := range steps {
		s := slices.Clone(x.Shape)
		s[axis] = r.Hop
		frames := ir.Rand(seed*100+uint64(k)+1, x.DType, s)
		window = join(window.Slice(axis, r.Hop, r.Window), frames, axis)
		want := irtest.Run(t, g, []*tensor.Dense{window})
		var in []*tensor.Dense
		for _, v := range r.Graph.In {
			if d := state[v.Name]; d != nil {
				in = append(in, d)
			} else {
				in = append(in, frames)
			}
		}
		got := irtest.Run(t, r.Graph, in)
		for i, name := range r.Graph.OutNames {
			if i < len(want) {
				if !tensor.Equal(want[i], got[i]) {
					t.Fatalf("seed %d step %d: output %s differs from that of the whole window\n%s\n%s", seed, k, name,
						g, r.Graph)
				}
				continue
			}
			state[strings.TrimSuffix(name, ".next")] = got[i]
		}
	}
}

// TestRandom: random networks with and without padding, on either axis, give
// step by step what they give for the whole window.
func TestRandom(t *testing.T) {
	streamed, less := 0, 0
	for seed := range uint64(160) {
		g := irtest.Gen(seed, tensor.F64)
		for axis := 2; axis < g.In[0].Type.Rank(); axis++ {
			r, err := stream.Apply(g, stream.Options{Axis: axis})
			if err != nil {
				continue
			}
			irtest.Verify(t, r.Graph)
			streamed++
			if r.StepMACs < r.MACs {
				less++
			}
			fed(t, g, r, axis, 2*r.Window/r.Hop+2, seed)
		}
	}
	testenv.Check(t, streamed >= 60 && less >= 40, "only %d networks stream, %d with less work", streamed, less)
}

// TestPads: convolutions with any padding along the axis, also so much that
// rows at either end read nothing else, stream and give what the whole window gives.
func TestPads(t *testing.T) {
	streamed, nothing := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 5))
		var layers strings.Builder
		rows := 14 + r.IntN(8)
		last := "x"
		for i := range 1 + r.IntN(2) {
			kernel, stride, dilation := 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
			above, below := r.IntN(5), r.IntN(5)
			reach := (kernel - 1) * dilation
			if above > reach || below > reach {
				nothing++
			}
			fmt.Fprintf(&layers, "  const %%w%d : f64[3,3,%d] = rand %d\n", i, kernel, i+1)
			fmt.Fprintf(&layers, "  %%y%d = Conv(%%%s, %%w%[1]d) {strides=[%[3]d], dilations=[%d], pads=[%d,%d]}\n", i,
				last, stride, dilation, above, below)
			last = fmt.Sprint("y", i)
		}
		g := irtest.Parse(t, fmt.Sprintf("graph \"g\" {\n  in %%x : f64[1,3,%d]\n%s  out \"y\" = %%%s\n}", rows,
			layers.String(), last))
		s, err := stream.Apply(g, stream.Options{Axis: 2})
		testenv.Check(t, !bug.Is(err), "%v\n%s", err, g)
		if err != nil {
			continue
		}
		irtest.Verify(t, s.Graph)
		streamed++
		fed(t, g, s, 2, 2*s.Window/s.Hop+2, seed)
	}
	testenv.Check(t, streamed >= 60 && nothing >= 40, "only %d networks stream, %d layers have rows of padding alone",
		streamed, nothing)
}

// TestSmall has a network whose work and states can be told by hand.
func TestSmall(t *testing.T) {
	const src = `graph "g" {
  in %x : f64[1,2,20]
  const %w : f64[3,2,5] = rand 1
  const %v : f64[4,3,3] = rand 2
  %a = Conv(%x, %w)
  %r = Relu(%a)
  %b = Conv(%r, %v) {strides=[2]}
  %y = GlobalAveragePool(%b)
  out "y" = %y
}`
	g := irtest.Parse(t, src)
	r, err := stream.Apply(g, stream.Options{Axis: 2})
	testenv.OK(t, err)
	// stride 2: two frames a step; two rows of the first layer, one of the second
	testenv.Check(t, r.Hop == 2 && r.Window == 20, "%d frames of %d a step, want 2 of 20", r.Hop, r.Window)
	kept := map[string]int{}
	for _, s := range r.States {
		kept[s.In] = s.Init.Shape[2]
	}
	// a window of 5 needs 4 old rows; the one of 3 begins 4 rows before the end (the
	// 16 rows leave one over), 2 of them new; the pool all 7 rows but the new one
	for name, n := range map[string]int{"x.kept": 4, "r.kept": 2, "b.kept": 6} {
		testenv.Check(t, kept[name] == n, "%s has %d rows, want %d (%v)", name, kept[name], n, kept)
	}
	first, second := int64(2*3*2*5), int64(1*4*3*3)
	testenv.Check(t, r.StepMACs >= first+second && r.StepMACs <= first+second+7*4,
		"%d products a step, want %d and the pool's", r.StepMACs, first+second)
	fed(t, g, r, 2, 15, 1)
	// each layer's window is put together once: what the next step needs is cut out of it
	count := map[string]int{}
	for _, n := range r.Graph.Nodes {
		count[n.Op.Name]++
	}
	testenv.Check(t, count["Concat"] == 3 && count["Slice"] == 3,
		"%d times rows are put together and %d times cut out, want 3 and 3", count["Concat"], count["Slice"])

	_, err = stream.Apply(g, stream.Options{Axis: 2, Hop: 3})
	testenv.Refused(t, err, "multiple of 2 frames")
	if _, err = stream.Apply(g, stream.Options{Axis: 2, Hop: 20}); err == nil {
		t.Error("a step of the whole window is accepted")
	}
}

// TestBatchNorm: the numbers of a BatchNormalization, as quantised models keep it, are those of
// dimension 1: along others it streams, along that one every row has its own.
func TestBatchNorm(t *testing.T) {
	const src = `graph "g" {
  in %x : f64[1,4,20]
  const %w : f64[4,4,5] = rand 1
  const %s : f64[4] = {1,0.5,-1,2}
  const %v : f64[4] = {1,0.5,0.1,2}
  %a = Conv(%x, %w)
  %n = BatchNormalization(%a, %s, %s, %s, %v)
  %b = Conv(%n, %w)
  %y = GlobalAveragePool(%b)
  out "y" = %y
}`
	g := irtest.Parse(t, src)
	r, err := stream.Apply(g, stream.Options{Axis: 2})
	testenv.OK(t, err)
	testenv.Check(t, r.StepMACs*8 <= r.MACs, "%d of %d products a step", r.StepMACs, r.MACs)
	fed(t, g, r, 2, 25, 1)

	rows := irtest.Parse(t, `graph "g" {
  in %x : f64[1,6,3]
  const %w : f64[3,5] = rand 1
  const %s : f64[6] = {1,0.5,-1,2,3,-2}
  const %v : f64[6] = {1,0.5,0.1,2,1,1}
  const %u : f64[5,2] = rand 2
  %a = MatMul(%x, %w)
  %n = BatchNormalization(%a, %s, %s, %s, %v)
  %y = MatMul(%n, %u)
  out "y" = %y
}`)
	if r, err = stream.Apply(rows, stream.Options{Axis: 1}); err != nil {
		t.Fatal(err)
	}
	fed(t, rows, r, 1, 10, 1)
}

// TestSpectrum: frames of a signal, with a filter bank behind them; each step transforms
// new frames alone.
func TestSpectrum(t *testing.T) {
	for _, c := range []struct {
		attrs string
		anew  int // frames a step
	}{
		{"frames=9, pad=0", 1},
		{"frames=10, pad=8, lead=2", 3},
		{`frames=11, pad=16, mode="reflect"`, 4},
		{`frames=10, pad=5, mode="edge", power=1`, 3},
		{"frames=8, pad=-12, lead=7", 1},
	} {
		power := strings.Contains(c.attrs, "power")
		last := ""
		if !power {
			last = "%q : i64[1] = {3}\n%s = ReduceSumSquare(%p, %q) {keepdims=0}"
			last = "const " + last
		} else {
			last = "%s = Relu(%p)"
		}
		g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,160]
  const %w : f32[23] = rand 3
  %p = nncc.Spectrum(%x, %w) {length=32, bins=17, step=16, `+c.attrs+`}
  `+last+`
  const %m : f32[17,5] = rand 4
  %f = MatMul(%s, %m)
  out "f" = %f
}`)
		r, err := stream.Apply(g, stream.Options{Axis: 1})
		testenv.Require(t, err == nil, "%s: %v", c.attrs, err)
		frames := 0
		for _, n := range r.Graph.Nodes {
			if n.Op == op.Spectrum {
				frames += ir.AttrsOf[op.SpectrumAttrs](n).Frames
			}
		}
		testenv.Check(t, r.Hop == 16 && frames <= c.anew, "%s: %d frames for %d samples, want at most %d for 16",
			c.attrs, frames, r.Hop, c.anew)
		fed(t, g, r, 1, 25, 1)
	}
}
