// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
)

// TestOneDefinition: instructions and bytes of code have one value each, in the
// text of verify and profile, in report.json and in verify's JSON, also where
// the largest case is not the first one and where --layers asks for that.
func TestOneDefinition(t *testing.T) {
	first := true // the largest case was always the first: nothing was tried
	for _, layers := range []bool{false, true} {
		c := digitsConfig("cortex-m4")
		c.Cases, c.Layers = 6, layers
		o := mustCompile(t, c)
		v := mustProfile(t, o)
		if v.Mismatches > 0 {
			t.Fatalf("%d mismatches", v.Mismatches)
		}
		var shown, written map[string]any
		require(t, json.Unmarshal(report.JSON(v), &shown))
		require(t, json.Unmarshal(o.Report.JSON(), &written))
		code := written["code"].(map[string]any)

		most := uint64(0)
		for i, k := range v.ByCase {
			if k.Instructions > most {
				most = k.Instructions
				first = first && i == 0
			}
		}
		sum := v.Outside
		table := regexp.MustCompile(`(?m)^\(?[\w/]\S* .* (\d+)$`).FindAllStringSubmatch(v.Text(), -1)
		if len(table) != len(v.Layers)+1 {
			t.Fatalf("verify shows %d layers, want %d and what lies between them:\n%s", len(table), len(v.Layers),
				v.Text())
		}
		for i, l := range v.Layers {
			sum += int64(l.Instructions)
			r := written["layers"].([]any)[i].(map[string]any)["instructions"]
			if r != float64(l.Instructions) || table[i][1] != fmt.Sprint(l.Instructions) {
				t.Errorf("layers=%v: layer %s: report.json %v, text %s, JSON %d", layers, l.Name, r, table[i][1],
					l.Instructions)
			}
		}
		if sum != int64(most) {
			t.Errorf("layers=%v: the layers and what lies between them add up to %d instructions; the largest case "+
				"takes %d", layers, sum, most)
		}
		for what, want := range map[string]uint64{"instructions": most, "text_bytes": v.TextBytes,
			"rodata_bytes": v.RODataBytes} {
			if shown[what] != float64(want) || code[what] != float64(want) || want == 0 {
				t.Errorf("layers=%v: %s: verify --json %v, report.json %v, want %d", layers, what, shown[what],
					code[what], want)
			}
		}
		flash := shown["flash"].(map[string]any)
		if flash["code_bytes"] != code["text_bytes"] || flash["rodata_bytes"] != code["rodata_bytes"] ||
			flash["weights_bytes"] != float64(o.Report.Memory.WeightsBytes) {
			t.Errorf("flash %v, report.json's code %v and weights %d", flash, code, o.Report.Memory.WeightsBytes)
		}
		for name, text := range map[string]string{"verify": v.Text(),
			"profile": report.ProfileText([]*report.Verdict{v})} {
			for re, want := range map[string]uint64{`(\d+) instructions`: most, `code (\d+) bytes`: v.TextBytes,
				`constants (\d+) bytes`: v.RODataBytes} {
				m := regexp.MustCompile(re).FindStringSubmatch(text)
				if m == nil || m[1] != strconv.FormatUint(want, 10) {
					t.Errorf("layers=%v: %s shows %v for %q, want %d:\n%s", layers, name, m, re, want, text)
				}
			}
		}
	}
	if first {
		t.Error("the first case was the largest each time: want inputs for which it is not")
	}
}
