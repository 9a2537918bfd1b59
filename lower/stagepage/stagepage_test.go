// SPDX-License-Identifier: Apache-2.0

package stagepage_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/stagepage"
)

// TestEscapes: names of a model are never markup.
func TestEscapes(t *testing.T) {
	const evil = `"></div><script>alert(1)</script>`
	g := ir.New(evil)
	v := g.AddInput(evil, ir.T(tensor.F32, 2))
	n := testenv.Must(g.Add(op.Relu, evil+"r", nil, 1, v))(t)
	g.AddOutput(evil+"o", n.Out[0])
	p := stagepage.New()
	o := lower.Options{Precision: option.Float32, Libraries: []string{"refc"}, StopAfter: "cleanup",
		Observe: func(s lower.Step) error { p.Add(s); return nil }}
	testenv.OK(t, testenv.Err(lower.Run(g, o)))
	b := testenv.Must(p.HTML(evil))(t)
	if s := string(b); strings.Count(s, "<script") != 1 || !strings.Contains(s, "&lt;script&gt;alert(1)") {
		t.Errorf("a name is markup:\n%.3000s", s)
	}
}
