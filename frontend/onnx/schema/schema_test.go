// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"sort"
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
	testenv.Check(t, a != nil && a.Type == Int && a.Default == int64(1) && !a.Required, "group of Conv: %+v", a)
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
	if a := Lookup("", "BatchNormalization", 15).Attr("epsilon"); a.Default != float32(1e-5) {
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
	for i := range table {
		s := &table[i]
		if i > 0 {
			p := &table[i-1]
			if p.Domain > s.Domain || p.Domain == s.Domain && (p.Name > s.Name || p.Name == s.Name &&
				p.Since >= s.Since) {
				t.Errorf("%s-%d is out of order", s.Name, s.Since)
			}
		}
		if !sort.SliceIsSorted(s.Attrs, func(i, j int) bool { return s.Attrs[i].Name < s.Attrs[j].Name }) {
			t.Errorf("%s-%d: attributes are not sorted", s.Name, s.Since)
		}
		testenv.Check(t, s.MinIn <= s.MaxIn() && s.MinOut <= s.MaxOut(), "%s-%d: arity", s.Name, s.Since)
		testenv.Check(t, s.Deprecated || len(s.Out) != 0, "%s-%d: no outputs", s.Name, s.Since)
		for _, ps := range [][]Param{s.In, s.Out} {
			for j := range ps {
				if types, _ := s.Allowed(&ps[j]); types.Tensor == 0 && types.Seq == 0 && types.OptTensor == 0 &&
					types.OptSeq == 0 && types.Sparse == 0 && len(types.Other) == 0 {
					t.Errorf("%s-%d: %s may have no type", s.Name, s.Since, ps[j].Name)
				}
			}
		}
	}
	for i := range typeSets {
		if back := ParseTypes(typeSets[i].String()); back.String() != typeSets[i].String() ||
			back.Tensor != typeSets[i].Tensor || back.OptSeq != typeSets[i].OptSeq {
			t.Errorf("type set %d: %s came back as %s", i, &typeSets[i], back)
		}
	}
	if !slices.Equal(Domains(), []string{"", "PACTOps", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training",
		"com.microsoft", "finn.custom_op.general", "onnx.brevitas", "qonnx.custom_op.general"}) {
		t.Error(Domains())
	}
}
