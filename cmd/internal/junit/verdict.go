// SPDX-License-Identifier: Apache-2.0

package junit

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/lower/verify"
)

// OfVerdict is a verification: a case for the run, for every output against the
// program, stored outputs and the model, and, where layers were compared, for
// every layer.
func OfVerdict(name string, v *report.Verdict) Suite {
	s := Suite{Name: name, Properties: []Property{{"board", v.Board}, {"cases", fmt.Sprint(v.Cases)},
		{"instructions", fmt.Sprint(v.Instructions)}, {"arena_bytes", fmt.Sprint(v.RAM["arena_bytes"])},
		{"stack_bytes", fmt.Sprint(v.StackBytes)}}}
	if v.Bound != nil {
		s.Properties = append(s.Properties, Property{"stack_bound_bytes", fmt.Sprint(*v.Bound)})
	}
	run := Case{Class: name + ".run", Name: v.Board}
	if v.Failure != "" {
		run.Failure = &Problem{"run", v.Failure, v.Failure}
	}
	s.Cases = append(s.Cases, run)
	for _, o := range v.Outputs {
		s.Cases = append(s.Cases, output(name+".output", o, "the reference interpreter"))
	}
	for _, o := range v.Golden {
		s.Cases = append(s.Cases, output(name+".golden", o, "the stored output"))
	}
	for _, f := range v.Fidelity {
		s.Cases = append(s.Cases, model(name+".model", f))
	}
	if v.LayerCases > 0 {
		for _, l := range v.Layers {
			s.Cases = append(s.Cases, layer(name+".layer", l, v.FirstWrong))
		}
	}
	return s
}

func output(class string, o verify.Output, from string) Case {
	c := Case{Class: class, Name: o.Name}
	if o.Mismatches > 0 {
		m := fmt.Sprintf("%d of %d elements differ from %s, by up to %.4g", o.Mismatches, o.Elements, from,
			o.MaxAbsDiff)
		c.Failure = &Problem{"mismatch", m, m}
	}
	return c
}

// model is the program against the model itself.
func model(class string, f verify.Fidelity) Case {
	c := Case{Class: class, Name: f.Output}
	if len(f.Differs) > 0 {
		var all []string
		for _, d := range f.Differs {
			all = append(all, d.Text())
		}
		c.Failure = &Problem{"fidelity", "not what the model says: " + all[0], strings.Join(all, "\n")}
	}
	return c
}

func layer(class string, l report.LayerVerdict, first *verify.LayerDifference) Case {
	c := Case{Class: class, Name: l.Name}
	if l.Mismatches == 0 {
		return c
	}
	m := fmt.Sprintf("%d elements differ from the reference interpreter", l.Mismatches)
	more := m + "\nkernel " + l.Kernel
	if first != nil && first.Name == l.Name {
		more += fmt.Sprintf("\nthe first layer that differs: value %s, case %d: %d elements, largest difference %.4g",
			first.Value, first.Case, first.Mismatches, first.MaxAbsDiff)
	}
	c.Failure = &Problem{"mismatch", m, more}
	return c
}
