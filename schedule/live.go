package schedule

import "github.com/nncc/nncc/ir"

// Steps before the first and after the last one.
const before = -1

// lifetime of a value: from the first step that writes bytes of it (before,
// for inputs) to the last one that reads them, through views, too. len(Steps)
// stands for the caller, who reads outputs.
type lifetime struct {
	first, last int
	// own are the values written by a step or by the caller whose bytes these
	// are: the value itself, or what it is a view of.
	own []*ir.Value
}

// liveness is computed from steps and silent nodes alone, not from the plan:
// Verify and Replay rely on it.
func (p *Program) liveness() map[*ir.Value]*lifetime {
	live := map[*ir.Value]*lifetime{}
	for _, x := range p.Inputs {
		live[x.Value] = &lifetime{before, before, []*ir.Value{x.Value}}
	}
	for k, s := range p.Steps {
		for _, v := range s.Node.Out {
			live[v] = &lifetime{k, k, []*ir.Value{v}}
		}
	}
	for _, s := range p.Silent {
		for _, v := range s.Node.Out {
			l := &lifetime{len(p.Steps), before, nil}
			for _, w := range s.operands() {
				l.first = min(l.first, live[w].first)
				l.own = append(l.own, live[w].own...)
			}
			l.last = l.first
			live[v] = l
		}
	}
	read := func(v *ir.Value, k int) {
		l := live[v]
		l.last = max(l.last, k)
		for _, w := range l.own {
			live[w].last = max(live[w].last, k)
		}
	}
	for k, s := range p.Steps {
		for _, v := range s.operands() {
			read(v, k)
		}
	}
	for _, x := range p.Outputs {
		read(x.Value, len(p.Steps))
	}
	for _, x := range p.States {
		read(x.In.Value, len(p.Steps))
	}
	return live
}
