// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// mutation makes one line of a kernel wrong by one.
type mutation struct {
	kind string
	find *regexp.Regexp
	with string
}

// mutations are what goes wrong in kernels: the value that is stored, the last
// element, a rounding, a shift, a clamp, an offset; in
// assembly the same by other instructions and numbers. Steps of pointers are left
// alone (the last one leads nowhere), and so are comparisons of a clamp, which
// say the same with and without equality.
var mutations = []mutation{
	{"stored value", regexp.MustCompile(`^(\s+(?:\*?\w+(?:->\w+)?\[[^;=]*\]|\*\w+(?:\+\+)?) = )([^;]+);$`),
		"${1}(${2}) + 1;"},
	{"last element", regexp.MustCompile(`^(\s+for \([^;]*; \w+ < )([^;]+)(;.*)$`), "${1}(${2}) - 1${3}"},
	{"sum", regexp.MustCompile(`^(\s+(?:acc\w*|sum\w*|s|a\d|total)(?:\[[^;=]*\])? \+= )([^;]*\*[^;]+);$`),
		"${1}(${2}) + 1;"},
	{"rounding", regexp.MustCompile(`^(\s+.*)\b1 << (.*;)$`), "${1}0 << ${2}"},
	{"shift", regexp.MustCompile(`^(\s+.*>> )(\w+)\b(.*;)$`), "${1}(${2} - 1)${3}"},
	{"lower clamp", regexp.MustCompile(`^(\s+.*\b\w+->(?:\w+\.)?)(act_min|min)\b(.*;)$`), "${1}${2} + 1${3}"},
	{"upper clamp", regexp.MustCompile(`^(\s+.*\b\w+->(?:\w+\.)?)(act_max|max)\b(.*;)$`), "${1}${2} - 1${3}"},
	{"offset", regexp.MustCompile(`^(\s+.*\b\w+->(?:\w+\.)?)(\w*(?:offset|zero|pad_\w+|in_w|stride_\w+))\b(.*;)$`),
		"${1}${2} + 1${3}"},
	{"instruction", regexp.MustCompile(`^(\s+"[^"]*)\b(v?)(add)(\.\w+)?( [^"]*".*)$`), "${1}${2}sub${4}${5}"},
	{"instruction", regexp.MustCompile(`^(\s+"[^"]*)\b(smla)(\w*)( [^"]*".*)$`), "${1}smls${3}${4}"},
	{"number in assembly",
		regexp.MustCompile(`^(\s+"[^"]*(?:asr|lsr|ssat|vqrshrn\w*|vrshr|vshr)[^"]*#)(\d)(\D[^"]*".*)$`),
		"${1}1${2}${3}"},
}

// mutant is a source of an emitted folder with one line changed.
type mutant struct {
	path string
	line int
	kind string
	was  string
	data []byte
	trap []byte // the source with a crash in front of the line
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d (%s) %s", m.path, m.line+1, m.kind, strings.TrimSpace(m.was))
}

// mutantsOf are all of a source: in the bodies of functions, outside of comments.
func mutantsOf(f codegen.File) []mutant {
	var out []mutant
	lines := strings.Split(string(f.Data), "\n")
	comment, depth := false, 0
	for i, l := range lines {
		was := depth
		depth += strings.Count(l, "{") - strings.Count(l, "}")
		if strings.Contains(l, "/*") {
			comment = true
		}
		if strings.Contains(l, "*/") {
			comment = false
			continue
		}
		if comment || was == 0 || strings.HasPrefix(strings.TrimSpace(l), "#") || strings.Contains(l, "const ") &&
			strings.Contains(l, "{") {
			continue
		}
		for _, m := range mutations {
			y := m.find.ReplaceAllString(l, m.with)
			if y == l {
				continue
			}
			change := func(to string) []byte {
				c := slices.Clone(lines)
				c[i] = to
				return []byte(strings.Join(c, "\n"))
			}
			out = append(out, mutant{f.Path, i, m.kind, l, change(y), change("__builtin_trap(); " + l)})
		}
	}
	return out
}

