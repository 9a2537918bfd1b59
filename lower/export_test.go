// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/patch"
)

// RunStages runs the named stages on g, whether they apply or not.
func RunStages(g *ir.Graph, o Options, names ...string) (*State, error) {
	s, err := newState(g, o)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t, err := Find(name)
		if err != nil {
			return nil, err
		}
		if name == "stripes" {
			p := patch.Prices{Rows: func(int, int, int, int) float64 { return 1 }, Copy: func(int) float64 { return 1 },
				Most: 1e9, Kernel: func(int) *patch.Kernel { return &patch.Kernel{Apart: 1 << 30} }}
			s.tile = &patch.Candidates(s.Graph, false, p, 1)[0]
		}
		if err := s.step(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}
