// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
	"github.com/nncc/nncc/lower/layout"
)

// mutant edits the node of a drawn graph into one that a model or a pass could
// bring about, too: other types, scales, sizes and attributes, constants for what was
// computed and the other way round.
type mutant struct {
	*rand.Rand
	*ir.Graph
	n *ir.Node
}

// mutate edits g, and reports whether it is valid then.
func mutate(r *rand.Rand, g *ir.Graph) (valid bool) {
	m := mutant{r, g, g.Nodes[0]}
	defer func() { // an attribute may be read for the first time now
		if recover() != nil {
			valid = false
		}
	}()
	switch r.IntN(6) {
	case 0:
		v := m.n.Out[r.IntN(len(m.n.Out))]
		v.Type = m.retyped(v.Type)
	case 1:
		m.attribute()
	default:
		if len(m.n.In) == 0 || !m.operand(r.IntN(len(m.n.In))) {
			return false
		}
	}
	return g.Reinfer(m.n) == nil && len(g.Verify()) == 0 && !beyond(g)
}

// attribute gives one attribute another number.
func (m *mutant) attribute() {
	if len(m.n.Op.Attrs) == 0 {
		return
	}
	spec := m.n.Op.Attrs[m.IntN(len(m.n.Op.Attrs))]
	switch spec.Kind {
	case ir.AttrInt:
		m.n.SetAttr(spec.Name, ir.Int(m.IntN(6)-2))
	case ir.AttrFloat:
		m.n.SetAttr(spec.Name, ir.Float([]float32{-1, 0, 1e-30, 0.5, 3, 1e30}[m.IntN(6)]))
	}
}

// operand replaces input i.
func (m *mutant) operand(i int) bool {
	v := m.n.In[i]
	if v == nil || len(m.n.Body) > 0 { // the body has the types of its operands
		return false
	}
	t, known := v.Type.WithOrder(nil), v.Const != nil
	switch m.IntN(4) {
	case 0:
		t = m.retyped(t)
	case 1:
		known = !known
	case 2:
		t = t.WithShape(m.resized(t.Shape))
	case 3:
		shape := slices.Insert(slices.Clone(t.Shape), 0, 1)
		if m.IntN(2) == 0 && len(t.Shape) > 0 {
			shape = t.Shape[1:]
		}
		t = t.WithShape(shape)
	}
	if !known {
		m.SetInput(m.n, i, m.AddInput(v.Name+"_x", t))
		return true
	}
	if t.Elems() > 1<<16 {
		return false
	}
	c := m.AddConst(v.Name+"_c", ir.Rand(m.Uint64(), t.DType, t.Shape))
	c.Type = t
	m.SetInput(m.n, i, c)
	return true
}

// resized is a shape with another size in one dimension.
func (m *mutant) resized(shape []int) []int {
	shape = slices.Clone(shape)
	if len(shape) > 0 {
		shape[m.IntN(len(shape))] = []int{0, 1, 2, 3, 7, 40000}[m.IntN(6)]
	}
	return shape
}

// retyped is another element type, or other scales.
func (m *mutant) retyped(t ir.Type) ir.Type {
	switch m.IntN(3) {
	case 0:
		return t.WithQuant([]tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I8, tensor.I32,
			tensor.I64, tensor.U8, tensor.Bool, tensor.I4}[m.IntN(10)], nil)
	case 1:
		return t.WithQuant([]tensor.DType{tensor.I8, tensor.I16, tensor.U8, tensor.I4, tensor.I32}[m.IntN(5)],
			ir.PerTensor([]float32{1e-30, 0.01, 1, 1e30}[m.IntN(4)], int32(m.IntN(2))))
	}
	if len(t.Shape) == 0 {
		return t.WithQuant(t.DType, nil)
	}
	q := &ir.Quant{Axis: m.IntN(len(t.Shape))}
	for range t.Shape[q.Axis] {
		q.Scale, q.Zero = append(q.Scale, 0.01), append(q.Zero, 0)
	}
	return t.WithQuant(tensor.I8, q)
}

// beyond reports a tensor that has more elements than any may have.
func beyond(g *ir.Graph) bool {
	return slices.ContainsFunc(slices.Concat(g.In, g.Out), func(v *ir.Value) bool {
		_, err := tensor.Elems(v.Type.Shape)
		return err != nil
	})
}

