// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/verify"
)

// batchItem is one program of a batch.
type batchItem struct {
	name  string    // for messages
	net   *ir.Graph // what was compiled
	o     *driver.Compiled
	cases []verify.Case
}

// newItem fills in seeded inputs.
func newItem(t testing.TB, name string, net *ir.Graph, o *driver.Compiled) batchItem {
	t.Helper()
	c := *o.Config
	c.Cases = 2
	return batchItem{name, net, o, mustCases(t, &c, o)}
}

// batchImage builds programs for one board, each with a prefix of its own, as one image: a compiler and a machine take
// far longer to start than such a program to run.
func batchImage(t *testing.T, spec *boards.Spec, list []*driver.Compiled, opt run.BuildOptions) *run.Image {
	t.Helper()
	all := map[string]codegen.File{}
	var models []run.Model
	for _, o := range list {
		models = append(models, o.Harness)
		for _, f := range o.Files {
			if strings.HasPrefix(f.Path, run.HarnessDir+"/") ||
				!slices.Contains([]string{".c", ".h", ".S", ".bin", ".lm"}, filepath.Ext(f.Path)) {
				continue // project files
			}
			if old, ok := all[f.Path]; ok && !bytes.Equal(old.Data, f.Data) {
				t.Fatalf("%s: %s differs from that of an earlier program", o.Info.Prefix, f.Path)
			}
			all[f.Path] = f
		}
	}
	for _, f := range run.HarnessFiles(spec, models...) {
		all[f.Path] = codegen.File{Path: f.Path, Data: f.Data}
	}
	return mustBuild(t, spec, folder(t, slices.Collect(maps.Values(all))), opt)
}

// runBatch runs programs of one board, of one image, one after the other and gives check every program's outputs.
func runBatch(t *testing.T, spec *boards.Spec, items []batchItem, opt run.BuildOptions,
	check func(it batchItem, k int, out []*tensor.Dense)) {
	t.Helper()
	if len(items) == 0 {
		return
	}
	im := batchImage(t, spec, lists.Map(items, func(it batchItem) *driver.Compiled { return it.o }), opt)
	jobs := lists.Map(items, func(it batchItem) run.Job { return run.Job{Cases: memory(it.o, it.cases)} })
	res, err := run.All(context.Background(), spec, im, jobs)
	require(t, err)
	for i, it := range items {
		for k, r := range res[i].Cases {
			if r.Status != 0 {
				t.Errorf("%s on %s: the run function failed", it.name, spec.Name)
				continue
			}
			var out []*tensor.Dense
			for i, v := range it.o.Lowered.Graph.Out {
				out = append(out, testenv.Must(verify.FromMemory(r.Outputs[i], v.Type))(t))
			}
			check(it, k, out)
		}
	}
}

// compareInterpreter compares the outputs of one inference with those of the
// interpreter: bit for bit, within the bounds of verify where a float layer is
// before them. edge reports that only outputs behind a QuantizeLinear of float
// layers differ: a value on the edge between two of its steps may have fallen to
// the other side, and what follows from it cannot be compared.
func compareInterpreter(t *testing.T, it batchItem, k int, board string, out []*tensor.Dense) (edge bool) {
	t.Helper()
	ref := it.o.Lowered.Reference
	want := testenv.Must(interp.Run(ref, it.cases[k].Inputs, nil))(t)
	for i := range out {
		n, diff := verify.Differ(out[i], want[i], 0, nil)
		switch {
		case n == 0:
		case behindRounding(ref.Out[i]):
			edge = true
		default:
			t.Errorf("%s on %s: %d of %d elements of output %s differ from the interpreter, by up to %v", it.name,
				board, n, want[i].Len(), ref.OutNames[i], diff)
		}
	}
	return edge
}

