// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	_ "embed" // refused.txt
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

//go:embed refused.txt
var refused string

// condition is one of a kernel.
type condition struct {
	k    *kernel.Kernel
	code string
}

// refusals are the conditions of kernels that refuse a layer of refused.txt on a core.
func refusals(t *testing.T, kernels []*kernel.Kernel, cores []kernel.Core) map[condition]bool {
	t.Helper()
	list := map[condition]bool{}
	for _, src := range strings.Split(strings.TrimSpace(refused), "\n\n")[1:] {
		head, src, _ := strings.Cut(src, "\n")
		g, err := ir.Parse("graph \"g\" {\n"+src+"\nout \"o\" = %o\n}", op.Get)
		if err != nil {
			t.Fatalf("%s: %v", head, err)
		}
		n := g.Nodes[len(g.Nodes)-1]
		for _, k := range kernel.NewTable(kernels)[n.Op] {
			for _, c := range cores {
				for _, r := range k.CheckLegality(kernel.NewNode(n, &kernel.Options{Core: c})) {
					if strings.Contains(r.Text, "\n") {
						t.Errorf("%s: reason of several lines %q for\n%s", r.Code, r.Text, src)
					}
					list[condition{k, r.Code}] = list[condition{k, r.Code}] || r.Text != kernel.Unread
				}
			}
		}
	}
	return list
}

// Rules checks that every condition of every kernel refuses a layer of
// refused.txt on one of the cores, and that a kernel's first condition refuses the
// other cores, if there are any: then it is about the core.
func Rules(t *testing.T, kernels []*kernel.Kernel, cores []kernel.Core, others ...kernel.Core) {
	t.Helper()
	refuses := refusals(t, kernels, cores)
	for _, k := range kernels {
		for i, r := range k.Rules {
			if (i > 0 || others == nil) && !refuses[condition{k, r.Code}] {
				t.Errorf("%s has no layer in refused.txt that its condition %s refuses", k.Name, r.Code)
			}
		}
		for _, other := range others {
			if k.Rules[0].Check(kernel.NewNode(nil, &kernel.Options{Core: other})) == "" {
				t.Errorf("%s takes %+v", k.Name, other)
			}
		}
	}
}
