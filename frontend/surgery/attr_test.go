// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

func ir4() *tensor.Dense { return tensor.Ints(1, 4) }

// Observed elsewhere: the first attribute is overwritten, whatever name is given.
func TestSetAttributeByName(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 1, 2, 8, 8)
	w := b.weights("w", 4, 2, 3, 3)
	b.node("Conv", "/conv", in(x, w), attrs{"dilations": []int{1, 1}, "kernel_shape": []int{3, 3},
		"pads": []int{1, 1, 1, 1}, "strides": []int{1, 1}})
	m := b.output("/conv_output_0")
	n := node(t, m, "/conv")
	m.SetAttribute(n, "strides", []int{2, 2})
	m.SetAttribute(n, "group", 1)
	want := map[string][]int64{"dilations": {1, 1}, "kernel_shape": {3, 3}, "pads": {1, 1, 1, 1}, "strides": {2, 2}}
	for k, v := range want {
		a := Attribute(n, k)
		testenv.Check(t, a != nil && equalInts(a.Ints, v), "%s is %v, want %v", k, a, v)
	}
	testenv.Check(t, len(n.Attribute) == 5 && Attribute(n, "group").GetI() == 1, "attributes %v", n.Attribute)
	m.RemoveAttribute(n, "dilations")
	testenv.Check(t, Attribute(n, "dilations") == nil && len(n.Attribute) == 4, "attributes %v", n.Attribute)
	refused(t, func() { m.RemoveAttribute(n, "dilations") }, "/conv", `no attribute "dilations"`, "kernel_shape")
	refused(t, func() { m.SetAttribute(n, "stride", []int{1, 1}) }, "/conv", `no attribute "stride"`,
		`did you mean "strides"?`)
	refused(t, func() { m.SetAttribute(n, "strides", "two") }, "STRING", "want INTS")
	valid(t, m)
}

func equalInts(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestAttributeTypes(t *testing.T) {
	m := build(t, 17).m
	node := func(op, domain string) *pb.NodeProto {
		return &pb.NodeProto{OpType: proto.String(op), Domain: proto.String(domain)}
	}
	for _, c := range []struct {
		op, domain, name string
		v                any
		want             pb.AttributeProto_AttributeType
	}{
		{"LeakyRelu", "", "alpha", 1, pb.AttributeProto_FLOAT}, // by the schema
		{"Cast", "", "to", "float16", pb.AttributeProto_INT},
		{"Gemm", "", "transB", true, pb.AttributeProto_INT},
		{"Constant", "", "value", tensor.Ints(1), pb.AttributeProto_TENSOR},
		{"Constant", "", "value_floats", []int{1, 2}, pb.AttributeProto_FLOATS},
		{"Einsum", "", "equation", "ab->ba", pb.AttributeProto_STRING},
		{"Op", "my.own", "k", 1, pb.AttributeProto_INT}, // by the value
		{"Op", "my.own", "k", 1.5, pb.AttributeProto_FLOAT},
		{"Op", "my.own", "k", "s", pb.AttributeProto_STRING},
		{"Op", "my.own", "k", []any{int64(1), 2.5}, pb.AttributeProto_FLOATS},
		{"Op", "my.own", "k", []string{"a"}, pb.AttributeProto_STRINGS},
		{"Op", "my.own", "k", []any{}, pb.AttributeProto_INTS},
	} {
		n := node(c.op, c.domain)
		if err := fail.Caught(func() { m.SetAttribute(n, c.name, c.v) }); err != nil {
			t.Errorf("%s.%s: %v", c.op, c.name, err)
		} else if got := n.Attribute[0].GetType(); got != c.want {
			t.Errorf("%s.%s = %v: type %v, want %v", c.op, c.name, c.v, got, c.want)
		}
	}
	n := node("Cast", "")
	if m.SetAttribute(n, "to", "float16"); n.Attribute[0].GetI() != 10 {
		t.Errorf("to is %v", n.Attribute)
	}
	for _, c := range []struct {
		op, name string
		v        any
		says     string
	}{
		{"LeakyRelu", "alpha", 1e300, "beyond the range"},
		{"Cast", "to", "flot", "element type"},
		{"Transpose", "perm", []any{1.5}, "want INTS"},
		{"Transpose", "perm", []any{int64(1), "a"}, "one kind"},
		{"Transpose", "perm", map[string]int{}, "cannot be an attribute"},
		{"Gemm", "transB", 0.5, "want INT"},
	} {
		refused(t, func() { m.SetAttribute(node(c.op, ""), c.name, c.v) }, c.says)
	}
}

// Attributes as scripts write them.
func TestAttributesInScripts(t *testing.T) {
	m := parse(t, chain)
	res, err := run(t, m, `
steps:
  - replace:
      nodes: {output: a}
      with: [{op: LeakyRelu, inputs: [$], attributes: {alpha: 1}}]
  - add_nodes:
      nodes:
        - {op: Constant, outputs: [k], attributes: {value: {value: [1.5, 2], dtype: double}}}
        - {op: Constant, outputs: [l], attributes: {value_ints: [1, 2]}}
        - {op: Constant, outputs: [m], attributes: {value_floats: [1, 2.5]}}
        - {op: Mystery, domain: x.y, name: odd, inputs: [k, null, l], outputs: [n, o], attributes: {flag: true, names: [a, b], ratio: .5}}
  - set_attributes: {nodes: odd, set: {ratio: 2, mode: fast}, remove: [flag]}
verify: off
`, RunOptions{})
	must(t, err)
	n := node(t, res.Model, "odd")
	if len(n.Input) != 3 || n.Input[1] != "" || Attribute(n, "flag") != nil ||
		string(Attribute(n, "mode").S) != "fast" || Attribute(n, "ratio").GetI() != 2 ||
		len(Attribute(n, "names").Strings) != 2 {
		t.Errorf("%v", n)
	}
	k := res.Model.Constant("k")
	testenv.Check(t, k.DType == tensor.F64 && k.Float(0) == 1.5, "%v", k)
	for attr, says := range map[string]string{
		"perm: [[1]]": "found a list; want a number or text", "perm: [1, {value: 1}]": "found a mapping",
		"perm: .nan":      "is no number",
		"perm: {valu: 1}": "unknown key", "perm: {value: 1}": "TENSOR; want INTS",
		"perm: 99999999999999999999": "FLOAT; want INTS",
	} {
		_, err := run(t, m, "steps: [{insert_after: {value: a, new: {op: Transpose, attributes: {"+attr+"}}}}]",
			RunOptions{})
		wantErr(t, err, "step 1 (insert_after)", `attribute "perm"`, says)
	}
}
