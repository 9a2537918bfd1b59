// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// faithful compares a program with its model on the cases of verify, without
// running the firmware.
func faithful(t *testing.T, o *driver.Compiled) *report.Verdict {
	t.Helper()
	cases := mustCases(t, o.Config, o)
	v := &report.Verdict{}
	require(t, o.Fidelity(v, cases))
	return v
}

// TestSharedFidelity: no false alarm on the reference models that are quantised,
// on cores and accelerators, and in float. NNCC_LONG takes all models in all
// precisions.
func TestSharedFidelity(t *testing.T) {
	dir := shared(t)
	models := testenv.Must(filepath.Glob(filepath.Join(dir, "models", "*.onnx")))(t)
	type kind struct {
		board     string
		precision option.Precision
		weights   option.Weights
	}
	for _, m := range models {
		kinds := []kind{{"host", option.Float32, option.Int8Weights}}
		if own, sweep := carriesQuantisation(t, m), testenv.Long(); own || sweep {
			kinds = append(kinds, kind{"cortex-m55", option.Auto, option.Int8Weights}, kind{"mla-host", option.Auto,
				option.Int8Weights})
			if !own {
				kinds = append(kinds, kind{"cortex-m4", option.Int16x8, option.Int8Weights}, kind{"cortex-m4",
					option.Auto, option.Int4Weights}, kind{"mla-host", option.Int8, option.Int8Weights})
			}
		} else if st, err := os.Stat(m); err != nil || st.Size() > 2<<20 {
			continue
		}
		for _, k := range kinds {
			name := strings.TrimSuffix(filepath.Base(m), ".onnx")
			t.Run(name+"/"+k.board+"/"+k.precision.String()+"/"+k.weights.String(), func(t *testing.T) {
				v := faithful(t, compileShared(t, dir, name, k.board, func(c *driver.Config) {
					c.Precision, c.Weights, c.Cases, c.Rounding = k.precision, k.weights, 2, option.Nearest
				}))
				if v.Differs() {
					t.Error(v.Text())
				}
				for _, f := range v.Fidelity {
					testenv.Check(t, f.Compared != 0, "output %s: nothing is compared", f.Output)
				}
			})
		}
	}
}

