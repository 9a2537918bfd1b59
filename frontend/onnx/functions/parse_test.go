// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
)

// Everything that the syntax has, against the messages it stands for.
func TestParse(t *testing.T) {
	got := testenv.Must(Parse(`
# a comment
< domain: "a.b", opset_import: ["" : 17, "c" : 2], overload: "o", doc_string: "say \"hi\"" >
F <p, q: float = 1.5, r: ints = [1, -2]> (x, float[N,3] w, "odd name") => (y, z)
{
  [first] t, "" = c.d.Op : over <a = 1, b = -2.5e3, c = "s", d = [1.5, 2], e = ["u", "v"], f: floats = [1, 2], g:
  ints = []> (x, , "", w)
  k = Constant <value = int64[2] {3, -4}> ()
  l = Constant <value = float {inf}> ()
  m = Concat <axis: int = @p> (k, l)
  y = If (x) <then_branch = yes () => (bool a) { a = Not (x) }, else_branch = no () => (a) <bool[1] i = {1}> {
  a = Identity (i) }>
  z = Cast <to = 1> (m)
}
G () => (u) { u = RandomNormal <shape = [1]> () }
`))(t)
	want := []string{`
domain: "a.b" name: "F" overload: "o" doc_string: "say \"hi\""
opset_import { domain: "" version: 17 } opset_import { domain: "c" version: 2 }
attribute: "p"
attribute_proto { name: "q" type: FLOAT f: 1.5 }
attribute_proto { name: "r" type: INTS ints: 1 ints: -2 }
input: "x" input: "w" input: "odd name" output: "y" output: "z"
node { name: "first" domain: "c.d" op_type: "Op" overload: "over" output: "t" output: "" input: "x" input: ""
  input: "" input: "w"
  attribute { name: "a" type: INT i: 1 } attribute { name: "b" type: FLOAT f: -2500 }
  attribute { name: "c" type: STRING s: "s" }
  attribute { name: "d" type: FLOATS floats: 1.5 floats: 2 }
  attribute { name: "e" type: STRINGS strings: "u" strings: "v" }
  attribute { name: "f" type: FLOATS floats: 1 floats: 2 } attribute { name: "g" type: INTS } }
node { op_type: "Constant" output: "k" attribute { name: "value" type: TENSOR t { data_type: 7 dims: 2 int64_data: 3
int64_data: -4 } } }
node { op_type: "Constant" output: "l" attribute { name: "value" type: TENSOR t { data_type: 1 float_data: inf } } }
node { op_type: "Concat" output: "m" input: "k" input: "l" attribute { name: "axis" type: INT ref_attr_name: "p" } }
node { op_type: "If" output: "y" input: "x"
  attribute { name: "then_branch" type: GRAPH g { name: "yes" output { name: "a" type { tensor_type { elem_type: 9 } } }
  node { op_type: "Not" input: "x" output: "a" } } }
  attribute { name: "else_branch" type: GRAPH g { name: "no" output { name: "a" }
  initializer { name: "i" data_type: 9 dims: 1 int32_data: 1 }
    node { op_type: "Identity" input: "i" output: "a" } } } }
node { op_type: "Cast" input: "m" output: "z" attribute { name: "to" type: INT i: 1 } }
`, `name: "G" output: "u" node { op_type: "RandomNormal" output: "u" attribute { name: "shape" type: INTS ints: 1 } }`}
	testenv.Require(t, len(got) == len(want), "%d functions", len(got))
	for i, text := range want {
		w := &pb.FunctionProto{}
		testenv.OK(t, prototext.Unmarshal([]byte(text), w))
		testenv.Check(t, proto.Equal(got[i], w), "got  %v\nwant %v", got[i], w)
	}
}

func TestParseModel(t *testing.T) {
	m, err := ParseModel(`<ir_version: 8, opset_import: ["" : 17], producer_name: "p", metadata_props: ["k" : "v"]>
g (float[1,N,?] x) => (float y) <float[2] w = {1, 2}, float[1] t> { y = Add (x, w) }
<domain: "l", opset_import: ["" : 17]> F (a) => (b) { b = Relu (a) }`)
	testenv.OK(t, err)
	g := m.Graph
	if m.GetIrVersion() != 8 || len(m.Functions) != 1 || g.GetName() != "g" || len(g.Initializer) != 1 ||
		len(g.ValueInfo) != 1 {
		t.Errorf("got %v", m)
	}
	if d := g.Input[0].GetType().GetTensorType().GetShape().GetDim(); len(d) != 3 || d[0].GetDimValue() != 1 ||
		d[1].GetDimParam() != "N" || d[2].Value != nil {
		t.Errorf("dimensions %v", d)
	}
}

