// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/legal"
)

// AlignPass is the alignment repair as a pass for float, QDQ and integer
// graphs; res gets what it found.
func AlignPass(o align.Options, res *align.Result) pass.Pass {
	return pass.Pass{
		Name: "align", Numerics: pass.Reassoc,
		Doc: "channels padded to multiples that kernels like, where that pays (--align auto) or wherever possible " +
			"(--align always)",
		Run: func(c *pass.Ctx, g *ir.Graph) error {
			r, err := align.Run(g, o)
			if err != nil {
				return err
			}
			*res = *r
			for _, w := range r.Rows {
				if w.Status == align.Patched {
					c.Did(find(g, w.Node), "%s of %s padded from %d to %d", w.Constraint, w.Op, w.Current, w.Target)
				}
			}
			return nil
		},
	}
}

// find is the node that came from an ONNX node, nil without.
func find(g *ir.Graph, name string) *ir.Node {
	for _, n := range g.Nodes {
		if n.Name == name || len(n.Origin) > 0 && n.Origin[0] == name {
			return n
		}
	}
	return nil
}

// Select picks float passes by name; align is among them.
func Select(o align.Options, res *align.Result, names ...string) ([]pass.Pass, error) {
	list := append(slices.Clone(legal.Passes), AlignPass(o, res))
	for _, name := range names {
		if pass.Find(list, name) == nil {
			var known []string
			for _, p := range list {
				known = append(known, p.Name)
			}
			return nil, unknownName("pass", name, known)
		}
	}
	return pass.Select(list, names...)
}

// hardcodedReshapes are the ONNX names of the Reshapes whose target shape has sizes in
// it, rather than 0 and -1: what the model says there cannot be changed.
func hardcodedReshapes(g *ir.Graph) map[string]bool {
	m := map[string]bool{}
	for _, n := range g.Nodes {
		if n.Op != op.Reshape {
			continue
		}
		want, err := op.ConstInts(n, 1, "the target shape")
		if err != nil || !slices.ContainsFunc(want, func(d int) bool { return d > 1 }) {
			continue
		}
		for _, o := range n.Origin {
			m[o] = true
		}
	}
	return m
}

// alignChannels pads the channels of the final graph.
func (s *State) alignChannels() error {
	o := s.options()
	opt := align.Options{Mode: o.Align, PadInput: o.PadInput, HardCoded: func(n *ir.Node) bool {
		return slices.ContainsFunc(n.Origin, func(name string) bool { return s.hardcodedReshapes[name] })
	}}
	if !o.Precision.Float() {
		opt.Price = pricer(s.table, o)
	}
	var err error
	s.Aligned, err = align.Run(s.Graph, opt)
	return err
}
