// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"encoding/csv"
	"os"
	"os/exec"
	pathpkg "path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// ratioSeed draws what kinds leave open.
const ratioSeed = 7

// ratioColumns are those of a table of Ratios.
var ratioColumns = []string{"kind", "assembly", "gcc", "clang", "over"}

// bar is how many of the assembly's instructions a kind may take without it, to two digits; more wants a reason.
const bar = 1.305

// numbered finds the number of the layer that a node belongs to, in its name.
var numbered = regexp.MustCompile(`^[a-z]+(\d+)`)

// Ratios holds the instructions of kinds of layers at what they were before: with assembly, and without it by GCC and
// by clang, the latter two with NNCC_LONG alone. path is the table, which -update makes with what is less; a figure
// that grows for a reason is raised by hand. Compilers differ between releases, so
// there are 2 % of room. The log has the ratios to assembly; the last column says why one is above the bar, and is
// empty where none is.
func Ratios(t *testing.T, board, path string, kinds []Kind, guard func(g *ir.Graph) *Guarded) {
	t.Helper()
	testenv.Tool(t, "qemu", "qemu-system-arm")
	spec, err := boards.Load(board)
	if err != nil {
		t.Fatal(err)
	}
	noAsm := NoAsm()
	noAsm.Trace = true
	counts := [][]uint64{Counts(t, spec, run.BuildOptions{Opt: "speed", Trace: true}, kinds, guard)}
	want := readRatios(t, path)
	if !testenv.Long() && !irtest.Update() {
		for i, k := range kinds {
			grown(t, path, k.Name, 0, counts[0][i], want[k.Name])
		}
		return
	}
	counts = append(counts, Counts(t, spec, noAsm, kinds, guard), Counts(t, Clang(t, spec), noAsm, kinds, guard))
	rows := [][]string{ratioColumns}
	for i, k := range kinds {
		row, old := []string{k.Name}, want[k.Name]
		for c := range counts {
			n, limit := counts[c][i], old.counts[c]
			grown(t, path, k.Name, c, n, old)
			if limit > 0 {
				n = min(n, limit)
			}
			row = append(row, strconv.FormatUint(n, 10))
		}
		base := float64(counts[0][i])
		if over := float64(max(counts[1][i], counts[2][i])) > bar*base; over && old.over == "" {
			t.Errorf("%s: more than 1.30 of the assembly's instructions, and %s has no reason", k.Name, path)
		} else if !over && old.over != "" {
			if !irtest.Update() {
				t.Errorf("%s: at most 1.30 of the assembly's instructions, %q no more: run with -update", k.Name,
					old.over)
			}
			old.over = ""
		}
		rows = append(rows, append(row, old.over))
		t.Logf("%-32s %9d  gcc %5.2f  clang %5.2f", k.Name, counts[0][i], float64(counts[1][i])/base,
			float64(counts[2][i])/base)
	}
	if irtest.Update() {
		writeRatios(t, path, rows)
	}
}

// grown says that a kind is in no table, or takes more instructions than there in a column.
func grown(t *testing.T, path, kind string, column int, n uint64, old ratio) {
	t.Helper()
	limit := old.counts[column]
	if limit == 0 && !irtest.Update() {
		t.Errorf("%s is not in %s: run with -update", kind, path)
	}
	if limit > 0 && n > limit+limit/50 {
		t.Errorf("%s, %s: %d instructions, were %d", kind, ratioColumns[column+1], n, limit)
	}
}

// Counts are the instructions of each kind.
func Counts(t *testing.T, spec *boards.Spec, opt run.BuildOptions, kinds []Kind,
	guard func(g *ir.Graph) *Guarded) []uint64 {
	t.Helper()
	kindOf := []int{-1} // by the number of a layer, which begins at 1
	for i, k := range kinds {
		kindOf = append(kindOf, slices.Repeat([]int{i}, len(k.Layers))...)
	}
	sums := make([]uint64, len(kinds))
	for name, n := range guard(layersOf(t, kinds)).RunBoard(t, spec, opt) {
		at := numbered.FindStringSubmatch(name)
		if at == nil {
			t.Fatalf("no layer has a node %s", name)
		}
		layer, err := strconv.Atoi(at[1])
		if err != nil || layer >= len(kindOf) {
			t.Fatalf("no layer has a node %s", name)
		}
		sums[kindOf[layer]] += n
	}
	for i, n := range sums {
		if n == 0 {
			t.Fatalf("%s: no instructions", kinds[i].Name)
		}
	}
	return sums
}

