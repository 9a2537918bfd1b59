// SPDX-License-Identifier: Apache-2.0

package junit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/junit"
	"github.com/nncc/nncc/cmd/internal/junit/junittest"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/lower/verify"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestXML: whatever names there are, a strict reader finds every case with its
// problem; the same suites give the same bytes.
func TestXML(t *testing.T) {
	for _, name := range []string{"out", "<&\"'>]]>", "a\x00b\x1b[2J\ufffe", "\xff\xfe", "\u202egnp\u2029x", "a\nb\tc",
		strings.Repeat("long", 3000)} {
		bad := &junit.Problem{Type: "mismatch", Message: name, Text: name + "\n" + name}
		list := []junit.Suite{{Name: name, Properties: []junit.Property{{name, name}}, Cases: []junit.Case{
			{Class: name, Name: name}, {Class: "c", Name: name, Failure: bad}, {Class: "c", Name: "e", Error: bad}}},
			{Name: "empty"}}
		b := junit.XML(list)
		cases, err := junittest.Parse(b)
		if err != nil {
			t.Errorf("%q: %v\n%s", name, err, b)
			continue
		}
		if len(cases) != 3 || cases[0].Problem != "" || cases[1].Problem != "failure" || cases[2].Problem != "error" ||
			cases[1].Message == "" || cases[1].Type != "mismatch" || !strings.Contains(cases[1].Text, "\n") {
			t.Errorf("%q: %+v", name, cases)
		}
		testenv.Check(t, bytes.Equal(b, junit.XML(list)), "%q: other bytes the second time", name)
	}
}

// TestOfVerdict: every kind of difference is a failure of the case that names its
// output or layer, and of no other.
func TestOfVerdict(t *testing.T) {
	whole := func() *report.Verdict {
		return &report.Verdict{Board: "host", Cases: 3, LayerCases: 3,
			Outputs:  []verify.Output{{Name: "y", Elements: 10}, {Name: "z", Elements: 10}},
			Golden:   []verify.Output{{Name: "y", Elements: 10}},
			Fidelity: []verify.Fidelity{{Output: "y"}},
			Layers:   []report.LayerVerdict{{Name: "conv", Kernel: "k"}, {Name: "relu"}}}
	}
	for want, change := range map[string]func(v *report.Verdict){
		"":           func(*report.Verdict) {},
		"m.run/host": func(v *report.Verdict) { v.Failure = "hangs" },
		"m.output/z": func(v *report.Verdict) { v.Outputs[1].Mismatches = 3 },
		"m.golden/y": func(v *report.Verdict) { v.Golden[0].Mismatches = 1 },
		"m.model/y": func(v *report.Verdict) {
			v.Fidelity[0].Differs = []verify.Difference{{Layer: "conv", Tensor: "t", Unit: "steps", Max: 3}}
		},
		"m.layer/conv": func(v *report.Verdict) {
			v.Layers[0].Mismatches = 2
			v.FirstWrong = &verify.LayerDifference{Name: "conv"}
		},
	} {
		v := whole()
		change(v)
		s := junit.OfVerdict("m", v)
		cases := testenv.Must(junittest.Parse(junit.XML([]junit.Suite{s})))(t)
		testenv.Check(t, len(cases) == 7, "%d cases, want 7: the run, 2 outputs, 1 stored, 1 of the model, 2 layers",
			len(cases))
		got := ""
		for _, c := range cases {
			if c.Problem != "" {
				got += c.Class + "/" + c.Name
			}
		}
		testenv.Check(t, got == want && junit.Passed([]junit.Suite{s}) == (want == ""), "failures %q, want %q", got,
			want)
	}
}
