// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

func (c *nodeImport) ifElse() []*ir.Value {
	c.Want(len(c.In) == 1 && c.In[0] != nil, "arity", "has no condition")
	branch := func(attr string) build.Branch {
		g := c.subgraph(attr)
		return func(prefix string, names []string) []*ir.Value {
			if c.In[0].Const == nil {
				return c.branch(g, prefix)
			}
			return c.inline(g, prefix, nil, names)
		}
	}
	return c.If(c.In[0], branch("then_branch"), branch("else_branch"))
}

// branch imports a branch of an If whose condition is computed at run time. What is wrong
// in it need not be in the way of who knows the condition: they are told how to give it.
func (c *nodeImport) branch(g *pb.GraphProto, prefix string) []*ir.Value {
	before := len(c.im.errs)
	out, err := c.Run(func(*build.Node) []*ir.Value { return c.inline(g, prefix, nil, nil) })
	for i, e := range c.im.errs[before:] {
		if d := new(ir.Diag); errors.As(e, &d) && d.Hint == "" {
			h := *d
			h.Hint = fmt.Sprintf("the condition of If %s decides whether this is computed; %s", model.Quote(c.Name),
				build.BindHint(c.In[0]))
			c.im.errs[before+i] = &h
		}
	}
	fail.Check(err)
	return out
}

func (c *nodeImport) loop() []*ir.Value {
	g := c.subgraph("body")
	count, trips := c.Input(0), int64(-1)
	if count != nil {
		if count.Const == nil || count.Const.Len() != 1 {
			fail.Check(c.Dynamicf("flow-dynamic", count,
				"the trip count of this Loop (%s) is not known at compile time; only constant trip counts are "+
					"supported", model.Quote(c.InNames[0])))
		}
		trips = max(count.Const.Int(0), 0)
	}
	carried := slices.Clone(c.In[min(2, len(c.In)):])
	for i, v := range carried {
		c.Want(v != nil, "arity", "carried value %d is missing", i)
	}
	k := 1 + len(carried)
	c.Want(len(g.GetOutput()) >= k, "arity", "the body of this Loop has %d outputs, want at least %d",
		len(g.GetOutput()), k)
	u := c.Loop(trips, c.Input(1), carried, func(t int, prefix string, now []*ir.Value) (*ir.Value, []*ir.Value,
		[]*ir.Value) {
		args := append([]*ir.Value{c.Constant(".iteration", tensor.Scalar(int64(t)).Reshaped(ones(g, 0))),
			c.Constant(".condition", tensor.Scalar(true).Reshaped(ones(g, 1)))}, now...)
		out := c.inline(g, prefix, args, nil)
		return out[0], out[1:k], out[k:]
	})
	result := u.Carried
	for s := range len(g.GetOutput()) - k {
		i := len(carried) + s
		if i < len(c.Out) && c.Out[i] != "" && u.On != nil {
			fail.Check(c.Dynamicf("flow-dynamic", u.On, "the length of scan output %d of this Loop (%s) depends on a "+
				"condition that is computed at run time; want carried values only, or a condition known at compile "+
				"time", s, model.Quote(c.p.GetOutput()[i])))
		}
		parts := lists.Map(u.Scanned, func(scanned []*ir.Value) *ir.Value { return scanned[s] })
		result = append(result, c.scanOutput(parts, s, 0, i))
	}
	return result
}

// ones is the shape of an input that is one number: of as many dimensions as the body declares.
func ones(g *pb.GraphProto, input int) (shape []int) {
	if input < len(g.GetInput()) {
		for range g.GetInput()[input].GetType().GetTensorType().GetShape().GetDim() {
			shape = append(shape, 1)
		}
	}
	return shape
}

// scanOutput joins the values that all iterations have for scan output k along a new
// dimension axis: output i of the node; nil where nothing reads it.
func (c *nodeImport) scanOutput(vs []*ir.Value, k, axis, i int) *ir.Value {
	if i >= len(c.Out) || c.Out[i] == "" {
		return nil
	}
	c.Want(len(vs) > 0, "flow-empty", "scan output %d of this %s (%s) is empty, since it runs 0 times: its shape is "+
		"unknown", k, c.Op, model.Quote(c.p.GetOutput()[i]))
	rank := vs[0].Type.Rank() + 1
	c.Want(axis >= -rank && axis < rank, "axis", "output %d: axis %d is out of range for rank %d", i, axis, rank)
	axis = (axis + rank) % rank
	var parts []*ir.Value
	for t, v := range vs {
		c.WantWhole(fmt.Sprintf("iteration %d of scan output %d", t, k), v)
		s := fmt.Sprintf(".out%d.%d", i, t)
		shape := slices.Insert(slices.Clone(v.Type.Shape), axis, 1)
		parts = append(parts, c.Sub("Reshape", s, nil, v, c.Constant(s+".shape", tensor.Ints(shape...))))
	}
	return c.Add(op.Get("", "Concat"), c.Name, []string{c.Out[i]}, ir.Attrs{"axis": ir.Int(axis)}, parts...)[0]
}

