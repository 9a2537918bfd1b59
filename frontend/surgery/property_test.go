// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// random is a seeded network as a model of its own.
func random(t testing.TB, seed uint64) *Model {
	t.Helper()
	p := testenv.Must(onnx.Export(irtest.Gen(seed, tensor.F32), onnx.ExportOptions{}))(t)
	m := testenv.Must(New(&onnx.Model{Proto: p, Limits: onnx.DefaultLimits}))(t)
	return m
}

// TestRandomEdits strings together edits that keep what a model computes, on
// random networks: the outputs must stay equal to the bit.
func TestRandomEdits(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		m := random(t, seed)
		ref := m.Clone()
		var log []string
		for range 12 {
			log = append(log, edit(t, m, r))
		}
		valid(t, m)
		c, err := fail.Try(func() *Comparison { return Compare(m, ref, CompareOptions{Equal: true, Count: 1}) })
		testenv.Require(t, err == nil && c.OK(), "seed %d: %v %+v\n%s", seed, err, c, strings.Join(log, "\n"))
		before := len(m.graph().Node)
		d := m.Simplify()
		same(t, m, ref, 0)
		testenv.Check(t, len(m.graph().Node) <= before,
			"seed %d: %d nodes became %d: %+v", seed, before, len(m.graph().Node), d)
	}
}

// edit changes something at a random value and undoes it in the same breath.
func edit(t testing.TB, m *Model, r *rand.Rand) string {
	t.Helper()
	var values []string
	for _, n := range m.graph().Node {
		values = append(values, n.Output...)
	}
	v := values[r.IntN(len(values))]
	shape, ok := m.Shapes().Static(v)
	if !ok {
		t.Fatalf("no shape of %s: %v", v, m.Shapes().Problems)
	}
	p := m.Producer(v)
	switch k := r.IntN(7); {
	case k == 0:
		n := m.MakeNode(NodeSpec{Op: "Identity"})
		m.InsertAfter(v, n, 0)
		return "identity behind " + v
	case k == 1 && len(p.Output) == 1 && len(p.Input) > 0:
		n := m.MakeNode(NodeSpec{Op: "Identity"})
		m.InsertBefore(p, r.IntN(len(p.Input)), n, 0)
		return "identity before " + label(p)
	case k == 2 && len(shape) > 1 && !m.IsOutput(v):
		axis := r.IntN(len(shape))
		name := m.InsertSlicesConcat(v, Cut{Axis: axis, Count: shape[axis]}, axis, nil, "")
		return "cut and join " + name
	case k == 3 && len(shape) > 1:
		perm := r.Perm(len(shape))
		back := make([]int, len(perm))
		for i, x := range perm {
			back[x] = i
		}
		for _, q := range [][]int{perm, back} {
			n := m.MakeNode(NodeSpec{Op: "Transpose", Attributes: attrs{"perm": q}})
			m.InsertAfter(v, n, 0)
			if !m.IsOutput(v) { // an output keeps its name: the second stands behind the first
				v = n.Output[0]
			}
		}
		return "turned " + v
	case k == 4 && !m.IsOutput(v):
		m.RenameValue(v, m.UniqueValue("renamed"))
		return "renamed " + v
	case k == 5:
		ids := lists.Filter(m.Find(Query{Op: "Identity"}), func(n *pb.NodeProto) bool { return r.IntN(2) == 0 })
		m.Remove(ids, RemoveOptions{Input: -1})
		return fmt.Sprintf("removed %d identities", len(ids))
	}
	m.DeduplicateInitializers()
	return "deduplicated"
}

// TestRandomSplits cuts random networks at a random value and merges them.
func TestRandomSplits(t *testing.T) {
	for seed := range uint64(30) {
		m := random(t, seed)
		r := rand.New(rand.NewPCG(seed, 3))
		n := m.graph().Node[r.IntN(len(m.graph().Node))]
		cut := n.Output[0]
		// The head computes what does not need the cut value, too.
		outs := lists.Filter(m.OutputNames(), func(o string) bool { return o != cut })
		tail, err := fail.Try(func() *Model { return m.Extract(in(cut), outs) })
		if err != nil {
			continue // a branch passes the cut: not a cut of the whole
		}
		head := m.Extract(m.InputNames(), in(cut))
		c, err := fail.Try(func() *Comparison {
			return Cascade(m, []*Model{head, tail}, in("head", "tail"), CompareOptions{Equal: true})
		})
		if err != nil && len(outs) < len(m.OutputNames()) {
			c, err = nil, nil // the cut itself is an output
		}
		must(t, err)
		testenv.Check(t, c == nil || c.OK(), "seed %d: cascade differs", seed)
		whole := Merge([]*Model{head, tail}, MergeOptions{Prefixes: in("", "tail/"), Outputs: m.OutputNames()})
		same(t, whole, m, 0)
	}
}

// Simplify on models as exporters write them: not a bit changes.
func TestSimplifyReferenceModels(t *testing.T) {
	dir := sharedModels(t)
	files := testenv.Must(filepath.Glob(filepath.Join(dir, "models", "*.onnx")))(t)
	for _, f := range files {
		st := testenv.Must(os.Stat(f))(t)
		if st.Size() > 400_000 {
			continue // slow to interpret
		}
		m := testenv.Must(Load(f, onnx.Limits{}))(t)
		ref := m.Clone()
		d := m.Simplify()
		valid(t, m)
		c, err := fail.Try(func() *Comparison { return Compare(m, ref, CompareOptions{Equal: true, Count: 1}) })
		testenv.Check(t, err == nil && c.OK(), "%s: %v %+v (%+v)", filepath.Base(f), err, c, d)
	}
}

// Malformed models: an error or a result, and the time of a moment.
func TestMalformedModels(t *testing.T) {
	dir := sharedModels(t)
	files := testenv.Must(filepath.Glob(filepath.Join(dir, "bad", "*.onnx")))(t)
	testenv.Require(t, len(files) >= 50, "only %d files", len(files))
	sc := testenv.Must(ParseScript("s", "", []byte(`
steps:
  - simplify:
  - deduplicate_initializers:
  - for_each:
      nodes: {regex: ".", optional: true}
      steps:
        - find: {nodes: {name: "${node}"}}
  - rewrite_gemm_as_conv: {nodes: {op: Gemm, optional: true}, flat: true}
  - rewrite_matmul_as_conv: {nodes: {op: MatMul, optional: true}}
  - clear_shapes:
`)))(t)
	for _, f := range files {
		m, err := Load(f, onnx.Limits{})
		if err != nil || len(m.graph().Node) > 4000 {
			continue
		}
		_, _ = sc.Run(m, RunOptions{Count: 1})
		for _, o := range m.OutputNames() {
			_, _ = fail.Try(func() *Model { return m.Extract(m.InputNames(), in(o)) })
		}
	}
}
