package lower

import (
	"cmp"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/patch"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/schedule"
)

// Patched is how the first layers run in stripes.
type Patched struct {
	Nodes      []string
	Stripes    int
	MACs       int64 // of these layers as the model has them
	ExtraMACs  int64 // what overlapping windows compute twice
	ArenaBytes int   // with stripes
	WholeBytes int   // without
}

// maxTries bounds the programs that are planned in search of one that fits.
const maxTries = 96

// fit looks for the cheapest way to stay below MaxRAM, when the program as it
// is does not: g is the graph before kernels were chosen. Where nothing fits,
// the smallest arena stays, and the gate reports it.
func (r *Result) fit(g *ir.Graph, table target.Table, o Options, d *dumper) error {
	p, err := schedule.Build(r.Graph, r.Low, r.States...)
	if err != nil || p.ArenaBytes <= o.MaxRAM {
		return err
	}
	best, whole := p.ArenaBytes, p.ArenaBytes
	plans := patch.Candidates(g, o.MaxRAM)
	for i := 0; i < len(plans) && i < cmp.Or(o.MaxTries, maxTries) && best > o.MaxRAM; i++ {
		h := g.Clone()
		if err := patch.Apply(h, plans[i], o.NativeIO); err != nil {
			return err
		}
		try := *r
		if err := try.finish(h, table, o, &dumper{}); err != nil {
			return err
		}
		if p, err = schedule.Build(try.Graph, try.Low, try.States...); err != nil {
			return err
		}
		if p.ArenaBytes >= best {
			continue
		}
		best = p.ArenaBytes
		try.Patched = &Patched{Stripes: plans[i].Stripes, MACs: plans[i].MACs, ExtraMACs: plans[i].ExtraMACs, ArenaBytes: best, WholeBytes: whole}
		for _, n := range plans[i].Nodes {
			try.Patched.Nodes = append(try.Patched.Nodes, n.Name)
		}
		*r = try
	}
	if r.Patched == nil {
		return nil
	}
	return d.stage("patch", r.Graph)
}
