// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// faithful compares a program with its model on the cases of verify, without
// running the firmware.
func faithful(t *testing.T, o *driver.Compiled) *report.Verdict {
	t.Helper()
	cases := mustCases(t, o.Config, o)
	v := &report.Verdict{}
	require(t, o.Fidelity(v, cases))
	return v
}

// TestSharedFidelity: no false alarm on the reference models that are quantised,
// on cores and accelerators, and in float. NNCC_LONG takes all models in all
// precisions.
func TestSharedFidelity(t *testing.T) {
	dir := shared(t)
	models, err := filepath.Glob(filepath.Join(dir, "models", "*.onnx"))
	require(t, err)
	type kind struct {
		board     string
		precision option.Precision
		weights   option.Weights
	}
	for _, m := range models {
		kinds := []kind{{"host", option.Float32, option.Int8Weights}}
		if own, sweep := carriesQuantisation(t, m), testenv.Long(); own || sweep {
			kinds = append(kinds, kind{"cortex-m55", option.Auto, option.Int8Weights}, kind{"mla-host", option.Auto,
				option.Int8Weights})
			if !own {
				kinds = append(kinds, kind{"cortex-m4", option.Int16x8, option.Int8Weights}, kind{"cortex-m4",
					option.Auto, option.Int4Weights},
					kind{"mla-host", option.Int8, option.Int8Weights})
			}
		} else if st, err := os.Stat(m); err != nil || st.Size() > 2<<20 {
			continue
		}
		for _, k := range kinds {
			name := strings.TrimSuffix(filepath.Base(m), ".onnx")
			t.Run(name+"/"+k.board+"/"+k.precision.String()+"/"+k.weights.String(), func(t *testing.T) {
				v := faithful(t, compileShared(t, dir, name, k.board, func(c *driver.Config) {
					c.Precision, c.Weights, c.Cases, c.Rounding = k.precision, k.weights, 2, option.Nearest
				}))
				if v.Differs() {
					t.Error(v.Text())
				}
				for _, f := range v.Fidelity {
					if f.Compared == 0 {
						t.Errorf("output %s: nothing is compared", f.Output)
					}
				}
			})
		}
	}
}

// carriesQuantisation reports a model that is quantised itself.
func carriesQuantisation(t *testing.T, model string) bool {
	t.Helper()
	m, err := onnx.Load(model, onnx.Limits{})
	require(t, err)
	g, err := onnx.OpenModel(m, onnx.ImportOptions{})
	require(t, err)
	return lower.Quantised(g)
}

// TestLayersDecide: a kernel that is wrong by one where the outputs agree all
// the same is a difference with --layers, in whichever case it shows.
func TestLayersDecide(t *testing.T) {
	const right, off = "conv_params->output_offset", "(conv_params->output_offset + 1)"
	for _, layers := range []bool{false, true} {
		c := driver.Defaults()
		c.Board, c.Name, c.Layers = "host", "net", layers
		o := compileNet(t, irtest.Parse(t, argmax), &c)
		for _, broken := range []bool{false, true} {
			if broken {
				made := false
				for i, f := range o.Files {
					if strings.HasSuffix(f.Path, "/arm_convolve_s8.c") && bytes.Contains(f.Data, []byte(right)) {
						o.Files[i].Data = bytes.ReplaceAll(f.Data, []byte(right), []byte(off))
						made = true
					}
				}
				if !made {
					t.Fatal("no kernel to break")
				}
			}
			v := mustVerify(t, o)
			if v.Mismatches > 0 {
				t.Fatalf("the outputs differ, too\n%s", v.Text())
			}
			if v.Differs() != (layers && broken) {
				t.Errorf("--layers=%v, a broken kernel=%v: differs is %v\n%s", layers, broken, v.Differs(), v.Text())
			}
			if !layers || !broken {
				continue
			}
			if v.FirstWrong == nil || v.FirstWrong.Value != "c.1" || v.LayerCases != c.Cases {
				t.Errorf("first wrong layer %+v after %d cases, want c.1 after %d", v.FirstWrong, v.LayerCases, c.Cases)
			}
			if v.Layers[1].Mismatches == 0 || v.Layers[2].Mismatches > 0 ||
				!strings.Contains(v.Text(), "layers DIFFERENT") {
				t.Errorf("not what was wrong:\n%s", v.Text())
			}
		}
	}
}

// argmax is a network whose output does not show what its first layer got
// wrong.
//
//go:embed testdata/argmax.ir
var argmax string
