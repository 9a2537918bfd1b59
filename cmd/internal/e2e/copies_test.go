// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// slowFlash is a board whose weights lie in memory that makes the core wait, with so
// many bytes of RAM without waits; the machine has regions of the same names where it
// has them.
func slowFlash(t *testing.T, core string, ram int, wait string) string {
	t.Helper()
	regions := map[string]string{"cortex-m4": `
    ssram1: {origin: 0x00000000, size: 4M, holds: [vectors, code, rodata]}
    ssram23: {origin: 0x20000000, size: %d, holds: [stack, data, arena]}
    psram: {origin: 0x21000000, size: 16M, holds: [weights]%s}
`, "cortex-m55": `
    itcm: {origin: 0x00000000, size: 512K, holds: [vectors, code]}
    dtcm: {origin: 0x20000000, size: %d, holds: [stack, data]}
    sram: {origin: 0x21000000, size: 4M, holds: [arena], wait: {states: 2, line: 8, source: made up}}
    ddr_code: {origin: 0x60000000, size: 1M, holds: [rodata]}
    ddr_weights: {origin: 0x61000000, size: 16M, holds: [weights]%s}
`}[core]
	machine := strings.ReplaceAll(regions, ", wait: {states: 2, line: 8, source: made up}", "")
	machine = fmt.Sprintf(machine, 512<<10, "")
	text := "doc: weights in slow memory\ninherits: [" + core + "]\nstack: 4K\nmemory:" +
		fmt.Sprintf(regions, ram, ", wait: {"+wait+", source: made up}") + "runner:\n  memory:" + machine
	if core == "cortex-m55" { // what the machine's file has beside these
		text += "    ddr_data: null\n"
	}
	path := filepath.Join(t.TempDir(), "slow.yaml")
	require(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// TestStageWeights runs three models in one image on constants in slow memory, with and
// without copies, linked and bound: every bit is the same, the estimate is smaller by
// what was promised, and the reports say which constants have copies. Where RAM has no
// room for all, what is read often is fetched before its layer.
func TestStageWeights(t *testing.T) {
	for _, c := range []struct {
		core, wait   string
		ram          int
		bound, fetch bool
	}{
		{"cortex-m55", "states: 30, line: 16", 512 << 10, false, false},
		{"cortex-m4", "states: 200, line: 16", 13 << 10, false, true},
		{"cortex-m4", "states: 20, line: 16", 256 << 10, true, false},
	} {
		t.Run(fmt.Sprint(c.core, " bound ", c.bound), func(t *testing.T) {
			board := slowFlash(t, c.core, c.ram, c.wait)
			profile := func(stage bool) (*driver.Firmware, []*report.Verdict) {
				list := severalConfigs(t, board)
				for _, x := range list {
					x.StageWeights, x.WeightsFile = stage, c.bound
					if !stage {
						x.Passes = []string{"fetch=off"}
					}
				}
				f := testenv.Must(driver.Compile(list...))(t)
				vs := testenv.Must(f.Profile(context.Background()))(t)
				return f, vs
			}
			f, after := profile(true)
			before := after
			if !c.bound {
				var plain *driver.Firmware
				if plain, before = profile(false); plain.Models[0].Report.Memory.Copies != nil {
					t.Error("copies that nobody asked for")
				}
			}
			staged, fetched := 0, 0
			for i, o := range f.Models {
				testenv.Check(t, !after[i].Differs() && !before[i].Differs(), "%s: %+v", o.Name, after[i].Outputs)
				m := o.Report.Memory.Copies
				if m == nil {
					continue
				}
				t.Logf("%s: %s; cycles %d, %d before", o.Info.Prefix, m.Text(), after[i].Cycles, before[i].Cycles)
				for _, x := range m.Constants {
					testenv.Check(t, x.Saved > 0 && len(x.Steps) != 0, "%+v saves nothing", x)
				}
				staged, fetched = staged+m.StagedBytes, max(fetched, m.FetchedBytes)
				// A copy in the arena takes instructions, which are known better than estimated.
				if got := before[i].Cycles - after[i].Cycles; !c.bound && got*10 < m.Saved*8 {
					t.Errorf("%s: %d cycles saved, %d promised", o.Info.Prefix, got, m.Saved)
				}
			}
			testenv.Check(t, staged != 0 && (fetched > 0) == c.fetch, "%d bytes staged, %d fetched", staged, fetched)
			testenv.Equal(t, f.Models[0].Placement.At("staged"), map[string]string{"cortex-m55": "dtcm",
				"cortex-m4": "ssram23"}[c.core], "staged in")
		})
	}
}

// TestNothingToStage: where no copy saves anything, the C is what it is without the
// flag, and a note says why.
func TestNothingToStage(t *testing.T) {
	path := modelFile(t, products["anomaly"])
	small := slowFlash(t, "cortex-m4", 4<<10, "states: 20, line: 16")
	for board, why := range map[string]string{"host": "no memory regions", "cortex-m4": "saves waiting cycles",
		small: "does not fit"} {
		c := config(path, board)
		plain := mustCompile(t, c)
		c = config(path, board)
		c.StageWeights = true
		o := mustCompile(t, c)
		notes := strings.Join(c.Diags.Texts(diag.Note), "\n")
		testenv.Check(t, strings.Contains(notes, why), "%s: no word of %q in %q", board, why, notes)
		for i, x := range o.Files {
			testenv.Equal(t, string(plain.Files[i].Data), string(x.Data), "%s: %s differs", board, x.Path)
		}
	}
}

// TestFetched: without any flag, what is read often is fetched before its layer where the
// arena has room, on boards where that pays: every bit is the same, the arena is no
// larger, and the estimate is smaller by what was promised. It is off with its stage, with
// other goals than speed, and on boards whose memory does not wait.
func TestFetched(t *testing.T) {
	slow := slowFlash(t, "cortex-m4", 64<<10, "states: 20, line: 16")
	fetched := 0
	for _, name := range slices.Sorted(maps.Keys(products)) {
		t.Run(name, func(t *testing.T) {
			path := modelFile(t, products[name])
			profile := func(set func(c *driver.Config)) (*driver.Compiled, *report.Verdict) {
				c := config(path, slow)
				set(c)
				return profiled(t, c)
			}
			off, before := profile(func(c *driver.Config) { c.Passes = []string{"fetch=off"} })
			testenv.Check(t, off.Report.Memory.Copies == nil, "copies that nobody asked for")
			on, after := profile(func(c *driver.Config) { c.WeightsFile = name == "person" })
			most := off.Report.Memory.ArenaBytes // and room for what takes the place of another
			for i := range off.Lowered.Program.Buffers {
				most = max(most, off.Report.Memory.ArenaBytes+off.Lowered.Program.Buffers[i].Bytes)
			}
			n := on.Report.Memory.ArenaBytes
			testenv.Check(t, n <= most, "an arena of %d bytes, want at most %d", n, most)
			x := on.Report.Memory.Copies
			if x == nil {
				t.Logf("nothing is fetched")
				return
			}
			t.Logf("%s; cycles %d, %d before", x.Text(), after.Cycles, before.Cycles)
			if got := before.Cycles - after.Cycles; x.StagedBytes > 0 || x.From != "psram" || !on.Config.WeightsFile &&
				got*10 < x.Saved*8 {
				t.Errorf("%d cycles saved: %+v", got, x)
			}
			fetched++
			for _, none := range []func(c *driver.Config){
				func(c *driver.Config) { c.Optimize = option.Size },
				func(c *driver.Config) { c.Board = "cortex-m4" },
			} {
				c := config(path, slow)
				none(c)
				o := mustCompile(t, c)
				testenv.Check(t, o.Report.Memory.Copies == nil, "copies on %s with --optimize %s", c.Board,
					c.Optimize)
			}
		})
	}
	testenv.Check(t, fetched != 0, "nothing was fetched")
}

// retrained is the same network after another training: every weight is another one,
// and every tensor has another range.
func retrained(g *ir.Graph, seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 77))
	out := g.Clone()
	for _, n := range out.Nodes {
		for _, v := range n.In {
			if v == nil || v.Const == nil || v.Const.DType != tensor.F32 || v.Const.Len() == 1 {
				continue
			}
			whole := 0.5 + r.Float32()
			y := make([]float32, v.Const.Len())
			for i, x := range v.Const.Floats() {
				y[i] = float32(x) * whole * (0.7 + 0.6*r.Float32())
			}
			v.Const = tensor.Of(v.Const.Shape, y)
		}
	}
	return out
}

