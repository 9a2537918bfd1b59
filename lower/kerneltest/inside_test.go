// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// positions are inputs that say where something lies in another form than as an index with limits: coordinates,
// shifts, numbers that name one of several things.
var positions = map[*ir.OpDef][]int{op.GridSample: {1}, op.DeformConv: {2}, op.RoiAlign: {1}, op.OneHot: {0},
	op.TfIdfVectorizer: {0}, op.TreeEnsemble: {0}, op.NonMaxSuppression: {0, 1}, op.Detections: {0, 1}, op.Unique: {0},
	op.TopK: {0}, op.BitShift: {1}, op.Trilu: {1}, op.Lookup: {0}, op.InterpolatedLUT: {0}, op.Cast: {0}, op.Pow: {1},
	op.Mod: {1}}

// TestInside: whatever numbers inputs hold that are indices, lengths, counts or positions, at their limits and
// beyond, firmware neither reads nor writes outside its tensors, in the arena and, for every second layer, in the
// state. It refuses what the interpreter refuses, and is right otherwise. NNCC_RANDOM=N draws N inputs of drawn
// layers on every board, or those of NNCC_BOARDS; NNCC_LONG 20,000; a plain go test a sample on some.
func TestInside(t *testing.T) {
	count := 0
	if testenv.Long() {
		count = 20_000
	}
	from, count := testenv.Range(t, count)
	for _, name := range testenv.Boards("host", "cortex-m55", "cortex-m4", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec, err := boards.Load(name)
			testenv.OK(t, err)
			cases := 40
			if count == 0 && name != "host" {
				cases = 8
			}
			d := &inside{t: t, opt: kernel.Options{Core: coreOf(spec), Memo: map[any]any{}},
				rand: rand.New(rand.NewPCG(38, uint64(from)))}
			if d.table, err = lower.Kernels(spec.Kernels, d.opt); err != nil {
				t.Fatal(err)
			}
			refused, computed := 0, 0
			for refused+computed < max(count, 1) {
				r, c := d.program(spec, cases)
				refused, computed = refused+r, computed+c
			}
			testenv.Check(t, refused != 0 && computed != 0, "%d refused, %d computed", refused, computed)
			t.Logf("%d draws: %d refused, %d computed", refused+computed, refused, computed)
		})
	}
}

// inside draws layers and inputs for a board.
type inside struct {
	t     *testing.T
	table kernel.Table
	opt   kernel.Options
	rand  *rand.Rand
	n     int
}

// layer is a drawn node with a row that takes it, nil where none does.
func (d *inside) layer() (*ir.Graph, *kernel.Kernel) {
	wanted := func(o *ir.OpDef) bool { return o.Limits != nil }
	if d.rand.IntN(4) == 0 {
		wanted = func(o *ir.OpDef) bool { return positions[o] != nil }
	}
	ops := slices.DeleteFunc(slices.Clone(op.All()), func(o *ir.OpDef) bool { return !wanted(o) })
	d.n++
	g, valid := kerneltest.Draw(d.rand, ops[d.rand.IntN(len(ops))],
		kerneltest.Precisions[d.rand.IntN(len(kerneltest.Precisions))], fmt.Sprintf("l%d", d.n))
	if g == nil || !valid || huge(g) {
		return nil, nil
	}
	rows := slices.DeleteFunc(slices.Clone(d.table[g.Nodes[0].Op]), func(k *kernel.Kernel) bool {
		return len(k.CheckLegality(kernel.NewNode(g.Nodes[0], &d.opt))) > 0
	})
	if len(rows) == 0 {
		return nil, nil
	}
	return g, rows[d.rand.IntN(len(rows))]
}

// program runs some layers on some cases, and gives how many layers of a case were refused and computed.
func (d *inside) program(spec *boards.Spec, cases int) (refused, computed int) {
	var text strings.Builder
	text.WriteString("graph \"layers\" {\n")
	row := map[string]*kernel.Kernel{}
	for len(row) < 30 {
		if g, k := d.layer(); k != nil {
			row[g.Nodes[0].Name] = k
			text.WriteString(inner(g))
		}
	}
	text.WriteString("}\n")
	g, err := ir.Parse(text.String(), op.Get)
	if err != nil {
		d.t.Fatalf("%v\n%.4000s", err, text.String())
	}
	var list [][]*tensor.Dense
	for range cases {
		list = append(list, d.inputs(g))
	}
	x := kerneltest.GuardEach(d.t, g, func(n *ir.Node) *kernel.Plan {
		if k := row[n.Name]; k != nil {
			p, _ := k.Match(kernel.NewNode(n, &d.opt))
			return p
		}
		c, err := d.table.Match(n, &d.opt) // what conversions between orders need
		if err != nil {
			d.t.Fatal(err)
		}
		return c.Plan
	})
	x.Near, x.Within = true, 256.0/(1<<24) // as verify allows
	opt := run.BuildOptions{}
	if d.opt.Core.Host {
		opt = kerneltest.Sanitized()
	}
	return x.RunCases(d.t, spec, opt, list)
}

// inputs are numbers for a case: what says where something lies is at a limit or beyond, the rest as usual.
func (d *inside) inputs(g *ir.Graph) []*tensor.Dense {
	in := irtest.Inputs(g, d.rand.Uint64()>>32)
	for i, v := range g.In {
		for _, u := range v.Uses() {
			for _, l := range ir.LimitsOf(u.Node) {
				if l.Input == u.Index {
					d.around(l, in[i])
				}
			}
			if slices.Contains(positions[u.Node.Op], u.Index) {
				d.odd(in[i])
			}
		}
	}
	return in
}

// around sets most elements of an input with limits to places within, in one case of two one of them beyond.
func (d *inside) around(l ir.Limit, x *tensor.Dense) {
	lo, hi := x.DType.IntRange()
	for i, n := 0, x.Len(); i < n; i++ {
		least, most := l.Least[i%len(l.Least)], l.Most[i%len(l.Most)]
		if most < least {
			return
		}
		x.SetInt(i, int64(least+d.rand.IntN(most-least+1)))
	}
	if x.Len() == 0 || d.rand.IntN(2) == 0 {
		return
	}
	i := d.rand.IntN(x.Len())
	least, most := int64(l.Least[i%len(l.Least)]), int64(l.Most[i%len(l.Most)])
	beyond := []int64{least, most, least - 1, most + 1, most + 2, 2 * most, least - d.rand.Int64N(100),
		most + d.rand.Int64N(100), lo, hi, hi - 1, lo + 1, math.MaxInt32, math.MinInt32, 1<<32 + most,
		1<<32 + least, -1 << 32, 1 << 31, 1 << 62}
	x.SetInt(i, min(max(beyond[d.rand.IntN(len(beyond))], lo), hi))
}

// odd sets one element in four of one input in two to what is seldom given.
func (d *inside) odd(x *tensor.Dense) {
	if d.rand.IntN(2) == 0 {
		return
	}
	reals := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e9, -1e9, 3e38, -3e38, 1, -1, 0.5, 1e-40, 4, 5, 6,
		2147483648, -2147483649, 1e18, 1e19}
	for i, n := 0, x.Len(); i < n; i++ {
		switch lo, hi := int64(0), int64(0); {
		case d.rand.IntN(4) > 0:
		case x.DType.IsFloat():
			x.SetFloat(i, reals[d.rand.IntN(len(reals))])
		case x.DType == tensor.Bool:
		default:
			lo, hi = x.DType.IntRange()
			x.SetInt(i, []int64{lo, hi, lo + 1, hi - 1, hi / 2}[d.rand.IntN(5)])
		}
	}
}
