// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// seen is what all candidates of one calibration share: the values of the float
// graph are the same for all.
type seen struct {
	all    *surveyedSamples
	in     func(part int) bool              // of all
	stats  map[int]*stats                   // by value
	rows   map[int]*rowStats                // by node
	ranges map[option.Method]map[int]affine // by method and first value of a group
	method map[int]option.Method            // by first value of a group, for option.PerLayer
	limits map[int]limit                    // by value
	mute   []bool                           // outputs that probes speak for
	held   [][]*tensor.Dense                // what probes see of the float graph on the samples that are held out
}

// surveyedSamples are samples in parts, and what one run on each of them tells.
type surveyedSamples struct {
	samples []Sample
	part    []int
	survey  *survey
	// heldFrom is the first part that is held out by somebody.
	heldFrom int
	average  bool // biases will be corrected
	// means and looks are those of the float graph, by the sample's key; looks those of
	// samples that are held out.
	means map[**tensor.Dense]sampleMeans
	looks map[**tensor.Dense][]*tensor.Dense
	peaks map[**tensor.Dense][]float64 // as those of a calibrator
}

// key tells samples apart, in whatever lists they are; those without inputs are all the same.
func (s Sample) key() **tensor.Dense {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

// keepSeen remembers statistics, ranges and limits for other candidates.
func (c *calibrator) keepSeen() {
	s := c.opt.seen
	if s == nil {
		return
	}
	s.stats, s.rows, s.limits = map[int]*stats{}, map[int]*rowStats{}, map[int]limit{}
	for v, x := range c.obs.stats {
		y := *x
		s.stats[v.ID] = &y
	}
	for n, r := range c.obs.rows {
		s.rows[n.ID] = r
	}
	for v, l := range c.limits {
		s.limits[v.ID] = l
	}
}

// takeSeen takes what an earlier candidate saw; false where there was none.
func (c *calibrator) takeSeen() bool {
	s := c.opt.seen
	if s == nil || s.stats == nil {
		return false
	}
	for v := range c.obs.stats {
		x := *s.stats[v.ID]
		c.obs.stats[v] = &x
	}
	for n := range c.obs.rows {
		c.obs.rows[n] = s.rows[n.ID]
	}
	c.limits = map[*ir.Value]limit{}
	limits := func(list []*ir.Value) {
		for _, v := range list {
			if l, ok := s.limits[v.ID]; ok {
				c.limits[v] = l
			}
		}
	}
	limits(c.g.In)
	for _, n := range c.g.Nodes {
		limits(n.Out)
	}
	return true
}
