// SPDX-License-Identifier: Apache-2.0

package fidelity

import (
	"math"
)

// Row sums up what was found on the way to one output.
type Row struct {
	Output string
	// Stretches that lead to it, in the order of the model; Wrong are those where
	// the program is too far off.
	Stretches, Wrong []*Stretch
	// Within are the stretches that have no bound in steps.
	Within []*Stretch
	// Worst is where the difference comes nearest to what is allowed, in steps;
	// Float the same in ulps. nil where nothing is compared so.
	Worst, Float *Stretch
}

// Rows are those of the named outputs, which are the model's.
func (c *Checker) Rows(outputs []string) []Row {
	var rows []Row
	for i, name := range outputs {
		r := Row{Output: name}
		in := map[*Stretch]bool{}
		if len(c.outs) == len(outputs) {
			reach(c.outs[i], in)
		}
		for _, s := range c.list {
			if in[s] || len(in) == 0 { // outputs of another form: everything leads to them
				r.add(s)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func reach(s *Stretch, in map[*Stretch]bool) {
	work := []*Stretch{s}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if in[s] {
			continue
		}
		in[s] = true
		work = append(work, s.reads...)
	}
}

func (r *Row) add(s *Stretch) {
	r.Stretches = append(r.Stretches, s)
	if s.Wrong > 0 {
		r.Wrong = append(r.Wrong, s)
	}
	worst := &r.Worst
	switch {
	case s.Within:
		r.Within = append(r.Within, s)
		return
	case s.Float:
		worst = &r.Float
	}
	if *worst == nil || s.over() > (*worst).over() {
		*worst = s
	}
}

// over orders stretches: by how far what is off is beyond what is allowed, then
// by how far it is off.
func (s *Stretch) over() float64 {
	if s.Wrong > 0 {
		return math.MaxFloat32 + s.Off
	}
	return s.Off
}
