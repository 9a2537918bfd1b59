// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// evaluator runs a graph on many samples as the reference interpreter does, but for sums
// of convolutions and matrix products, which are in float32 (op.Approximate). What depends
// on constants alone, such as dequantised weights, is computed and packed once, and the
// memory of values that nobody keeps is used again.
type evaluator struct {
	g     *ir.Graph
	plans map[*ir.Node]plan
	// only are the nodes that are evaluated; nil: all are.
	only map[*ir.Node]bool
	// lent are values of which the memory is used again: not of large ones, which would be
	// held by their lengths.
	lent map[*ir.Value]bool
	// returned are outputs of which the memory is used again once nobody looks at them.
	returned map[*ir.Value]bool
	memory   *memories
}

// plan is what an evaluator knows of a node; nothing where the interpreter evaluates it.
type plan struct {
	// kernel writes all of every output.
	kernel kernel
	// packs is how many inputs, from input 1 on, the kernel has packed where they are constants: it does not look at
	// them.
	packs int
	// constant are the outputs of a node that depends on constants alone, without data
	// where only kernels read them.
	constant []*tensor.Dense
}

type kernel func(in, out []*tensor.Dense)

// newEvaluator plans; g must not change before the last run. keeps says which values an
// observer keeps; nil: it may keep any. It uses memory of others; nil: it has its own.
func newEvaluator(g *ir.Graph, keeps func(v *ir.Value) bool, memory *memories) *evaluator {
	return evaluatorOf(g, keeps, nil, memory)
}

// evaluatorOf is newEvaluator of some of the nodes, which are all that theirs depend on; nil: of
// all. An observer sees nothing of others, and a run gives no outputs of theirs.
func evaluatorOf(g *ir.Graph, keeps func(v *ir.Value) bool, only map[*ir.Node]bool, memory *memories) *evaluator {
	if memory == nil {
		memory = &memories{}
	}
	e := &evaluator{g: g, plans: map[*ir.Node]plan{}, only: only, lent: map[*ir.Value]bool{},
		returned: map[*ir.Value]bool{}, memory: memory}
	last := map[*ir.Value]*ir.Node{}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			if e.evaluates(n) {
				last[v] = n
			}
		}
	}
	for _, n := range g.Nodes {
		if !e.evaluates(n) {
			continue
		}
		if k, packs := e.kernelOf(n); k != nil {
			e.plans[n] = plan{kernel: k, packs: packs}
		} else if in := e.constants(n); in != nil && weightAxis(n) < 0 {
			e.plans[n] = plan{constant: fail.Must(ir.EvalNode(n, in))}
		}
		for _, v := range n.In {
			if v != nil && last[v] == n {
				e.drop(v)
			}
		}
	}
	e.lend(keeps)
	return e
}

// drop lets go of a constant that was computed where kernels have what they need of it, and of a large one, which is
// computed again.
func (e *evaluator) drop(v *ir.Value) {
	n := v.Def
	switch {
	case n == nil || e.plans[n].constant == nil:
	case !e.g.IsOutput(v) && e.packed(v):
		e.plans[n].constant[slices.Index(n.Out, v)] = &tensor.Dense{DType: v.Type.DType, Shape: v.Type.Shape}
	case v.Type.Elems() >= largeElems:
		delete(e.plans, n)
	}
}

// lend says which results are memory of others.
func (e *evaluator) lend(keeps func(v *ir.Value) bool) {
	g := e.g
	for n, p := range e.plans {
		if p.kernel != nil && keeps != nil {
			for _, v := range n.Out {
				again := v.Type.Elems() < largeElems && !keeps(v) && e.onlyKernels(v) // others may hand parts of it on
				e.lent[v], e.returned[v] = again && !g.IsOutput(v), again && g.IsOutput(v)
			}
		}
	}
}

func (e *evaluator) evaluates(n *ir.Node) bool { return e.only == nil || e.only[n] }

// keepsNone is for observers that keep no value.
func keepsNone(*ir.Value) bool { return false }

// onlyKernels reports a value that nothing reads but kernels.
func (e *evaluator) onlyKernels(v *ir.Value) bool {
	return !slices.ContainsFunc(v.Uses(), func(u ir.Use) bool {
		return e.evaluates(u.Node) && e.plans[u.Node].kernel == nil
	})
}

