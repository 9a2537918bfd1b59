// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/cost"
)

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
			ds, err := o.again()
			testenv.OK(t, err)
			known := 0
			for i := range ds {
				if ds[i].known > 0 {
					known++
				}
			}
			if known < least {
				t.Errorf("%d variants were measured again, want at least %d", known, least)
			}
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
		if len(ds) != 1 {
			t.Fatalf("%s: %d variants, want 1", c.name, len(ds))
		}
		if why := ds[0].why(); (why == "") != (c.want == "") || !strings.HasPrefix(why, c.want) {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
	}
}
