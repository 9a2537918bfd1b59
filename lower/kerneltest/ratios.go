// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Kind is a kind of layers whose instructions are counted together.
type Kind struct {
	Name  string
	Build func(b *Writer)
}

// ratioSeed draws what kinds leave open.
const ratioSeed = 7

// ratioColumns are those of a table of Ratios.
var ratioColumns = []string{"kind", "assembly", "gcc", "clang"}

// numbered finds the number of the layer that a node belongs to, in its name.
var numbered = regexp.MustCompile(`^[a-z]+(\d+)`)

// Ratios holds the instructions of kinds of layers at what they were before: with assembly, and without it by GCC and
// by clang. path is the table, which -update makes with what is less; a figure that grows for a reason is raised by
// hand. Compilers differ between releases, so there are 2 % of room. The log has the ratios to assembly.
func Ratios(t *testing.T, board, path string, kinds []Kind, guard func(g *ir.Graph) *Guarded) {
	t.Helper()
	testenv.Tool(t, "qemu", "qemu-system-arm")
	spec, err := boards.Load(board)
	if err != nil {
		t.Fatal(err)
	}
	noAsm := NoAsm()
	noAsm.Trace = true
	counts := [][]uint64{Counts(t, spec, run.BuildOptions{Opt: "speed", Trace: true}, kinds, guard),
		Counts(t, spec, noAsm, kinds, guard), Counts(t, Clang(t, spec), noAsm, kinds, guard)}
	want := readRatios(t, path)
	rows := [][]string{ratioColumns}
	for i, k := range kinds {
		row := []string{k.Name}
		for c := range counts {
			n, limit := counts[c][i], want[k.Name][c]
			if limit == 0 && !irtest.Update() {
				t.Errorf("%s is not in %s: run with -update", k.Name, path)
			}
			if limit > 0 && n > limit+limit/50 {
				t.Errorf("%s, %s: %d instructions, were %d", k.Name, ratioColumns[c+1], n, limit)
			}
			if limit > 0 {
				n = min(n, limit)
			}
			row = append(row, strconv.FormatUint(n, 10))
		}
		rows = append(rows, row)
		base := float64(counts[0][i])
		t.Logf("%-32s %9d  gcc %5.2f  clang %5.2f", k.Name, counts[0][i], float64(counts[1][i])/base,
			float64(counts[2][i])/base)
	}
	if irtest.Update() && !t.Failed() {
		writeRatios(t, path, rows)
	}
}

// Counts are the instructions of each kind.
func Counts(t *testing.T, spec *boards.Spec, opt run.BuildOptions, kinds []Kind,
	guard func(g *ir.Graph) *Guarded) []uint64 {
	t.Helper()
	b := NewWriter(ratioSeed)
	kindOf := []int{-1} // by the number of a layer, which begins at 1
	for i, k := range kinds {
		k.Build(b)
		for len(kindOf) <= b.n {
			kindOf = append(kindOf, i)
		}
	}
	sums := make([]uint64, len(kinds))
	for name, n := range guard(b.Graph(t)).RunBoard(t, spec, opt) {
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

// readRatios reads a table: the counts of each kind.
func readRatios(t *testing.T, path string) map[string][3]uint64 {
	t.Helper()
	want := map[string][3]uint64{}
	f, err := os.Open(path)
	if err != nil {
		return want // kinds are missing, then
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[min(1, len(rows)):] {
		var v [3]uint64
		for c := range v {
			if v[c], err = strconv.ParseUint(r[c+1], 10, 64); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		want[r[0]] = v
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

// Text writes a layer as it stands in text, # for its number, which names of values end in.
func (b *Writer) Text(text, out string) {
	b.n++
	n := fmt.Sprint(b.n)
	b.text.WriteString(strings.ReplaceAll(text, "#", n) + "\n")
	b.outs = append(b.outs, strings.ReplaceAll(out, "#", n))
}