// behindRounding reports a value that depends on a QuantizeLinear, or another
// operator that is not continuous, of what was computed in float.
func behindRounding(v *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value) bool
	walk = func(v *ir.Value) bool {
		if v == nil || v.Def == nil || seen[v] {
			return false
		}
		seen[v] = true
		if !v.Type.DType.IsFloat() && verify.FromFloat(v) {
			return true
		}
		return slices.ContainsFunc(v.Def.In, walk)
	}
	return walk(v)
}

// compileFor compiles a graph for a board with a prefix of its own. nil: it was
// refused, with a reason; skips counts those.
func compileFor(t *testing.T, net *ir.Graph, name string, spec *boards.Spec,
	set func(*driver.Config)) *driver.Compiled {
	t.Helper()
	c := driver.Defaults()
	c.Board, c.Name = spec.Name, name
	if set != nil {
		set(&c)
	}
	m, g := throughFile(t, net)
	o, err := c.CompileGraph(m, g, spec)
	if err != nil {
		t.Errorf("%s for %s: %v", name, spec.Name, err)
		return nil
	}
	return o
}

// batchSize is how many programs share an image.
const batchSize = 25

// randomNet is a network to be compiled with flags.
type randomNet struct {
	name string
	net  *ir.Graph
	set  func(c *driver.Config) // nil: a quantised network, as it is
}

// randomNets are networks that are quantised, by seeds, and for every third seed a float one that nncc quantises in
// every precision.
func randomNets(t *testing.T, from, n int) []randomNet {
	dir := t.TempDir()
	var nets []randomNet
	for s := from; s < from+n; s++ {
		nets = append(nets, randomNet{fmt.Sprintf("net%d", s), irtest.GenQDQ(uint64(s)), nil})
		if s%3 != 0 {
			continue
		}
		net := irtest.GenFloat(uint64(s))
		for _, p := range ownPrecisions {
			nets = append(nets, randomNet{fmt.Sprintf("net%d_%s", s, p.name), net, func(c *driver.Config) {
				p.set(c, net, rand.New(rand.NewPCG(uint64(s), 4)), dir)
			}})
		}
	}
	return nets
}

// TestRandomFirmware: the firmware of random networks computes what the interpreter does, and where nncc quantised
// them, the program what the network with QuantizeLinear and DequantizeLinear does between any two quantised values.
func TestRandomFirmware(t *testing.T) {
	from, n := testenv.Range(t, map[bool]int{false: 9, true: 33}[testenv.Long()])
	nets := randomNets(t, from, n)
	checked := map[string]bool{} // once: the boards share the numbers
	for _, b := range testenv.Boards("host", "cortex-m4", "cortex-m55", "mla-host") {
		spec := mustLoad(t, b)
		for k := 0; k < len(nets); k += batchSize {
			t.Run(fmt.Sprintf("%s/%s", b, nets[k].name), func(t *testing.T) {
				var items []batchItem
				for _, x := range nets[k:min(k+batchSize, len(nets))] {
					if x.set != nil && len(spec.Accelerators) > 0 {
						continue
					}
					o := compileFor(t, x.net, x.name, spec, x.set)
					if o == nil {
						continue
					}
					if x.set != nil && !checked[x.name] {
						checked[x.name] = true
						checkQuantised(t, x.name, o)
					}
					items = append(items, newItem(t, x.name, x.net, o))
				}
				opt := run.BuildOptions{Jobs: 1, Opt: "speed", Sanitize: b == "host" && k == 0}
				edges := map[string]bool{}
				var again []batchItem
				runBatch(t, spec, items, opt, func(it batchItem, k int, out []*tensor.Dense) {
					if compareInterpreter(t, it, k, b, out) && !edges[it.name] {
						edges[it.name] = true
						again = append(again, it)
					}
				})
				stretchesOn(t, spec, again, opt)
			})
		}
	}
}

