// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/cmd/internal/report"
)

// clipped gives what is wider than the window without a box of its own to scroll in, and
// texts of the drawing that leave their boxes or run into each other.
const clipped = `(() => {
  const out = [], scrolls = e => { for (; e; e = e.parentElement) {
    if (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)) return true; } };
  for (const e of document.body.querySelectorAll("*")) {
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > innerWidth + 1 || r.left < -1) && !scrolls(e)) out.push(e.tagName + " " + e.id +
      " to " + r.right);
  }
  for (const b of document.querySelectorAll("a.box")) {
    const body = b.querySelector("rect").getBBox(), texts = [...b.querySelectorAll("text")].map(t => t.getBBox());
    for (const t of texts) if (t.x < 0 || t.x + t.width > body.width || t.y + t.height > body.height + 1)
      out.push("a text leaves the box " + b.id + ": " + b.textContent);
    texts.forEach((t, i) => texts.slice(0, i).forEach(u => {
      if (t.x < u.x + u.width && u.x < t.x + t.width && t.y + 2 < u.y + u.height && u.y + 2 < t.y + t.height)
        out.push("texts of the box " + b.id + " overlap: " + b.textContent); }));
  }
  for (const p of document.querySelectorAll(".plot")) {
    const rects = [...p.querySelectorAll("rect")].map(r => r.getBoundingClientRect());
    for (const t of p.querySelectorAll("text:not(.step)")) {
      const a = t.getBoundingClientRect();
      if (!rects.some(b => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 2 &&
        a.bottom <= b.bottom + 2)) out.push("a label leaves its buffer: " + t.textContent);
    }
  }
  return out.slice(0, 10);
})()`

func open(t *testing.T, b *browser.Tab, page []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page, 0o666); err != nil {
		t.Fatal(err)
	}
	b.OpenFile(t, path)
}

// fits looks at a page on a telephone and on a desk.
func fits(t *testing.T, b *browser.Tab, what string) {
	t.Helper()
	for _, width := range []int64{390, 1280} {
		b.Resize(t, width, 900)
		b.Fits(t)
		for _, s := range browser.Value[[]string](t, b, clipped) {
			t.Errorf("%s, %d pixels wide: %s", what, width, s)
		}
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
		if n := browser.Value[int](t, b, `document.querySelectorAll("img, script").length`); n != 1 {
			t.Errorf("%s: %d scripts and pictures, want the page's own script", what, n)
		}
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
		if !strings.Contains(said, want) {
			t.Errorf("the panel does not say %q: %s", want, said)
		}
	}
	if n := browser.Value[int](t, b, `document.querySelectorAll("#panel svg").length`); n != 2 {
		t.Errorf("%d histograms beside the node, want those of its result and of its weights", n)
	}
	if n := browser.Value[int](t, b, `document.querySelectorAll(".wires .lit").length`); n != 4 {
		t.Errorf("%d lines are marked, want 2 in and 2 out", n)
	}
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
	if said := browser.Value[string](t, b, panel); !strings.Contains(said, "model/391") {
		t.Errorf("the second hit is not chosen: %s", said)
	}
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
	if !slices.Equal(up, down) {
		t.Error("up and down are not the same numbers")
	}
	b.Keys(t, "#filter", "model/12")
	if n := len(browser.Value[[]float64](t, b, column)); n != 11 {
		t.Errorf("%d rows are found, want 12 and 120 to 129", n)
	}
}
