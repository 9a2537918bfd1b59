// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

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