// stretchesOn compares the firmware of quantised networks with what the models
// mean, stretch by stretch: a rounding that fell to the other side in one does
// not reach the next.
func stretchesOn(t *testing.T, spec *boards.Spec, list []batchItem, opt run.BuildOptions) {
	t.Helper()
	models := map[string]*ir.Graph{}
	var items []batchItem
	for _, it := range list {
		net := it.net
		if q := it.o.Lowered.QDQ; !lower.Quantised(net) {
			net = q
		}
		_, model := throughFile(t, irtest.ExposeQuantised(net))
		o := compileFor(t, irtest.ExposeQuantised(net), it.name, spec, nil)
		if o == nil {
			continue
		}
		models[it.name] = model
		x := newItem(t, it.name, net, o)
		items = append(items, x)
	}
	runBatch(t, spec, items, opt, func(it batchItem, k int, out []*tensor.Dense) {
		model, prog := models[it.name], it.o.Lowered.Reference
		in := make([]*tensor.Dense, len(model.In))
		for i, v := range model.In {
			in[i] = it.cases[k].Inputs[i]
			if q := prog.In[i].Type.Quant; q != nil && v.Type.DType.IsFloat() {
				in[i] = ir.Dequantise(in[i], q).Cast(v.Type.DType)
			}
		}
		for _, b := range compareStretches(t, model, in, prog, out) {
			if b.jumps {
				continue
			}
			t.Errorf("%s on %s: %.3g steps off: %s", it.name, spec.Name, b.steps, b.at)
		}
	})
}

// ownPrecisions are the ways to quantise a float network.
var ownPrecisions = []struct {
	name string
	set  func(c *driver.Config, g *ir.Graph, r *rand.Rand, dir string)
}{
	{"int8", func(*driver.Config, *ir.Graph, *rand.Rand, string) {}},
	{"int16x8", func(c *driver.Config, _ *ir.Graph, _ *rand.Rand, _ string) { c.Precision = option.Int16x8 }},
	{"int4", func(c *driver.Config, _ *ir.Graph, _ *rand.Rand, _ string) { c.Weights = option.Int4Weights }},
	{"mixed", func(c *driver.Config, g *ir.Graph, r *rand.Rand, dir string) {
		kinds := []string{"int8", "int16x8", "int4", "float32"}
		var b strings.Builder
		fmt.Fprintf(&b, "default: %s\nlayers:\n", kinds[r.IntN(len(kinds))])
		seen := map[string]bool{}
		for _, n := range g.Nodes { // every operator by the last digit of its name
			p := "*" + n.Name[len(n.Name)-1:]
			if !seen[p] {
				fmt.Fprintf(&b, "  %q: %s\n", p, kinds[r.IntN(len(kinds))])
			}
			seen[p] = true
		}
		c.LayersConfig = filepath.Join(dir, g.Name+".yaml")
		if err := os.WriteFile(c.LayersConfig, []byte(b.String()), 0o644); err != nil {
			panic(err)
		}
	}},
}

// ownSteps is how far an int16 value may be from the exact one where nncc
// quantised: 16 steps of interpolation (lower/quant), and two.
const ownSteps = 18

// checkQuantised compares the integer form of a quantised network with what its
// Q and DQ nodes say, stretch by stretch.
func checkQuantised(t *testing.T, name string, o *driver.Compiled) {
	t.Helper()
	model := irtest.ExposeQuantised(o.Lowered.QDQ)
	prog := model.Clone()
	testenv.OK(t, quant.Integer(prog, quant.IntegerOptions{}), name)
	in := irtest.Inputs(model, 1)
	pin := make([]*tensor.Dense, len(in))
	for i, d := range in {
		var err error
		if pin[i], err = verify.Input(d, prog.In[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := interp.Run(prog, pin, nil)
	testenv.Require(t, err == nil, "%s: %v", name, err)
	for _, b := range compareStretches(t, model, in, prog, got) {
		if b.wide && b.steps <= ownSteps {
			continue
		}
		t.Errorf("%s: %.3g steps off: %s", name, b.steps, b.at)
	}
}
