// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/option"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestSameFirmware: a network as a TensorFlow Lite file and as an ONNX file is the same
// firmware, but for names, once the latter takes its input channels-last, too.
func TestSameFirmware(t *testing.T) {
	for lite, onnx := range map[string]string{"kws_ref_model": "kws_int8", "pretrainedResnet_quant": "ic_int8",
		"vww_96_int8": "vww_int8"} {
		a := sharedata.Need(t, "tflite", lite+".tflite")
		b := sharedata.Need(t, "models", onnx+".onnx")
		for _, board := range []string{"cortex-m4", "cortex-m55", "cortex-m0plus"} {
			have, want := sources(t, a, board), sources(t, b, board)
			if n := len(want["net.c"]); n < 2000 {
				t.Errorf("%s for %s: only %d bytes of the model's source are compared", lite, board, n)
			}
			for name, text := range want {
				if have[name] != text {
					t.Errorf("%s for %s: %s is not that of %s:\n%s", lite, board, name, onnx,
						cmp.Diff(text, have[name]))
				}
			}
			if len(have) != len(want) || len(have) < 8 {
				t.Errorf("%s for %s: %d files, of %s %d", lite, board, len(have), onnx, len(want))
			}
		}
	}
}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/|(?m:^#[^\n]*$)`)
	text    = regexp.MustCompile(`(?:"(?:[^"\\\n]|\\.)*"\s*)+`) // pieces that C joins
	place   = regexp.MustCompile(`(NET_AT_\w+) = (\d+),\s*`)
	name    = regexp.MustCompile(`\b(?:net|NET)_\w+`)
)

// sources are what computes in a model's firmware: without comments and texts, places as
// their offsets, and what is named after nodes and tensors as its number, in the order
// in which names appear.
func sources(t *testing.T, model, board string) map[string]string {
	t.Helper()
	c := driver.Defaults()
	c.Model, c.Board, c.Name, c.IOLayout = model, board, "net", option.NativeLayout
	o, err := c.Compile()
	testenv.OK(t, err)
	out, places, names := map[string]string{}, map[string]string{}, map[string]string{}
	slices.SortFunc(o.Files, func(a, b codegen.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range o.Files {
		dir, file := filepath.Split(f.Path)
		switch {
		case strings.HasPrefix(file, "report.") || dir != "" && !strings.HasPrefix(dir, "nncc"):
			continue
		case dir == "" && file != "net.c" && !strings.HasPrefix(file, "net_weights"):
			continue
		}
		bare := text.ReplaceAllString(comment.ReplaceAllString(string(f.Data), ""), `""`)
		for _, m := range place.FindAllStringSubmatch(bare, -1) {
			places[m[1]] = m[2]
		}
		out[f.Path] = name.ReplaceAllStringFunc(place.ReplaceAllString(bare, ""), func(n string) string {
			if at, ok := places[n]; ok {
				return at
			}
			if names[n] == "" {
				names[n] = fmt.Sprintf("net_%d", len(names))
			}
			return names[n]
		})
	}
	return out
}