func bindable(c *driver.Config) { c.WeightsFile = true }

// TestLayouts: two trainings of one network have the same layout: what scales and weights decide is in the weights
// file, where a layer is dead after one of them (networks 4 and 18), too.
func TestLayouts(t *testing.T) {
	nets := 20
	if testenv.Long() {
		nets = 60
	}
	for _, b := range testenv.Boards("cortex-m0plus", "cortex-m4", "cortex-m55") {
		spec := mustLoad(t, b)
		for seed := range uint64(nets) {
			net := irtest.Gen(seed, tensor.F32)
			x, y := compileFor(t, net, "x", spec, bindable), compileFor(t, retrained(net, seed), "y", spec, bindable)
			same := x.Info.Layout == y.Info.Layout
			testenv.Check(t, same, "%s: network %d has another layout after another training", b, seed)
		}
	}
}

// TestWeightsSwap runs the firmware of one training with the weights file of another
// one: it computes what the other one's program does.
func TestWeightsSwap(t *testing.T) {
	for _, b := range testenv.Boards("host", "cortex-m55") {
		t.Run(b, func(t *testing.T) {
			spec := mustLoad(t, b)
			for _, seed := range swapSeeds() {
				net := irtest.Gen(seed, tensor.F32)
				old := compileFor(t, net, "x", spec, bindable)
				fresh := compileFor(t, retrained(net, seed), "x", spec, bindable)
				testenv.Require(t, old.Info.Layout == fresh.Info.Layout,
					"network %d: another training has another layout", seed)
				files := slices.Clone(old.Files)
				at := func(list []codegen.File) int {
					return slices.IndexFunc(list, func(f codegen.File) bool { return f.Path == old.Info.WeightsFile })
				}
				first := runFolder(t, spec, files, old)
				files[at(files)] = fresh.Files[at(fresh.Files)]
				second := runFolder(t, spec, files, fresh)
				testenv.Check(t, !slices.EqualFunc(first, second, slices.Equal[[]byte]),
					"network %d: another training gives the same outputs", seed)
			}
		})
	}
}

