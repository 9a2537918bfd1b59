// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// kase is a small graph that is compiled to C, run, and compared with the
// interpreter.
type kase struct {
	name string
	src  string // graph in text form
	// order, when set, is the memory order forced upon the operands of Same
	// kernels that have its rank: "nhwc" or a list such as "2013".
	order string
	// tol bounds max|a-b| / max|b| of float outputs; 0: defaultTol, below 0: bit for bit.
	tol float64
	// in replaces the seeded inputs.
	in []*tensor.Dense
	// kernel, when set, is the row that the last node must be lowered by.
	kernel string
	// route, when set, is the function that the last node must call.
	route string
}

// defaultTol is a few ulp of the largest output.
const defaultTol = 1e-6

var table = kernel.NewTable(reference.Kernels)

// forced is the memory order that a case forces on values of the given rank.
func (k *kase) forced(rank int) []int {
	if k.order == "nhwc" {
		return ir.NHWC(rank)
	}
	if len(k.order) != rank {
		return nil
	}
	o := make([]int, rank)
	for i, c := range k.order {
		o[i] = int(c - '0')
	}
	return o
}

// compile is case i as a model.
func (k *kase) compile(t testing.TB, i int) *kerneltest.Model {
	t.Helper()
	g, err := ir.Parse("graph \"g\" {\n"+k.src+"\n}", op.Get)
	if err != nil {
		t.Fatalf("%s: %v\n%s", k.name, err, k.src)
	}
	last := g.Nodes[len(g.Nodes)-1]
	if c, err := table.Match(last, &kernel.Options{}); k.kernel != "" && (err != nil || c.Kernel.Name != k.kernel) {
		t.Fatalf("%s: kernel %v (%v), want %s", k.name, c.Kernel, err, k.kernel)
	}
	s := kerneltest.Setup{Name: k.name, Seed: uint64(i) + 1, In: k.in, Order: k.forced,
		Tol: max(cmp.Or(k.tol, defaultTol), 0)}
	m := s.Compile(t, table, fmt.Sprintf("m%03d", i), g)
	if k.route != "" && m.Funcs[k.route] == 0 {
		t.Errorf("%s: no node calls %s", k.name, k.route)
	}
	return m
}

// TestCases compares all cases with the interpreter.
func TestCases(t *testing.T) {
	runCases(t, slices.Concat(casesUnaryF32(), casesBinaryF32(), casesConvF32(), casesPoolF32(), casesMatrixF32(),
		casesAxisF32(), casesMacS8(), casesAxisS8(), casesBinaryS8(), casesNormF32(), casesResize(),
		casesSpaceAndRepeat(), casesIndex(), casesRecurrentF32(), casesCast(), casesNotInPlace(), casesMovement(),
		casesBorders(), casesSparse()))
}

// runCases compiles all cases into one program with the sanitizers, runs it
// once, and compares every output.
func runCases(t *testing.T, cases []kase) {
	t.Helper()
	var models []*kerneltest.Model
	for i := range cases {
		models = append(models, cases[i].compile(t, i))
	}
	kerneltest.RunHost(t, models)
}