// carriesQuantisation reports a model that is quantised itself.
func carriesQuantisation(t *testing.T, model string) bool {
	t.Helper()
	m := testenv.Must(onnx.Load(model, onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	return lower.Quantised(g)
}

// TestLayersDecide: a kernel that is wrong by one where the outputs agree all
// the same is a difference with --layers, in whichever case it shows.
func TestLayersDecide(t *testing.T) {
	const right, off = "conv_params->output_offset", "(conv_params->output_offset + 1)"
	for _, layers := range []bool{false, true} {
		c := driver.Defaults()
		c.Board, c.Name, c.Layers = "host", "net", layers
		o := compileNet(t, irtest.Parse(t, argmax), &c)
		for _, broken := range []bool{false, true} {
			if broken {
				made := false
				for i, f := range o.Files {
					if strings.HasSuffix(f.Path, "/arm_convolve_s8.c") && bytes.Contains(f.Data, []byte(right)) {
						o.Files[i].Data = bytes.ReplaceAll(f.Data, []byte(right), []byte(off))
						made = true
					}
				}
				testenv.Require(t, made, "no kernel to break")
			}
			v := mustVerify(t, o)
			if v.Mismatches > 0 {
				t.Fatalf("the outputs differ, too\n%s", v.Text())
			}
			if v.Differs() != (layers && broken) {
				t.Errorf("--layers=%v, a broken kernel=%v: differs is %v\n%s", layers, broken, v.Differs(), v.Text())
			}
			if !layers || !broken {
				continue
			}
			if v.FirstWrong == nil || v.FirstWrong.Value != "c.1" || v.LayerCases != c.Cases {
				t.Errorf("first wrong layer %+v after %d cases, want c.1 after %d", v.FirstWrong, v.LayerCases, c.Cases)
			}
			if v.Layers[1].Mismatches == 0 || v.Layers[2].Mismatches > 0 ||
				!strings.Contains(v.Text(), "layers DIFFERENT") {
				t.Errorf("not what was wrong:\n%s", v.Text())
			}
		}
	}
}

// argmax is a network whose output does not show what its first layer got
// wrong.
//
//go:embed testdata/argmax.ir
var argmax string

// TestReview: emitted C is as a reviewer reads it, whatever the network, its names, the board
// and the precision: lines end at 120 columns; memory is reached by name, through one typed
// function; every name has a comment; the steps are those of the model, in its order.
func TestReview(t *testing.T) {
	kinds := []struct {
		name string
		net  func(seed uint64) *ir.Graph
		set  func(c *driver.Config)
	}{
		{"qdq", irtest.GenQDQ, nil},
		{"int8", floatNet, func(c *driver.Config) { c.Precision = option.Int8 }},
		{"float", floatNet, func(c *driver.Config) { c.Precision = option.Float32 }},
		{"int16x8", floatNet, func(c *driver.Config) { c.Precision = option.Int16x8 }},
		{"weightsfile", floatNet, bindable},
	}
	seeds := 1
	if testenv.Long() {
		seeds = 30
	}
	for _, b := range testenv.Boards("host", "cortex-m0plus", "cortex-m4", "cortex-m55", "mla-m55") {
		spec := mustLoad(t, b)
		for i, k := range kinds {
			if k.name == "weightsfile" && len(spec.Accelerators) > 0 {
				continue // refused: its programs hold the constants
			}
			for s := range seeds {
				seed := uint64(i*1000 + s)
				name := fmt.Sprintf("%s%d", k.name, seed)
				net := renamed(k.net(seed), seed)
				if o := compileFor(t, net, name, spec, k.set); o != nil {
					review(t, name+" on "+b, o)
				}
			}
		}
	}
}

func floatNet(seed uint64) *ir.Graph { return irtest.Gen(seed, tensor.F32) }

// renamed gives the values of a network names as bad as models have them: long, alike, of
// other alphabets, like those that C has.
func renamed(g *ir.Graph, seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 0xbad))
	rename := func(i int, name string) string {
		switch r.IntN(6) {
		case 0:
			return fmt.Sprintf("%s%d", strings.Repeat("long/", 40), i)
		case 1:
			return fmt.Sprintf("%s%d", strings.Repeat("x", 200), i)
		case 2:
			return fmt.Sprintf("größe/世界%d", i)
		case 3:
			return fmt.Sprintf("a%sb%d", []string{".", "_", "/", ":"}[i%4], i/4)
		case 4:
			return fmt.Sprintf("*/ step_%d(a + 1) /*", i)
		}
		return name
	}
	i := 0
	for _, n := range g.Nodes {
		i++
		n.Name = rename(i, n.Name)
		for _, v := range n.Out {
			i++
			v.Name = rename(i, v.Name)
		}
	}
	return g
}

var (
	cComment   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	castChain  = regexp.MustCompile(`\*\)\s*\(\w[\w ]*\*\)`)
	typedPlace = regexp.MustCompile(`^    return \((const )?\w+ \*\)\((const )?void \*\)at;$`)
	typedFile  = regexp.MustCompile(`^#define \w+_WEIGHTS_AT\(.*\) \(\(const type \*\)\(const void \*\)`)
	bareOffset = regexp.MustCompile(`(\b[asw]|arena) \+ \d|_weights_[iuf]\d\d\(w, \d`)
	enumerator = regexp.MustCompile(`^    \w+_(AT|STATE_AT)_\w+ = (\d+),$`)
	stepHead   = regexp.MustCompile(`^static NNCC_INLINE \w+ \w+_step_(\d+)_\w+\(`)
	stepCall   = regexp.MustCompile(`^    (?:status = )?\w+_step_(\d+)_\w+\(a`)
	machine    = regexp.MustCompile(`/home/|/tmp/|/work/|/Users/|[A-Z]:\\|\b20\d\d-\d\d-\d\d\b`)
)

// review looks at the emitted C of a model.
func review(t *testing.T, name string, o *driver.Compiled) {
	t.Helper()
	for _, f := range o.Files {
		if ext := path.Ext(f.Path); ext != ".c" && ext != ".h" && ext != ".hpp" || path.Dir(f.Path) == run.HarnessDir {
			continue
		}
		code := strings.Split(cComment.ReplaceAllStringFunc(string(f.Data), func(c string) string {
			return strings.Repeat("\n", strings.Count(c, "\n"))
		}), "\n")
		for i, line := range strings.Split(string(f.Data), "\n") {
			at := fmt.Sprintf("%s: %s:%d: %s", name, f.Path, i+1, line)
			testenv.Check(t, len(line) <= 120, "%s\n%d columns", at, len(line))
			testenv.Check(t, !machine.MatchString(line), "%s\ndepends on the machine", at)
			if path.Dir(f.Path) != "." { // kernels
				continue
			}
			line = code[i]
			if castChain.MatchString(line) && !typedPlace.MatchString(line) && !typedFile.MatchString(line) {
				t.Errorf("%s\na chain of casts", at)
			}
			testenv.Check(t, !bareOffset.MatchString(line), "%s\na bare offset", at)
		}
		if f.Path == o.Info.Prefix+".c" {
			reviewSteps(t, name, strings.Split(string(f.Data), "\n"), o)
		}
	}
	if spec := o.Board; spec.Name == "host" {
		reviewWarnings(t, name, o)
	}
}

