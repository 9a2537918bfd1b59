// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// TestTwoSequences: two sequences with a state each, one of them step by step,
// interleaved on one arena that others write to between runs, give what each gives alone in the
// interpreter. New state is written in place and copied, delayed, exchanged, and
// begins with what the model says.
func TestTwoSequences(t *testing.T) {
	const body = `
  in %x : f32[1,24]
  in %h : f32[1,24]
  in %a : f32[1,24]
  in %b : f32[1,24]
  in %c : f32[1,24]
  in %d : f32[1,24]
  const %w : f32[24,24] = rand 1
  const %half : f32[1] = {0.25}
  %m = MatMul(%h, %w)
  %s = Add(%m, %x)
  %n = Mul(%s, %half)
  %r = Relu(%n)
  %q = Add(%r, %a)
  %e = Mul(%d, %half)
  %u = Add(%e, %x)
  %y = Add(%q, %u)
  %z = Add(%b, %c)
  out "y" = %y
  out "z" = %z
  out "old" = %b
  out "h_n" = %n
  out "a_n" = %x
  out "b_n" = %c
  out "c_n" = %b
  out "d_n" = %u`
	net := irtest.Parse(t, "graph \"recurrent\" {"+body+"\n}")
	for _, c := range []struct {
		board     string
		precision option.Precision
	}{{"host", option.Float32}, {"host", option.Int8}, {"cortex-m0plus", option.Int8}, {"cortex-m55", option.Int8}} {
		t.Run(fmt.Sprint(c.board, " ", c.precision), func(t *testing.T) {
			spec := mustLoad(t, c.board)
			o := compileFor(t, net.Clone(), "recurrent", spec, func(cfg *driver.Config) {
				cfg.Precision = c.precision
				cfg.States = []string{"h_n=h", "a_n=a", "b_n=b", "c_n=c", "d_n=d"}
			})
			if o == nil {
				return
			}
			var copied int
			for _, x := range o.Lowered.Program.States {
				if !o.Lowered.Program.InPlace(x) {
					copied++
				}
			}
			if all := len(o.Lowered.Program.States); all != 5 || copied == 0 || copied == all {
				t.Errorf("%d of %d states are copied: the test shows too little", copied, all)
			}
			checkSequences(t, o)
			figuresAddUp(t, o.Report)
		})
	}
}

// checkSequences runs two sequences through a program, the second one step by step, and compares.
func checkSequences(t *testing.T, o *driver.Compiled) {
	t.Helper()
	dir, ports := folder(t, o.Files), o.Lowered.Ports()
	stepped := o.Harness
	stepped.Header, stepped.RunFunc = "stepped.h", "stepped"
	const declared = "nncc_status stepped(void *arena, void *state)"
	putText(t, filepath.Join(dir, "stepped.h"), "#include \""+o.Harness.Header+"\"\n"+declared+";\n")
	putText(t, filepath.Join(dir, "stepped.c"), fmt.Sprintf("#include \"stepped.h\"\n%s\n{\n    int32_t i;\n"+
		"    nncc_status s = NNCC_OK;\n    for (i = 0; i < %s_STEPS && s == NNCC_OK; i++) {\n        s = %s_step("+
		"arena, state, i);\n    }\n    return s;\n}\n", declared, strings.ToUpper(o.Info.Prefix), o.Info.Prefix))
	for _, f := range run.HarnessFiles(o.Board, o.Harness, stepped) {
		putText(t, filepath.Join(dir, f.Path), string(f.Data))
	}
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Sanitize: o.Board.Core == "host"})
	jobs, want := make([]run.Job, 2), make([][][]*tensor.Dense, 2)
	for k := range jobs {
		runner := o.Lowered.Ports()
		for step := range 5 {
			var in []*tensor.Dense
			for i, v := range ports.Inputs() {
				in = append(in, ir.Rand(uint64(100*step+10*k+i), v.Type.DType, v.Type.Shape))
			}
			jobs[k].Cases = append(jobs[k].Cases, run.Case{Inputs: verify.Memory(in, ports.Inputs()),
				KeepState: step > 0})
			want[k] = append(want[k], testenv.Must(runner.Step(in))(t))
		}
	}
	for k, res := range testenv.Must(run.All(context.Background(), o.Board, im, jobs))(t) {
		for step, r := range res.Cases {
			testenv.Require(t, r.Status == 0, "step %d: status %d", step, r.Status)
			for i, at := range ports.Outputs() {
				v := o.Lowered.Graph.Out[at]
				got := testenv.Must(verify.FromMemory(r.Outputs[i], v.Type))(t)
				// C adds floats in the interpreter's order, but may round a product and a sum at once.
				if d := irtest.Diff(got, want[k][step][at]); d > 0 && !v.Type.DType.IsFloat() || d > 1e-5 {
					t.Errorf("step %d: output %d differs by %g from that of a sequence that runs alone", step, i, d)
				}
			}
		}
	}
}

