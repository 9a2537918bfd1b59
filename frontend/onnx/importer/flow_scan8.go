// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"
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
		var state []*ir.Value
		for _, v := range in[:states] {
			state = append(state, c.part(v, b))
		}
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
	result := make([]*ir.Value, len(outs))
	for i, vs := range outs {
		result[i] = c.Stack(vs)
	}
	return result
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

// part is one place of the first dimension.
func (c *nodeImport) part(v *ir.Value, at int) *ir.Value {
	return c.Reshape(c.Cut(v, 0, at, at+1, 1), v.Type.Shape[1:]...)
}
