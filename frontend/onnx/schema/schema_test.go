// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestLookup(t *testing.T) {
	cases := []struct {
		domain, op string
		opset      int64
		since      int // 0: not found
	}{
		{"", "Conv", 1, 1}, {"", "Conv", 10, 1}, {"", "Conv", 11, 11}, {"ai.onnx", "Conv", 21, 11},
		{"", "Conv", 28, 22},
		{"", "LayerNormalization", 16, 0}, {"", "LayerNormalization", 17, 17},
		{"", "Upsample", 9, 9}, {"", "Upsample", 10, 10},
		{"", "Nonsense", 13, 0}, {"com.microsoft", "QLinearAdd", 1, 1}, {"ai.onnx.ml", "Scaler", 3, 1},
		{"", "Conv", 0, 0}, {"", "Conv", -5, 0}, {"com.example", "Conv", 13, 0},
	}
	for _, c := range cases {
		s := Lookup(c.domain, c.op, c.opset)
		testenv.Check(t, (s != nil || c.since == 0) && (s == nil || s.Since == c.since),
			"%s %s in opset %d: %v, want version %d", c.domain, c.op, c.opset, s, c.since)
	}
	s := Lookup("", "Upsample", 10)
	testenv.Check(t, s.Deprecated, "Upsample-10 is deprecated")
}

func TestFields(t *testing.T) {
	c := Lookup("", "Conv", 13)
	testenv.Check(t, c.MinIn == 2 && c.MaxIn() == 3 && c.MinOut == 1 && c.MaxOut() == 1, "arity of Conv")
	a := c.Attr("group")
	testenv.Check(t, a != nil && a.Type == Int && a.Default == 1.0 && !a.Required, "group of Conv: %+v", a)
	testenv.Check(t, c.Attr("grou") == nil && c.Attr("") == nil, "an attribute of Conv that does not exist was found")
	types, v := c.Allowed(c.Input(0))
	if v != "T" || !types.HasTensor(1) || types.HasTensor(7) || types.HasTensor(-1) || types.HasTensor(77) {
		t.Error("types of Conv's X")
	}
	cat := Lookup("", "Concat", 13)
	if cat.MaxIn() != Unlimited || cat.MinIn != 1 || cat.Input(100) == nil || cat.Output(1) != nil ||
		!cat.Attr("axis").Required {
		t.Error("Concat")
	}
	l := Lookup("", "LSTM", 14)
	testenv.Check(t, l.MinOut == 0 && l.MaxOut() == 3 && l.Input(3).Opt == Optional, "LSTM")
	if a := Lookup("", "BatchNormalization", 15).Attr("epsilon"); a.Default != 1e-5 {
		t.Error("epsilon of BatchNormalization", a.Default)
	}
	r := Lookup("", "Reshape", 13)
	if types, v := r.Allowed(r.Input(1)); v != "" || !types.HasTensor(7) || types.HasTensor(6) {
		t.Error("type of Reshape's shape")
	}
	if Near("", "Cov") != "Conv" || Near("", "relu") != "Relu" || Near("", "Flux") != "" {
		t.Error("suggestions", Near("", "Cov"), Near("", "relu"), Near("", "Flux"))
	}
	testenv.Check(t, MaxOpset("") >= 28 && MaxOpset("com.example") == 0 && Closed("") && !Closed("com.microsoft"),
		"domains")
}

// TestTable: properties that the lookups rely on.
func TestTable(t *testing.T) {
	all := slices.Clone(loaded().early)
	for _, versions := range loaded().operators {
		testenv.Check(t, slices.IsSortedFunc(versions, func(a, b *Schema) int { return a.Since - b.Since }),
			"%s: versions are out of order", versions[0].Name)
		all = append(all, versions...)
	}
	for _, s := range all {
		testenv.Check(t, s.MinIn <= s.MaxIn() && s.MinOut <= s.MaxOut(), "%s-%d: arity", s.Name, s.Since)
		testenv.Check(t, s.Deprecated || len(s.Out) != 0, "%s-%d: no outputs", s.Name, s.Since)
		for _, ps := range [][]Param{s.In, s.Out} {
			for j, p := range ps {
				types, variable := s.Allowed(&ps[j])
				testenv.Check(t, types.String() != "" && (variable != "" || !slices.Contains(types.Other, p.Type) ||
					strings.Contains(p.Type, "(")), "%s-%d: %s may have no type", s.Name, s.Since, p.Name)
				testenv.Check(t, p.Opt < Variadic || j == len(ps)-1, "%s-%d: %s is not the last", s.Name, s.Since,
					p.Name)
			}
		}
	}
	for text, set := range loaded().sets {
		testenv.Equal(t, ParseTypes(set.String()).String(), set.String(), "set %s came back", text)
	}
}
