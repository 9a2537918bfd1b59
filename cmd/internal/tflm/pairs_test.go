// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// pairOf draws an operator of two tensors, broadcast, one of them a constant sometimes.
func (l *layer) pairOf(limit func(x, y float64) float64, kind byte, fields ...any) {
	s := l.shape(4)
	a, b := slices.Clone(s), slices.Clone(s)
	if l.chance(0.4) {
		for i := range s {
			switch l.rng.IntN(4) {
			case 0:
				a[i] = 1
			case 1:
				b[i] = 1
			}
		}
		for i := range s {
			s[i] = max(a[i], b[i])
		}
	}
	x, y := l.in(a...), l.in(b...)
	if l.typ == "i16" && l.chance(0.3) {
		l.like(y, x)
	}
	if l.chance(0.3) {
		l.fill(y)
		l.Inputs = l.Inputs[:1]
	}
	var z int32
	if limit == nil {
		z = l.tensor("bool", s...)
		l.Outputs = append(l.Outputs, z)
	} else {
		z = l.output(l.typ, limit(l.limit(x), l.limit(y)), s...)
	}
	l.do(kind, fields, []int32{x, y}, z)
}

func arithmetic(kind byte, limit func(x, y float64) float64) func(l *layer) {
	return func(l *layer) { l.pairOf(limit, kind, l.act()) }
}

func comparison(kind byte) func(l *layer) { return func(l *layer) { l.pairOf(nil, kind) } }

func sum(x, y float64) float64     { return x + y }
func product(x, y float64) float64 { return x * y }

// common are operators of tensors that share a quantisation.
func common(kind byte) func(l *layer) {
	return func(l *layer) {
		l.pairOf(func(x, y float64) float64 { return max(x, y) }, kind)
		in := l.Ops[0].In
		l.like(in[1], in[0])
		l.like(l.Ops[0].Out[0], in[0])
	}
}

var pairs = []drawer{
	{"ADD", "i8 i16 f32 i32", arithmetic(11, sum)},
	{"SUB", "i16 f32 i8 i32", arithmetic(28, sum)},
	{"MUL", "i8 i16 f32 i32", arithmetic(21, product)},
	{"DIV", "i8 f32", func(l *layer) {
		l.least, l.most = 0.5, 9
		l.pairOf(func(x, y float64) float64 { return 8 * x / y }, 29, l.act())
		if l.typ == "i8" { // nothing is divided by zero
			l.Tensors[l.Ops[0].In[1]].Zero[0] = -128
			l.keepAway(l.Ops[0].In[1], -128)
		}
	}},
	{"MAXIMUM", "i8 i16 f32", common(39)},
	{"MINIMUM", "i8 i16 f32", common(39)},
	{"SQUARED_DIFFERENCE", "f32 i8 i16", func(l *layer) {
		l.pairOf(func(x, y float64) float64 { return (x + y) * (x + y) / 2 }, 76)
	}},
	{"PRELU", "f32 i8 i16", func(l *layer) {
		s := l.image(6)
		x := l.in(s...)
		kind := l.typ
		if kind == "i16" {
			kind = "i8"
		}
		a := l.fill(l.quantised(l.tensor(kind, 1, 1, s[3]), l.scale(-8), l.zero(kind)))
		l.do(0, nil, []int32{x, a}, l.output(l.typ, l.limit(x), s...))
	}},
	{"EQUAL", "f32 i32 i8", comparison(53)},
	{"NOT_EQUAL", "f32 i32 i8", comparison(54)},
	{"LESS", "f32 i32 i8", comparison(41)},
	{"LESS_EQUAL", "f32 i32 i8", comparison(46)},
	{"GREATER", "f32 i32 i8", comparison(44)},
	{"GREATER_EQUAL", "f32 i32 i8", comparison(45)},
	{"ADD_N", "i8 f32", func(l *layer) {
		s, n := l.shape(4), l.between(2, 4)
		var in []int32
		limit := 0.0
		for range n {
			in = append(in, l.in(s...))
			l.like(in[len(in)-1], in[0])
			limit += l.limit(in[0])
		}
		l.do(82, nil, in, l.output(l.typ, limit, s...))
	}},
}

// keepAway says that an operand has no element v.
func (l *layer) keepAway(t int32, v int8) {
	if d := l.Tensors[t].Data; d != nil {
		avoid(d, v)
		return
	}
	l.away = map[int32]int8{t: v}
}

// TestMisfits: drawn layers of which one tensor has another shape, type or quantisation than it
// should, or another place, are refused with a reason, or compiled; nothing panics.
func TestMisfits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.tflite")
	accepted, all := 0, 0
	from, count := testenv.Range(t, 2)
	for i, d := range drawers {
		for _, typ := range d.typesOf() {
			for seed := from; seed < from+count; seed++ {
				l := draw(d, typ, uint64(seed))
				misfit(rand.New(rand.NewPCG(uint64(seed), uint64(i))), &l.Graph)
				testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
				c := driver.Defaults()
				c.Model, c.Board, c.Name = path, "host", "net"
				_, err := c.Compile()
				if all++; err == nil {
					accepted++
				} else if bug.Is(err) {
					t.Errorf("seed %d: %v\n%s", seed, err, l)
				}
			}
		}
	}
	t.Logf("%d of %d are compiled", accepted, all)
	if accepted == 0 || accepted == all {
		t.Errorf("%d of %d misfits are compiled", accepted, all)
	}
}

// misfit changes one property of one tensor, or of an operator.
func misfit(rng *rand.Rand, g *tflitetest.Graph) {
	x, o := &g.Tensors[rng.IntN(len(g.Tensors))], &g.Ops[rng.IntN(len(g.Ops))]
	pick := func(v ...int32) int32 { return v[rng.IntN(len(v))] }
	switch what := rng.IntN(8); {
	case what == 0 && len(x.Shape) > 0:
		x.Shape = slices.Clone(x.Shape)
		x.Shape[rng.IntN(len(x.Shape))] = pick(0, -1, 1, 2, 7, 1<<16, math.MaxInt32, math.MinInt32)
	case what == 1:
		x.Shape = append(slices.Clone(x.Shape), pick(0, 1, 2, 1000))
	case what == 2 && len(x.Shape) > 0:
		x.Shape = x.Shape[:len(x.Shape)-1]
	case what == 3:
		x.Scale, x.Zero = []float32{[]float32{1e-45, 1e-38, 3e-10, 1, 1e10, 1e38}[rng.IntN(6)]}, []int64{0}
	case what == 4:
		x.Scale, x.Zero = nil, nil
	case what == 5:
		x.Type = int8(rng.IntN(20))
	case what == 6 && len(o.In) > 0:
		o.In = slices.Clone(o.In)
		o.In[rng.IntN(len(o.In))] = int32(rng.IntN(len(g.Tensors)+1)) - 1
	default:
		o.Code, o.Custom = int32(rng.IntN(150)), ""
	}
}