// reviewSteps looks at the source of the steps.
func reviewSteps(t *testing.T, name string, lines []string, o *driver.Compiled) {
	t.Helper()
	steps := o.Lowered.Program.Steps
	var comment, calls []string
	heads := 0
	offsets := map[int]bool{}
	for i, line := range lines {
		if m := enumerator.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2])
			offsets[n] = true
			testenv.Check(t, strings.HasSuffix(lines[i-1], "*/"), "%s: no comment on %s", name, line)
		}
		if m := stepCall.FindStringSubmatch(line); m != nil {
			calls = append(calls, m[1])
		}
		if strings.HasPrefix(line, "/*") {
			comment = nil
		}
		comment = append(comment, line)
		m := stepHead.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		s := steps[heads]
		want := letters(fmt.Sprintf("Step %d: %s %s", heads, s.Op, first(s.Origin, s.Name)))
		if m[1] != strconv.Itoa(heads) || lines[i-1] != " */" ||
			!strings.HasPrefix(letters(strings.Join(comment, "")), want) {
			t.Errorf("%s: step %d, %s, is introduced by\n%s", name, heads, s, strings.Join(comment, "\n"))
		}
		heads++
	}
	testenv.Check(t, heads == len(steps), "%s: %d steps, want %d", name, heads, len(steps))
	for i, c := range calls[:min(len(steps), len(calls))] {
		testenv.Equal(t, c, strconv.Itoa(i), "%s: call %d is of step", name, i)
	}
	for _, s := range steps {
		for _, b := range s.Out {
			at := o.Lowered.Program.Buffers[b].Offset
			testenv.Check(t, offsets[at], "%s: output of %s at %d has no name", name, s, at)
		}
	}
}

func first(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return list[0]
}

// letters is what is left of a text in whatever lines and quotes it is.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s)
}

// reviewWarnings compiles the model's sources with all warnings.
func reviewWarnings(t *testing.T, name string, o *driver.Compiled) {
	t.Helper()
	cc := testenv.Tool(t, "cc", "cc")
	dir := folder(t, o.Files)
	args := strings.Fields("-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes " +
		"-Wmissing-prototypes -Wcast-align -Wswitch-default -Werror -fsyntax-only -I. -Inncc -Inncc/cmsis_nn")
	for _, f := range o.Files {
		if path.Ext(f.Path) == ".c" && path.Dir(f.Path) == "." {
			args = append(args, f.Path)
		}
	}
	c := exec.Command(cc, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out[:min(len(out), 2000)])
	}
}

// TestReviewSees: each fault that TestReview looks for is one that it finds.
func TestReviewSees(t *testing.T) {
	for _, c := range []struct {
		re   *regexp.Regexp
		text string
	}{
		{castChain, "x = (const int8_t *)(const void *)(a + M_AT_X);"}, {bareOffset, "m_i8(a + 12)"},
		{bareOffset, "(uint8_t *)arena + 3"}, {bareOffset, ".pad = m_weights_i32(w, 112u)"},
		{machine, "/* written 2024-01-02 */"}, {machine, "#include \"/home/x/y.h\""},
	} {
		testenv.Check(t, c.re.MatchString(c.text), "%s passes", c.text)
	}
	if good := "    m_i8(a + M_AT_X + 16),"; slices.ContainsFunc([]*regexp.Regexp{castChain, bareOffset, machine},
		func(re *regexp.Regexp) bool { return re.MatchString(good) }) {
		t.Errorf("%s does not pass", good)
	}
}