// spelt are activations as exporters write them, from %c to %a.
var spelt = map[string]string{
	"SiLU": `%s = Sigmoid(%c)
  %a = Mul(%c, %s)`,
	"GELU": `const %root : f32[] = {1.4142135}
  const %one : f32[] = {1}
  const %half : f32[] = {0.5}
  %d = Div(%c, %root)
  %e = Erf(%d)
  %p = Add(%e, %one)
  %m = Mul(%c, %p)
  %a = Mul(%m, %half)`,
	"GELU by sigmoid": `const %slope : f32[] = {1.702}
  %d = Mul(%c, %slope)
  %s = Sigmoid(%d)
  %a = Mul(%c, %s)`,
	"HardSwish": `const %three : f32[] = {3}
  const %six : f32[] = {6}
  const %zero : f32[] = {0}
  %d = Add(%c, %three)
  %l = Clip(%d, %zero, %six)
  %m = Mul(%c, %l)
  %a = Div(%m, %six)`,
	"Mish": `%s = Softplus(%c)
  %t = Tanh(%s)
  %a = Mul(%c, %t)`,
	"a diamond that has no name": `%s = Sigmoid(%c)
  %t = Tanh(%s)
  %u = Mul(%t, %c)
  %v = Sub(%u, %s)
  %a = Mul(%v, %v)`,
}

// oneLetter are the values of an activation; its constants have longer names.
var oneLetter = regexp.MustCompile(`%([a-z])\b`)

// activated is a network of two convolutions with the activation behind each,
// plain or with a residual addition around the second.
func activated(t *testing.T, activation string, residual bool) *ir.Graph {
	second := oneLetter.ReplaceAllString(strings.ReplaceAll(activation, "%a", "%y"), "%${1}2")
	second = strings.ReplaceAll(second, "%y2", "%y")
	var body []string
	for _, line := range strings.Split(second, "\n") {
		if !strings.Contains(line, "const") { // shared with the first
			body = append(body, line)
		}
	}
	last, out := "", "%y"
	if residual {
		last, out = "  %z = Add(%y, %a)\n", "%z"
	}
	return irtest.Parse(t, fmt.Sprintf(`graph "g" {
  in %%x : f32[1,5,9,9]
  const %%w : f32[8,5,1,1] = rand 1
  const %%b : f32[8] = rand 2
  const %%w2 : f32[8,8,3,3] = rand 3
  const %%b2 : f32[8] = rand 4
  %%c = Conv(%%x, %%w, %%b)
  %s
  %%c2 = Conv(%%a, %%w2, %%b2) {pads=[1,1,1,1]}
%s
%s  out "y" = %s
}`, activation, strings.Join(body, "\n"), last, out))
}

// TestActivationsInStore: an int8 activation, however it is spelt, is one table
// that the convolution before it applies where it stores; with --fuse off the
// results are the same.
func TestActivationsInStore(t *testing.T) {
	for name, text := range spelt {
		for _, residual := range []bool{false, true} {
			c := driver.Defaults()
			c.Board, c.Name = "cortex-m55", "net"
			o := compileNet(t, activated(t, text, residual), &c)
			var ops []string
			for i, n := range o.Lowered.Schedule.Nodes {
				if n.Op != op.Relayout {
					ops = append(ops, o.Report.Layers[i].Op)
				}
			}
			most := 2
			if residual {
				most = 3
			}
			if len(ops) > most ||
				slices.ContainsFunc(ops[:2], func(s string) bool { return !strings.HasPrefix(s, "Conv+") }) {
				t.Errorf("%s, residual %v: steps %v, want convolutions with their activations\n%s", name, residual, ops,
					o.Explain(false))
			}
			off := c
			off.Fuse = false
			sameResults(t, name, o, compileNet(t, activated(t, text, residual), &off))
		}
	}
}

// sameResults compares two programs on seeded inputs.
func sameResults(t *testing.T, name string, a, b *driver.Compiled) {
	t.Helper()
	for seed := range uint64(3) {
		in := irtest.Inputs(a.Lowered.Graph, seed)
		x := testenv.Must(interp.Run(a.Lowered.Graph, in, nil))(t)
		y := testenv.Must(interp.Run(b.Lowered.Graph, in, nil))(t)
		for i := range x {
			testenv.Check(t, tensor.Equal(x[i], y[i]), "%s: output %d differs without fusion", name, i)
		}
	}
}

// TestSharedActivations: every SiLU of a network of them is in the store of
// the convolution that it belongs to.
func TestSharedActivations(t *testing.T) {
	o := compileShared(t, shared(t), "yolov8seg_tiny", "cortex-m55", nil)
	product := func(node string) bool { return strings.HasSuffix(node, "/Mul") } // x*sigmoid(x), no score
	fused := 0
	for i, s := range o.Lowered.Program.Steps {
		switch n := o.Lowered.Schedule.Nodes[i]; {
		case n.Op == op.Fused && strings.HasPrefix(o.Report.Layers[i].Op, "Conv+"):
			fused++
		case n.Op == op.Swish, n.Op == op.Lookup && slices.ContainsFunc(o.Report.Layers[i].ONNXNodes, product):
			t.Errorf("%s is a step of its own", s.Name)
		}
	}
	testenv.Check(t, fused >= 50, "%d convolutions with an activation, want those of the whole network", fused)
}

