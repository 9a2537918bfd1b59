// SPDX-License-Identifier: Apache-2.0

package legal_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz/npztest"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal"
)

// TestRandomNetworks runs the pipeline on random networks, with the
// interpreter before and after every pass.
func TestRandomNetworks(t *testing.T) {
	n := uint64(600)
	if testing.Short() {
		n = 50
	}
	for seed := range n {
		g := irtest.Gen(seed, tensor.F64)
		irtest.Verify(t, g)
		irtest.Passes(t, g, legal.Passes, 1, 2)
		k := irtest.Count(g, "BatchNormalization")
		testenv.Check(t, k <= 0, "seed %d: %d BatchNormalization left in\n%s", seed, k, g)
	}
}

// TestEinsum draws equations of one to four factors, some with letters of size 1 and broadcast dimensions.
func TestEinsum(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var terms []string
		text, result := "graph \"g\" {\n", "..."
		for i := range 1 + r.IntN(4) {
			term, shape := "", []string{}
			for _, k := range r.Perm(5)[:r.IntN(4)] {
				size := []int{3, 1, 2, 4, 2}[k]
				if r.IntN(8) == 0 {
					size = 1
				}
				term += "abcde"[k : k+1]
				shape = append(shape, fmt.Sprint(size))
				if letter := "abcde"[k : k+1]; r.IntN(2) == 0 && !strings.Contains(result, letter) {
					result += letter
				}
			}
			if r.IntN(4) == 0 {
				term, shape = term+"...", append(shape, "2", "1")
			}
			terms = append(terms, term)
			text += fmt.Sprintf("in %%x%d : f64[%s]\n", i, strings.Join(shape, ","))
		}
		text += fmt.Sprintf("%%y = Einsum(%s) {equation=%q}\nout \"y\" = %%y\n}",
			strings.Join(strings.Fields("%x0 %x1 %x2 %x3")[:len(terms)], ", "), strings.Join(terms, ",")+"->"+result)
		g := irtest.Parse(t, text)
		only(t, g, "einsum")
		testenv.Check(t, irtest.Count(g, "Einsum") == 0, "seed %d: %s stays", seed, terms)
	}
}

// TestThreeDimensions draws 3-D convolutions and pools.
func TestThreeDimensions(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		three := func(n, add int) string {
			return fmt.Sprintf("%d,%d,%d", r.IntN(n)+add, r.IntN(n)+add, r.IntN(n)+add)
		}
		group := 1 + r.IntN(3)
		kernel, pads := three(3, 1), "0,0,0,0,0,0"
		if kernel == strings.ReplaceAll(kernel, "1", "2") {
			pads = three(2, 0) + "," + three(2, 0)
		}
		y := fmt.Sprintf("Conv(%%x, %%w) {group=%d, dilations=[%s], ", group, three(2, 1))
		switch r.IntN(4) {
		case 0:
			y = fmt.Sprintf("MaxPool(%%x) {ceil_mode=%d, dilations=[%s], ", r.IntN(2), three(2, 1))
		case 1:
			y = fmt.Sprintf("AveragePool(%%x) {ceil_mode=%d, count_include_pad=%d, ", r.IntN(2), r.IntN(2))
		}
		g := irtest.Parse(t, fmt.Sprintf(`graph "g" {
			in %%x : f64[%d,%d,6,7,8]
			const %%w : f64[%d,2,%s] = rand 1
			%%y = %s kernel_shape=[%s], strides=[%s], pads=[%s]}
			out "y" = %%y
		}`, 1+r.IntN(2), 2*group, 3*group, kernel, y, kernel, three(2, 1), pads))
		kept := strings.HasPrefix(y, "Average") && strings.Contains(y, "ceil_mode=1, count_include_pad=1")
		only(t, g, "conv3d")
		for _, n := range g.Nodes {
			testenv.Check(t, n.Op.Window == ir.NoWindow || n.In[0].Type.Rank() == 4 || kept, "seed %d: %s", seed, n)
		}
	}
}

