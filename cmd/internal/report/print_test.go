// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
)

// TestPrinted: on paper the drawing of hundreds of layers goes over pages, its texts large
// enough to be read, and is as wide as the paper at most.
func TestPrinted(t *testing.T) {
	const paper = 718 // 19 cm at 96 pixels an inch
	b := browser.New(t, paper, 1000)
	b.Print(t)
	for _, layers := range []int{5, 400} {
		open(t, b, drawn(layers, "model").HTML())
		b.Reads(t, "printed")
		if px := browser.Value[float64](t, b, `document.querySelector("#drawing a.box text").getBoundingClientRect()
			.height`); px < 5 || px > 25 {
			t.Errorf("%d layers: texts are %.1f pixels high", layers, px)
		}
		if cut := browser.Value[bool](t, b, `(() => { const d = document.querySelector("#drawing")
			.getBoundingClientRect(); for (let e = document.querySelector("#drawing").parentElement; e.id != "graph";
			e = e.parentElement) { const r = e.getBoundingClientRect(); if (r.height + 1 < d.height &&
			getComputedStyle(e).overflow != "visible") return true; } return false; })()`); cut {
			t.Errorf("%d layers: the drawing is cut", layers)
		}
		b.Keep(t, "day-print-"+map[int]string{5: "5", 400: "400"}[layers])
	}
}

// TestLongNamesOnThePage: names of hundreds of characters are shortened where they stand
// beside others, and whole where their node is described.
func TestLongNamesOnThePage(t *testing.T) {
	name := strings.Repeat("functional_1/conv2d/Conv2D;", 20)
	page := whole(t, drawn(30, name).HTML())
	if n := strings.Count(page, name); n == 0 || n > 30*6 {
		t.Errorf("the name is %d times in the page of 30 layers", n)
	}
	if !strings.Contains(page, "<dt>name<dd>"+name) {
		t.Error("no description has the whole name")
	}
}
