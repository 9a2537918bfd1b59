// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// TestProfile: the instructions that are followed block by block are those that
// the counter finds, layer by layer, and cycles are of their order, with the error
// of the estimate beside them.
func TestProfile(t *testing.T) {
	for _, board := range []string{"cortex-m55", "cortex-m7", "stm32l4r5zi"} {
		c := digitsConfig(board)
		c.Cases = 1
		o := mustCompile(t, c)
		v := mustProfile(t, o)
		testenv.Require(t, v.Mismatches <= 0, "%s: %d mismatches", board, v.Mismatches)
		text := report.ProfileText([]*report.Verdict{v})
		if v.CyclesError <= 0 || v.CyclesErrorBasis == "" || !strings.Contains(text, "cycles, give or take ") {
			t.Errorf("%s: the error of the estimate is not stated: %s", board, text)
		}
		testenv.Equal(t, v.Milliseconds > 0, board == "stm32l4r5zi", "%s: %g ms", board, v.Milliseconds)
		sum := 0
		for _, l := range v.Layers {
			if l.LayerCycles == nil {
				t.Fatalf("%s: %s has no cycles: %s", board, l.Name, v.CyclesMissing)
			}
			n := 0
			for _, k := range l.Classes {
				n += k
			}
			if d := n - int(l.Instructions); d < -8 || d > 8 {
				t.Errorf("%s: %s: %d instructions were followed, %d counted", board, l.Name, n, l.Instructions)
			}
			if per := float64(l.LayerCycles.Cycles) / float64(n); per < 0.5 || per > 3 {
				t.Errorf("%s: %s: %.2f cycles an instruction", board, l.Name, per)
			}
			sum += l.LayerCycles.Cycles
		}
		if sum != v.Cycles || !strings.Contains(text, "est. cycles") || !strings.Contains(v.CyclesBasis, "estimated") {
			t.Errorf("%s: layers take %d cycles together, the model %d (%s)", board, sum, v.Cycles, v.CyclesBasis)
		}
		var back struct {
			Layers []struct {
				Cycles int            `json:"estimated_cycles"`
				Class  map[string]int `json:"classes"`
			} `json:"layers"`
		}
		if err := json.Unmarshal(report.JSON(v), &back); err != nil ||
			back.Layers[0].Cycles != v.Layers[0].LayerCycles.Cycles || back.Layers[0].Class["load"] == 0 {
			t.Errorf("%s: JSON has %+v (%v)", board, back.Layers[0], err)
		}
	}
}

// TestChains: a chain of layers is one step for the caller, the trace and reports, with all of its layers in it, and
// every call is compared, counted and belongs to one layer.
func TestChains(t *testing.T) {
	c := digitsConfig("cortex-m4")
	c.Cases, c.MaxRAM, c.Tries = 1, "1", 4
	o := mustCompile(t, c)
	testenv.Require(t, o.Lowered.Tiled != nil && len(o.Lowered.Tiled.Chains) > 0, "no layers by rows")
	v := mustProfile(t, o)
	testenv.Check(t, v.Mismatches == 0 && len(v.Steps) < len(v.Layers), "%d mismatches, %d steps", v.Mismatches,
		len(v.Steps))
	var calls []int
	sum, text := v.Outside, report.ProfileText([]*report.Verdict{v})+o.Report.Explain(&o.Subject, false)
	layers := 0
	for i, s := range v.Steps {
		layers += len(s.Layers)
		testenv.Equal(t, o.Lowered.Program.StepOf()(s.Calls[0]), i, "the step of call %d", s.Calls[0])
		calls, sum = append(calls, s.Calls...), sum+int64(*s.Instructions)
		own := lists.Sum(s.Layers, func(l report.StepLayer) int64 { return int64(*l.Instructions) })
		testenv.Equal(t, own, int64(*s.Instructions), "instructions of step %s", s.Name)
	}
	testenv.Equal(t, fmt.Sprint(calls), fmt.Sprint(ir.Identity(len(v.Layers))), "calls of the steps")
	testenv.Equal(t, sum, int64(v.Instructions), "instructions of all steps")
	for _, x := range o.Lowered.Tiled.Chains {
		at := slices.IndexFunc(v.Steps, func(s report.Step) bool { return s.Name == x.Name })
		testenv.Require(t, at >= 0, "no step is the chain %s", x.Name)
		s := v.Steps[at]
		testenv.Check(t, s.Rows == x.Rows && s.RingBytes > 0 && strings.Count(text, x.Name) >= 2, "step %+v of %+v\n%s",
			s, x, text)
	}
	page := o.Report.HTML()
	testenv.Equal(t, bytes.Count(page, []byte("<th scope=row>")), layers, "rows of the page")
	testenv.Equal(t, bytes.Count(page, []byte(">chain</text>")), len(o.Lowered.Tiled.Chains), "boxes of chains")
	steps := fmt.Sprintf("_STEPS %d\n", len(v.Steps))
	testenv.Check(t, slices.ContainsFunc(o.Files, func(f codegen.File) bool {
		return f.Path == o.Info.Prefix+".h" && strings.Contains(string(f.Data), steps)
	}), "the header has not %s", steps)
}