// TestCurves: with 16-bit data the same subgraphs are one curve, where it is as
// near to the exact function as the nodes, and the report says how near.
func TestCurves(t *testing.T) {
	c := driver.Defaults()
	c.Board, c.Name, c.Precision = "cortex-m4", "net", option.Int16x8
	o := compileNet(t, activated(t, spelt["a diamond that has no name"], false), &c)
	curves := 0
	for _, f := range o.Report.Fusion {
		if f.Kind != "curve" {
			continue
		}
		curves++
		if f.MaxError <= 0 || f.MaxError > f.SeparateError+0.5 || len(f.Nodes) < 2 {
			t.Errorf("%v: %v steps from the exact function, separately %v", f.Nodes, f.MaxError, f.SeparateError)
		}
	}
	if curves == 0 {
		t.Errorf("no curve behind any of the convolutions\n%s", o.Explain(false))
	}
	off := c
	off.Fuse = false
	sameResults(t, "curves", o, compileNet(t, activated(t, spelt["a diamond that has no name"], false), &off))
}

// profiled is the first model of a firmware, and what its run says, bit for bit.
func profiled(t *testing.T, c *driver.Config) (*driver.Compiled, *report.Verdict) {
	t.Helper()
	f := testenv.Must(driver.Compile(c))(t)
	vs := testenv.Must(f.Profile(context.Background()))(t)
	testenv.Check(t, !vs[0].Differs(), "%+v", vs[0].Outputs)
	return f.Models[0], vs[0]
}

// clampNet is a few operators, each with clamps behind it in every form there
// is: Clip with either bound, none, or the lower one above the upper one, Relu,
// Min and Max with a number, now and then one that is infinite or no number.
func clampNet(t *testing.T, seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 3))
	d := &drawnNetwork{t: t, g: ir.New("clamps")}
	g := d.g
	v := g.AddInput("x", ir.T(tensor.F32, 1, 3, 4, 5))
	first := v
	n := 0
	add := func(o *ir.OpDef, a ir.Attrs, in ...*ir.Value) {
		n++
		v = d.add(o, fmt.Sprint("n", n), a, in...)
	}
	number := func() *ir.Value {
		n++
		x := []float64{0, 6, 1, -1, r.NormFloat64(), r.NormFloat64()}[r.IntN(6)]
		switch r.IntN(25) {
		case 0:
			x = math.Inf(1)
		case 1:
			x = math.Inf(-1)
		case 2:
			x = math.NaN()
		}
		return g.AddConst(fmt.Sprintf("k%d", n), tensor.FromFloats(tensor.F32, nil, []float64{x}))
	}
	for range 1 + r.IntN(2) {
		n++
		switch r.IntN(4) {
		case 0:
			add(op.Conv, ir.Attrs{"pads": ir.Ints(1, 1, 1, 1)}, v, g.AddConst(fmt.Sprintf("w%d", n),
				ir.Rand(seed+uint64(n), tensor.F32, []int{3, 3, 3, 3})))
		case 1:
			add(op.Add, nil, v, first)
		case 2:
			add(op.Mul, nil, v, first)
		default:
			add(op.Get("", "Sigmoid"), nil, v)
		}
		for range 1 + r.IntN(3) {
			switch r.IntN(6) {
			case 0:
				add(op.Relu, nil, v)
			case 1:
				add(op.Get("", "Min"), nil, v, number())
			case 2:
				add(op.Get("", "Max"), nil, number(), v)
			case 3:
				add(op.Clip, nil, v, number())
			case 4:
				add(op.Clip, nil, v, nil, number())
			default:
				add(op.Clip, nil, v, number(), number())
			}
		}
	}
	g.AddOutput("y", v)
	return g
}

// TestClamps: clamps give the same whether they are absorbed, fused or alone,
// in every precision, in the interpreter and in C.
func TestClamps(t *testing.T) {
	from, count := testenv.Range(t, 3)
	for seed := uint64(from); seed < uint64(from+count); seed++ {
		for _, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
			t.Run(fmt.Sprintf("%d/%s", seed, precision), func(t *testing.T) {
				c := driver.Defaults()
				c.Board, c.Precision, c.Name, c.Cases = "host", precision, "net", 1
				net := clampNet(t, seed)
				o := compileNet(t, net.Clone(), &c)
				cases := mustCases(t, &c, o)
				if precision == option.Float32 {
					want := testenv.Must(interp.Run(net, cases[0].Inputs, nil))(t)
					got := testenv.Must(interp.Run(o.Lowered.Graph, cases[0].Inputs, nil))(t)
					if d := irtest.Diff(got[0], want[0]); !(d <= 1e-5) {
						t.Errorf("the program differs from its model by %v of the largest\n%s", d, net)
					}
				}
				onHost(t, o, cases, "gcc", sanitized)
			})
		}
	}
}
