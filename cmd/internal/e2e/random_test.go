// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// flagChoices are the flags that a random compilation turns. The first choice
// of each is the plain one.
var flagChoices = []struct {
	name    string
	set     func(c *driver.Config, v string)
	numeric bool // changes the numbers of the program, by design
	choices []string
}{
	{"board", func(c *driver.Config, v string) { c.Board = v }, false, []string{"host", "cortex-m55", "cortex-m4",
		"cortex-m0plus"}},
	{"precision", func(c *driver.Config, v string) { c.Precision = word[option.Precision](v) }, true, []string{"auto",
		"int16x8", "float32"}},
	{"weights", func(c *driver.Config, v string) { c.Weights = word[option.Weights](v) }, true,
		[]string{"int8", "int4"}},
	{"io", func(c *driver.Config, v string) { c.IO = word[option.IO](v) }, true, []string{"quantized", "float"}},
	{"io-layout", func(c *driver.Config, v string) { c.IOLayout = word[option.IOLayout](v) }, true, []string{"onnx",
		"native"}},
	{"legalize", func(c *driver.Config, v string) { c.Legalize = v == "on" }, true, []string{"on", "off"}},
	{"equalize", func(c *driver.Config, v string) { c.Equalize = v == "on" }, true, []string{"off", "on"}},
	{"calib-method", func(c *driver.Config, v string) { c.CalibMethod = word[option.Method](v) }, true,
		[]string{"minmax", "mse", "percentile", "entropy"}},
	{"kernels", func(c *driver.Config, v string) { c.Kernels = word[option.Kernels](v) }, true,
		[]string{"reference", "auto", "cmsis-nn", "nncc"}},
	{"fuse", func(c *driver.Config, v string) { c.Fuse = v == "on" }, false, []string{"off", "on"}},
	{"dead-channels", func(c *driver.Config, v string) { c.DeadChannels = v == "on" }, false, []string{"off", "on"}},
	{"align", func(c *driver.Config, v string) { c.Align = word[option.Align](v) }, false, []string{"never", "auto",
		"always"}},
	{"optimize", func(c *driver.Config, v string) { c.Optimize = word[option.Optimize](v) }, false,
		[]string{"speed", "size", "balanced"}},
	{"max-ram", func(c *driver.Config, v string) { c.MaxRAM = v }, false, []string{"", "1K", "4K"}},
}

// word is the value of an option.
func word[T option.Enum](w string) T {
	v, err := option.Parse[T](w)
	if err != nil {
		panic(err)
	}
	return v
}

// randomConfig turns flags by the digits of a number. plain is the same
// program by the plainest way: what changes its numbers stays, what only may
// change how they are computed is off.
func randomConfig(flags uint64) (c, plain *driver.Config, text string) {
	a, b := driver.Defaults(), driver.Defaults()
	for _, f := range flagChoices {
		n := uint64(len(f.choices))
		v := f.choices[flags%n]
		flags /= n
		f.set(&a, v)
		if f.numeric {
			f.set(&b, v)
		} else {
			f.set(&b, f.choices[0])
		}
		text += fmt.Sprintf(" --%s=%s", f.name, v)
	}
	a.Cases, a.Name, b.Name = 2, "net", "net"
	a.Tries = 3 // dozens of programs for one network would leave the fuzzer none for others
	return &a, &b, text
}

// compileNet compiles a float graph as if it came from a model file. A refusal ends the test: a skip would hide that
// the rest is not compared.
func compileNet(t *testing.T, net *ir.Graph, c *driver.Config) *driver.Compiled {
	t.Helper()
	o, err := tryNet(t, net, c)
	require(t, err)
	return o
}

// tryNet compiles a network as a user's model file; a bug ends the test.
func tryNet(t *testing.T, net *ir.Graph, c *driver.Config) (*driver.Compiled, error) {
	t.Helper()
	m, g := throughFile(t, net)
	o, err := c.CompileGraph(m, g, mustLoad(t, c.Board))
	if bug.Is(err) {
		t.Fatal(err)
	}
	return o, err
}

// checkRandom is the whole way from a model to C, on a random network with
// random flags: the interpreter gives the same outputs for the program as for
// the plainest one, bit for bit where it is quantised, and so does the emitted
// C, which is built with the sanitizers where withC says so.
func checkRandom(t *testing.T, seed, flags uint64, withC bool) {
	c, plain, text := randomConfig(flags)
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, flags %d:%s", seed, flags, text)
		}
	}()
	if c.Weights == option.Int4Weights && c.Precision != option.Auto {
		_, err := tryNet(t, irtest.Gen(seed, tensor.F32), c)
		if refused := new(driver.UsageError); !errors.As(err, &refused) {
			t.Errorf("int4 weights with data that are not int8: %v, want a refusal", err)
		}
		return
	}
	o := compileNet(t, irtest.Gen(seed, tensor.F32), c)
	ref := compileNet(t, irtest.Gen(seed, tensor.F32), plain)
	cases := mustCases(t, c, o)
	for k, x := range cases {
		got, err := interp.Run(o.Lowered.Graph, x.Inputs, nil)
		require(t, err)
		want, err := interp.Run(ref.Lowered.Graph, x.Inputs, nil)
		require(t, err)
		for i := range want {
			if n, diff := verify.Differ(got[i], want[i], 0, nil); n > 0 {
				t.Errorf("case %d, output %d: %d of %d elements differ from the plain program, by up to %v", k, i, n,
					want[i].Len(), diff)
			}
		}
	}
	if withC && !t.Failed() {
		onHost(t, o, cases, "gcc", sanitized)
	}
}