// TestLoopInCache: on a board whose flash has a cache of 1 KiB, the loops of products of
// two pixels lie in it, with long rows of weights, too: next to nothing waits for code.
func TestLoopInCache(t *testing.T) {
	c := config(modelFile(t, `graph "product" {
  in %x : f32[1,64,12,12]
  const %w : f32[64,64,1,1] = rand 1
  %y = Conv(%x, %w)
  out "y" = %y
}`), "stm32l4r5zi")
	c.Cases, c.IOLayout = 1, option.NativeLayout
	o := mustCompile(t, c)
	v := mustProfile(t, o)
	if l := &v.Layers[0]; l.CodeWaits*10 > l.LayerCycles.Cycles {
		t.Errorf("%s waits %d of %d cycles for code", l.Kernel, l.CodeWaits, l.LayerCycles.Cycles)
	} else {
		t.Logf("%s waits %d of %d cycles for code", l.Kernel, l.CodeWaits, l.LayerCycles.Cycles)
	}
}

// TestBound: profile says of every layer whether its instructions depend on data, how many
// were measured and how many there can be; all of them together are the bound of an
// inference, which no input that is tried exceeds.
func TestBound(t *testing.T) {
	for _, board := range []string{"cortex-m55", "cortex-m0plus"} {
		c := digitsConfig(board)
		c.Cases = 4
		o := mustCompile(t, c)
		before := report.JSON(o.Report)
		v := mustProfile(t, o)
		if v.MostInstructions == nil || v.MostBasis == "" {
			t.Fatalf("%s: no bound: %s", board, v.NoMost)
		}
		varies, sum := 0, uint64(v.Outside)
		for i := range v.Layers {
			l := &v.Layers[i]
			if l.Least == nil || l.LayerBound.Bound == nil || *l.Least > l.Instructions || *l.Most < l.Instructions ||
				*l.LayerBound.Bound < *l.Most {
				t.Fatalf("%s: %s: %s", board, l.Name, report.JSON(l))
			}
			sum += *l.LayerBound.Bound
			if *l.Least != *l.Most {
				varies++
			}
			if !l.DependOnData && (*l.Least != *l.Most || *l.LayerBound.Bound != *l.Most) {
				t.Errorf("%s: %s does not depend on data, and takes %d to %d", board, l.Name, *l.Least, *l.Most)
			}
			var was struct {
				Layers []map[string]any `json:"layers"`
			}
			require(t, json.Unmarshal(before, &was))
			w := was.Layers[i]
			if w["instructions_depend_on_data"] != l.DependOnData || w["instructions_bound"] != nil {
				t.Errorf("%s: %s: before the profile the report says %v", board, l.Name, w)
			}
		}
		testenv.Check(t, sum == *v.MostInstructions && o.Report.Code.MostInstructions == v.MostInstructions,
			"%s: the layers have bounds of %d, the inference %d", board, sum, *v.MostInstructions)
		for _, k := range v.ByCase {
			if k.Instructions > *v.MostInstructions {
				t.Errorf("%s: %s takes %d instructions, at most %d are stated", board, k.Source, k.Instructions,
					*v.MostInstructions)
			}
		}
		// The softmax depends on data everywhere; on a core without saturation nearly all layers do.
		if fewest := map[string]int{"cortex-m55": 1, "cortex-m0plus": 8}[board]; varies < fewest {
			t.Errorf("%s: %d layers vary, want %d", board, varies, fewest)
		}
		text := report.ProfileText([]*report.Verdict{v})
		testenv.Check(t, strings.Contains(text, "at most ") && strings.Contains(text, "whatever the input is"),
			"%s: the text does not state the bound:\n%s", board, text)
		testenv.Check(t, strings.Contains(o.Explain(false), "nstructions may depend on data in "),
			"%s: explain does not say what depends on data", board)
	}
}