// Errors say where, what was found and what is wanted.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "line 1, column 1: the text holds no function"},
		{"# only\n# comments", "no function"},
		{"F (x) => (y)", "line 1, column 13: found the end of the text, want {"},
		{"F (x) => (y) {\n  y = Relu(x\n}", "line 3, column 1: found }, want ,"},
		{"F (x) => (y) { y = (x) }", "found (, want an operator"},
		{"F (x) => (y) { y Relu(x) }", "found Relu, want ="},
		{"F (x) => (y) { y = Relu <a: real = 1> (x) }", "found real, want the type of an attribute"},
		{"F (x) => (y) { y = Gemm <transA = \"s\"> (x) }", "attribute transA is of type int, its value of type string"},
		{"F (x) => (y) { y = Op <a = [1, \"s\"]> (x) }", "text and numbers"},
		{"F (x) => (y) { y = Op <a = int64[2] {1}> (x) }", "2 elements holds 1 values"},
		{"F (x) => (y) { y = Op <a = int64[N] {1}> (x) }", "must have numbers"},
		{"F (x) => (y) { y = Op <a = string {1}> (x) }", "cannot be written as text"},
		{"F (x) => (y) { y = Op <a = int64[999999999] {1}> (x) }", "at most"},
		{"F (x) => (y) { y = Op <a = 1.5.2> (x) }", "want a number"},
		{"F (x) => (y) { y = Op <a = ;> (x) }", "character ';' has no meaning"},
		{"<domain: 1> F (x) => (y) { }", "want text in quotes"},
		{"<colour: \"red\"> F (x) => (y) { }", "keyword colour is unknown"},
		{"F (x) => (y) { y = Op <a = \"open> (x) }", "string without an end"},
		{"F (x) => (y) { y = Op <a = uint64 {-1}> (x) }", "does not fit"},
		{"F (x) => (y) { y = If (x) <then_branch = " + strings.Repeat("g () => (a) { a = If (x) <then_branch = ", 50),
			"nested more than"},
	} {
		_, err := Parse(c.text)
		testenv.Refused(t, err, c.want)
		testenv.Check(t, err == nil || strings.HasPrefix(err.Error(), "line "), "%.80q: error %v has no place",
			c.text, err)
	}
}

// FuzzParse: no text makes the parser panic or run away.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"darknet", "sigmastar"} {
		b := testenv.Must(texts.ReadFile("lib/" + name + ".txt"))(f)
		f.Add(string(b))
	}
	f.Add(
		`<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float y) <float[2] w = {1, 2}> { y = If <a = @b,
			t = g () => (z) {}> (x, w) }`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Parse(text)
		_, _ = ParseModel(text)
	})
}

// The shipped library parses, and callers cannot change it.
func TestDefault(t *testing.T) {
	fs := Default()
	testenv.Require(t, len(fs) >= 2, "%d functions", len(fs))
	fs[0].Name = proto.String("changed")
	testenv.Check(t, Default()[0].GetName() != "changed", "the library was changed")
}

// Operators that are defined by text are those of the schema, with its inputs, outputs
// and attributes.
func TestOperators(t *testing.T) {
	for _, f := range parsed("operators") {
		domain, name := f.GetDomain(), f.GetName()
		sch := schema.Lookup(domain, name, math.MaxInt64)
		if sch == nil {
			sch = schema.Early(name, 1)
		}
		if Operator(domain, name) == nil || sch == nil || len(f.Input) != sch.MaxIn() || len(f.Output) != sch.MaxOut() {
			t.Errorf("%s.%s: %d inputs and %d outputs, in the schema %v", domain, name, len(f.Input), len(f.Output),
				sch)
			continue
		}
		have := slices.Clone(f.Attribute)
		for _, a := range f.AttributeProto {
			have = append(have, a.GetName())
		}
		for _, a := range have {
			testenv.Check(t, sch.Attr(a) != nil, "%s.%s: attribute %s is not in the schema", domain, name, a)
		}
		testenv.Check(t, len(have) == len(sch.Attrs), "%s.%s: attributes %v, in the schema %d", domain, name, have,
			len(sch.Attrs))
	}
}