// layersOf is a graph of the layers of all kinds.
func layersOf(t *testing.T, kinds []Kind) *ir.Graph {
	t.Helper()
	b := NewWriter(ratioSeed)
	for _, k := range kinds {
		for _, l := range k.Layers {
			b.Text(l)
		}
	}
	return b.Graph(t)
}

// Sources are the paths of the kernels' sources that kinds are compiled with.
func Sources(t *testing.T, kinds []Kind, guard func(g *ir.Graph) *Guarded) []string {
	t.Helper()
	var paths []string
	for _, f := range guard(layersOf(t, kinds)).files {
		if path, ok := strings.CutPrefix(f.Path, "nncc/"); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// Reached checks that sources are all that have assembly on a board, but those of a table of boards, patterns of
// paths and reasons: a pattern has a source without which the table would be shorter, and none that is reached.
func Reached(t *testing.T, board, path string, sources []string) {
	t.Helper()
	without := withAssembly(t, board, sources)
	for _, r := range ReadTable(t, path) {
		if r[0] != board {
			continue
		}
		here := func(source string) bool {
			ok, err := pathpkg.Match(r[1], source)
			return err == nil && ok
		}
		if i := slices.IndexFunc(sources, here); i >= 0 && strings.HasSuffix(sources[i], ".c") {
			t.Errorf("%s, %s: %s is reached, %q is no reason", path, r[1], sources[i], r[2])
		}
		n := len(without)
		if without = slices.DeleteFunc(without, here); len(without) == n {
			t.Errorf("%s, %s: no source with assembly that no kind reaches", path, r[1])
		}
	}
	for _, source := range without {
		t.Errorf("%s: no kind of layers reaches the assembly of %s", board, source)
	}
}

// assembled is where inline assembly begins in what a compiler writes.
var assembled = regexp.MustCompile(`(?m)^@ [0-9]+ "[^"]*" 1$`)

// withAssembly are the paths of the sources that inline assembly is compiled from for a board, but those given.
func withAssembly(t *testing.T, board string, but []string) []string {
	t.Helper()
	spec, err := boards.Load(board)
	if err != nil {
		t.Fatal(err)
	}
	gcc := testenv.Tool(t, "arm-gcc", spec.Toolchain.Prefix+spec.Toolchain.CC)
	dir := t.TempDir()
	var paths []string
	for _, f := range runtimec.All() {
		writeFile(t, dir, f.Path, f.Data)
		if strings.HasSuffix(f.Path, ".c") && !slices.Contains(but, f.Path) {
			paths = append(paths, f.Path)
		}
	}
	cmd := exec.Command(gcc, slices.Concat([]string{"-S", "-Os"}, spec.RunCPU(), spec.Toolchain.CFlags,
		[]string{"-I.", "-Icmsis_nn"}, paths)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		text, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".c")+".s"))
		if err != nil {
			t.Fatal(err)
		}
		return !assembled.Match(text)
	})
}

// ReadTable reads the rows of a table without its head; there are none without the file.
func ReadTable(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[min(1, len(rows)):]
}

// ratio is a row of a table: the counts of a kind, and why they are above the bar.
type ratio struct {
	counts [3]uint64
	over   string
}

func readRatios(t *testing.T, path string) map[string]ratio {
	t.Helper()
	want := map[string]ratio{}
	for _, row := range ReadTable(t, path) {
		r := ratio{over: row[4]}
		for c := range r.counts {
			var err error
			if r.counts[c], err = strconv.ParseUint(row[c+1], 10, 64); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		want[row[0]] = r
	}
	return want
}

func writeRatios(t *testing.T, path string, rows [][]string) {
	t.Helper()
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
