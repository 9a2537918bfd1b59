// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
	"github.com/nncc/nncc/schedule"
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
	o := testenv.Must(tryNet(t, net, c))(t)
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
		got := testenv.Must(interp.Run(o.Lowered.Graph, x.Inputs, nil))(t)
		want := testenv.Must(interp.Run(ref.Lowered.Graph, x.Inputs, nil))(t)
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

// blocks is a network of drawn blocks as mobile networks have them: expanding, depthwise and projecting convolutions,
// some with a stride or a residual, an encoder with its decoder, one or two inputs and more outputs.
func blocks(t *testing.T, seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 7))
	d := &drawnNetwork{t: t, g: ir.New("blocks"), seed: seed}
	input := func(name string, shape ...int) *ir.Value {
		return d.g.AddInput(name, ir.Type{DType: tensor.F32, Shape: shape})
	}
	side, width := 8+4*r.IntN(3), 1+r.IntN(4)
	x := input("x", 1, width, side, side)
	n := 0
	name := func(what string) string { n++; return fmt.Sprint(what, n) }
	windows := func(x *ir.Value, stride int) *ir.Value {
		c, k := x.Type.Shape[1], 3+2*r.IntN(2)
		w := d.g.AddConst(name("w"), ir.Rand(seed+uint64(n), tensor.F32, []int{c, 1, k, k}))
		return d.add(op.Conv, name("dw"), ir.Attrs{"group": ir.Int(c), "strides": ir.Ints(stride, stride),
			"pads": ir.Ints(k/2, k/2, k/2, k/2)}, x, w)
	}
	relu := func(x *ir.Value) *ir.Value { return d.add(op.Relu, name("relu"), nil, x) }
	if r.IntN(3) == 0 {
		x = d.add(op.Add, name("add"), nil, x, input("y", x.Type.Shape...))
	}
	for range 2 + r.IntN(4) {
		c := x.Type.Shape[1]
		stride := 1 + r.IntN(3)/2
		if x.Type.Shape[2] < 8 {
			stride = 1
		}
		y := relu(d.conv(name("expand"), x, c*(1+r.IntN(5)), 1))
		y = relu(windows(y, stride))
		switch r.IntN(4) {
		case 0:
			x = d.conv(name("project"), y, 1+r.IntN(12), 1)
		case 1:
			x = relu(d.conv(name("conv"), y, 1+r.IntN(8), 3))
		default:
			if y = d.conv(name("project"), y, c, 1); stride == 1 {
				y = d.add(op.Add, name("sum"), nil, x, y)
			}
			x = y
		}
		if r.IntN(5) == 0 {
			d.g.AddOutput(name("early"), x)
		}
	}
	if r.IntN(3) == 0 && x.Type.Shape[2]%2 == 0 {
		low := d.add(op.MaxPool, name("pool"), ir.Attrs{"kernel_shape": ir.Ints(2, 2), "strides": ir.Ints(2, 2)}, x)
		low = relu(d.conv(name("low"), low, 1+r.IntN(12), 3))
		up := d.add(op.ConvTranspose, name("up"), ir.Attrs{"strides": ir.Ints(2, 2)}, low, d.g.AddConst(name("w"),
			ir.Rand(seed+uint64(n), tensor.F32, []int{low.Type.Shape[1], 4, 2, 2})))
		x = relu(d.conv(name("decode"), d.add(op.Concat, name("skip"), ir.Attrs{"axis": ir.Int(1)}, x, up), 4, 3))
	}
	d.g.AddOutput("z", x)
	return d.g
}

// drawnProgram is a network of a kind that the seed says, compiled with drawn flags; an error: it is refused.
func drawnProgram(t *testing.T, seed uint64) (o *driver.Compiled, c *driver.Config, text string, err error) {
	r := rand.New(rand.NewPCG(seed, 9))
	c, _, text = randomConfig(r.Uint64())
	if c.Weights == option.Int4Weights {
		c.Precision = option.Auto
	}
	c.MaxRAM, c.Kernels = []string{"", "1"}[r.IntN(2)], option.Kernels(2*r.IntN(2))
	c.CalibMethod, c.Equalize = option.MinMax, false // quick
	net := blocks(t, seed)
	switch seed % 4 {
	case 0:
		net = irtest.Gen(seed, tensor.F32)
	case 1:
		net, c.Precision, c.Weights = irtest.GenQDQ(seed), option.Auto, option.Int8Weights
	}
	o, err = tryNet(t, net, c)
	return o, c, text, err
}

// TestReplayed: drawn networks, planned with overlap, chains and rings, in one piece and in parts, compute the same
// bits when every byte that holds nothing is poison. NNCC_RANDOM as for TestRandomQDQ; 1,000 with NNCC_LONG.
func TestReplayed(t *testing.T) {
	from, n := testenv.Range(t, map[bool]int{false: 12, true: 1000}[testenv.Long()])
	seen := map[string]int{}
	for k := from; k < from+n; k++ {
		o, c, text, err := drawnProgram(t, uint64(k))
		if err != nil {
			seen["refused"]++
			t.Logf("seed %d:%s: %v", k, text, err)
			continue
		}
		plans := []*schedule.Result{o.Lowered.Schedule}
		if half := o.Lowered.Program.ArenaBytes/2&^15 + 16*(k%40); k%3 == 0 {
			rooms := []lower.Room{{Pools: []lower.Pool{{Name: "a", Bytes: half}, {Name: "b", Bytes: 2 * half}}}}
			if parts, _, err := o.Lowered.Split(rooms, 0); err == nil {
				plans, seen["parts"] = append(plans, parts), seen["parts"]+1
			}
		}
		cases := mustCases(t, c, o)
		want := testenv.Must(interp.Run(o.Lowered.Graph, cases[0].Inputs, nil))(t)
		for _, p := range plans {
			got, err := p.Replay(cases[0].Inputs)
			for i := range want {
				testenv.Check(t, err == nil && tensor.Equal(got[i], want[i]), "seed %d:%s: output %d with poison: "+
					"%v\n%s", k, text, i, err, p.Program)
			}
		}
		count(seen, o)
		if k%250 == 2 {
			onHost(t, o, cases, "gcc", sanitized)
		}
	}
	t.Log(n, seen)
	for _, what := range []string{"chains", "rings", "overlaps", "several inputs", "several outputs", "float",
		"int16"} {
		testenv.Check(t, seen[what] >= n/50, "%d of %d programs have %s", seen[what], n, what)
	}
}

// count adds what a program has.
func count(seen map[string]int, o *driver.Compiled) {
	p := o.Lowered.Program
	has := map[string]bool{"programs": true, "chains": o.Lowered.Tiled != nil, "several inputs": len(p.Inputs) > 1,
		"several outputs": len(p.Outputs) > 1}
	for i := range p.Buffers {
		has["overlaps"] = has["overlaps"] || len(p.Sharing(i)) > 0
		has["rows"] = has["rows"] || p.Buffers[i].Pitch > 0
		has[p.Buffers[i].Type.DType.ONNXName()] = p.Buffers[i].Type.DType != 0
	}
	for _, s := range p.Steps {
		has["rings"] = has["rings"] || s.Op == op.Crop.Name
	}
	for what, is := range has {
		if is {
			seen[what]++
		}
	}
}