// packed reports a constant of which kernels have what they need.
func (e *evaluator) packed(v *ir.Value) bool {
	return !slices.ContainsFunc(v.Uses(), func(u ir.Use) bool {
		return e.evaluates(u.Node) && e.plans[u.Node].kernel == nil || u.Index < 1 || u.Index > e.plans[u.Node].packs
	})
}

// constant is v where it depends on constants alone; nil otherwise.
func (e *evaluator) constant(v *ir.Value) *tensor.Dense {
	if v.Const != nil || v.Def == nil {
		return v.Const
	}
	if i := slices.Index(v.Def.Out, v); e.plans[v.Def].constant != nil {
		return e.plans[v.Def].constant[i]
	}
	return nil
}

// constants are the inputs of a node that depends on constants alone; nil for others.
func (e *evaluator) constants(n *ir.Node) []*tensor.Dense {
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v == nil {
			continue
		}
		if in[i] = e.constant(v); in[i] == nil {
			return nil
		}
	}
	if len(in) == 0 {
		return nil
	}
	return in
}

// kernelOf is how n is evaluated, nil where the interpreter does it.
func (e *evaluator) kernelOf(n *ir.Node) (k kernel, packs int) {
	fixed := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil {
			fixed[i] = e.constant(v)
		}
	}
	if len(n.In) == 0 || fixed[0] != nil {
		return nil, 0
	}
	return kernelOf(n, fixed)
}

// kernelOf is a kernel for n with those of its inputs that are constants, and how many of these it packs.
func kernelOf(n *ir.Node, fixed []*tensor.Dense) (k kernel, packs int) {
	at := func(i int) *tensor.Dense {
		if i < len(fixed) {
			return fixed[i]
		}
		return nil
	}
	switch {
	case n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear:
		return linearKernel(n), 2
	case n.Op == op.LSTM:
		if f := op.LSTMInto(n, at(1), at(2), at(3)); f != nil {
			return func(in, out []*tensor.Dense) {
				f(in, lists.Map(out, func(d *tensor.Dense) []float32 { return tensor.As[float32](d) }), nil)
			}, 3
		}
		return nil, 0
	case weightAxis(n) >= 0:
		if seldomRead(n, at(1)) {
			return nil, 0
		}
		if f := op.Approximate(n, at(1), at(2)); f != nil {
			return single(f), 2
		}
		return nil, 0
	case len(n.In) == 1 && n.Op.Scalar != nil:
		if k := tableKernel(n); k != nil {
			return k, 0
		}
	}
	if f := op.Into(n); f != nil {
		return single(f), 0
	}
	return nil, 0
}

// single is a kernel that writes one value of float32.
func single(f func(in []*tensor.Dense, y []float32)) kernel {
	return func(in, out []*tensor.Dense) { f(in, tensor.As[float32](out[0])) }
}

// fewPositions is how often weights are read at least for packing them to take little beside their products.
const fewPositions = 64

// seldomRead reports large weights that a few positions read: packed, they would be as large as what they are packed
// from, and stay in memory beside it.
func seldomRead(n *ir.Node, w *tensor.Dense) bool {
	return w != nil && w.Len() >= largeElems && n.Out[0].Type.Elems() < fewPositions*w.Shape[weightAxis(n)]
}

// linearKernel converts between float32 and int8 with one scale; nil for other nodes.
func linearKernel(n *ir.Node) kernel {
	t, q, ok := params(n)
	if !ok || q.PerAxis() || t != tensor.I8 {
		return nil
	}
	scale, zero := q.Scale[0], int64(q.Zero[0])
	switch {
	case n.Op == op.DequantizeLinear && n.Out[0].Type.DType == tensor.F32:
		return func(in, out []*tensor.Dense) {
			vec.Dequantise(tensor.As[int8](in[0]), scale, zero, tensor.As[float32](out[0]))
		}
	case n.Op == op.QuantizeLinear && n.In[0].Type.DType == tensor.F32 && !op.RoundsAway(n):
		return func(in, out []*tensor.Dense) {
			vec.Quantise(tensor.As[float32](in[0]), scale, zero, tensor.As[int8](out[0]))
		}
	}
	return nil
}