// TestNoBound: where data decides how often loops turn there is no bound, but a reason:
// also where data are lengths of sequences, or indices of rows that memcpy copies as fast as
// they are aligned.
func TestNoBound(t *testing.T) {
	const loops = "data decides how often loops of"
	for _, c := range []struct{ board, why, src string }{
		{"cortex-m4", loops, `in %x : f32[1,40]
const %k : i64[1] = {3}
%y, %i = TopK(%x, %k) {axis=1}
out "y" = %y
out "i" = %i`},
		{"cortex-m4", "loops as often as data says", `in %x : f32[1,40]
in %d : f32[1,40]
%y = Mod(%x, %d) {fmod=1}
out "y" = %y`},
		{"cortex-m4", loops, `in %x : f32[9,1,4]
in %n : i32[1]
const %w : f32[1,3,4] = rand 1
const %r : f32[1,3,3] = rand 2
const %b : f32[1,6] = rand 3
%y, %h = RNN(%x, %w, %r, %b, %n) {hidden_size=3}
out "y" = %y
out "h" = %h`},
		{"cortex-m0plus", loops, `in %x : i8[4,401]
in %i : i32[1]
%y = Gather(%x, %i) {axis=0}
out "y" = %y`},
		{"cortex-m0plus", "", `in %x : i8[4,400]
in %i : i32[1]
%y = Gather(%x, %i) {axis=0}
out "y" = %y`},
	} {
		o := config("", c.board)
		o.Cases = 1
		if c.board == "cortex-m4" {
			o.Precision = option.Float32
		}
		v, err := compileNet(t, irtest.Parse(t, "graph \"g\" {\n"+c.src+"\n}"), o).Profile(context.Background())
		require(t, err)
		text := report.ProfileText([]*report.Verdict{v})
		if c.why == "" {
			if v.MostInstructions == nil {
				t.Errorf("no bound: %s\n%s", v.NoMost, c.src)
			}
			continue
		}
		if v.MostInstructions != nil || !strings.Contains(v.NoMost, c.why) ||
			!strings.Contains(text, "no bound of the instructions is known") {
			t.Errorf("bound %v, reason %q, want %q\n%s", v.MostInstructions, v.NoMost, c.why, c.src)
		}
	}
}

// TestStackBound: every program has a bound of its stack, what QEMU measures
// lies below it, and the report says whose frames it is made of. Some programs
// by default; NNCC_LONG=1 takes every reference model on every board.
func TestStackBound(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	type program struct {
		model, board string
		precision    option.Precision
		optimize     option.Optimize
	}
	list := []program{
		{"digits", "cortex-m55", option.Auto, option.Speed},
		{"digits", "cortex-m4", option.Auto, option.Size},
		{"digits", "cortex-m0plus", option.Float32, option.Size},
	}
	dir := sharedata.Dir()
	if dir != "" {
		list = append(list, program{"mnist_lstm_f32", "cortex-m4", option.Auto, option.Speed})
	}
	if testenv.Long() {
		for _, m := range sharedModels(t) {
			for _, b := range boards.List() {
				if spec, err := boards.Load(b); err == nil && spec.Runner.Kind == "qemu" {
					list = append(list, program{m, b, option.Auto, option.Size}, program{m, b, option.Float32,
						option.Speed})
				}
			}
		}
	}
	for _, p := range list {
		t.Run(p.model+"/"+p.board+"/"+p.precision.String()+"/"+p.optimize.String(), func(t *testing.T) {
			c := config(filepath.Join(dir, "models", p.model+".onnx"), p.board)
			if p.model == "digits" {
				c.Model, c.Calib = filepath.Join(digits, "digits.onnx"),
					[]string{filepath.Join(digits, "digits_calib.npz")}
			}
			c.Precision, c.Optimize, c.Cases = p.precision, p.optimize, 1
			o := mustCompile(t, c)
			v := mustVerify(t, o)
			code := o.Report.Code
			if code == nil {
				t.Fatal(v.Failure)
			}
			testenv.Require(t, code.NoBound == "" && v.AtMost() >= v.StackBytes && v.StackBytes != 0,
				"%d bytes of stack were used, the bound is %d (%s)", v.StackBytes, v.AtMost(), code.NoBound)
			frames := map[string]int{}
			for _, f := range code.Functions {
				frames[f.Name] = max(frames[f.Name], f.StackBytes)
			}
			sum := lists.Sum(code.Path, func(f string) int { return frames[f] })
			testenv.Check(t, sum >= code.AtMost() && code.Path[0] == o.Harness.RunFunc,
				"%v come to %d bytes, the bound is %d", code.Path, sum, code.AtMost())
			t.Logf("%d bytes used, at most %d by %v", v.StackBytes, v.AtMost(), v.Path)
		})
	}
}