// TestRandomPrograms: a sample of FuzzCompile; one in eight goes through the C
// compiler. NNCC_RANDOM as for TestRandomQDQ.
func TestRandomPrograms(t *testing.T) {
	from, n := testenv.Range(t, 40)
	for _, x := range [][2]uint64{
		{41, 6260705749512347485}, // BatchNormalization behind Flatten in a table
	} {
		t.Run(fmt.Sprint("found/", x[0]), func(t *testing.T) { checkRandom(t, x[0], x[1], true) })
	}
	for k := uint64(from); k < uint64(from+n); k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) { checkRandom(t, k, k*0x9e3779b97f4a7c15, k%8 == 0) })
	}
}

// FuzzCompile: no random network and no flags make a program that computes
// other numbers. Without C: the fuzzer takes an input of ten seconds for hung,
// as building is on a loaded machine; TestRandomPrograms builds.
func FuzzCompile(f *testing.F) {
	for k := range uint64(8) {
		f.Add(k, k*0x9e3779b97f4a7c15)
	}
	f.Fuzz(func(t *testing.T, seed, flags uint64) { checkRandom(t, seed, flags, false) })
}

// drawnNetwork is a network that a test puts together, node by node, with drawn weights.
type drawnNetwork struct {
	t    *testing.T
	g    *ir.Graph
	seed uint64
	same bool // all output channels of a convolution have the same weights, and no bias
}

// add is the result of a node, which has its own name as its origin.
func (d *drawnNetwork) add(o *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	d.t.Helper()
	n, err := d.g.Add(o, name, attrs, 1, in...)
	if err != nil {
		d.t.Fatal(err)
	}
	n.Origin = []string{name}
	return n.Out[0]
}

// conv is a k by k convolution that keeps the map's size.
func (d *drawnNetwork) conv(name string, x *ir.Value, to, k int) *ir.Value {
	d.t.Helper()
	d.seed++
	w := ir.Rand(d.seed, tensor.F32, []int{to, x.Type.Shape[1], k, k})
	b := ir.Rand(d.seed+100, tensor.F32, []int{to})
	if d.same {
		all := tensor.As[float32](w)
		first := all[:len(all)/to]
		for i := range to {
			copy(all[i*len(first):], first)
		}
		b = tensor.New(tensor.F32, b.Shape)
	}
	pads := ir.Attrs{"pads": ir.Ints(k/2, k/2, k/2, k/2)}
	return d.add(op.Conv, name, pads, x, d.g.AddConst("w_"+name, w), d.g.AddConst("b_"+name, b))
}

// profiled is the first model of a firmware, and what its run says, bit for bit.
func profiled(t *testing.T, c *driver.Config) (*driver.Compiled, *report.Verdict) {
	t.Helper()
	f, err := driver.Compile(c)
	require(t, err)
	vs, err := f.Profile(context.Background())
	require(t, err)
	if vs[0].Differs() {
		t.Errorf("%+v", vs[0].Outputs)
	}
	return f.Models[0], vs[0]
}

// clampNet is a few operators, each with clamps behind it in every form there
// is: Clip with either bound, none, or the lower one above the upper one, Relu,
// Min and Max with a number, now and then one that is infinite or no number.
func clampNet(seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 3))
	g := ir.New("clamps")
	v := g.AddInput("x", ir.T(tensor.F32, 1, 3, 4, 5))
	first := v
	n := 0
	add := func(d *ir.OpDef, a ir.Attrs, in ...*ir.Value) {
		n++
		m, err := g.Add(d, fmt.Sprintf("n%d", n), a, 1, in...)
		if err != nil {
			panic(err)
		}
		m.Origin = []string{m.Name}
		v = m.Out[0]
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
				net := clampNet(seed)
				o := compileNet(t, net.Clone(), &c)
				cases := mustCases(t, &c, o)
				if precision == option.Float32 {
					want, err := interp.Run(net, cases[0].Inputs, nil)
					require(t, err)
					got, err := interp.Run(o.Lowered.Graph, cases[0].Inputs, nil)
					require(t, err)
					if d := irtest.Diff(got[0], want[0]); !(d <= 1e-5) {
						t.Errorf("the program differs from its model by %v of the largest\n%s", d, net)
					}
				}
				onHost(t, o, cases, "gcc", sanitized)
			})
		}
	}
}