// scan unrolls a Scan: the body once for every slice of its scan inputs.
func (c *nodeImport) scan() []*ir.Value {
	if c.Opset < 9 {
		return c.batchedScan()
	}
	g, k := c.subgraph("body"), c.Int("num_scan_inputs", 0)
	states := len(c.In) - k
	c.Want(k >= 1 && states >= 0, "arity", "num_scan_inputs is %d, but there are %d inputs", k, len(c.In))
	for i, v := range c.In {
		c.Want(v != nil, "arity", "input %d is missing", i)
	}
	nout := len(g.GetOutput()) - states
	c.Want(nout >= 0, "arity", "the body of this Scan has %d outputs, want at least %d", len(g.GetOutput()), states)
	inAxes, inDirs := c.perScan("scan_input_axes", k), c.perScan("scan_input_directions", k)
	outAxes, outDirs := c.perScan("scan_output_axes", nout), c.perScan("scan_output_directions", nout)
	trips := -1
	for i, v := range c.In[states:] {
		r := int64(v.Type.Rank())
		c.Want(inAxes[i] >= -r && inAxes[i] < r, "axis", "scan input %d: axis %d is out of range for shape %v", i,
			inAxes[i], v.Type.Shape)
		inAxes[i] = (inAxes[i] + r) % r
		n := v.Type.Shape[inAxes[i]]
		c.Want(trips < 0 || n == trips, "shape", "scan inputs have %d and %d slices, want the same number", trips, n)
		trips = n
	}
	c.Want(trips <= c.Limits.Trips, "flow-trips", "this Scan runs %d times, more than the %d that are unrolled; %s",
		trips, c.Limits.Trips, model.Raise("trips"))
	state, scans := c.In[:states:states], make([][]*ir.Value, nout)
	for t := range trips {
		args := slices.Clone(state)
		for i, v := range c.In[states:] {
			at := t
			if inDirs[i] != 0 {
				at = trips - 1 - t
			}
			s := fmt.Sprintf(".%d.%d", i, t)
			args = append(args, c.Sub("Gather", s, ir.Attrs{"axis": ir.Int(int(inAxes[i]))}, v,
				c.Constant(s+".index", tensor.Scalar(int64(at)))))
		}
		out := c.inline(g, c.Name+"/"+strconv.Itoa(t)+"/", args, nil)
		state = out[:states:states]
		for i := range scans {
			scans[i] = append(scans[i], out[states+i])
		}
	}
	result := slices.Clone(state)
	for i, s := range scans {
		if outDirs[i] != 0 {
			slices.Reverse(s)
		}
		result = append(result, c.scanOutput(s, i, int(outAxes[i]), states+i))
	}
	return result
}

// perScan is an attribute with a value for each of n scan inputs or outputs; zeros
// where it is absent.
func (c *nodeImport) perScan(name string, n int) []int64 {
	v := c.IntList(name)
	if v == nil {
		return make([]int64, n)
	}
	c.Want(len(v) == n, "attr-value", "%s has %d values, want %d", name, len(v), n)
	return v
}

