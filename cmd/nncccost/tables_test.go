// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/cost"
)

// TestOtherLinesStay: a run for one board keeps what the tables say of others,
// and drops sources that are no more.
func TestOtherLinesStay(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	dir := t.TempDir()
	shipped := testenv.Must(os.ReadFile(filepath.Join("..", "..", "lower", "cost", "code.csv")))(t)
	rows := testenv.Must(csv.NewReader(strings.NewReader(string(shipped))).ReadAll())(t)
	dsp := slices.Index(rows[0], "dsp")
	missing := slices.IndexFunc(rows, func(r []string) bool { return r[0] == "cmsis_nn/arm_avgpool_s8.c" })
	rows[missing][dsp] = ""
	put(t, filepath.Join(dir, "code.csv"), append(rows, append([]string{"gone.c"}, slices.Repeat([]string{"7"},
		len(rows[0])-1)...)))
	o := options{boards: "cortex-m4", out: dir, code: true}
	testenv.OK(t, o.run())
	got := testenv.Must(os.ReadFile(filepath.Join(dir, "code.csv")))(t)
	if string(got) != string(shipped) {
		t.Errorf("code.csv after a run for cortex-m4 that one source was missing for:\n%s",
			difference(string(shipped), string(got)))
	}
}

// difference is the first line that is not the same.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d: %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func put(t *testing.T, path string, rows [][]string) {
	t.Helper()
	write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// TestRatesStay: cycles of other boards stay, those of a measured one go, or only those of the variants that ran.
func TestRatesStay(t *testing.T) {
	o := options{out: t.TempDir()}
	rows := o.rates(nil)
	testenv.Require(t, len(rows) <= 0, "without a table: %v", rows)
	put(t, o.file("cycles.csv"), [][]string{cost.RateColumns, {"a", "copy", "1", "2", "0"},
		{"b", "copy", "1", "3", "0"}, {"a", "other", "1", "2", "0"}})
	for _, c := range []struct {
		replaced rateKey
		want     string
	}{{rateKey{"a", ""}, "[[b copy 1 3 0]]"}, {rateKey{"a", "copy"}, "[[a other 1 2 0] [b copy 1 3 0]]"}} {
		rows := o.rates(map[rateKey]bool{c.replaced: true})
		slices.SortFunc(rows, slices.Compare)
		testenv.Check(t, fmt.Sprint(rows) == c.want, "%v: %v; want %s", c.replaced, rows, c.want)
	}
}

// TestSteps: one function or kind says nothing of what instructions take on a core.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{{options{}, "points fit cycles code"}, {options{variants: "f"}, "points fit code"},
		{options{kinds: "pad"}, "points fit code"}, {options{only: "points"}, "points fit"},
		{options{only: "cycles", variants: "f"}, "cycles"}, {options{only: "fit"}, "fit"}} {
		got := lists.Filter([]string{"points", "fit", "cycles", "code"}, func(s string) bool { return c.o.does(s) })
		testenv.Check(t, strings.Join(got, " ") == c.want, "%+v does %v, want %s", c.o, got, c.want)
	}
}

// TestPrices: kernels take the instructions that the tables say. It fails when a kernel has changed and its prices
// have not: what it prints names the variants to measure anew (README).
func TestPrices(t *testing.T) {
	testenv.Slow(t)
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	layers, least := 3, 30
	if testenv.Long() {
		layers = 20
	}
	for _, b := range testenv.Boards("cortex-m55", "cortex-m4") {
		t.Run(b, func(t *testing.T) {
			t.Parallel()
			o := options{checks: true, boards: b, layers: layers, out: filepath.Join("..", "..", "lower", "cost")}
			ds := testenv.Must(o.again())(t)
			known := 0
			for i := range ds {
				if ds[i].known > 0 {
					known++
				}
			}
			testenv.Check(t, known >= least, "%d variants were measured again, want at least %d", known, least)
			var s strings.Builder
			if sayOld(&s, ds) > 0 {
				t.Error(s.String())
			}
		})
	}
}

// TestDrifts: a layer that takes other instructions than the table says is told, one that the table does not have by
// its model.
func TestDrifts(t *testing.T) {
	var m *cost.Model
	for k, x := range cost.Models() {
		if k.Make == "nncc-dsp" && x.Error < 0.1 && (m == nil || k.String() < m.Key.String()) {
			m = x
		}
	}
	layer := func(c int, n float64) cost.Point {
		g := elementwise(c)
		if n == 0 {
			n = m.Predict(&g)
		}
		return cost.Point{Key: m.Key, Geometry: g, Instructions: n}
	}
	was := []cost.Point{layer(100, 1000), layer(200, 2000)}
	for _, c := range []struct {
		name  string
		fresh []cost.Point
		want  string
	}{
		{"the same", []cost.Point{layer(100, 1010), layer(200, 2010)}, ""},
		{"faster", []cost.Point{layer(100, 900), layer(200, 1900)}, "2 layers take 0.925 of the instructions"},
		{"others as predicted", []cost.Point{layer(1000, 0), layer(2000, 0), layer(3000, 0)}, ""},
		{"others", []cost.Point{layer(1000, 1), layer(2000, 2), layer(3000, 3)}, "3 layers that are not in"},
	} {
		ds := drifts(was, c.fresh, map[cost.Key]*cost.Model{m.Key: m})
		testenv.Require(t, len(ds) == 1, "%s: %d variants, want 1", c.name, len(ds))
		if why := ds[0].why(); (why == "") != (c.want == "") || !strings.HasPrefix(why, c.want) {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
	}
}
