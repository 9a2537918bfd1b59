// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/option"
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
					t.Errorf("%s for %s: %s is not that of %s", lite, board, name, onnx)
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
	text    = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	port    = regexp.MustCompile(`\bnet_\w+(\((?:const )?void \*arena\))`)
)

// sources are what computes in a model's firmware, without comments, texts and names of
// inputs and outputs.
func sources(t *testing.T, model, board string) map[string]string {
	t.Helper()
	c := driver.Defaults()
	c.Model, c.Board, c.Name, c.IOLayout = model, board, "net", option.NativeLayout
	o, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range o.Files {
		dir, name := filepath.Split(f.Path)
		switch {
		case strings.HasPrefix(name, "report.") || dir != "" && !strings.HasPrefix(dir, "nncc"):
		case dir == "" && name != "net.c" && !strings.HasPrefix(name, "net_weights") && name != "net_names.h":
		default:
			bare := text.ReplaceAllString(comment.ReplaceAllString(string(f.Data), ""), `""`)
			out[f.Path] = port.ReplaceAllString(bare, "net_io$1")
		}
	}
	return out
}
