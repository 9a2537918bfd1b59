package schedule

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/schedule/plan"
)

// maxTrials bounds how many concats and splits are tried one by one, and
// maxTrialNodes in graphs of which size: each trial plans the whole program.
const (
	maxTrials     = 12
	maxTrialNodes = 400
)

// Effort bounds the searches for a small arena.
type Effort int64

// Efforts, in plan's units of work. With more effort the arena is as large or
// smaller.
const (
	Short  Effort = 1 << 18
	Medium Effort = 1 << 21
	Full   Effort = plan.DefaultBudget
)

// Build orders the nodes of g, decides which operands share storage, and
// places everything. low has an entry per node.
//
// Concats and splits that are views save copies, but keep their whole storage
// alive for longer, and its parts cannot be overwritten in place. So they are
// views except where a copy makes the arena smaller.
//
// ties are the outputs that a run hands to the next one as inputs.
func Build(g *ir.Graph, low map[*ir.Node]*call.Lowered, ties ...Tie) (*Program, error) {
	return BuildWith(Full, g, low, ties...)
}

// BuildWith is Build with less effort.
func BuildWith(effort Effort, g *ir.Graph, low map[*ir.Node]*call.Lowered, ties ...Tie) (*Program, error) {
	copied := map[*ir.Node]bool{} // that could be views and are not
	try := func() (*Program, error) {
		view := func(n *ir.Node) bool { return !copied[n] }
		best, err := build(g, low, ties, view, effort)
		if err != nil {
			return nil, err
		}
		// An order with a lower peak can be harder to pack: what less effort finds
		// may be smaller.
		for _, e := range []Effort{Medium, Short} {
			if e >= effort || best.PeakOptimal && best.ArenaBytes == best.LowerBound {
				continue
			}
			p, err := build(g, low, ties, view, e)
			if err != nil {
				return nil, err
			}
			if p.ArenaBytes < best.ArenaBytes {
				best = p
			}
		}
		return best, nil
	}
	best, err := try()
	if err != nil {
		return nil, err
	}
	var views []*ir.Node
	for _, s := range best.Silent {
		if len(s.Low.Parts) > 0 {
			views = append(views, s.Node)
		}
	}
	if len(views) > 0 {
		for _, n := range views {
			copied[n] = true
		}
		p, err := try()
		if err != nil {
			return nil, err
		}
		same := p.ArenaBytes == best.ArenaBytes
		if p.ArenaBytes < best.ArenaBytes {
			best = p
		} else {
			clear(copied)
		}
		// Where it matters, one by one; with all copied, going back to views is
		// worth it where it costs nothing.
		if !same && effort == Full && len(views) > 1 && len(views) <= maxTrials && len(g.Nodes) <= maxTrialNodes {
			for _, n := range views {
				was := copied[n]
				copied[n] = !was
				p, err := try()
				if err != nil {
					return nil, err
				}
				if p.ArenaBytes < best.ArenaBytes || was && p.ArenaBytes == best.ArenaBytes {
					best = p
				} else {
					copied[n] = was
				}
			}
		}
	}
	if err := best.Verify(); err != nil {
		return nil, err
	}
	return best, nil
}

func build(g *ir.Graph, low map[*ir.Node]*call.Lowered, ties []Tie, parts func(*ir.Node) bool, effort Effort) (*Program, error) {
	b := newBuilder(g, low, parts)
	for _, t := range ties {
		b.values[b.index[t.In]].Output = true
	}
	b.alias()
	nodes := b.steps()
	order, bufs, res, stats, err := plan.Schedule(nodes, b.values, plan.Options{Align: Align, Budget: int64(effort)})
	if err != nil {
		return nil, fmt.Errorf("BUG: schedule of %s: %w", g.Name, err)
	}
	p := &Program{Name: g.Name, ArenaBytes: max(int(res.Total), Align), LowerBound: int(res.LowerBound), PeakOptimal: stats.Optimal, index: b.index}
	for i, x := range bufs {
		buf := Buffer{Name: x.Name, Offset: int(res.Offsets[i]), Bytes: int(x.Bytes), First: x.First, Last: x.Last, AliasOf: x.AliasOf}
		if i < len(b.values) {
			buf.Value, buf.Row, buf.Pitch = b.of[i], b.place[i].row, b.place[i].pitch
		} else {
			p.ScratchBytes = max(p.ScratchBytes, buf.Bytes)
		}
		p.Buffers = append(p.Buffers, buf)
	}
	scratch := len(b.values)
	for _, k := range order {
		s := newStep(b.nodes[k], low)
		s.Low = p.rowCalls(s)
		if s.Low.Scratch > 0 {
			s.Scratch = p.Buffers[scratch].Offset
			scratch++
		}
		p.Steps = append(p.Steps, s)
	}
	for _, n := range g.Nodes {
		if b.silent[n] {
			p.Silent = append(p.Silent, newStep(n, low))
		}
	}
	if err := p.border(g); err != nil {
		return nil, err
	}
	if err := p.states(ties); err != nil {
		return nil, err
	}
	p.ranges(bufs, res)
	return p, nil
}

// border fills inputs and outputs.
func (p *Program) border(g *ir.Graph) error {
	for _, v := range g.In {
		o, _ := p.Offset(v)
		p.Inputs = append(p.Inputs, IO{v.Name, v, o})
		p.IOBytes += v.Type.Bytes()
	}
	for i, v := range g.Out {
		o, ok := p.Offset(v)
		if !ok {
			return bug("output %s has no place", g.OutNames[i])
		}
		p.Outputs = append(p.Outputs, IO{g.OutNames[i], v, o})
		p.IOBytes += v.Type.Bytes()
	}
	return nil
}

// ranges sets the steps between which buffers are needed: for one with storage
// of its own those of the storage, as planned; for the others their own.
func (p *Program) ranges(bufs []plan.Buffer, res plan.Result) {
	live := p.liveness()
	for i, x := range bufs {
		buf := &p.Buffers[i]
		switch {
		case x.Bytes == 0:
		case x.AliasOf < 0:
			st := res.Storages[res.StorageOf[i]]
			buf.Bytes, buf.First, buf.Last = max(buf.Bytes, int(st.Bytes)), st.First, st.Last
		default:
			r := live[buf.Value]
			buf.First, buf.Last = max(r.first, 0), max(min(r.last, len(p.Steps)-1), r.first, 0)
		}
	}
}
