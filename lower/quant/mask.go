package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maskDepth is how far below the smallest real score a masked one is put:
// exp(-18) is far below the step of a Softmax's output, 1/256.
const maskDepth = 18

// unmask narrows the ranges of values that only a Softmax reads and that
// contain masked elements (-inf or huge negative numbers): one scale for both
// would leave nothing of the scores.
func (c *calibrator) unmask() {
	for _, v := range c.values {
		s := c.obs.stats[v]
		if s.masked && !math.IsInf(s.open, 1) && c.feedsSoftmax(v) {
			s.lo = s.open - maskDepth
			continue
		}
		s.masked = false
	}
}

// feedsSoftmax reports that every reader of v is a quantised Softmax, or moves
// v's data to one.
func (c *calibrator) feedsSoftmax(v *ir.Value) bool {
	if c.g.IsOutput(v) || len(v.Uses()) == 0 {
		return false
	}
	for _, u := range v.Uses() {
		r, ok := c.rules[u.Node]
		switch {
		case !ok:
			return false
		case u.Node.Op == op.Softmax:
		case r.passive && len(u.Node.Out) == 1 && c.feedsSoftmax(u.Node.Out[0]):
		default:
			return false
		}
	}
	return true
}

// clipMask limits the negative elements of a constant that an Add lays over
// scores: low enough for the sum to saturate, whatever the score.
func (c *calibrator) clipMask(n *ir.Node, d *tensor.Dense) *tensor.Dense {
	s := c.obs.stats[n.Out[0]]
	if n.Op != op.Add || s == nil || !s.masked {
		return d
	}
	hi := 0.0
	for _, v := range n.In {
		if t := c.obs.stats[v]; t != nil {
			hi = max(hi, t.hi)
		}
	}
	least := s.lo - hi - 1
	out := d.Clone()
	for i, k := 0, d.Len(); i < k; i++ {
		if d.Float(i) < least {
			out.SetFloat(i, least)
		}
	}
	return out
}
