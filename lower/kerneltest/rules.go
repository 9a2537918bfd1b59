// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// Refused is the code of a rule and a layer that breaks it, as the text of a
// graph without its frame; the letters A, W and O at the end of a type stand for
// quantisations. A third string, NoExtensions, has it on a core that has none.
type Refused [3]string

// NoExtensions names a core that has none.
const NoExtensions = "plain"

func (c Refused) options(o kernel.Options) kernel.Options {
	if c[2] == NoExtensions {
		o.Core = kernel.Core{}
	}
	return o
}

var quantLetters = strings.NewReplacer(" A\n", " q(0.5:3)\n", " A =", " q(0.5:3) =", " W\n", " q(0.01:0)\n", " W =",
	" q(0.01:0) =", " O =", " q(0.7:-5) =")

// Rules checks that every rule of the kernels but a row's first refuses a layer
// of the list, and that the first one, the core's, refuses the other cores.
func Rules(t *testing.T, kernels []*kernel.Kernel, o *kernel.Options, refused []Refused, others ...kernel.Core) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range refused {
		code, src := c[0], c[1]
		g, err := ir.Parse("graph \"g\" {\n"+quantLetters.Replace(src)+"\nout \"o\" = %o\n}", op.Get)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		n := g.Nodes[len(g.Nodes)-1]
		found, on := false, c.options(*o)
		for _, k := range kernels {
			if !slices.Contains(k.Ops, n.Op) {
				continue
			}
			for _, r := range k.CheckLegality(kernel.NewNode(n, &on)) {
				found = found || r.Code == code
			}
		}
		if !found {
			t.Errorf("%s does not refuse %s", code, src)
		}
		seen[code] = true
	}
	for _, k := range kernels {
		for i, r := range k.Rules {
			switch {
			case i > 0 && !seen[r.Code]:
				t.Errorf("%s has no layer: the list of refused ones wants one that this rule objects to", r.Code)
			case i == 0:
				for _, other := range others {
					if r.Check(kernel.NewNode(nil, &kernel.Options{Core: other})) == "" {
						t.Errorf("%s takes %+v", k.Name, other)
					}
				}
			}
		}
	}
}