// sameCode reports that a change of one file leaves all sources of a folder as
// they were for the compiler: it stands in a body for other cores.
func sameCode(board *boards.Spec, dir string, files []codegen.File, m *mutant) bool {
	text := func(data []byte) []byte {
		_ = os.WriteFile(filepath.Join(dir, filepath.FromSlash(m.path)), data, 0o644)
		var all []byte
		for _, f := range files {
			if !strings.HasSuffix(f.Path, ".c") || m.path != f.Path && !strings.HasSuffix(m.path, ".h") {
				continue
			}
			args := append(slices.Clone(board.Toolchain.CPU), "-E", "-P", "-O2", "-std=c99", "-I.", "-Inncc",
				"-Inncc/cmsis_nn", f.Path)
			cmd := exec.Command(board.Toolchain.Prefix+board.Toolchain.CC, args...)
			cmd.Dir = dir
			b, _ := cmd.Output()
			all = append(all, b...)
		}
		return all
	}
	var was []byte
	for _, f := range files {
		if f.Path == m.path {
			was = f.Data
		}
	}
	changed := text(m.data)
	return bytes.Equal(text(was), changed)
}

// attempt verifies a program of which one file, where there is a path, has other contents. Built is false where it
// does not compile.
func attempt(o *driver.Compiled, path string, data []byte) (v *report.Verdict, built bool, err error) {
	changed, firmware := *o, *o.Firmware
	files := slices.Clone(o.Files)
	for i := range files {
		if files[i].Path == path {
			files[i].Data = data
		}
	}
	changed.Files, firmware.Files, firmware.Models = files, files, []*driver.Compiled{&changed}
	changed.Firmware = &firmware
	v, err = changed.Verify(context.Background())
	if tool := (*run.ToolError)(nil); errors.As(err, &tool) {
		return nil, false, nil
	}
	return v, true, err
}

// mutantPrograms are networks of a few layers in every precision on boards
// whose kernels differ. The host runs the portable bodies.
var mutantPrograms = []struct {
	board     string
	precision option.Precision
	weights   option.Weights
}{
	{"host", option.Int8, option.Int8Weights},
	{"host", option.Int16x8, option.Int8Weights},
	{"host", option.Float32, option.Int8Weights},
	{"host", option.Int8, option.Int4Weights},
	{"cortex-m55", option.Int8, option.Int8Weights},
	{"cortex-m4", option.Int8, option.Int8Weights},
	{"cortex-m0plus", option.Int8, option.Int8Weights},
}

func mutantProgram(t *testing.T, seed uint64, board string, precision option.Precision,
	weights option.Weights) *driver.Compiled {
	t.Helper()
	c := driver.Defaults()
	c.Board, c.Precision, c.Weights, c.Name, c.Cases, c.Layers = board, precision, weights, "net", 3, true
	o, err := tryNet(t, irtest.Gen(seed, tensor.F32), &c)
	if err != nil {
		return nil
	}
	return o
}

