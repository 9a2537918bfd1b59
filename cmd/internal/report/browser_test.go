// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/cmd/internal/report"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func open(t *testing.T, b *browser.Tab, page []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	testenv.OK(t, os.WriteFile(path, page, 0o666))
	b.OpenFile(t, path)
	b.Wait(t, `!document.getElementById("packed") || document.documentElement.classList.contains("ready")`)
}

// fits looks at a page on a telephone and on a desk.
func fits(t *testing.T, b *browser.Tab, what string) {
	t.Helper()
	for _, width := range browser.Sizes {
		b.Resize(t, width, 900)
		b.Reads(t, fmt.Sprintf("%s, %d pixels wide", what, width))
	}
}

// TestBrowser: in Chromium nothing is clipped, no script fails, the policy refuses
// nothing, and the page's tools do what they say.
func TestBrowser(t *testing.T) {
	b := browser.New(t, 1280, 900)
	evil := `</title></script><img src=x onerror=alert(1)>"'` + "`${1}{{.}}"
	for what, r := range map[string]*report.Report{"empty": {}, "long names": drawn(30, long),
		"hostile": drawn(5, evil)} {
		open(t, b, r.HTML())
		fits(t, b, what)
		testenv.Equal(t, browser.Value[int](t, b, `document.querySelectorAll("img, script:not([type])").length`), 1,
			"%s: scripts and pictures", what)
	}
	big := drawn(400, "model")
	open(t, b, big.HTML())
	fits(t, b, "400 layers")
	t.Run("choose", func(t *testing.T) { choose(t, b) })
	t.Run("search", func(t *testing.T) { search(t, b) })
	t.Run("table", func(t *testing.T) { table(t, b) })
	t.Run("comparison", func(t *testing.T) {
		m := report.ComparedModel{Name: long, Counted: "1 layer", Columns: []string{"cycles"},
			Figures: []report.ComparedFigure{{Title: "arena", OldValue: 3, NewValue: 4, Worse: true}},
			Layers:  []report.ComparedLayer{{Name: long, Kernel: long, Cells: []report.ComparedCell{{Text: "+1"}}}},
			Arenas:  []report.ComparedArena{{Title: long, Bytes: 40000, Steps: 400, Buffers: big.Memory.Buffers}}}
		open(t, b, report.DiffPage(&report.Comparison{Old: long, New: evil, Verdict: "changed " + evil,
			Exceeded: []string{long}, Models: []report.ComparedModel{m}}))
		fits(t, b, "comparison")
	})
}

const panel = `document.getElementById("panel").textContent`

func choose(t *testing.T, b *browser.Tab) {
	b.Run(t, `document.getElementById("gn3").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))`)
	said := browser.Value[string](t, b, panel)
	for _, want := range []string{"Add model/3", "Helium", "36,864 B", "NHWC", "0.0213 \u00d7 (q + 7)", "clipped"} {
		testenv.Check(t, strings.Contains(said, want), "the panel does not say %q: %s", want, said)
	}
	testenv.Equal(t, browser.Value[int](t, b, `document.querySelectorAll("#panel svg").length`), 2,
		"histograms beside the node")
	testenv.Equal(t, browser.Value[int](t, b, `document.querySelectorAll(".wires .lit").length`), 4,
		"lines are marked")
	b.Click(t, `#table tbody tr:nth-child(10) a`)
	if said := browser.Value[string](t, b, panel); !strings.Contains(said, "refused because of model/9") {
		t.Errorf("the panel does not say why the node is refused: %s", said)
	}
	if in := browser.Value[bool](t, b, `(() => { const v = document.getElementById("view").getBoundingClientRect(),
		r = document.querySelector(".box.chosen").getBoundingClientRect();
		return r.top >= v.top && r.bottom <= v.bottom && r.left >= v.left && r.right <= v.right; })()`); !in {
		t.Error("the chosen node is not in view")
	}
}

func search(t *testing.T, b *browser.Tab) {
	b.Keys(t, "#find", "add model/39")
	if n := browser.Value[int](t, b, `document.querySelectorAll(".box.hit").length`); n != 4 { // 39, 391, 395, 399
		t.Errorf("%d nodes are found", n)
	}
	b.Keys(t, "#find", "\r\r")
	said := browser.Value[string](t, b, panel)
	testenv.Check(t, strings.Contains(said, "model/391"), "the second hit is not chosen: %s", said)
	width := `document.getElementById("drawing").width.baseVal.value`
	before := browser.Value[float64](t, b, width)
	b.Click(t, `[data-zoom="in"]`)
	larger := browser.Value[float64](t, b, width)
	b.Click(t, `[data-zoom="fit"]`)
	if fit := browser.Value[float64](t, b, width); larger <= before || fit >= before {
		t.Errorf("the drawing is %v wide, zoomed in %v, as a whole %v", before, larger, fit)
	}
}

func table(t *testing.T, b *browser.Tab) {
	column := `[...document.querySelectorAll("#table tbody tr:not([hidden]) td:nth-child(4)")].map(c =>
		+c.textContent.replace(/,/g, ""))`
	b.Click(t, `#table th:nth-child(4) button`)
	down := browser.Value[[]float64](t, b, column)
	b.Click(t, `#table th:nth-child(4) button`)
	up := browser.Value[[]float64](t, b, column)
	if len(up) != 400 || !slices.IsSorted(up) || slices.IsSorted(down) {
		t.Errorf("sorted: %v, then %v", down[:5], up[:5])
	}
	slices.Reverse(down)
	testenv.Check(t, slices.Equal(up, down), "up and down are not the same numbers")
	b.Keys(t, "#filter", "model/12")
	testenv.Equal(t, len(browser.Value[[]float64](t, b, column)), 11, "rows are found")
}
