// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

func relu(t *testing.T) *ir.Node {
	t.Helper()
	return irtest.Parse(t,
		"graph \"g\" {\n  in %x : f32[2,3]\n  %y : f32[2,3] = Relu(%x)\n  out \"y\" = %y\n}").Nodes[0]
}

// counted is a row that takes a node unless the fact has a reason, and how often
// it derived the fact.
func counted(name, why string, derived, lowered *int) *kernel.Kernel {
	size := kernel.NewFact(func(n *kernel.Node) (int, string) {
		*derived++
		return n.Out[0].Type.Elems(), why
	})
	return &kernel.Kernel{
		Name: name, Library: "nncc-test", Ops: []*ir.OpDef{op.Relu}, Layout: kernel.SameLayout,
		Rules: []kernel.Rule{size.Exists("TEST-01", "a size"), size.Rule("TEST-02", "not empty",
			func(_ *kernel.Node, size int) string {
				if size == 0 {
					return "empty"
				}
				return ""
			})},
		Lower: func(n *kernel.Node) *call.Lowered {
			*lowered++
			return &call.Lowered{Kernel: name, Scratch: size.Must(n)}
		},
	}
}

// TestMatchOnce: what two rules and the lowering ask is derived once, and a plan
// lowers itself once, also in its generic form.
func TestMatchOnce(t *testing.T) {
	derived, lowered := 0, 0
	table := kernel.NewTable([]*kernel.Kernel{counted("a", "", &derived, &lowered)})
	plans := table.Plans(&kernel.Options{})
	n := relu(t)
	for range 3 {
		c, err := plans.Of(n)
		testenv.Require(t, err == nil && c.Layout.Kind == kernel.Same, "layout %v, error %v", c.Layout, err)
		l := c.Lower()
		testenv.Check(t, l.Scratch == 6, "scratch %d, want 6", l.Scratch)
	}
	testenv.Check(t, derived == 1 && lowered == 1, "derived %d times and lowered %d times, want once each", derived,
		lowered)
	c, _ := plans.Of(n)
	c.Generic().Lower()
	testenv.Check(t, derived == 1 && lowered == 2,
		"with the generic form derived %d times and lowered %d times, want 1 and 2", derived, lowered)
}

// TestRefusals: a fact without a reason of its own leaves the refusal to the
// rule that has one; what is dear to prove is asked last; a lowering that was
// never matched is a bug.
func TestRefusals(t *testing.T) {
	derived, lowered, proved := 0, 0, 0
	refuses := counted("refuses", "too old", &derived, &lowered)
	refuses.Rules = append(refuses.Rules, kernel.Rule{Code: "TEST-03", Proof: true, Check: func(*kernel.Node) string {
		proved++
		return ""
	}})
	takes := counted("takes", "", &derived, &lowered)
	takes.Rules = append(takes.Rules, refuses.Rules[2])
	unread := counted("unread", kernel.Unread, &derived, &lowered)
	n := relu(t)
	c, err := kernel.NewTable([]*kernel.Kernel{refuses, unread, takes}).Match(n, &kernel.Options{})
	testenv.Require(t, err == nil && c.Kernel == takes && proved == 1, "%v takes the node, error %v, proofs %d",
		c.Kernel, err, proved)
	if r := c.Rejected[0].Reasons; len(r) != 1 || r[0] != (kernel.Reason{Code: "TEST-01", Text: "too old"}) {
		t.Errorf("reasons %v, want one", r)
	}
	if r := c.Rejected[1].Reasons; len(r) != 2 || r[0].Text != kernel.Unread {
		t.Errorf("reasons %v, want that nobody looked", r)
	}
	if _, err = kernel.NewTable([]*kernel.Kernel{refuses}).Match(n, &kernel.Options{}); err == nil ||
		!strings.Contains(err.Error(), "too old") {
		t.Errorf("error %v, want the reason", err)
	}
	defer func() {
		e, _ := recover().(error)
		testenv.Check(t, bug.Is(e), "lowering what a rule refuses: %v, want a bug", e)
	}()
	refuses.Lower(kernel.NewNode(n, &kernel.Options{}))
}