// TestMutants: verify notices kernels that are wrong by one. One line of one
// kernel source of an emitted folder is changed, the folder is built and run,
// and held against the interpreter: by its outputs, and by its layers. Lines
// that the network does not execute are left out: a crash in their place
// changes nothing. NNCC_LONG tries all kernels of many networks and
// NNCC_RANDOM=N about N mutants; what is not noticed is logged.
func TestMutants(t *testing.T) {
	want, seeds, each := 6, uint64(2), 1 // of a source on a board
	if n := testenv.Count(t, want); n != want {
		want, seeds = n, 12
	}
	if testenv.Long() {
		want, seeds, each = 1<<30, 40, 5
	}
	programs := mutantPrograms
	if want < 10 {
		programs = programs[:1]
	}
	r := rand.New(rand.NewPCG(9, 9))
	tried := map[string]int{} // mutants of a kernel source on a board
	total, byOutputs, byLayers, idle, other := 0, 0, 0, 0, 0
	for seed := range seeds {
		for _, p := range programs {
			o := mutantProgram(t, seed, p.board, p.precision, p.weights)
			if o == nil || total >= want {
				continue
			}
			if v, built, err := attempt(o, "", nil); err != nil || !built || v.Mismatches > 0 || v.FirstWrong != nil {
				t.Fatalf("seed %d, %v: the kernels as they are: built %v, %+v, %v", seed, p, built, v, err)
			}
			dir := folder(t, o.Files)
			for _, f := range o.Files {
				if !strings.HasPrefix(f.Path, "nncc/") || strings.HasSuffix(f.Path, "arm_nnfunctions.h") {
					continue
				}
				all := mutantsOf(f)
				key := p.board + " " + f.Path
				for _, i := range r.Perm(len(all)) {
					m := &all[i]
					if tried[key] >= each || total >= want {
						break
					}
					if sameCode(o.Board, dir, o.Files, m) {
						other++
						continue
					}
					v, built, err := attempt(o, m.path, m.data)
					require(t, err)
					if !built {
						continue
					}
					outputs, layers := v.Mismatches > 0, v.Mismatches > 0 || v.FirstWrong != nil
					if !layers {
						if x, ok, _ := attempt(o, m.path, m.trap); ok && x.Mismatches == 0 {
							idle++
							continue
						}
					}
					tried[key]++
					total++
					if outputs {
						byOutputs++
					}
					if layers {
						byLayers++
					}
					if !layers || !outputs {
						t.Logf("%s %s, seed %d: outputs %v, layers %v: %s", p.board, p.precision, seed, outputs, layers,
							m)
					}
				}
			}
		}
	}
	t.Logf("%d kernels made wrong in %d sources: noticed by outputs %d, with --layers %d; %d lines not executed, %d "+
		"not compiled for the core", total, len(tried), byOutputs, byLayers, idle, other)
	least := total / 2
	if total >= 40 { // of 70, 59 were noticed; few are a matter of luck
		least = total * 4 / 5
	}
	testenv.Check(t, total >= min(want, 6) && byLayers >= least,
		"of %d kernels made wrong verify --layers notices %d, want at least %d", total, byLayers, least)
}

// weightsOfC are numbers of a layer in C, some of them negative.
var weightsOfC = regexp.MustCompile(`/\* (?:weights|bias|const|zero|table) of step[^=]*= \{[^}]*-[^}]*\}`)

// wrongConstants verifies a program of which numbers of one layer have lost their signs; nil: it has none.
func wrongConstants(t *testing.T, o *driver.Compiled, r *rand.Rand) *report.Verdict {
	t.Helper()
	for _, f := range o.Files {
		all := weightsOfC.FindAllIndex(f.Data, -1)
		if f.Path != "net_weights.c" || len(all) == 0 {
			continue
		}
		at, b := all[r.IntN(len(all))], slices.Clone(f.Data)
		copy(b[at[0]:at[1]], bytes.ReplaceAll(b[at[0]:at[1]], []byte("-"), []byte(" ")))
		v, _, err := attempt(o, f.Path, b)
		require(t, err)
		return v
	}
	return nil
}

// TestLayersOfIslands: verify --layers finds nothing in drawn networks some of whose layers run in float between
// others on integers, and names a layer where constants are wrong.
func TestLayersOfIslands(t *testing.T) {
	from, count := testenv.Range(t, 6)
	dir, islands, wrong, found := t.TempDir(), 0, 0, 0
	for seed := from; seed < from+count; seed++ {
		net, r := irtest.GenFloat(uint64(seed)), rand.New(rand.NewPCG(uint64(seed), 11))
		c := driver.Defaults()
		c.Board, c.Name, c.Cases, c.Layers = []string{"host", "cortex-m4"}[seed%2], "net", 2, true
		ownPrecisions[len(ownPrecisions)-1].set(&c, net, r, dir)
		o, err := tryNet(t, net, &c)
		if err != nil {
			continue
		}
		behind := func(n *ir.Node) bool { return !n.Out[0].Type.DType.IsFloat() && behindRounding(n.Out[0]) }
		if slices.ContainsFunc(o.Lowered.Schedule.Nodes, behind) {
			islands++
		}
		if v, _, err := attempt(o, "", nil); err != nil || v.Differs() {
			t.Errorf("network %d on %s: %v\n%s", seed, c.Board, err, v.Text())
		}
		v := wrongConstants(t, o, r)
		if v == nil {
			continue
		}
		if wrong++; v.Differs() && v.FirstWrong != nil {
			found++
		}
	}
	t.Logf("%d networks have layers behind float ones; of %d faults %d were found", islands, wrong, found)
	testenv.Check(t, islands != 0 && wrong != 0 && found*3 >= wrong*2,
		"%d networks with islands, %d of %d faults found", islands, found, wrong)
}
