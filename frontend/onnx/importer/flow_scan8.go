package importer

import (
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
)

// batchedScan is Scan of opset 8: every input and output has a batch
// dimension in front, scan inputs and outputs then a sequence dimension, and
// the body is run for every sample by itself. An optional first input holds
// the lengths of the sequences; all of them must be whole.
func (c *nodeImport) batchedScan() []*ir.Value {
	g, k := c.subgraph("body"), c.Int("num_scan_inputs", 0)
	in := c.In
	c.Want(len(in) > 0 && in[0] == nil, "op-unsupported",
		"sequence_lens of Scan of opset 8 are not supported; export with opset 9 or newer")
	in = in[1:]
	states := len(in) - k
	c.Want(k >= 1 && states >= 0 && len(g.GetOutput()) >= states, "arity",
		"num_scan_inputs is %d, but there are %d inputs and %d outputs of the body", k, len(in), len(g.GetOutput()))
	directions := c.IntList("directions")
	c.Want(directions == nil || len(directions) == k, "attr-value", "directions has %d values, want %d", len(directions),
		k)
	batch, steps := -1, -1
	for i, v := range in {
		c.Want(v != nil && v.Type.Rank() >= 1 && (i < states || v.Type.Rank() >= 2), "rank",
			"input %d is missing or has too low a rank", i+1)
		c.Want(batch < 0 || v.Type.Shape[0] == batch, "shape", "inputs have batches of %d and %d", batch, v.Type.Shape[0])
		batch = v.Type.Shape[0]
		if i >= states {
			c.Want(steps < 0 || v.Type.Shape[1] == steps, "shape", "scan inputs have %d and %d steps", steps, v.Type.Shape[1])
			steps = v.Type.Shape[1]
		}
	}
	c.Want(batch >= 1 && steps >= 1 && steps <= c.Limits.Trips/batch, "flow-trips",
		"%d samples of %d steps, want 1 to %d in all, which are unrolled; %s", batch, steps, c.Limits.Trips,
		model.Raise("trips"))
	outs := make([][]*ir.Value, len(g.GetOutput())) // per output: one value a sample
	part := func(v *ir.Value, axis, at int) *ir.Value {
		shape := append(append([]int{}, v.Type.Shape[:axis]...), v.Type.Shape[axis+1:]...)
		return c.Reshape(c.Cut(v, axis, at, at+1, 1), shape...)
	}
	for b := range batch {
		var state []*ir.Value
		for _, v := range in[:states] {
			state = append(state, part(v, 0, b))
		}
		scans := make([][]*ir.Value, len(outs)-states)
		for t := range steps {
			args := append([]*ir.Value(nil), state...)
			for i, v := range in[states:] {
				at := t
				if directions != nil && directions[i] != 0 {
					at = steps - 1 - t
				}
				args = append(args, part(part(v, 0, b), 0, at))
			}
			out := c.inline(g, c.Name+"/"+strconv.Itoa(b)+"."+strconv.Itoa(t)+"/", args, nil)
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
	result := make([]*ir.Value, len(outs))
	for i, vs := range outs {
		result[i] = c.Stack(vs)
	}
	return result
}
