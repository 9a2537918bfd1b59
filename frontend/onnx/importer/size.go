// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
)

// checkSizes refuses graphs that no microcontroller runs and that calibration
// and the interpreter would take hours and gigabytes for: values of too many
// elements, and too much work in all. It names every such value, and the
// nodes with the most work.
func (im *importer) checkSizes() {
	large := func(where, what string, v *ir.Value) {
		if n := int64(v.Type.Elems()); n > im.Limits.Elements {
			im.report(&ir.Diag{Code: "too-large", Node: where, Hint: model.Raise("elements"),
				Msg: fmt.Sprintf("too large: %s has shape %v, %d elements, more than %d", what, v.Type.Shape, n,
					im.Limits.Elements)})
		}
	}
	for _, v := range im.Graph.In {
		large("input "+model.Quote(v.Name), "it", v)
	}
	sum, most := int64(0), int64(-1)
	var worst *ir.Node
	for _, n := range im.Graph.Nodes {
		work := int64(0)
		if n.Op.MACs != nil {
			work = max(0, n.Op.MACs(n))
		}
		if n.Op.Work != nil {
			work = max(work, n.Op.Work(n))
		}
		for i, v := range n.Out {
			if v != nil {
				large(n.String(), fmt.Sprintf("output %d", i), v)
				work += min(int64(v.Type.Elems()), math.MaxInt64-work)
			}
		}
		if sum += work; sum < 0 {
			sum = math.MaxInt64
		}
		if work > most {
			most, worst = work, n
		}
	}
	if sum > im.Limits.Work {
		im.report(&ir.Diag{Code: "too-large", Node: worst.String(), Hint: model.Raise("work"),
			Msg: fmt.Sprintf("too large: one inference takes %d elements and multiplications, more than %d; most of "+
				"them, %d, are this node's", sum, im.Limits.Work, most)})
	}
}
