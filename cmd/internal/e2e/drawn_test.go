// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
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
// some with a stride or a residual, an encoder with its decoder, attention, one or two inputs and more outputs; and
// which of these are state.
func blocks(t *testing.T, seed uint64) (_ *ir.Graph, states []string) {
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
	if x.Type.Shape[2] <= 8 && r.IntN(2) == 0 {
		x = d.attention(name, x, 1+r.IntN(3), 2+r.IntN(6))
	}
	d.g.AddOutput("z", x)
	if r.IntN(3) == 0 {
		states = []string{"kept=h"}
		h := relu(d.add(op.Add, name("next"), nil, x, input("h", x.Type.Shape...)))
		d.g.AddOutput("kept", h)
		if r.IntN(2) == 0 {
			d.g.AddOutput("unit", d.recurrent(name, h, 1+r.IntN(9)))
			states = append(states, "unit=u")
		}
	}
	return d.g, states
}

// reshape is a view.
func (d *drawnNetwork) reshape(name string, x *ir.Value, shape ...int) *ir.Value {
	return d.add(op.Reshape, name, nil, x, d.g.AddConst("s_"+name, tensor.Ints(shape...)))
}

// attention adds to a map what all of its pixels say to each, by some heads of so many channels.
func (d *drawnNetwork) attention(name func(string) string, x *ir.Value, heads, size int) *ir.Value {
	c, pixels := x.Type.Shape[1], x.Type.Shape[2]*x.Type.Shape[3]
	turn := func(x *ir.Value, perm ...int) *ir.Value {
		return d.add(op.Transpose, name("turn"), ir.Attrs{"perm": ir.Ints(perm...)}, x)
	}
	product := func(x *ir.Value, from, to int) *ir.Value {
		w := name("w")
		return d.add(op.MatMul, name("product"), nil, x, d.g.AddConst(w, ir.Rand(d.seed+uint64(len(w)+to), tensor.F32,
			[]int{from, to})))
	}
	rows := turn(d.reshape(name("rows"), x, 1, c, pixels), 0, 2, 1)
	head := func(perm ...int) *ir.Value {
		return turn(d.reshape(name("heads"), product(rows, c, heads*size), 1, pixels, heads, size), perm...)
	}
	scores := d.add(op.MatMul, name("scores"), nil, head(0, 2, 1, 3), head(0, 2, 3, 1))
	weights := d.add(op.Softmax, name("softmax"), ir.Attrs{"axis": ir.Int(-1)}, scores)
	sum := d.add(op.MatMul, name("mixed"), nil, weights, head(0, 2, 1, 3))
	y := product(d.reshape(name("joined"), turn(sum, 0, 2, 1, 3), 1, pixels, heads*size), heads*size, c)
	return d.add(op.Add, name("residual"), nil, x, d.reshape(name("map"), turn(y, 0, 2, 1), x.Type.Shape...))
}

// recurrent is the new state of some units that see the mean of a map, and their own state, the input u.
func (d *drawnNetwork) recurrent(name func(string) string, x *ir.Value, units int) *ir.Value {
	d.t.Helper()
	c := x.Type.Shape[1]
	weights := func(shape ...int) *ir.Value {
		return d.g.AddConst(name("w"), ir.Rand(d.seed+uint64(shape[1]), tensor.F32, shape))
	}
	mean := d.reshape(name("mean"), d.add(op.GlobalAveragePool, name("pool"), nil, x), 1, 1, c)
	u := d.g.AddInput("u", ir.T(tensor.F32, 1, 1, units))
	n, err := d.g.Add(op.GRU, "units", ir.Attrs{"hidden_size": ir.Int(units)}, 2, mean, weights(1, 3*units, c),
		weights(1, 3*units, units), nil, nil, u)
	testenv.OK(d.t, err)
	n.Origin = []string{"units"}
	return n.Out[1]
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
	c.Name = fmt.Sprint("net", seed)
	net, states := blocks(t, seed)
	if c.States = states; states == nil && len(net.In) == 1 && r.IntN(4) == 0 {
		c.Stream = "2"
	}
	if states != nil || c.Stream != "" {
		c.IOLayout = option.ONNXLayout
	}
	switch seed % 4 {
	case 0:
		net, c.States, c.Stream = irtest.Gen(seed, tensor.F32), nil, ""
	case 1:
		c.States, c.Stream = nil, ""
		net, c.Precision, c.Weights = irtest.GenQDQ(seed), option.Auto, option.Int8Weights
	}
	o, err = tryNet(t, net, c)
	return o, c, text, err
}