// sharedModels are the names of the reference models that are compiled in
// sweeps: without those of megabytes.
func sharedModels(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, m := range sharedata.Glob("models", "*.onnx") {
		if st, err := os.Stat(m); err == nil && st.Size() <= 2<<20 {
			names = append(names, strings.TrimSuffix(filepath.Base(m), ".onnx"))
		}
	}
	return names
}

// logging runs the model with the port for silicon between its steps. QEMU has no
// cycle counter: the harness's SysTick, which counts instructions there, stands in.
//
//go:embed testdata/logging.c
var logging string

// digitsOn is the shipped example for a board.
func digitsOn(t *testing.T, board string) *driver.Compiled {
	t.Helper()
	c := digitsConfig(board)
	c.Cases = 1
	o := mustCompile(t, c)
	return o
}

// TestCycleLog: what the port prints of a run is what profile --measured lays
// beside the estimate, layer by layer; logs of something else are refused.
func TestCycleLog(t *testing.T) {
	o := digitsOn(t, "cortex-m4")
	dir := folder(t, o.Files)
	require(t, os.Rename(filepath.Join(dir, "digits.c"), filepath.Join(dir, "digits.inc")))
	putText(t, filepath.Join(dir, "logging.c"), logging)
	putText(t, filepath.Join(dir, "logging.h"), "#include \"digits.h\"\nint32_t logging_run(void *arena);\n"+
		"uint32_t logging_clock(void);\n")
	m := o.Harness
	m.Header, m.RunFunc = "logging.h", "logging_run"
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Model: &m})
	in := o.Lowered.Ports().Inputs()
	res := testenv.Must(run.Run(context.Background(), o.Board, im, []run.Case{{Inputs: verify.Memory([]*tensor.Dense{
		tensor.New(in[0].Type.DType, in[0].Type.Shape)}, in)}}))(t)
	log := filepath.Join(t.TempDir(), "console.log")
	putText(t, log, "boot\r\n"+res.Console+"done\n")

	o.Config.Measured = log
	v := mustProfile(t, o)
	var sum uint64
	for _, s := range v.Steps {
		n := s.MeasuredCycles
		testenv.Require(t, n != nil && *n > 0, "%s: nothing was measured: %+v", s.Name, s)
		if l := &v.Layers[s.Calls[0]]; len(s.Calls) == 1 {
			testenv.Check(t, l.MeasuredCycles != nil && *l.MeasuredCycles == *n && l.MeasuredRatio > 0, "%+v", l)
		}
		sum += *n
	}
	text := report.ProfileText([]*report.Verdict{v})
	if v.MeasuredCycles == nil || *v.MeasuredCycles != sum || v.MeasuredClock != "own" ||
		!strings.Contains(text, "measured") || !strings.Contains(text, "of the estimate") {
		t.Errorf("the layers took %d cycles\n%s", sum, text)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no log", "{\"model\":", "{\"m\":", "no line begins with"},
		{"cut short", "\n]}", "\n", "cut short or damaged"},
		{"another model", "\"sha256\": \"", "\"sha256\": \"0", "another model"},
		{"another board", "\"board\": \"cortex-m4\"", "\"board\": \"cortex-m7\"", "profile with --board cortex-m7"},
		{"other flags", o.Lowered.Program.Steps[1].Name, "other", "compiled with the same flags"},
		{"a step more", "\n]}", ",\n{\"name\": \"\", \"cycles\": 1}\n]}", "NNCC_TRACE_STEPS"},
		{"no cycles", "\"cycles\":", "\"ticks\":", "step 0 has no cycles"},
	} {
		putText(t, log, strings.Replace(res.Console, c.old, c.new, 1))
		testenv.Refused(t, testenv.Err(o.Profile(context.Background())), c.want, "console.log")
	}
	still := testenv.Must(report.ParseCycleLog([]byte(res.Console)))(t)
	for i := range still.Steps {
		still.Steps[i].Cycles = new(uint64)
	}
	testenv.Refused(t, still.Fits(&o.Subject), "stands still")
}

