// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"os"
	"runtime"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
)

// fuzzLimits keep a single case small.
var fuzzLimits = Limits{FileBytes: 1 << 20, MemoryBytes: 32 << 20, Nodes: 2000, Depth: 16, TensorBytes: 4 << 20,
	Findings: 50}

// openFuzzed opens arbitrary bytes: no panic, no invalid graph, bounded memory;
// what was imported can be written and is valid then. Small graphs are run.
func openFuzzed(t *testing.T, b []byte) {
	m, err := Parse(b, fuzzLimits)
	if err != nil {
		return
	}
	Check(m)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, err := Import(m, ImportOptions{}) // also where Check has found errors
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("importing %d bytes took %d bytes of memory", len(b), n)
	}
	if err != nil {
		return
	}
	if errs := g.Verify(); len(errs) > 0 {
		t.Fatalf("invalid graph: %v", errs)
	}
	if p, err := Export(g, ExportOptions{}); err == nil && Check(m).Count(diag.Error) == 0 {
		for _, f := range Check(&Model{Proto: p}) {
			if f.Severity == diag.Error {
				t.Errorf("export: %s", f.String())
			}
		}
	}
	size := 0
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			size += v.Type.Elems()
		}
		if n.Op.MACs != nil {
			size += int(min(n.Op.MACs(n), 1<<30))
		}
	}
	for _, v := range g.In {
		size += v.Type.Elems()
	}
	if size < 1<<16 {
		_, _ = interp.Run(g, irtest.Inputs(g, 1), nil) // errors are errors of the model
	}
}

// fuzzSeeds are small models with much in them.
func fuzzSeeds(t testing.TB) [][]byte {
	var out [][]byte
	for _, text := range []string{
		`(float[1,2,6,6] x) => (float y) <float[3,2,3,3] w> { k = Constant <value = float[2] {1, 2}> ()
			n = BatchNormalization (x, k, k, k, k) p = MaxPool <kernel_shape = [2, 2]> (n) r = Relu (p)
			y = Softmax <axis = 1> (r) }`,
		`(float[N,3] x) => (float y) { s = Shape (x) i = Constant <value = int64 {0}> () d = Gather (s, i)
			a = Constant <value_ints = [0]> () u = Unsqueeze (d, a) m = Constant <value_ints = [-1]> ()
			t = Concat <axis = 0> (u, m) y = Reshape (x, t) }`,
		`(float[2] x) => (float y) { n = Constant <value_int = 3> ()
			y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { f = Cast <to = 1> (i) w = Add (v, f) }> }`,
		`(int8[1,4] x) => (int8 y) { s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
			y = com.microsoft.QLinearAdd (x, s, z, x, s, z, s, z) }`,
		"(float[1,4,4,4] x) => (float y) { a = com.sigmastar.Reorg <stride = 2> (x) b = local.F <k = 2> (a) y = If " +
			"(c) <then_branch = t () => (p) { p = Neg (b) }, else_branch = e () => (p) { p = Abs (b) }> c = " +
			"Constant <value = bool {1}> () }\n<domain: \"local\", opset_import: [\"\" : 13]> F <k> (a) => (b) " +
			"{ c = Constant <value_int: int = @k> () d = Cast <to = 1> (c) b = Mul (a, d) }",
		`(float[3,1,2] x) => (float y) { w = Constant <value = float[1,4,2] {1,2,3,4,5,6,7,8}> ()
			r = Constant <value = float[1,4,1] {1,2,3,4}> () y = LSTM <hidden_size = 1> (x, w, r) }`,
		`(float[1,1,4,4] x) => (float y) { s = Constant <value_floats = [1.0, 1.0, 0.5, 2.0]> ()
			a = Resize <coordinate_transformation_mode = "asymmetric"> (x, "", s)
			p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () b = Pad (a, p) c, d = TopK <axis = 3> (b, k) y = Add (c, c)
			k = Constant <value_ints = [2]> () }`,
	} {
		out = append(out, tBytes(textModel(t, 13, text).Proto))
	}
	files := sharedata.Glob("bad", "*.onnx")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && len(b) < 1<<13 {
			out = append(out, b)
		}
	}
	return out
}

// FuzzImport: no file makes the importer panic or take much memory.
func FuzzImport(f *testing.F) {
	for _, b := range fuzzSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(openFuzzed)
}

// TestImportMutated is a short fuzzing session with a fixed seed: bytes changed,
// cut out and doubled in valid models.
func TestImportMutated(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	mutate(t, rounds, 1)
}