// withoutPanic is the panic of f as an error.
func withoutPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// reasoned says what is wrong with a refusal.
func reasoned(why []kernel.Reason) error {
	if len(why) == 0 || slices.ContainsFunc(why, func(r kernel.Reason) bool { return r.Code == "" || r.Text == "" }) {
		return fmt.Errorf("refused without a code or a reason: %v", why)
	}
	return nil
}

// asked matches the node of g with a row. A plan that was made before memory orders
// were known has the same calls as one made after.
func asked(g *ir.Graph, k *kernel.Kernel, table kernel.Table, o *kernel.Options) error {
	g = g.Clone()
	n := g.Nodes[0]
	early, why := k.Match(kernel.NewNode(n, o))
	switch {
	case early == nil:
		return reasoned(why)
	case huge(g):
		return nil
	}
	err := layout.Assign(g, func(m *ir.Node) kernel.Layout {
		if m == n {
			return early.Layout
		}
		c, err := table.Match(m, o)
		if err != nil {
			return kernel.Layout{}
		}
		return c.Layout
	}, layout.Options{NativeIO: true})
	if err != nil {
		return err
	}
	late, why := k.Match(kernel.NewNode(n, o))
	if late == nil {
		return fmt.Errorf("refused once it has memory orders: %v", why)
	}
	if a, b := early.Lower(), late.Lower(); !sameCalls(a, b) {
		return fmt.Errorf("calls depend on when the plan was made:\n%+v\n%+v", a, b)
	}
	return declared(early.Lower())
}

// declared finds a header of a family of kernels none of which is called: sources of what is called
// are emitted, so it would be missing.
func declared(l *call.Lowered) error {
	for _, h := range l.Headers {
		family, _, ok := strings.Cut(h, "/")
		if !ok {
			continue
		}
		called := slices.ContainsFunc(l.Functions(), func(f string) bool {
			return slices.Contains(strings.Split(f, "_"), family) ||
				family == "dsp" && strings.HasPrefix(f, "nncc_plain_") // of the same folder
		})
		if !called {
			return fmt.Errorf("%s is included, of which nothing is called: %v", h, l.Functions())
		}
	}
	return nil
}

// answers asks an accelerator about the node of g.
func answers(g *ir.Graph, a accel.Accelerator) error {
	n := g.Nodes[0]
	if b := a.Traits().Bfloat16; b != nil {
		b.Takes(n)
	}
	if why := a.CheckLegality(n); len(why) > 0 {
		return reasoned(why)
	}
	return nil
}

// sameCalls compares two lowerings, and what they can be cut into.
func sameCalls(a, b *call.Lowered) bool {
	x, y := *a, *b
	x.Cut, y.Cut = nil, nil
	if (a.Cut == nil) != (b.Cut == nil) || !reflect.DeepEqual(x, y) {
		return false
	}
	return a.Cut == nil || reflect.DeepEqual(a.Cut(2), b.Cut(2))
}

// TestMatchIsTotal: whatever valid node they are asked about, all rows and
// accelerators answer; a no has its reasons, a yes has calls. NNCC_RANDOM=FROM+N draws N
// nodes of every operator and precision.
func TestMatchIsTotal(t *testing.T) {
	seed, draws := testenv.Range(t, 8)
	for _, name := range testenv.Boards("host", "cortex-m55", "cortex-m4", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec := testenv.Must(boards.Load(name))(t)
			o := &kernel.Options{Core: coreOf(spec)}
			table := testenv.Must(lower.Kernels(spec.Kernels, *o))(t)
			r := rand.New(rand.NewPCG(uint64(seed), uint64(len(name))))
			check := func(g *ir.Graph, who string, f func() error) {
				err := withoutPanic(f)
				testenv.Check(t, err == nil, "%s: %v\n%s", who, err, g)
			}
			for _, d := range op.All() {
				for _, p := range kerneltest.Precisions {
					for i := range draws {
						g, valid := kerneltest.Draw(r, d, p, "l")
						for range i % 3 {
							valid = valid && mutate(r, g)
						}
						if !valid {
							continue
						}
						for _, k := range table[d] {
							check(g, k.Name+" ("+k.Doc+")", func() error { return asked(g, k, table, o) })
						}
						for _, a := range kinds.Table {
							check(g, a.Kind(), func() error { return answers(g, a) })
						}
					}
				}
			}
		})
	}
}
