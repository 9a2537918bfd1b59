// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
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
	// reported: the report has figures of the samples that are held out.
	reported bool
	held     [][]*tensor.Dense // what probes see of the float graph on the samples that are held out
}

// surveyedSamples are samples in parts, and what one run on each of them tells.
type surveyedSamples struct {
	samples []Sample
	part    []int
	survey  *survey
	// heldFrom is the first part that is held out by somebody.
	heldFrom int
	unseen   func(part int) bool // parts that nobody calibrates on; nil: none
	average  bool                // biases will be corrected
	// refined are the samples, by key, with which weights and biases are refined by somebody.
	refined map[**tensor.Dense]bool
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

// keysOf are those of some samples.
func keysOf(samples []Sample) map[**tensor.Dense]bool {
	keys := map[**tensor.Dense]bool{}
	for _, s := range samples {
		keys[s.key()] = true
	}
	return keys
}

// hold runs the float graph on samples that are held out, unless the survey did, for what
// probes see of them. see, which may be nil, gives an observer of the values of a sample.
func (s *seen) hold(c *calibrator, float *ir.Graph, held []Sample, see func(i int) interp.Observer) error {
	names, _ := probes(float)
	watched := map[int]bool{}
	if c.obs != nil {
		for v := range c.obs.stats {
			watched[v.ID] = true
		}
	}
	e, looks := newEvaluator(float, keptBy(names), c.opt.memory), make([][]*tensor.Dense, len(held))
	err := forSamples(len(held), float.Nodes, func(_, i int) error {
		looks[i] = s.all.looks[held[i].key()]
		if looks[i] != nil && see == nil {
			return nil
		}
		also := func(*ir.Value, *tensor.Dense) {}
		if see != nil {
			also = see(i)
		}
		var bad error
		found := newLook(names)
		out, err := e.run(held[i], func(v *ir.Value, d *tensor.Dense) {
			if found.see(v.Name, d); watched[v.ID] && bad == nil && rangeOf(tensor.As[float32](d)).nan {
				bad = notANumber(v)
			}
			also(v, d)
		})
		looks[i] = append(out, found.values...)
		return cmp.Or(err, bad)
	})
	s.held = looks
	return err
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
