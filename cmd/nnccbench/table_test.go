// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestDocument: docs/zoo.md has the form that make bench writes.
func TestDocument(t *testing.T) {
	text := testenv.Must(os.ReadFile(filepath.Join("..", "..", "docs", "zoo.md")))(t)
	got := testenv.Must(parse(string(text)))(t)
	testenv.Check(t, got.String() == string(text), "docs/zoo.md has\n%s\nmake bench would write\n%s", text, got)
	testenv.Check(t, len(got.Cores) == len(zooBoards) && len(got.Rows) != 0 && got.Library != "",
		"%d cores, %d networks, ratios to CMSIS-NN %q", len(got.Cores), len(got.Rows), got.Library)
	for i, b := range zooBoards {
		testenv.Equal(t, got.Cores[i].Name, coreName(b), "core")
	}
}

// TestKeep: without an installed library the ratios of the document stay, network
// by network and core by core.
func TestKeep(t *testing.T) {
	known := []figures{{12.34, 0, 0.5, 300, 7.25}, {1, 2, 0.75, 1, 1}}
	old := &table{[]core{{"M55", 0.2}, {"M0+", 0.35}}, "V.1 of 2 March 2026", []row{{"a", known}, {"b", known}}}
	back, err := parse(old.String())
	if err != nil || back.String() != old.String() ||
		!strings.Contains(old.String(), "| 12.3 | - | 0.50 | 300 | 7.25 |") {
		t.Fatalf("%v\n%s\nread and written\n%s", err, old, back)
	}
	fresh := func(library string) *table {
		return &table{[]core{{"M4", 0.1}, {"M0+", 0.35}}, library, []row{{"b", make([]figures, 2)},
			{"c", make([]figures, 2)}}}
	}
	none := fresh("")
	none.keep(old)
	if none.Library != old.Library || none.Rows[0].On[1].Ratio != 0.75 || none.Rows[0].On[0].Ratio != 0 ||
		none.Rows[1].On[1].Ratio != 0 {
		t.Errorf("kept: %+v", none)
	}
	if measured := fresh("V.2"); true {
		measured.keep(old)
		testenv.Check(t, measured.Library == "V.2" && measured.Rows[0].On[1].Ratio == 0, "with a library: %+v",
			measured)
	}
}

// TestDigits: what is written is read and written as the same text.
func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "-", 0.012: "0.01", 0.4567: "0.46", 9.994: "9.99", 9.998: "10.0",
		99.94: "99.9", 99.96: "100", 236.13: "236", 1234.5: "1234"} {
		testenv.Equal(t, digits(v), want, v)
	}
}