// batchedScan is Scan of opset 8: every input and output has a batch
// dimension in front, scan inputs and outputs then a sequence dimension, and
// the body is run for every sample by itself. An optional first input holds
// the lengths of the sequences; all of them must be whole.
func (c *nodeImport) batchedScan() []*ir.Value {
	g, k := c.subgraph("body"), c.Int("num_scan_inputs", 0)
	c.Want(len(c.In) > 0 && c.In[0] == nil, "op-unsupported",
		"sequence_lens of Scan of opset 8 are not supported; export with opset 9 or newer")
	in := c.In[1:]
	states := len(in) - k
	c.Want(k >= 1 && states >= 0 && len(g.GetOutput()) >= states, "arity",
		"num_scan_inputs is %d, but there are %d inputs and %d outputs of the body", k, len(in), len(g.GetOutput()))
	directions := c.perScan("directions", k)
	batch, steps := c.batchedSizes(in, states)
	c.Want(batch >= 1 && steps >= 1 && steps <= c.Limits.Trips/batch, "flow-trips",
		"%d samples of %d steps, want 1 to %d in all, which are unrolled; %s", batch, steps, c.Limits.Trips,
		model.Raise("trips"))
	outs := make([][]*ir.Value, len(g.GetOutput())) // per output: one value a sample
	for b := range batch {
		state := lists.Map(in[:states], func(v *ir.Value) *ir.Value { return c.part(v, b) })
		scans := make([][]*ir.Value, len(outs)-states)
		for t := range steps {
			args := slices.Clone(state)
			for i, v := range in[states:] {
				at := t
				if directions[i] != 0 {
					at = steps - 1 - t
				}
				args = append(args, c.part(c.part(v, b), at))
			}
			out := c.inline(g, c.Name+"/"+strconv.Itoa(b)+"."+strconv.Itoa(t)+"/", args, nil)
			for i, v := range out {
				c.WantWhole(fmt.Sprintf("output %d of the body", i), v)
			}
			state = out[:states:states]
			for i := range scans {
				scans[i] = append(scans[i], out[states+i])
			}
		}
		for i, v := range state {
			outs[i] = append(outs[i], v)
		}
		for i, s := range scans {
			outs[states+i] = append(outs[states+i], c.Stack(s))
		}
	}
	return lists.Map(outs, func(vs []*ir.Value) *ir.Value { return c.Stack(vs) })
}

// batchedSizes are the numbers of samples and steps that all inputs agree on.
func (c *nodeImport) batchedSizes(in []*ir.Value, states int) (batch, steps int) {
	batch, steps = -1, -1
	for i, v := range in {
		c.Want(v != nil && v.Type.Rank() >= 1 && (i < states || v.Type.Rank() >= 2), "rank",
			"input %d is missing or has too low a rank", i+1)
		c.Want(batch < 0 || v.Type.Shape[0] == batch, "shape", "inputs have batches of %d and %d", batch,
			v.Type.Shape[0])
		batch = v.Type.Shape[0]
		if i >= states {
			c.Want(steps < 0 || v.Type.Shape[1] == steps, "shape", "scan inputs have %d and %d steps", steps,
				v.Type.Shape[1])
			steps = v.Type.Shape[1]
		}
	}
	return batch, steps
}

func (c *nodeImport) part(v *ir.Value, at int) *ir.Value {
	return c.Reshape(c.Cut(v, 0, at, at+1, 1), v.Type.Shape[1:]...)
}

func (c *nodeImport) subgraph(attr string) *pb.GraphProto {
	for _, a := range c.p.GetAttribute() {
		if a.GetName() == attr && a.GetG() != nil {
			return a.GetG()
		}
	}
	c.Want(false, "attr-missing", "attribute %s is missing", attr)
	return nil
}

// inline imports the nodes of a subgraph into the surrounding graph. in are the
// values of its formal inputs; names are what its outputs are called outside (nil:
// their own names behind prefix).
func (c *nodeImport) inline(g *pb.GraphProto, prefix string, in []*ir.Value, names []string) []*ir.Value {
	s := newScope(c.scope, model.Shorten(prefix))
	c.Want(s.depth <= c.Limits.Depth, "nesting", "subgraphs are nested deeper than %d", c.Limits.Depth)
	c.Want(len(g.GetInput()) <= len(in), "arity", "the subgraph %s has %d inputs, want at most %d",
		model.Quote(g.GetName()), len(g.GetInput()), len(in))
	c.SpendCopy("a copy of its subgraph "+model.Quote(g.GetName()),
		len(g.GetInput())+len(g.GetOutput())+len(g.GetInitializer()))
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
	if len(c.im.errs) > before || c.TooMany {
		fail.Check(build.ErrReported)
	}
	var out []*ir.Value
	for i, vi := range g.GetOutput() {
		v, err := c.im.read(s, vi.GetName())
		c.Want(err != errMissing && (err != nil || v != nil), "subgraph-output",
			"output %d of the subgraph, %s, is produced by no node", i, model.Quote(vi.GetName()))
		fail.Check(err)
		out = append(out, v)
	}
	return out
}