// TestDWTPort: the port compiles without warnings where there is a cycle counter,
// and says what to do where there is none.
func TestDWTPort(t *testing.T) {
	gcc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	dir := folder(t, digitsOn(t, "cortex-m4").Files)
	for _, c := range []struct{ flags, want string }{
		{"-mcpu=cortex-m4", ""}, {"-mcpu=cortex-m7", ""}, {"-mcpu=cortex-m55 -mfloat-abi=hard", ""},
		{"-mcpu=cortex-m0plus -DNNCC_TRACE_CLOCK=own", ""}, {"-mcpu=cortex-m0plus", "-DNNCC_TRACE_CLOCK=name"},
		{"-mcpu=cortex-m23", "-DNNCC_TRACE_CLOCK=name"},
	} {
		args := strings.Fields("-fsyntax-only -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow " +
			"-Wstrict-prototypes -Wmissing-prototypes -Werror -mthumb -DNNCC_TRACE -DNNCC_TRACE_DWT -I. " + c.flags +
			" harness/nncc_trace_dwt.c")
		cmd := exec.Command(gcc, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if (err != nil) != (c.want != "") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %q\n%s", c.flags, err, c.want, out)
		}
	}
}

// silicon are published cycles, in millions, of one engine on several boards, by
// board (testdata/silicon.csv: MLPerf Tiny results 0.5 to 1.3, closed division,
// median latency times clock).
type silicon map[string]float64

type engineModel struct{ engine, model string }

func published(t *testing.T) map[engineModel]silicon {
	t.Helper()
	f := testenv.Must(os.Open(filepath.Join("testdata", "silicon.csv")))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require(t, err)
	out := map[engineModel]silicon{}
	for _, r := range rows[1:] {
		k := engineModel{r[0], r[2]}
		if out[k] == nil {
			out[k] = silicon{}
		}
		out[k][r[1]], err = strconv.ParseFloat(r[3], 64)
		require(t, err)
	}
	return out
}

// TestSilicon compares estimates with silicon that nncc's code never ran on: what
// a board takes, by what the STM32L4R5ZI takes, is compared between an engine that
// was published for both and nncc's estimates for both. Calibrated are the cycles
// a byte of streamed constants alone, with the fully connected network of the same
// results (ad); the networks here are all for checking. The error that the boards
// state has to cover what is found.
func TestSilicon(t *testing.T) {
	const base = "stm32l4r5zi"
	models, others := []string{"kws_int8"}, []string{"stm32h7a3", "stm32u575"}
	if testenv.Long() {
		models, others = []string{"kws_int8", "ic_int8", "vww_int8"}, []string{"stm32f746", "stm32g0b1", "stm32h7a3",
			"stm32u575"}
	}
	rows := published(t)
	for _, m := range models {
		path := sharedata.Need(t, "models", m+".onnx")
		mine := map[string]float64{}
		for _, b := range append(slices.Clone(others), base) {
			mine[b] = estimated(t, path, b)
		}
		for k, other := range rows {
			if k.model != m {
				continue
			}
			for _, b := range others {
				if other[b] == 0 || other[base] == 0 {
					continue
				}
				off := mine[b]/mine[base]/(other[b]/other[base]) - 1
				t.Logf("%-9s %-9s by %s: estimated %.3f, %s %.3f, off by %+.1f %%", m, b, base, mine[b]/mine[base],
					k.engine, other[b]/other[base], 100*off)
				if e := statedError(t, b); math.Abs(off) > e {
					t.Errorf("%s on %s: off by %+.3f of %s's; the board states %.2f", m, b, off, k.engine, e)
				}
			}
		}
	}
}

// estimated cycles of a model on a board.
func estimated(t *testing.T, model, board string) float64 {
	t.Helper()
	c := config(model, board)
	c.Cases = 1
	o := mustCompile(t, c)
	v := mustProfile(t, o)
	testenv.Require(t, v.Cycles != 0 && v.Mismatches <= 0,
		"%s on %s: %d mismatches, %s", model, board, v.Mismatches, v.CyclesMissing)
	return float64(v.Cycles)
}

// statedError of estimates on a board.
func statedError(t *testing.T, board string) float64 {
	t.Helper()
	s := mustLoad(t, board)
	return s.CyclesError()
}

