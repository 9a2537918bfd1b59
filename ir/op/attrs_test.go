// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// ours are attributes that nncc gives operators of ONNX: absorbed activations, a
// product's scale, the order in which SpaceToDepth puts blocks, what all windows read, TensorFlow
// Lite's limit of a cell state and its rounding.
var ours = []string{"act_min", "act_max", "fc_scale", "SpaceToDepth.mode",
	"DeformConv.auto_pad", "LSTM.cell_clip", "QuantizeLinear.round_away"}

// TestAttrsAreTheSchemas: the attributes that operators of ONNX declare have the
// names, types and defaults of the newest schema.
func TestAttrsAreTheSchemas(t *testing.T) {
	kinds := map[schema.AttrType]ir.AttrKind{schema.Float: ir.AttrFloat, schema.Int: ir.AttrInt,
		schema.String: ir.AttrString, schema.Tensor: ir.AttrTensor, schema.Floats: ir.AttrFloats,
		schema.Ints: ir.AttrInts, schema.Strings: ir.AttrStrings}
	seen := 0
	for _, d := range op.All() {
		s := schema.Lookup("", d.Name, int64(schema.MaxOpset("")))
		if d.Domain != "" || s == nil {
			continue
		}
		for _, a := range d.Attrs {
			if slices.Contains(ours, a.Name) || slices.Contains(ours, d.Name+"."+a.Name) {
				continue
			}
			x := s.Attr(a.Name)
			if x == nil {
				t.Errorf("%s has no attribute %s in ONNX", d.Name, a.Name)
				continue
			}
			seen++
			testenv.Check(t, kinds[x.Type] == a.Kind && x.Type != 0,
				"%s: %s is declared as kind %d, in ONNX it is %s", d.Name, a.Name, a.Kind, x.Type)
			testenv.Check(t, x.Required == a.Required,
				"%s: %s is declared as required: %v, in ONNX: %v", d.Name, a.Name, a.Required, x.Required)
			want := fmt.Sprint(x.Default)
			if v, ok := x.Default.(float64); ok && x.Type == schema.Float {
				want = fmt.Sprint(float32(v))
			}
			if got := defaultText(a.Def); got != want && !isList(a.Kind) {
				t.Errorf("%s: %s has the default %s, in ONNX %s", d.Name, a.Name, got, want)
			}
		}
	}
	testenv.Check(t, seen >= 150, "%d attributes", seen)
}

// isList: lists have no declared defaults; who reads them knows what nil is.
func isList(k ir.AttrKind) bool { return k == ir.AttrInts || k == ir.AttrFloats || k == ir.AttrStrings }

func defaultText(a *ir.Attr) string {
	switch {
	case a == nil:
		return "<nil>"
	case a.Kind == ir.AttrFloat:
		return fmt.Sprint(a.Float)
	case a.Kind == ir.AttrInt:
		return fmt.Sprint(a.Int)
	}
	return a.String
}

// TestAttrsInText: every attribute of every operator is printed and parsed.
func TestAttrsInText(t *testing.T) {
	values := []ir.Attr{ir.AttrInt: ir.Int(-3), ir.AttrFloat: ir.Float(0.375), ir.AttrString: ir.Str("a \"b\""),
		ir.AttrInts: ir.Ints(4, -5), ir.AttrFloats: ir.Floats(1, -0.5), ir.AttrStrings: ir.Strings("", "x"),
		ir.AttrTensor: ir.Tens(tensor.Ints(7, 8))}
	for _, d := range op.All() {
		g := ir.New("attributes")
		n := &ir.Node{Op: d, Name: "n"}
		for i := range max(d.MinIn, 1) {
			n.In = append(n.In, g.AddInput(fmt.Sprint("in", i), ir.T(tensor.F32, 2)))
		}
		for _, a := range d.Attrs {
			n.SetAttr(a.Name, values[a.Kind])
		}
		g.Nodes = append(g.Nodes, n)
		y := &ir.Value{Name: "y", Type: ir.T(tensor.F32, 2), Def: n}
		n.Out = append(n.Out, y)
		g.AddOutput("y", y)
		back, err := ir.Parse(g.String(), op.Get)
		if err != nil {
			t.Errorf("%s: %v\n%s", d.Name, err, g)
			continue
		}
		m := back.Nodes[0]
		for _, a := range d.Attrs {
			if got := m.Attrs[a.Name]; !got.Equal(values[a.Kind]) {
				t.Errorf("%s: %s is %v after a round trip, want %v", d.Name, a.Name, got, values[a.Kind])
			}
		}
		testenv.Check(t, len(m.Attrs) == len(d.Attrs), "%s has %d attributes after a round trip, want %d", d.Name,
			len(m.Attrs), len(d.Attrs))
	}
}

// everyKind has an attribute of every kind.
type everyKind struct {
	I    int     `default:"2"`
	F    float32 `default:"0.5"`
	S    string  `default:"s"`
	Is   []int
	Fs   []float32
	Ss   []string
	T    *tensor.Dense
	None *int
}

// TestChangedAttrsAreSeen: what was read once is read anew after each way to change it.
func TestChangedAttrsAreSeen(t *testing.T) {
	d := &ir.OpDef{Name: "Every", Attrs: ir.Declare[everyKind]()}
	n := &ir.Node{Op: d}
	changes := map[string]struct {
		to   ir.Attr
		read func(a *everyKind) any
	}{
		"i":    {ir.Int(7), func(a *everyKind) any { return a.I }},
		"f":    {ir.Float(7), func(a *everyKind) any { return a.F }},
		"s":    {ir.Str("7"), func(a *everyKind) any { return a.S }},
		"is":   {ir.Ints(7), func(a *everyKind) any { return a.Is }},
		"fs":   {ir.Floats(7), func(a *everyKind) any { return a.Fs }},
		"ss":   {ir.Strings("7"), func(a *everyKind) any { return a.Ss }},
		"t":    {ir.Tens(tensor.Ints(7)), func(a *everyKind) any { return a.T != nil }},
		"none": {ir.Int(7), func(a *everyKind) any { return a.None != nil }},
	}
	testenv.Require(t, len(changes) == len(d.Attrs), "%d changes of %d attributes", len(changes), len(d.Attrs))
	for name, c := range changes {
		read := func() string { return fmt.Sprint(c.read(ir.AttrsOf[everyKind](n))) }
		before := read()
		n.SetAttr(name, c.to)
		after := read()
		testenv.Check(t, after != before, "%s: SetAttr is not seen: %s", name, after)
		testenv.Equal(t, fmt.Sprint(c.read(ir.AttrsOf[everyKind](n.Bare()))), after, "%s: a copy", name)
		n.DropAttr(name)
		testenv.Equal(t, read(), before, "%s: DropAttr is not seen", name)
		n.SetAttrs(ir.Attrs{name: c.to})
		testenv.Equal(t, read(), after, "%s: SetAttrs is not seen", name)
		n.SetAttrs(nil)
	}
}