// runFolder builds and runs emitted files on inputs of a program, and compares with
// its interpreter; the result are the outputs of the first case.
func runFolder(t *testing.T, spec *boards.Spec, files []codegen.File, o *driver.Compiled) [][]byte {
	t.Helper()
	im := mustBuild(t, spec, folder(t, files), run.BuildOptions{Jobs: 1, Sanitize: spec.Core == "host"})
	cases := mustCases(t, o.Config, o)
	res, err := run.Run(context.Background(), spec, im, memory(o, cases))
	require(t, err)
	asInterpreted(t, o, cases, res)
	return res.Cases[0].Outputs
}

// swapSeeds are the networks of TestWeightsSwap.
func swapSeeds() []uint64 {
	if testenv.Long() {
		return []uint64{0, 1, 2, 3, 4, 5, 6, 18}
	}
	return []uint64{2}
}

// slicesPort gives the example the harness's SysTick and says how it went.
//
//go:embed testdata/slicesPort.c
var slicesPort string

// TestSlices: the example keeps its deadline while it computes: work between the
// steps waits for the longest step at most, and the result is that of a run.
func TestSlices(t *testing.T) {
	o := digitsOn(t, "cortex-m4")
	v := mustVerify(t, o)
	longest := uint64(0)
	for _, l := range v.Layers {
		longest = max(longest, l.Instructions)
	}
	dir := folder(t, o.Files)
	for _, name := range []string{"slices.c", "slices.h"} {
		text := testenv.Must(os.ReadFile(filepath.Join("..", "..", "nncc", "examples", "slices", name)))(t)
		putText(t, filepath.Join(dir, name), string(text))
	}
	putText(t, filepath.Join(dir, "slices_port.c"), slicesPort)
	putText(t, filepath.Join(dir, "slices_port.h"), "#include \"digits.h\"\nint32_t slices_timed(void *arena);\n")
	m := o.Harness
	m.Header, m.RunFunc = "slices_port.h", "slices_timed"
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Model: &m, Opt: "speed"})
	ports := o.Lowered.Ports()
	x := ir.Rand(7, ports.Inputs()[0].Type.DType, ports.Inputs()[0].Type.Shape)
	want := testenv.Must(ports.Step([]*tensor.Dense{x}))(t)
	res := testenv.Must(run.Run(context.Background(), o.Board, im,
		[]run.Case{{Inputs: verify.Memory([]*tensor.Dense{x}, ports.Inputs())}}))(t)
	if r := res.Cases[0]; r.Status != 0 || !bytes.Equal(r.Outputs[0], want[0].Bytes()) {
		t.Errorf("status %d, or another result than that of a run", r.Status)
	}
	var served, latest, took uint64
	_, line, _ := strings.Cut(res.Console, "slices ")
	if _, err := fmt.Sscanf(line, "%v %v %v", &served, &latest, &took); err != nil {
		t.Fatalf("%v in %q", err, res.Console)
	}
	// A step takes its share of the ticks; looking at the clock takes some, too.
	allowed := took*longest/v.Instructions*11/10 + 500
	t.Logf("served %d times, at most %d ticks late (longest step %d), %d ticks in all", served, latest, allowed, took)
	testenv.Check(t, served >= 3 && latest <= allowed && allowed*2 <= took,
		"served %d times in %d ticks, at most %d late; want at most %d", served, took, latest, allowed)
}

