// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/irtest/ort"
)

// changed says what a version of an operator changed beside the types that it takes: an attribute,
// a default, an input or output; "" where it is nothing.
func changed(old, now *schema.Schema) string {
	var out []string
	for _, a := range old.Attrs {
		switch b := now.Attr(a.Name); {
		case b == nil:
			out = append(out, "without "+a.Name)
		case !reflect.DeepEqual(a.Default, b.Default):
			out = append(out, fmt.Sprintf("%s %v, not %v", a.Name, b.Default, a.Default))
		}
	}
	for _, b := range now.Attrs {
		if old.Attr(b.Name) == nil {
			out = append(out, "with "+b.Name)
		}
	}
	if len(old.In) != len(now.In) {
		out = append(out, fmt.Sprintf("%d inputs, not %d", len(now.In), len(old.In)))
	}
	return strings.Join(out, ", ")
}

// unknown are versions that ONNX Runtime 1.30 does not run.
var unknown = map[string]int{"Attention": 25, "Range": 27}

// TestVersionsHaveVectors: on both sides of every change of an operator there are numbers of ONNX Runtime.
func TestVersionsHaveVectors(t *testing.T) {
	has := map[*schema.Schema]bool{}
	for _, v := range ort.ReadVectors(t, "testdata/vectors/opsets.txt") {
		for _, m := range regexp.MustCompile(`= (\w+) [<(]`).FindAllStringSubmatch(v.Text, -1) {
			var opset int64
			if _, err := fmt.Sscanf(v.Opsets, "opset %d", &opset); err != nil {
				t.Fatalf("%s: %q: %v", v.Name, v.Opsets, err)
			}
			has[schema.Lookup("", m[1], opset)] = true
		}
	}
	for _, name := range schema.Operators("") {
		list := schema.Versions("", name)
		for i, now := range list[1:] {
			old := list[i]
			what := changed(old, now)
			if now.Since <= 7 || now.Deprecated || what == "" || now.Since == unknown[name] {
				continue
			}
			for _, s := range []*schema.Schema{old, now} {
				if !has[s] {
					t.Errorf("%s of opset %d (%s): no vector of opset %d", name, now.Since, what, s.Since)
				}
			}
		}
	}
}