// TestStreamedWeights holds a fully connected network, whose weights are read once, from
// flash, to nine tenths of what the best engine takes that was published for one of its
// shape (MLPerf Tiny 1.3, closed division, anomaly detection: 264,192 weights).
func TestStreamedWeights(t *testing.T) {
	const board, best, share = "stm32u575", 0.51e6, 0.9
	widths := []int{640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640}
	var b strings.Builder
	fmt.Fprintf(&b, "graph \"streamed\" {\nin %%y0 : f32[1,%d]\n", widths[0])
	for i, n := range widths[1:] {
		fmt.Fprintf(&b, "const %%w%d : f32[%d,%d] = rand %d\n%%s%d = MatMul(%%y%d, %%w%d)\n%%y%d = Relu(%%s%d)\n", i,
			widths[i], n, i+1, i, i, i, i+1, i)
	}
	last := len(widths) - 2
	path := modelFile(t, fmt.Sprintf("%sout \"y\" = %%s%d\n}", b.String(), last))
	if c := estimated(t, path, board); c > share*best {
		t.Errorf("%s: %.0f cycles, want at most %.0f", board, c, share*best)
	}
}

// TestOneDefinition: instructions and bytes of code have one value each, in the
// text of verify and profile, in report.json and in verify's JSON, also where
// the largest case is not the first one and where --layers asks for that.
func TestOneDefinition(t *testing.T) {
	first := true // the largest case was always the first: nothing was tried
	for _, layers := range []bool{false, true} {
		c := digitsConfig("cortex-m4")
		c.Cases, c.Layers = 6, layers
		o := mustCompile(t, c)
		v := mustProfile(t, o)
		testenv.Require(t, v.Mismatches <= 0, "%d mismatches", v.Mismatches)
		var shown, written map[string]any
		require(t, json.Unmarshal(report.JSON(v), &shown))
		require(t, json.Unmarshal(o.Report.JSON(), &written))
		code := written["code"].(map[string]any)

		most := uint64(0)
		for i, k := range v.ByCase {
			if k.Instructions > most {
				most = k.Instructions
				first = first && i == 0
			}
		}
		sum := v.Outside
		table := regexp.MustCompile(`(?m)^\(?[\w/]\S* .* (\d+)$`).FindAllStringSubmatch(v.Text(), -1)
		if len(table) != len(v.Steps)+1 {
			t.Fatalf("verify shows %d steps, want %d and what lies between them:\n%s", len(table), len(v.Steps),
				v.Text())
		}
		for i, s := range v.Steps {
			testenv.Equal(t, table[i][1], fmt.Sprint(*s.Instructions), "layers=%v: step %s in the text", layers, s.Name)
		}
		for i, l := range v.Layers {
			sum += int64(l.Instructions)
			r := written["layers"].([]any)[i].(map[string]any)["instructions"]
			testenv.Check(t, r == float64(l.Instructions),
				"layers=%v: layer %s: report.json %v, JSON %d", layers, l.Name, r, l.Instructions)
		}
		if sum != int64(most) {
			t.Errorf("layers=%v: the layers and what lies between them add up to %d instructions; the largest case "+
				"takes %d", layers, sum, most)
		}
		for what, want := range map[string]uint64{"instructions": most, "text_bytes": v.TextBytes,
			"rodata_bytes": v.RODataBytes} {
			if shown[what] != float64(want) || code[what] != float64(want) || want == 0 {
				t.Errorf("layers=%v: %s: verify --json %v, report.json %v, want %d", layers, what, shown[what],
					code[what], want)
			}
		}
		flash := shown["flash"].(map[string]any)
		if flash["code_bytes"] != code["text_bytes"] || flash["rodata_bytes"] != code["rodata_bytes"] ||
			flash["weights_bytes"] != float64(o.Report.Memory.WeightsBytes) {
			t.Errorf("flash %v, report.json's code %v and weights %d", flash, code, o.Report.Memory.WeightsBytes)
		}
		for name, text := range map[string]string{"verify": v.Text(),
			"profile": report.ProfileText([]*report.Verdict{v})} {
			for re, want := range map[string]uint64{`(\d+) instructions`: most, `code (\d+) bytes`: v.TextBytes,
				`constants (\d+) bytes`: v.RODataBytes} {
				m := regexp.MustCompile(re).FindStringSubmatch(text)
				testenv.Check(t, m != nil && m[1] == strconv.FormatUint(want, 10),
					"layers=%v: %s shows %v for %q, want %d:\n%s", layers, name, m, re, want, text)
			}
		}
	}
	testenv.Check(t, !first, "the first case was the largest each time: want inputs for which it is not")
}