// TestFetchedInParts: weights that have no room in the arena as a whole are fetched in parts,
// before calls for a part of the output channels each: every bit is the same, the arena no
// larger than where values lie apart, the estimate smaller, and the program's text stands for it. Channels that fill no
// four, pointwise layers, and sums of two branches are among them. Parts that equal each other
// are one constant, which a step fetches once: such weights are not cut. Nor are those that are
// staged, or bound at run time, when parts may be equal.
func TestFetchedInParts(t *testing.T) {
	t.Run("drawn", func(t *testing.T) { fetchedInParts(t, false) })
	t.Run("equal channels", func(t *testing.T) { fetchedInParts(t, true) })
}

func fetchedInParts(t *testing.T, same bool) {
	d := &drawnNetwork{t: t, g: ir.New("parts"), same: same}
	pool := func(name string, x *ir.Value) *ir.Value {
		return d.add(op.MaxPool, name, ir.Attrs{"kernel_shape": ir.Ints(3, 3), "strides": ir.Ints(2, 2)}, x)
	}
	x := d.g.AddInput("x", ir.T(tensor.F32, 1, 8, 12, 12))
	v := pool("pool", d.conv("wide", x, 120, 1)) // the arena is as large as this needs
	v = d.conv("odd", v, 62, 3)
	y := d.conv("relu", v, 50, 3)
	y = d.add(op.Relu, "relu_r", nil, y)
	z := d.add(op.Add, "sum", nil, d.conv("added", y, 62, 3), v)
	z = d.conv("pointwise", z, 200, 1)
	d.g.AddOutput("y", d.add(op.GlobalAveragePool, "mean", nil, d.conv("last", z, 96, 1)))
	model := graphFile(t, d.g)
	slow := slowFlash(t, "cortex-m4", 256<<10, "states: 20, line: 16")
	c := config(model, slow)
	c.Passes = []string{"fetch=off"}
	off, before := profiled(t, c)
	on, after := profiled(t, config(model, slow))
	t.Logf("%d cycles, %d without copies", after.Cycles, before.Cycles)
	if a, b := on.Report.Memory.ArenaBytes, off.Report.Memory.LowerBoundBytes; a > b || after.Cycles >= before.Cycles {
		t.Errorf("an arena of %d bytes, %d where values lie apart; %d cycles, %d without copies", a, b, after.Cycles,
			before.Cycles)
	}
	p, parts, was := on.Lowered.Program, 0, map[string]int{}
	for _, l := range before.Layers {
		was[l.Name] = l.Cycles
	}
	for _, l := range after.Layers {
		testenv.Check(t, l.Cycles <= was[l.Name]*101/100, "%s: %d cycles, %d without copies", l.Name, l.Cycles,
			was[l.Name])
	}
	for _, s := range p.Steps {
		t.Logf("%s: %d calls, fetches %v", s.Name, len(s.Calls), s.Fetches)
		for i, f := range s.Fetches {
			if slices.ContainsFunc(s.Fetches[:i], func(x program.Fetch) bool { return x.Buffer == f.Buffer }) {
				parts++
			}
		}
	}
	if parts == 0 && !same { // equal parts are not cut
		t.Error("nothing is fetched in parts")
	}
	if a, b := sum(on.Info.StepBlobs), sum(off.Info.StepBlobs); a != b {
		t.Errorf("%d bytes of constants, %d without copies", a, b)
	}
	last := slices.IndexFunc(p.Steps, func(s *program.Step) bool { return s.Name == "last" })
	if cut := len(p.Steps[last].Calls) > 1; cut == same { // a multiple of four channels
		t.Errorf("last: %d calls", len(p.Steps[last].Calls))
	}
	uncut(t, model, slow)
	inOrder(t, p)
}