// TestDeadTaps draws convolutions of small inputs with wide windows.
func TestDeadTaps(t *testing.T) {
	fewer := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 4))
		rank := 1 + r.IntN(3)
		draw := func(n, add int) []int { return lists.Make(rank, func(int) int { return r.IntN(n) + add }) }
		in, kernel, dilations, strides := draw(3, 1), draw(3, 1), draw(3, 1), draw(2, 1)
		begin, end := draw(4, 0), draw(4, 0)
		for d := range rank { // a window fits
			end[d] = max(end[d], (kernel[d]-1)*dilations[d]+1-in[d]-begin[d])
		}
		text := func(v []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]") }
		g := irtest.Parse(t, fmt.Sprintf(`graph "g" {
			in %%x : f64[1,2,%s]
			const %%w : f64[3,2,%s] = rand 1
			%%y = Conv(%%x, %%w) {dilations=[%s], strides=[%s], pads=[%s,%s]}
			out "y" = %%y
		}`, text(in), text(kernel), text(dilations), text(strides), text(begin), text(end)))
		only(t, g, "dead-taps")
		if text(g.Nodes[0].In[1].Type.Shape[2:]) != text(kernel) {
			fewer++
		}
	}
	testenv.Check(t, fewer > 100, "%d windows got smaller", fewer)
}

// TestProductParts draws products of reals or integers, whose columns are read in parts behind a Reshape and a
// Transpose.
func TestProductParts(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		dims, perm := []int{2 + r.IntN(2), 2 + r.IntN(3), 1 + r.IntN(3), 5 + r.IntN(6)}, r.Perm(4)
		axis, cols := slices.Index(perm, 1), dims[1]*dims[2]*dims[3]
		size := lists.Make(4, func(d int) int { return dims[perm[d]] })
		of := func(shape ...int) string { // the type of a result
			text := strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
			if seed%2 == 0 {
				return "f64" + text
			}
			return "i8" + text + " q(0.1:-5)"
		}
		in, bias, weights := "f64", "f64", ""
		if seed%2 != 0 {
			scales := lists.Make(cols, func(c int) string { return fmt.Sprintf("%d.5:0", c%7) })
			in, bias, weights = "i8", "i32", " q(axis=1,"+strings.Join(scales, ",")+")"
		}
		text := fmt.Sprintf(`graph "g" {
			in %%x : %s
			const %%w : %s[3,%d]%s = rand 1
			const %%b : %s[%d] = rand 2
			%%p : %s = Gemm(%%x, %%w, %%b)
			const %%s : i64[4] = {%d,%d,%d,%d}
			%%r : %s = Reshape(%%p, %%s)
			%%t : %s = Transpose(%%r) {perm=[%d,%d,%d,%d]}
			const %%a : i64[1] = {%d}
			`, of(dims[0], 3), in, cols, weights, bias, cols, of(dims[0], cols), dims[0], dims[1], dims[2], dims[3],
			of(dims...), of(size...), perm[0], perm[1], perm[2], perm[3], axis)
		whole, one := slices.Delete(slices.Clone(size), axis, axis+1), slices.Clone(size)
		one[axis] = 1
		kind, out, all := r.IntN(3), "", []string{}
		for i := range dims[1] {
			y := fmt.Sprintf("%%y%d", i)
			out, all = out+fmt.Sprintf("out \"y%d\" = %s\n", i, y), append(all, y+" : "+of(one...))
			switch kind {
			case 0:
				text += fmt.Sprintf("const %%i%d : i64[] = {%d}\n%s : %s = Gather(%%t, %%i%d) {axis=%d}\n", i, i, y,
					of(whole...), i, axis)
			case 1:
				text += fmt.Sprintf("const %%i%d : i64[1] = {%d}\nconst %%j%d : i64[1] = {%d}\n"+
					"%s : %s = Slice(%%t, %%i%d, %%j%d, %%a)\n", i, i, i, i+1, y, of(one...), i, i)
			}
		}
		if kind == 2 {
			text += fmt.Sprintf("%s = Split(%%t) {axis=%d}\n", strings.Join(all, ", "), axis)
		}
		g := only(t, irtest.Parse(t, text+out+"}"), "product-parts")
		kept := irtest.Count(g, []string{"Gather", "Slice", "Split"}[kind])
		testenv.Check(t, (irtest.Count(g, "Gemm") == dims[1] && kept == 0) == (dims[2]*dims[3] >= 8),
			"seed %d: parts stay in, or are too small\n%s", seed, g)
	}
}