// tableKernel is a function of one element where that is an int8 with one scale,
// dequantised; nil for others.
func tableKernel(n *ir.Node) kernel {
	const levels = 1 << 8
	d := n.In[0].Def
	if d == nil || d.Op != op.DequantizeLinear || n.In[0].Type.DType != tensor.F32 || n.In[0].Type.Elems() < levels {
		return nil
	}
	t, q, ok := params(d)
	if !ok || q.PerAxis() || t != tensor.I8 {
		return nil
	}
	scale, zero := q.Scale[0], int64(q.Zero[0])
	x, table := make([]int8, levels), new([levels]float32)
	for i := range x {
		x[i] = int8(i + math.MinInt8)
	}
	vec.Dequantise(x, scale, zero, table[:])
	for i, f := range table {
		table[i] = float32(n.Op.Scalar(n, float64(f)))
	}
	return func(in, out []*tensor.Dense) {
		vec.Table(table, scale, zero, tensor.As[float32](in[0]), tensor.As[float32](out[0]))
	}
}

// memories are those of runs that ended, for others, of any graph: a sync.Pool would drop them with
// each collection of garbage, of which there are many in a calibration.
type memories struct {
	mu   sync.Mutex
	free []buffers
}

func (m *memories) get() buffers {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		b := m.free[n-1]
		m.free = m.free[:n-1]
		return b
	}
	return buffers{}
}

func (m *memories) put(b buffers) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, b)
}

// buffers are memory by element type and length.
type buffers map[bufferKey][]*tensor.Dense

type bufferKey struct {
	dtype tensor.DType
	elems int
}

// take gives memory for a value, whatever is in it.
func (b buffers) take(t ir.Type) *tensor.Dense {
	k := bufferKey{t.DType, t.Elems()}
	l := b[k]
	if len(l) == 0 {
		return tensor.New(t.DType, t.Shape)
	}
	b[k] = l[:len(l)-1]
	return l[len(l)-1].Reshaped(t.Shape)
}

// give takes memory back.
func (b buffers) give(d *tensor.Dense) {
	k := bufferKey{d.DType, d.Len()}
	b[k] = append(b[k], d)
}

// evaluation is one run, node by node.
type evaluation struct {
	*interp.Evaluation
	of     *evaluator
	memory buffers
}

// start begins a run as interp.Start does.
func (e *evaluator) start(in Sample, obs interp.Observer) *evaluation {
	return &evaluation{fail.Must(interp.Start(e.g, in, obs)), e, e.memory.get()}
}

// step evaluates the next node.
func (r *evaluation) step() {
	n := r.Next()
	p := r.of.plans[n]
	switch {
	case p.constant != nil:
		fail.Check(r.StepTo(p.constant))
		return
	case p.kernel == nil && r.of.evaluates(n):
		fail.Check(r.Step())
		return
	}
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil {
			in[i] = r.Value(v)
		}
	}
	if p.kernel == nil {
		r.Skip()
	} else {
		out := lists.Map(n.Out, func(v *ir.Value) *tensor.Dense { return r.memory.take(v.Type) })
		p.kernel(in, out)
		fail.Check(r.StepTo(out))
	}
	// The memory of those inputs that n was the last to read is used again.
	for i, v := range n.In {
		if v != nil && in[i] != nil && r.of.lent[v] && r.Value(v) == nil && !slices.Contains(n.In[:i], v) {
			r.memory.give(in[i])
		}
	}
}

// run is interp.Run.
func (e *evaluator) run(in Sample, obs interp.Observer) []*tensor.Dense {
	r := e.start(in, obs)
	for r.Left() > 0 {
		r.step()
	}
	e.memory.put(r.memory)
	return r.Outputs()
}

// release takes the memory of a run's outputs back, which nobody looks at any more.
func (e *evaluator) release(outs []*tensor.Dense) {
	memory := e.memory.get()
	for i, v := range e.g.Out {
		if outs[i] != nil && e.returned[v] && !slices.Contains(e.g.Out[:i], v) {
			memory.give(outs[i])
		}
	}
	e.memory.put(memory)
}
