// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

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
			if len(line) > 120 {
				t.Errorf("%s\n%d columns", at, len(line))
			}
			if machine.MatchString(line) {
				t.Errorf("%s\ndepends on the machine", at)
			}
			if path.Dir(f.Path) != "." { // kernels
				continue
			}
			line = code[i]
			if castChain.MatchString(line) && !typedPlace.MatchString(line) && !typedFile.MatchString(line) {
				t.Errorf("%s\na chain of casts", at)
			}
			if bareOffset.MatchString(line) {
				t.Errorf("%s\na bare offset", at)
			}
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
			if !strings.HasSuffix(lines[i-1], "*/") {
				t.Errorf("%s: no comment on %s", name, line)
			}
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
	if heads != len(steps) {
		t.Errorf("%s: %d steps, want %d", name, heads, len(steps))
	}
	for i, c := range calls[:min(len(steps), len(calls))] {
		if c != strconv.Itoa(i) {
			t.Errorf("%s: call %d is of step %s", name, i, c)
		}
	}
	for _, s := range steps {
		for _, b := range s.Out {
			if at := o.Lowered.Program.Buffers[b].Offset; !offsets[at] {
				t.Errorf("%s: output of %s at %d has no name", name, s, at)
			}
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
		if !c.re.MatchString(c.text) {
			t.Errorf("%s passes", c.text)
		}
	}
	if good := "    m_i8(a + M_AT_X + 16),"; slices.ContainsFunc([]*regexp.Regexp{castChain, bareOffset, machine},
		func(re *regexp.Regexp) bool { return re.MatchString(good) }) {
		t.Errorf("%s does not pass", good)
	}
}
