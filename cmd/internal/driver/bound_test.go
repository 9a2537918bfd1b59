// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest"
)

// TestBound: profile says of every layer whether its instructions depend on data, how many
// were measured and how many there can be; all of them together are the bound of an
// inference, which no input that is tried exceeds.
func TestBound(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	for _, board := range []string{"cortex-m55", "cortex-m0plus"} {
		c := config(filepath.Join(digits, "digits.onnx"), board)
		c.Calib, c.Cases = []string{filepath.Join(digits, "digits_calib.npz")}, 4
		o, err := c.Compile()
		require(t, err)
		before := report.JSON(o.Report)
		v, err := o.Profile(context.Background())
		require(t, err)
		if v.MostInstructions == nil || v.MostBasis == "" {
			t.Fatalf("%s: no bound: %s", board, v.NoMost)
		}
		varies, sum := 0, uint64(v.Outside)
		for i := range v.Layers {
			l := &v.Layers[i]
			if l.Least == nil || l.LayerBound.Bound == nil || *l.Least > l.Instructions || *l.Most < l.Instructions ||
				*l.LayerBound.Bound < *l.Most {
				t.Fatalf("%s: %s: %s", board, l.Name, report.JSON(l))
			}
			sum += *l.LayerBound.Bound
			if *l.Least != *l.Most {
				varies++
			}
			if !l.DependOnData && (*l.Least != *l.Most || *l.LayerBound.Bound != *l.Most) {
				t.Errorf("%s: %s does not depend on data, and takes %d to %d", board, l.Name, *l.Least, *l.Most)
			}
			var was struct {
				Layers []map[string]any `json:"layers"`
			}
			require(t, json.Unmarshal(before, &was))
			w := was.Layers[i]
			if w["instructions_depend_on_data"] != l.DependOnData || w["instructions_bound"] != nil {
				t.Errorf("%s: %s: before the profile the report says %v", board, l.Name, w)
			}
		}
		if sum != *v.MostInstructions || o.Report.Code.MostInstructions != v.MostInstructions {
			t.Errorf("%s: the layers have bounds of %d, the inference %d", board, sum, *v.MostInstructions)
		}
		for _, k := range v.ByCase {
			if k.Instructions > *v.MostInstructions {
				t.Errorf("%s: %s takes %d instructions, at most %d are stated", board, k.Source, k.Instructions,
					*v.MostInstructions)
			}
		}
		// The softmax depends on data everywhere; on a core without saturation nearly all layers do.
		if fewest := map[string]int{"cortex-m55": 1, "cortex-m0plus": 8}[board]; varies < fewest {
			t.Errorf("%s: %d layers vary, want %d", board, varies, fewest)
		}
		text := report.ProfileText([]*report.Verdict{v})
		if !strings.Contains(text, "at most ") || !strings.Contains(text, "whatever the input is") {
			t.Errorf("%s: the text does not state the bound:\n%s", board, text)
		}
		if !strings.Contains(o.Explain(), "nstructions may depend on data in ") {
			t.Errorf("%s: explain does not say what depends on data", board)
		}
	}
}

// TestNoBound: where data decides how often loops turn there is no bound, but a reason.
func TestNoBound(t *testing.T) {
	for src, why := range map[string]string{
		`in %x : f32[1,40]
const %k : i64[1] = {3}
%y, %i = TopK(%x, %k) {axis=1}
out "y" = %y
out "i" = %i`: "data decides how often loops of",
		`in %x : f32[1,40]
in %d : f32[1,40]
%y = Mod(%x, %d) {fmod=1}
out "y" = %y`: "loops as often as data says",
	} {
		c := config("", "cortex-m4")
		c.Cases = 1
		o := compileNet(t, irtest.Parse(t, "graph \"g\" {\n"+src+"\n}"), c)
		v, err := o.Profile(context.Background())
		require(t, err)
		if v.MostInstructions != nil || !strings.Contains(v.NoMost, why) ||
			!strings.Contains(report.ProfileText([]*report.Verdict{v}), "no bound of the instructions is known") {
			t.Errorf("bound %v, reason %q, want %q", v.MostInstructions, v.NoMost, why)
		}
	}
}