func sum(list []int) int {
	return lists.Sum(list, func(x int) int { return x })
}

// uncut: no layer is cut where constants are staged or bound.
func uncut(t *testing.T, model, board string) {
	t.Helper()
	for _, set := range []func(c *driver.Config){func(c *driver.Config) { c.StageWeights = true },
		func(c *driver.Config) { c.WeightsFile = true }} {
		c := config(model, board)
		set(c)
		o := mustCompile(t, c)
		for _, s := range o.Lowered.Program.Steps {
			testenv.Check(t, len(s.Calls) <= 1, "%s: %d calls, with constants that are staged or bound", s.Name,
				len(s.Calls))
		}
	}
}

// inOrder: a program that reads a copy behind the one that takes its place is wrong.
func inOrder(t *testing.T, p *program.Program) {
	t.Helper()
	for _, s := range p.Steps { // copies that are still read
		if len(s.Fetches) > 1 {
			s.Calls[0], s.Calls[1] = s.Calls[1], s.Calls[0]
			testenv.Check(t, p.Verify() != nil, "%s: the first copy is read behind the second one", s.Name)
			s.Calls[0], s.Calls[1] = s.Calls[1], s.Calls[0]
		}
	}
}

// TestFire: where two layers fill the columns of one value, as in SqueezeNet, and the program runs it a few rows at a
// time, rows that nothing reads any more are free while the last ones wait for the next turn.
func TestFire(t *testing.T) {
	for _, c := range [][3]int{{224, 16, 64}, {112, 16, 64}, {96, 8, 48}} {
		text := fmt.Sprintf(`graph "g" { in %%x : f32[1,3,%d,%[1]d] const %%w : f32[64,3,3,3] = rand 1
			%%c = Conv(%%x, %%w) {strides=[2,2]} %%r = Relu(%%c)
			%%v0 = MaxPool(%%r) {kernel_shape=[3,3], strides=[2,2]}`, c[0])
		for i, channels := range []int{64, 2 * c[2]} {
			text += fmt.Sprintf(`
			const %%s%d : f32[%d,%d,1,1] = rand 2
			const %%a%[1]d : f32[%[4]d,%[2]d,1,1] = rand 3
			const %%b%[1]d : f32[%[4]d,%[2]d,3,3] = rand 4
			%%q%[1]d = Conv(%%v%[1]d, %%s%[1]d) %%qr%[1]d = Relu(%%q%[1]d)
			%%e%[1]d = Conv(%%qr%[1]d, %%a%[1]d) %%er%[1]d = Relu(%%e%[1]d)
			%%f%[1]d = Conv(%%qr%[1]d, %%b%[1]d) {pads=[1,1,1,1]} %%fr%[1]d = Relu(%%f%[1]d)
			%%v%[5]d = Concat(%%er%[1]d, %%fr%[1]d) {axis=1}`, i, c[1], channels, c[2], i+1)
		}
		g := irtest.Parse(t, text+` %y = MaxPool(%v2) {kernel_shape=[3,3], strides=[2,2]} out "y" = %y }`)
		compileType(t, g, "cortex-m4", option.Auto)
	}
}
