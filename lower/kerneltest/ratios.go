// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	pathpkg "path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// ratioSeed draws what kinds leave open.
const ratioSeed = 7

// bar is how many of the assembly's instructions a kind may take without it, to two digits; more wants a reason.
const bar = 1.305

// Ratios holds the instructions of kinds of layers at what they were before: with assembly, and without it by GCC and
// by clang, the latter two with NNCC_LONG alone. The log has the ratios to assembly; more than the bar wants a reason.
func Ratios(t *testing.T, board, path string, kinds []Kind, guard func(g *ir.Graph) *Guarded) {
	t.Helper()
	testenv.Tool(t, "qemu", "qemu-system-arm")
	spec := testenv.Must(boards.Load(board))(t)
	noAsm := NoAsm()
	noAsm.Trace = true
	held := Hold(t, path, "assembly", "gcc", "clang")
	counts := [][]uint64{Counts(t, spec, run.BuildOptions{Opt: "speed", Trace: true}, kinds, guard)}
	if testenv.Long() || irtest.Update() {
		counts = append(counts, Counts(t, spec, noAsm, kinds, guard), Counts(t, Clang(t, spec), noAsm, kinds, guard))
	}
	for i, k := range kinds {
		for c := range counts {
			held.Count(t, k.Name, c, counts[c][i])
		}
		if len(counts) == 1 {
			continue
		}
		base := float64(counts[0][i])
		gcc, clang := float64(counts[1][i])/base, float64(counts[2][i])/base
		held.Reason(t, k.Name, max(gcc, clang) > bar, "1.30 of the assembly's instructions")
		t.Logf("%-32s %9d  gcc %5.2f  clang %5.2f", k.Name, counts[0][i], gcc, clang)
	}
}

// Held are counts that may only fall, by kinds and columns, and why a kind is above what is wanted. Compilers differ
// between releases, so there are 2 % of room.
type Held struct {
	path  string
	head  []string
	kinds []string // in the order in which they were counted
	rows  map[string][]string
}

// Hold reads a file of counts, which -update writes when the test ends, with what is less; a figure that grows for a
// reason is raised by hand.
func Hold(t *testing.T, path string, columns ...string) *Held {
	t.Helper()
	head := slices.Concat([]string{"kind"}, columns, []string{"over"})
	h := &Held{path: path, head: head, rows: map[string][]string{}}
	for _, row := range ReadTable(t, path) {
		h.rows[row[0]] = row
	}
	if irtest.Update() {
		t.Cleanup(func() { h.write(t) })
	}
	return h
}

// row is that of a kind.
func (h *Held) row(kind string) []string {
	if h.rows[kind] == nil {
		h.rows[kind] = append(make([]string, len(h.head)-1), "")
		h.rows[kind][0] = kind
	}
	if !slices.Contains(h.kinds, kind) {
		h.kinds = append(h.kinds, kind)
	}
	return h.rows[kind]
}

// Count says that a kind has no count in a column, or more than there.
func (h *Held) Count(t *testing.T, kind string, column int, n uint64) {
	t.Helper()
	at := &h.row(kind)[column+1]
	limit, err := strconv.ParseUint(*at, 10, 64)
	switch {
	case err == nil && n > limit+limit/50:
		t.Errorf("%s, %s: %d instructions, were %d", kind, h.head[column+1], n, limit)
	case err != nil && !irtest.Update():
		t.Errorf("%s is not in %s: run with -update", kind, h.path)
	case err != nil || n < limit:
		*at = strconv.FormatUint(n, 10)
	}
}

// Reason says that a kind is above what is wanted without a reason, or has a reason and is not.
func (h *Held) Reason(t *testing.T, kind string, over bool, wanted string) {
	t.Helper()
	why := &h.row(kind)[len(h.head)-1]
	if over && *why == "" {
		t.Errorf("%s: more than %s, and %s has no reason", kind, wanted, h.path)
	} else if !over && *why != "" {
		if !irtest.Update() {
			t.Errorf("%s: at most %s, %q no more: run with -update", kind, wanted, *why)
		}
		*why = ""
	}
}

func (h *Held) write(t *testing.T) {
	rows := [][]string{h.head}
	for _, k := range h.kinds {
		rows = append(rows, h.rows[k])
	}
	var text strings.Builder
	testenv.OK(t, csv.NewWriter(&text).WriteAll(rows))
	writeFile(t, filepath.Dir(h.path), filepath.Base(h.path), []byte(text.String()))
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
	for name, n := range guard(Layers(t, kinds)).RunBoard(t, spec, opt) {
		layer := LayerOf(name)
		if layer <= 0 || layer >= len(kindOf) {
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

// LayerOf is the number of the layer of Layers that a node belongs to, by its name; 0: of none.
func LayerOf(node string) (n int) {
	fmt.Sscanf(strings.TrimLeftFunc(node, unicode.IsLower), "%d", &n)
	return n
}

// Layers is a graph of the layers of all kinds, in order, the first of which has the number 1.
func Layers(t *testing.T, kinds []Kind) *ir.Graph {
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
	for _, f := range guard(Layers(t, kinds)).files {
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
	spec := testenv.Must(boards.Load(board))(t)
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
		text := testenv.Must(os.ReadFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".c")+".s")))(t)
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
	rows := testenv.Must(csv.NewReader(f).ReadAll())(t)
	return rows[min(1, len(rows)):]
}