// analysed are the programs whose text the analyzers read: one by default,
// with NNCC_LONG=1 every reference model for every kind of core, quantised
// and in float.
func analysed(t *testing.T) map[string]*driver.Compiled {
	t.Helper()
	c := digitsConfig("cortex-m4")
	o := mustCompile(t, c)
	list := map[string]*driver.Compiled{"digits": o}
	if !testenv.Long() {
		return list
	}
	for _, m := range sharedModels(t) {
		for _, board := range []string{"host", "cortex-m0plus", "cortex-m4", "cortex-m55", "mla-host"} {
			for _, precision := range []option.Precision{option.Auto, option.Float32} {
				c := config(filepath.Join(shared(t), "models", m+".onnx"), board)
				c.Precision, c.IO = precision, map[option.Precision]option.IO{option.Auto: option.FloatIO,
					option.Float32: option.QuantizedIO}[precision]
				if o, err := c.Compile(); err == nil {
					list[m+"/"+board+"/"+precision.String()] = o
				} else {
					t.Logf("%s for %s, %s: %v", m, board, precision, err)
				}
			}
		}
	}
	return list
}

// emitted writes a program; it gives the model's own sources and the folders of
// its headers. The kernels are analysed in runtime_c, all of them.
func emitted(t *testing.T, o *driver.Compiled) (dir string, sources, include []string) {
	t.Helper()
	dir = t.TempDir()
	require(t, files.WriteTree(dir, files.Of(o.Files)))
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	testenv.Require(t, err == nil && len(sources) != 0, "no sources (%v)", err)
	for _, f := range o.Files {
		if i := "-I" + filepath.Join(dir, filepath.Dir(f.Path)); strings.HasSuffix(f.Path, ".h") &&
			!strings.HasPrefix(f.Path, "harness/") && !slices.Contains(include, i) {
			include = append(include, i)
		}
	}
	return dir, sources, include
}

// TestStaticAnalysis runs the analyzers of clang, GCC and cppcheck over what
// nncc writes for a model: they have nothing to say.
func TestStaticAnalysis(t *testing.T) {
	testenv.Slow(t)
	for name, o := range analysed(t) {
		t.Run(name, func(t *testing.T) {
			_, sources, include := emitted(t, o)
			for _, tool := range [][]string{
				{"clang", "--analyze", "-Xclang", "-analyzer-output=text", "-std=c99"},
				{"gcc", "-fanalyzer", "-std=c99", "-O1", "-S", "-o", os.DevNull},
				{"cppcheck", "--quiet", "--std=c99", "--enable=warning,portability,performance", "--inline-suppr",
					"--suppress=missingIncludeSystem",
					"--suppress=shiftTooManyBitsSigned"}, // in headers: runtime_c says why
			} {
				if _, err := exec.LookPath(tool[0]); err != nil {
					t.Logf("%s: not found", tool[0])
					continue
				}
				for _, s := range sources {
					if out,
						err := exec.Command(tool[0],
						slices.Concat(tool[1:], include, []string{s})...).CombinedOutput(); err != nil ||
						len(out) > 0 {
						t.Errorf("%s %s: %v\n%s", tool[0], filepath.Base(s), err, out)
					}
				}
			}
		})
	}
}

// TestMISRA: in what nncc writes for a model, cppcheck's addon finds the rules
// broken that runtime_c/MISRA.md lists for it, all of them and no others.
func TestMISRA(t *testing.T) {
	testenv.Slow(t)
	if _, err := exec.LookPath("cppcheck"); err != nil {
		testenv.Lacks(t, "cppcheck", "cppcheck: not found")
	}
	text := testenv.Must(os.ReadFile(filepath.Join("..", "..", "..", "runtime_c", "MISRA.md")))(t)
	listed := map[string]bool{} // found
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+\.\d+) \| [a-z, ]*emitted \|`).FindAllStringSubmatch(string(text),
		-1) {
		listed[m[1]] = false
	}
	for name, o := range analysed(t) {
		dir, sources, include := emitted(t, o)
		args := []string{"--addon=misra", "--std=c99", "--quiet", "--suppress=missingIncludeSystem",
			"--template={file}:{line}: {id}"}
		out, err := exec.Command("cppcheck", slices.Concat(args, include, sources)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "misra.py") {
			t.Skipf("cppcheck cannot run its addon: %v\n%s", err, out)
		}
		for _, m := range regexp.MustCompile(`(\S+): misra-c2012-(\d+\.\d+)`).FindAllStringSubmatch(string(out), -1) {
			if strings.HasPrefix(m[1], filepath.Join(dir, "nncc")+string(filepath.Separator)) {
				continue // the kernels' headers
			}
			if _, ok := listed[m[2]]; !ok {
				t.Errorf("%s: %s breaks rule %s: mend it, or explain it in runtime_c/MISRA.md", name,
					filepath.Base(m[1]), m[2])
			}
			listed[m[2]] = true
		}
	}
	for r, found := range listed {
		testenv.Check(t, found, "runtime_c/MISRA.md lists rule %s for emitted files, which keep it", r)
	}
}
