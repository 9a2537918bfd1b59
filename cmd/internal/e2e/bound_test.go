// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower/option"
)

// TestBound: profile says of every layer whether its instructions depend on data, how many
// were measured and how many there can be; all of them together are the bound of an
// inference, which no input that is tried exceeds.
func TestBound(t *testing.T) {
	for _, board := range []string{"cortex-m55", "cortex-m0plus"} {
		c := digitsConfig(board)
		c.Cases = 4
		o := mustCompile(t, c)
		before := report.JSON(o.Report)
		v := mustProfile(t, o)
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

// TestNoBound: where data decides how often loops turn there is no bound, but a reason:
// also where data are lengths of sequences, or indices of rows that memcpy copies as fast as
// they are aligned.
func TestNoBound(t *testing.T) {
	const loops = "data decides how often loops of"
	for _, c := range []struct{ board, why, src string }{
		{"cortex-m4", loops, `in %x : f32[1,40]
const %k : i64[1] = {3}
%y, %i = TopK(%x, %k) {axis=1}
out "y" = %y
out "i" = %i`},
		{"cortex-m4", "loops as often as data says", `in %x : f32[1,40]
in %d : f32[1,40]
%y = Mod(%x, %d) {fmod=1}
out "y" = %y`},
		{"cortex-m4", loops, `in %x : f32[9,1,4]
in %n : i32[1]
const %w : f32[1,3,4] = rand 1
const %r : f32[1,3,3] = rand 2
const %b : f32[1,6] = rand 3
%y, %h = RNN(%x, %w, %r, %b, %n) {hidden_size=3}
out "y" = %y
out "h" = %h`},
		{"cortex-m0plus", loops, `in %x : i8[4,401]
in %i : i32[1]
%y = Gather(%x, %i) {axis=0}
out "y" = %y`},
		{"cortex-m0plus", "", `in %x : i8[4,400]
in %i : i32[1]
%y = Gather(%x, %i) {axis=0}
out "y" = %y`},
	} {
		o := config("", c.board)
		o.Cases = 1
		if c.board == "cortex-m4" {
			o.Precision = option.Float32
		}
		v, err := compileNet(t, irtest.Parse(t, "graph \"g\" {\n"+c.src+"\n}"), o).Profile(context.Background())
		require(t, err)
		text := report.ProfileText([]*report.Verdict{v})
		if c.why == "" {
			if v.MostInstructions == nil {
				t.Errorf("no bound: %s\n%s", v.NoMost, c.src)
			}
			continue
		}
		if v.MostInstructions != nil || !strings.Contains(v.NoMost, c.why) ||
			!strings.Contains(text, "no bound of the instructions is known") {
			t.Errorf("bound %v, reason %q, want %q\n%s", v.MostInstructions, v.NoMost, c.why, c.src)
		}
	}
}