// TestFactors draws a factor behind views and products of what has weights, which takes it unless another reads what
// stands between them, or an activation does.
func TestFactors(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		text := "graph \"g\" {\nin %x : f64[4,3]\nin %z : f64[2,2,2]\nconst %w : f64[3,2] = rand 1\n" +
			"const %b : f64[2] = rand 2\nconst %s : i64[3] = splat 2\nconst %c : f64[] = {-1.5}\n" +
			"%g = Gemm(%x, %w, %b)\n%v0 = Reshape(%g, %s)\n"
		if r.IntN(4) == 0 {
			text = strings.Replace(text, "%b)", "%b) {act_min=-0.1}", 1)
		}
		n := r.IntN(4)
		for i := range n {
			text += fmt.Sprintf("%%v%d = ", i+1) + fmt.Sprintf([]string{"Transpose(%%v%d) {perm=[1,0,2]}\n",
				"MatMul(%%v%d, %%z)\n", "MatMul(%%z, %%v%d)\n"}[r.IntN(3)], i)
		}
		text += fmt.Sprintf("%%m = Mul(%%v%d, %%c)\nout \"m\" = %%m\n", n)
		if r.IntN(4) == 0 {
			text += fmt.Sprintf("out \"v\" = %%v%d\n", r.IntN(n+1))
		}
		g := only(t, irtest.Parse(t, text+"}"), "factors")
		stays := strings.Contains(text, "act_min") || strings.Contains(text, "\"v\"")
		testenv.Check(t, (irtest.Count(g, "Mul") == 1) == stays, "seed %d: a factor in\n%s", seed, g)
	}
}

// FuzzPipeline runs the pipeline, and each pass alone, on the random network
// of a seed.
func FuzzPipeline(f *testing.F) {
	f.Add(uint64(1), uint8(255))
	f.Add(uint64(2), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		passes := legal.Passes
		if int(which) < len(passes) {
			passes = passes[which : which+1]
		}
		irtest.Passes(t, irtest.Gen(seed, tensor.F64), passes, seed)
	})
}

func TestGolden(t *testing.T) { irtest.Golden(t, "../testdata/legal/*.txtar", legal.Passes) }

// slow bounds the multiplications of models that are run before and after
// every pass; larger ones are run at the end only.
const slow = 12e6

// ortTol bounds the difference of the legalised float graph from ONNX Runtime.
const ortTol = 1e-5

// TestSharedModels legalises the models of the shared test data, quantised
// ones as well, and compares float ones with ONNX Runtime's outputs.
func TestSharedModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(irtest.Shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		t.Run(name, func(t *testing.T) {
			m := testenv.Must(onnx.Load(f, onnx.Limits{}))(t)
			g, err := onnx.Import(m, onnx.ImportOptions{})
			testenv.Require(t, err == nil, "not imported: %v", err)
			irtest.Verify(t, g)
			var macs int64
			for _, n := range g.Nodes {
				if n.Op.MACs != nil {
					macs += n.Op.MACs(n)
				}
			}
			bns := irtest.Count(g, "BatchNormalization")
			before := g.Clone()
			mgr := pass.Manager{Passes: legal.Passes}
			if macs < slow && !testing.Short() {
				// noise inputs; the comparison with ONNX Runtime below is the strict one
				mgr.Check = irtest.CheckWithin(irtest.Tol{F32: 1e-4}, 1)
			}
			c := &pass.Ctx{}
			testenv.OK(t, mgr.Run(c, g))
			k := irtest.Count(g, "BatchNormalization")
			testenv.Check(t, k <= 0, "%d of %d BatchNormalization left", k, bns)
			t.Logf("%d nodes became %d, %d rewrites", len(before.Nodes), len(g.Nodes), len(c.Rewrites))
			compareGolden(t, name, before, g)
		})
	}
}

func compareGolden(t *testing.T, name string, before, g *ir.Graph) {
	in, want := npztest.GoldenCase(t, name, before)
	if in == nil {
		return
	}
	for i, v := range before.In {
		if in[i].Len() != v.Type.Elems() {
			t.Logf("golden input %d is %s, the graph wants %s", i, in[i], v.Type)
			return
		}
		in[i] = in[i].Reshaped(v.Type.Shape).Cast(v.Type.DType)
	}
	ref := testenv.Must(interp.Run(before, in, nil))(t)
	got, err := interp.Run(g, in, nil)
	testenv.OK(t, err)
	for i := range want {
		if want[i].Len() != got[i].Len() {
			t.Errorf("output %d: golden is %s, got %s", i, want[i], got[i])
			continue
		}
		w := want[i].Reshaped(got[i].Shape)
		d, d0 := irtest.Diff(got[i], w), irtest.Diff(ref[i], w)
		t.Logf("output %s: %.3g from ONNX Runtime, before legalisation %.3g", before.OutNames[i], d, d0)
		// What quantised models differ by is the interpreter's matter: the passes
		// add nothing to it.
		if d > max(ortTol, d0) {
			t.Errorf("output %s: %.3g from ONNX Runtime (before legalisation %.3g)", before.OutNames[i], d, d0)
		}
	}
}
