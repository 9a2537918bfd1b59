package onnx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// graphAttr is the subgraph in an attribute.
func (c *nodeCtx) graphAttr(name string) (*pb.GraphProto, error) {
	for _, a := range c.p.GetAttribute() {
		if a.GetName() == name && a.GetG() != nil {
			return a.GetG(), nil
		}
	}
	return nil, c.errf("attr-missing", "attribute %s is missing", name)
}

// inlineGraph imports the nodes of a subgraph into the surrounding graph. in
// are the values of its formal inputs; names are what its outputs are called
// outside (nil: their own names behind prefix).
func (c *nodeCtx) inlineGraph(g *pb.GraphProto, prefix string, in []*ir.Value, names []string) ([]*ir.Value, error) {
	s := newScope(c.scope, shorten(prefix))
	if most := c.im.lim.Depth; s.depth > most {
		return nil, c.errf("nesting", "subgraphs are nested deeper than %d", most)
	}
	if len(g.GetInput()) > len(in) {
		return nil, c.errf("arity", "the subgraph %s has %d inputs, want at most %d", quote(g.GetName()), len(g.GetInput()), len(in))
	}
	if err := c.expand("a copy of its subgraph "+quote(g.GetName()), len(g.GetInput())+len(g.GetOutput())+len(g.GetInitializer())); err != nil {
		return nil, err
	}
	for i, vi := range g.GetOutput() {
		if i < len(names) {
			s.names[vi.GetName()] = names[i]
		}
	}
	before := len(c.im.errs)
	c.im.initializers(g, s)
	for i, vi := range g.GetInput() {
		s.set(vi.GetName(), in[i])
	}
	c.im.body(c.im.liveNodes(g), s, c.opsets)
	if len(c.im.errs) > before || c.im.tooMany {
		return nil, errPoisoned
	}
	var out []*ir.Value
	for i, vi := range g.GetOutput() {
		v, err := c.im.read(s, vi.GetName())
		switch {
		case err == errMissing || err == nil && v == nil:
			return nil, c.errf("subgraph-output", "output %d of the subgraph, %s, is produced by no node", i, quote(vi.GetName()))
		case err != nil:
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// outNames are the names of the node's results.
func (c *nodeCtx) outNames() []string {
	var s []string
	for _, o := range c.p.GetOutput() {
		s = append(s, c.scope.valueName(o))
	}
	return s
}

// ifElse takes the branch of an If whose condition is known at compile time.
// Otherwise both branches are computed, and the condition selects among their
// results: nothing that nncc compiles has side effects.
func ifElse(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) != 1 || c.in[0] == nil {
		return nil, c.errf("arity", "has no condition")
	}
	then, err := c.graphAttr("then_branch")
	if err != nil {
		return nil, err
	}
	other, err := c.graphAttr("else_branch")
	if err != nil {
		return nil, err
	}
	cond := c.in[0]
	if cond.Type.Elems() != 1 {
		return nil, c.errf("shape", "the condition %s has shape %v, want one element", quote(c.p.GetInput()[0]), cond.Type.Shape)
	}
	if d := cond.Const; d != nil {
		if d.Int(0) != 0 {
			return c.inlineGraph(then, c.name+"/", nil, c.outNames())
		}
		return c.inlineGraph(other, c.name+"/", nil, c.outNames())
	}
	a, err := c.inlineGraph(then, c.name+"/then/", nil, nil)
	if err != nil {
		return nil, err
	}
	b, err := c.inlineGraph(other, c.name+"/else/", nil, nil)
	if err != nil {
		return nil, err
	}
	if len(a) != len(b) || len(a) < len(c.p.GetOutput()) {
		return nil, c.errf("arity", "the branches have %d and %d outputs, the node %d", len(a), len(b), len(c.p.GetOutput()))
	}
	if cond.Type.Rank() > 0 {
		if cond, err = c.sub(op.Reshape, ".condition", nil, cond, c.constant(".scalar", tensor.Ints())); err != nil {
			return nil, err
		}
	}
	c.im.selected = append(c.im.selected, c.name)
	out := make([]*ir.Value, len(c.p.GetOutput()))
	for i := range out {
		if c.p.GetOutput()[i] == "" {
			continue
		}
		if !a[i].Type.Equal(b[i].Type) {
			return nil, c.errf("flow-types", "output %d is %s in one branch and %s in the other, and the condition of this If is computed at run time; want the same type and shape", i, a[i].Type, b[i].Type)
		}
		name := c.scope.valueName(c.p.GetOutput()[i])
		v, err := c.add(op.Get("", "Where"), name, []string{name}, nil, []*ir.Value{cond, a[i], b[i]})
		if err != nil {
			return nil, err
		}
		out[i] = v[0]
	}
	return out, nil
}

// noteSelected says once which conditions are computed at run time: nested
// ones may be thousands.
func (im *importer) noteSelected() {
	const named = 3
	var names []string
	for _, n := range im.selected[:min(named, len(im.selected))] {
		names = append(names, quote(n))
	}
	if more := len(im.selected) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		im.opt.Note(fmt.Sprintf("If %s: the condition is computed at run time; both branches are computed and the result is selected", strings.Join(names, ", ")))
	}
}

// running is whether a Loop that is unrolled still runs in an iteration: with a
// condition computed at run time, all iterations of a constant trip count are
// computed, and carried values stay what they are once the condition was false.
type running struct {
	*nodeCtx
	bounded bool      // by a trip count
	on      *ir.Value // a bool scalar; nil while it runs for sure
}

// and adds a condition before iteration t: 0 where it is known to be false.
func (r *running) and(v *ir.Value, what string, t int64) (int64, error) {
	if v.Type.Elems() != 1 || v.Type.DType != tensor.Bool {
		return 0, r.errf("shape", "the condition %s is %s, want one bool", v, v.Type)
	}
	if v.Const != nil {
		return v.Const.Int(0), nil
	}
	if !r.bounded {
		return 0, r.dynamicf("flow-dynamic", v, "%s; want a condition known at compile time, or a constant trip count, the most that is computed then", what)
	}
	if r.on == nil {
		r.im.opt.Note(fmt.Sprintf("Loop %s: the condition is computed at run time; all iterations are computed, and the results of those that count are kept", quote(r.name)))
	}
	s := fmt.Sprintf(".on%d", t)
	var err error
	if v.Type.Rank() > 0 {
		v, err = r.sub(op.Reshape, s+".scalar", nil, v, r.constant(s+".shape", tensor.Ints()))
	}
	if err == nil && r.on != nil {
		v, err = r.sub(op.Get("", "And"), s, nil, r.on, v)
	}
	r.on = v
	return 1, err
}

// carry selects between the carried values before and after iteration t.
func (r *running) carry(old, now []*ir.Value, t int64) ([]*ir.Value, error) {
	if r.on == nil {
		return now, nil
	}
	out := make([]*ir.Value, len(now))
	for i, v := range now {
		if !v.Type.Equal(old[i].Type) {
			return nil, r.errf("flow-types", "carried value %d is %s before iteration %d and %s after it, and the condition of this Loop is computed at run time; want the same type and shape", i, old[i].Type, t, v.Type)
		}
		var err error
		if out[i], err = r.sub(op.Get("", "Where"), fmt.Sprintf(".carried%d.%d", i, t), nil, r.on, v, old[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// loop unrolls a Loop whose trips are known at compile time: by a constant trip
// count, or by a condition that turns out to be constant in every iteration. A
// condition at run time needs a trip count as well, see running.
func loop(c *nodeCtx) ([]*ir.Value, error) {
	g, err := c.graphAttr("body")
	if err != nil {
		return nil, err
	}
	in := append([]*ir.Value(nil), c.in...)
	for len(in) < 2 {
		in = append(in, nil)
	}
	trips := int64(1<<63 - 1)
	if in[0] != nil {
		if in[0].Const == nil || in[0].Const.Len() != 1 {
			return nil, c.dynamicf("flow-dynamic", in[0], "the trip count of this Loop (%s) is not known at compile time; only constant trip counts are supported", quote(c.p.GetInput()[0]))
		}
		trips = in[0].Const.Int(0)
	}
	r := &running{nodeCtx: c, bounded: in[0] != nil}
	cond := int64(1)
	if in[1] != nil {
		if cond, err = r.and(in[1], "the condition of this Loop ("+quote(c.p.GetInput()[1])+") is computed at run time", 0); err != nil {
			return nil, err
		}
	}
	carried := in[2:]
	for i, v := range carried {
		if v == nil {
			return nil, c.errf("arity", "carried value %d is missing", i)
		}
	}
	scans := make([][]*ir.Value, max(0, len(g.GetOutput())-1-len(carried)))
	if len(g.GetOutput()) < 1+len(carried) {
		return nil, c.errf("arity", "the body of this Loop has %d outputs, want at least %d", len(g.GetOutput()), 1+len(carried))
	}
	for t := int64(0); t < trips && cond != 0; t++ {
		if t == int64(c.im.lim.Trips) {
			return nil, c.errf("flow-trips", "this Loop runs more than %d times, the most that is unrolled; %s", c.im.lim.Trips, raise("trips"))
		}
		args := append([]*ir.Value{c.constant(".iteration", tensor.Scalar(t)), c.constant(".condition", tensor.Scalar(true))}, carried...)
		out, err := c.inlineGraph(g, c.name+"/"+strconv.FormatInt(t, 10)+"/", args, nil)
		if err != nil {
			return nil, err
		}
		if carried, err = r.carry(carried, out[1:1+len(carried)], t); err != nil {
			return nil, err
		}
		if cond, err = r.and(out[0], "the body of this Loop computes its condition at run time", t+1); err != nil {
			return nil, err
		}
		for k := range scans {
			scans[k] = append(scans[k], out[1+len(carried)+k])
		}
	}
	result := append([]*ir.Value(nil), carried...)
	for k, s := range scans {
		i := len(carried) + k
		if i >= len(c.p.GetOutput()) || c.p.GetOutput()[i] == "" {
			result = append(result, nil)
			continue
		}
		if r.on != nil {
			return nil, c.dynamicf("flow-dynamic", r.on, "the length of scan output %d of this Loop (%s) depends on a condition that is computed at run time; want carried values only, or a condition known at compile time", k, quote(c.p.GetOutput()[i]))
		}
		if len(s) == 0 {
			return nil, c.errf("flow-empty", "scan output %d of this Loop (%s) is empty, since it runs 0 times: its shape is unknown", k, quote(c.p.GetOutput()[i]))
		}
		v, err := c.stack(s, 0, i)
		if err != nil {
			return nil, err
		}
		result = append(result, v)
	}
	return result, nil
}

// scan unrolls a Scan: the body once for every slice of its scan inputs.
func scan(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 9 {
		return expansion(batchedScan)(c)
	}
	g, err := c.graphAttr("body")
	if err != nil {
		return nil, err
	}
	k, err := c.takeInt("num_scan_inputs", 0)
	if err != nil {
		return nil, err
	}
	states := len(c.in) - int(k)
	if k < 1 || states < 0 {
		return nil, c.errf("arity", "num_scan_inputs is %d, but there are %d inputs", k, len(c.in))
	}
	for i, v := range c.in {
		if v == nil {
			return nil, c.errf("arity", "input %d is missing", i)
		}
	}
	nout := len(g.GetOutput()) - states
	if nout < 0 {
		return nil, c.errf("arity", "the body of this Scan has %d outputs, want at least %d", len(g.GetOutput()), states)
	}
	list := func(name string, n int) ([]int64, error) {
		v, err := c.takeInts(name)
		if err == nil && v != nil && len(v) != n {
			err = c.errf("attr-value", "%s has %d values, want %d", name, len(v), n)
		}
		if v == nil {
			v = make([]int64, n)
		}
		return v, err
	}
	var inAxes, inDirs, outAxes, outDirs []int64
	for _, a := range []struct {
		name string
		n    int
		to   *[]int64
	}{{"scan_input_axes", int(k), &inAxes}, {"scan_input_directions", int(k), &inDirs}, {"scan_output_axes", nout, &outAxes}, {"scan_output_directions", nout, &outDirs}} {
		if *a.to, err = list(a.name, a.n); err != nil {
			return nil, err
		}
	}
	trips := -1
	for i, v := range c.in[states:] {
		r := int64(v.Type.Rank())
		if inAxes[i] < -r || inAxes[i] >= r {
			return nil, c.errf("axis", "scan input %d: axis %d is out of range for shape %v", i, inAxes[i], v.Type.Shape)
		}
		inAxes[i] = (inAxes[i] + r) % r
		n := v.Type.Shape[inAxes[i]]
		if trips >= 0 && n != trips {
			return nil, c.errf("shape", "scan inputs have %d and %d slices, want the same number", trips, n)
		}
		trips = n
	}
	if trips > c.im.lim.Trips {
		return nil, c.errf("flow-trips", "this Scan runs %d times, more than the %d that are unrolled; %s", trips, c.im.lim.Trips, raise("trips"))
	}
	state := c.in[:states:states]
	scans := make([][]*ir.Value, nout)
	for t := range trips {
		args := append([]*ir.Value(nil), state...)
		for i, v := range c.in[states:] {
			at := t
			if inDirs[i] != 0 {
				at = trips - 1 - t
			}
			s := fmt.Sprintf(".%d.%d", i, t)
			x, err := c.sub(op.Get("", "Gather"), s, ir.Attrs{"axis": ir.Int(int(inAxes[i]))}, v, c.constant(s+".index", tensor.Scalar(int64(at))))
			if err != nil {
				return nil, err
			}
			args = append(args, x)
		}
		out, err := c.inlineGraph(g, c.name+"/"+strconv.Itoa(t)+"/", args, nil)
		if err != nil {
			return nil, err
		}
		state = out[:states:states]
		for i := range scans {
			if outDirs[i] != 0 {
				scans[i] = append([]*ir.Value{out[states+i]}, scans[i]...)
			} else {
				scans[i] = append(scans[i], out[states+i])
			}
		}
	}
	result := append([]*ir.Value(nil), state...)
	for i, s := range scans {
		if states+i >= len(c.p.GetOutput()) || c.p.GetOutput()[states+i] == "" {
			result = append(result, nil)
			continue
		}
		if len(s) == 0 {
			return nil, c.errf("flow-empty", "scan output %d of this Scan (%s) is empty: its shape is unknown", i, quote(c.p.GetOutput()[states+i]))
		}
		v, err := c.stack(s, int(outAxes[i]), states+i)
		if err != nil {
			return nil, err
		}
		result = append(result, v)
	}
	return result, nil
}

// stack joins the values of all iterations along a new dimension axis: output
// number out of the node.
func (c *nodeCtx) stack(vs []*ir.Value, axis, out int) (*ir.Value, error) {
	rank := vs[0].Type.Rank() + 1
	if axis < -rank || axis >= rank {
		return nil, c.errf("axis", "output %d: axis %d is out of range for rank %d", out, axis, rank)
	}
	axis = (axis + rank) % rank
	var parts []*ir.Value
	for i, v := range vs {
		shape := append(append(append([]int{}, v.Type.Shape[:axis]...), 1), v.Type.Shape[axis:]...)
		s := fmt.Sprintf(".out%d.%d", out, i)
		w, err := c.sub(op.Reshape, s, nil, v, c.constant(s+".shape", tensor.Ints(shape...)))
		if err != nil {
			return nil, err
		}
		parts = append(parts, w)
	}
	name := c.scope.valueName(c.p.GetOutput()[out])
	v, err := c.add(op.Get("", "Concat"), c.name, []string{name}, ir.Attrs{"axis": ir.Int(axis)}, parts)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}
