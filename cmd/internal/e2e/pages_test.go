// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// branches is a network of blocks that split, pass each other and meet again; its names have about so many characters
// more.
func branches(blocks, more int) string {
	var b strings.Builder
	b.WriteString("(float[1,8,12,12] x) => (float[1,8,12,12] y) <float[8,8,3,3] w = {")
	for i := range 8 * 8 * 9 {
		fmt.Fprintf(&b, "%s%.2f", strings.Repeat(", ", min(i, 1)), float64(i*7919%41-20)/100)
	}
	b.WriteString("}> {\n")
	last := "x"
	for i := range blocks {
		n := fmt.Sprintf("%d_%s", i, strings.Repeat("functional", more/10))
		fmt.Fprintf(&b, "a%[1]s = Conv <pads = [1, 1, 1, 1]> (%[2]s, w)\nb%[1]s = Sigmoid (a%[1]s)\n"+
			"c%[1]s = Mul (a%[1]s, b%[1]s)\nd%[1]s = Conv <pads = [1, 1, 1, 1]> (c%[1]s, w)\n"+
			"e%[1]s = Add (d%[1]s, %[2]s)\n", n, last)
		last = "e" + n
	}
	b.WriteString("y = Relu (" + last + ")\n}")
	return b.String()
}

// TestPagesOfModels: the pages of compiled models can be read in Chromium, on a telephone, on a desk and on paper, in
// light and dark: no text overlaps another one or is cut. NNCC_LONG takes models of ../shared and hundreds of layers.
func TestPagesOfModels(t *testing.T) {
	b := browser.New(t, 1280, 900)
	list := map[string]*driver.Config{"digits": digitsConfig("cortex-m55"),
		"branches":   config(writeText(t, t.TempDir(), 13, branches(4, 0)), "mla-m55"),
		"long names": config(writeText(t, t.TempDir(), 13, branches(3, 200)), "cortex-m4")}
	if testenv.Long() {
		list["400 layers"] = config(writeText(t, t.TempDir(), 13, branches(130, 30)), "cortex-m4")
		for _, f := range sharedata.Glob("calib", "*.npz") {
			for _, board := range []string{"cortex-m55", "mla-m55"} {
				name := strings.TrimSuffix(filepath.Base(f), ".npz")
				c := config(filepath.Join(filepath.Dir(filepath.Dir(f)), "models", name+".onnx"), board)
				c.Calib = []string{f}
				list[name+" "+board] = c
			}
		}
	}
	for what, c := range list {
		o, err := c.Compile()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "page.html")
		require(t, os.WriteFile(path, o.Report.HTML(), 0o666))
		b.OpenFile(t, path)
		b.Wait(t, `document.documentElement.classList.contains("ready")`)
		for _, dark := range []bool{false, true} {
			b.Media(t, "", dark)
			for _, width := range browser.Sizes {
				b.Resize(t, width, 900)
				said := fmt.Sprintf("%s, %d pixels wide, dark %v", what, width, dark)
				b.Reads(t, said)
				b.Keep(t, strings.NewReplacer(" ", "-", ",", "").Replace("day-"+said))
			}
		}
		b.Media(t, "print", false)
		b.Resize(t, 718, 1000) // 19 cm
		b.Reads(t, what+" printed")
		b.Media(t, "", false)
	}
}