// TestReplayed: drawn networks, planned with overlap, chains and rings, in one piece and in parts, compute the same
// bits when every byte that holds nothing is poison: in the interpreter, and as firmware, no step of which writes a
// byte that is not of its results or its own memory. NNCC_RANDOM as for TestRandomQDQ; 1,000 with NNCC_LONG.
func TestReplayed(t *testing.T) {
	from, n := testenv.Range(t, map[bool]int{false: 12, true: 1000}[testenv.Long()])
	seen := map[string]int{}
	batches, objects := map[string][]*driver.Compiled{}, t.TempDir()
	for k := from; k < from+n; k++ {
		o, _, text, err := drawnProgram(t, uint64(k))
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
		in := irtest.Inputs(o.Lowered.Graph, uint64(k))
		want := testenv.Must(interp.Run(o.Lowered.Graph, in, nil))(t)
		for _, p := range plans {
			got, err := p.Replay(in)
			for i := range want {
				testenv.Check(t, err == nil && tensor.Equal(got[i], want[i]), "seed %d:%s: output %d with poison: "+
					"%v\n%s", k, text, i, err, p.Program)
			}
		}
		count(seen, o)
		boards := []string{"host"}
		if b := o.Board.Name; (testenv.Long() || testenv.Boards() != nil) && (b == "cortex-m4" || b == "cortex-m55") &&
			seen[b] < 2*batchSize {
			boards, seen[b] = append(boards, b), seen[b]+1
		}
		for _, b := range boards {
			if batches[b] = append(batches[b], o); len(batches[b]) == batchSize {
				guarded(t, b, batches[b], run.BuildOptions{Objects: objects, Sanitize: k < from+batchSize})
				batches[b] = nil
			}
		}
	}
	for b, list := range batches {
		guarded(t, b, list, run.BuildOptions{Objects: objects})
	}
	t.Log(n, seen)
	for _, what := range []string{"chains", "rings", "overlaps", "several inputs", "several outputs", "float",
		"int16", "state", "attention", "stream"} {
		testenv.Check(t, seen[what] >= n/50, "%d of %d programs have %s", seen[what], n, what)
	}
}

// guarded runs programs as one image, step by step, first as they are, then with poison wherever no step needs bytes;
// a step writes its results and memory of its own, and nothing else.
func guarded(t *testing.T, board string, list []*driver.Compiled, opt run.BuildOptions) {
	t.Helper()
	if len(list) == 0 {
		return
	}
	opt.Trace, opt.Jobs, opt.Opt = true, 1, map[bool]string{true: "-O0", false: "speed"}[board == "host"]
	spec := mustLoad(t, board)
	var jobs []run.Job
	var cases [][]verify.Case
	for i, o := range list {
		p := o.Lowered.Program
		cases = append(cases, mustCases(t, o.Config, o))
		j := run.Job{Cases: memory(o, cases[i]), Options: run.Options{Trace: []int{0, 1}}}
		j.Cases[1].Fills, j.Cases[1].KeepState = poison(p), len(p.States) > 0
		for k := range len(p.Steps) + 1 {
			j.Dumps = append(j.Dumps, run.Dump{Step: k - 1, Bytes: uint32(p.ArenaBytes)},
				run.Dump{Step: k - 1, Offset: uint32(p.ArenaBytes), Bytes: uint32(p.StateBytes)})
		}
		jobs = append(jobs, j)
	}
	res, err := run.All(context.Background(), spec, batchImage(t, spec, list, opt), jobs)
	require(t, err)
	for i, o := range list {
		asInterpreted(t, o, cases[i], res[i])
		for k, c := range res[i].Cases {
			for s := range o.Lowered.Program.Steps {
				before := slices.Concat(c.Dumps[2*s], c.Dumps[2*s+1])
				for _, f := range jobs[i].Cases[k].Fills {
					if f.Step == s {
						copy(before[f.Offset:][:f.Bytes], c.Dumps[2*s+2][f.Offset:])
					}
				}
				stray(t, o, s, before, slices.Concat(c.Dumps[2*s+2], c.Dumps[2*s+3]))
			}
		}
	}
}

// stray fails where step k of a program changed bytes that are not its own.
func stray(t *testing.T, o *driver.Compiled, k int, before, after []byte) {
	t.Helper()
	p := o.Lowered.Program
	own := slices.Concat(p.Steps[k].Out, p.Steps[k].Own())
	for _, x := range p.States {
		if k == len(p.Steps)-1 { // state that is copied
			own = append(own, p.Inputs[x.In].Buffer)
		}
	}
	for _, i := range own {
		p.Runs(i, func(at, n int) { copy(before[at:at+n], after[at:]) })
	}
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("%s: step %d writes byte %d of the arena, which is not its own\n%s", o.Info.Prefix, k, i, p)
			return
		}
	}
}

// poison are fills of what no step needs, in front of every step.
func poison(p *program.Program) (fills []run.Fill) {
	need := p.Pieces()
	slices.SortFunc(need, func(a, b program.Piece) int { return a.At - b.At })
	for k := range p.Steps {
		at := 0
		for _, x := range append(need, program.Piece{At: p.ArenaBytes, First: -1, Last: k}) {
			if x.First < k && k <= x.Last {
				if x.At > at {
					fills = append(fills, run.Fill{Step: k, Offset: uint32(at), Bytes: uint32(x.At - at),
						Mask: 1<<64 - 1})
				}
				at = max(at, x.End)
			}
		}
	}
	return fills
}

// count adds what a program has.
func count(seen map[string]int, o *driver.Compiled) {
	p := o.Lowered.Program
	has := map[string]bool{"programs": true, "chains": o.Lowered.Tiled != nil, "state": len(p.States) > 0,
		"stream": o.Config.Stream != "", "several inputs": len(p.Inputs) > 1,
		"several outputs": len(p.Outputs) > 1}
	for i := range p.Buffers {
		has["overlaps"] = has["overlaps"] || len(p.Sharing(i)) > 0
		has["rows"] = has["rows"] || p.Buffers[i].Pitch > 0
		has[p.Buffers[i].Type.DType.ONNXName()] = p.Buffers[i].Type.DType != 0
	}
	for _, s := range p.Steps {
		has["rings"] = has["rings"] || s.Op == op.Crop.Name
		has["attention"] = has["attention"] || s.Op == op.Softmax.Name
	}
	for what, is := range has {
		if is {
			seen[what]++
		}
	}
}
