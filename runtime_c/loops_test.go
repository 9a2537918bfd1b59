// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// leaves are the sources with loops that are left early because of sizes, and what decides it. No row may call a
// kernel fixed or branches whose loops data ends.
var leaves = map[string]string{
	"nncc_copy_nd.c": "the dimension that is counted on",
	"nncc_dsp_depthwise_3x3_stride1_edge_relu_s8.c": "the second of two pixels",
	"nncc_dsp_depthwise_pixel_s8.c":                 "the taps of a window",
	"nncc_dsp_interleave_4rows_s16.c":               "the rows that there are",
	"nncc_dsp_avg_pool_sliding_s8.c":                "the rows of a window",
	"nncc_pad.c":                                    "the dimension that is counted on, the ends of rows",
	"nncc_dsp_depthwise_window_rows_s8.c":           "the taps of a window",
	"nncc_dsp_depthwise_window_rows_relu_s8.c":      "the taps of a window",
	"nncc_f32_spans.h":                              "the pixels of a row",
	"nncc_elements.h":                               "the size of an element",
}

var (
	noted     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	condition = regexp.MustCompile(`\bwhile \((.*)\)|\bfor \([^;]*;([^;]*);`)
	reads     = regexp.MustCompile(`(->)?\b(\w+)\[[^\]]*\](\.\w+)?|(^|[(&|=<>!] ?)\*\w`)
	labels    = regexp.MustCompile(`\bcase |\bdefault:`)
	ends      = regexp.MustCompile(`\bbreak;|\bgoto `)
)

// byData is a loop of a C source whose end depends on what it reads from elsewhere than a struct of parameters, or
// which is left early; "" where there is none.
func byData(name, text string) string {
	text = noted.ReplaceAllString(text, "")
	for _, c := range condition.FindAllStringSubmatch(text, -1) {
		for _, r := range reads.FindAllStringSubmatch(c[1]+c[2], -1) {
			if r[1] == "" && r[3] == "" { // p->dims[d] and axis[0].size are sizes
				return strings.TrimSpace(c[0])
			}
		}
	}
	if n := len(ends.FindAllString(text, -1)); leaves[name] == "" && n > len(labels.FindAllString(text, -1)) {
		return "a loop that is left early"
	}
	return ""
}

// TestLoopsAreAsTheManifestSays: the sources of kernels that are fixed or have branches, and what they include,
// have no loop that ends by data; so every row that has one says loops.
func TestLoopsAreAsTheManifestSays(t *testing.T) {
	tree := testenv.Must(Tree())(t)
	source, loops := sourceOf(tree), 0
	texts := map[string]string{}
	for p, b := range tree {
		texts[path.Base(p)] = string(b)
	}
	for _, k := range Kernels() {
		p := source[k.Function]
		if k.Instructions.Dependence == Loops {
			loops++
			continue
		}
		files := []string{path.Base(p)}
		for _, inc := range scanC(string(tree[p])).includes {
			files = append(files, path.Base(inc))
		}
		for _, f := range files {
			if why := byData(f, texts[f]); why != "" {
				t.Errorf("%s is called %s, and %s has %q; say loops, or in leaves what sizes decide", k.Function,
					k.Instructions.Dependence, f, why)
			}
		}
	}
	testenv.Check(t, loops != 0, "no kernel has loops that data ends")
}

// TestByData: what the search finds, and what not.
func TestByData(t *testing.T) {
	for text, want := range map[string]bool{
		"while (x[at] != best) {":                             true,
		"while (*x != 0) {":                                   true,
		"for (i = 0; i < n && x[i] > 0; i++) {":               true,
		"for (i = 0; i < n; i++) { if (a) { break; } }":       true,
		"for (i = 0; i < p->dims[2]; i++) {":                  false,
		"for (i = 0; i < axis[0].size; i++) { s += x[i]; }":   false,
		"switch (k) { case 1: f(); break; default: break; }":  false,
		"while (n > 0) { n -= 4; } /* while (x[0] != 0) { */": false,
	} {
		got := byData("a.c", text)
		testenv.Check(t, (got != "") == want, "%s: %q", text, got)
	}
}
