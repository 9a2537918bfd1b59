// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// constArg is a constant: values, a file, or seeded.
type constArg struct {
	Value  yaml.Node
	DType  string
	Shape  []int
	Npy    string
	Random *uint64
}

// maxMade bounds the constants that a script makes out of nothing, in elements.
const maxMade = 1 << 25

// make builds the constant under a name. dir is the script's folder.
func (a *constArg) make(name, dir string) *pb.TensorProto {
	given := 0
	for _, b := range []bool{!a.Value.IsZero(), a.Npy != "", a.Random != nil} {
		if b {
			given++
		}
	}
	fail.If(given != 1, "constant %s: %d of value, npy and random are given; want one of them", quote(name),
		given)
	if a.Shape != nil {
		if n, err := tensor.Elems(a.Shape); err != nil {
			fail.Errorf("constant %s: %w", quote(name), err)
		} else if n > maxMade {
			fail.Errorf("constant %s: shape %v is too large: %d elements; a script may make %d", quote(name),
				a.Shape, n, maxMade)
		}
	}
	var dt tensor.DType
	if a.DType != "" {
		var num int32
		fail.Under("constant "+quote(name), func() { num = ElemType(a.DType) })
		if num == int32(pb.TensorProto_STRING) {
			return a.texts(name)
		}
		var ok bool
		dt, ok = tensor.FromONNX(int(num))
		fail.If(!ok, "constant %s: values of type %s cannot be written here; want a type of numbers, bool or string",
			quote(name), model.ElemTypeName(num))
	}
	var d *tensor.Dense
	fail.Under("constant "+quote(name), func() { d = a.data(dt, dir) })
	return model.TensorProto(name, d)
}

// inDir is a path of a script, relative to its folder.
func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func (a *constArg) data(dt tensor.DType, dir string) *tensor.Dense {
	switch {
	case a.Npy != "":
		x := fail.Must(npz.ReadNpyFile(inDir(dir, a.Npy), npz.Limits{}))
		d := fail.Must(npz.ToTensor(x))
		if dt != tensor.Invalid {
			d = d.Cast(dt)
		}
		if a.Shape != nil {
			return TransposeReshape(d, nil, a.Shape)
		}
		return d
	case a.Random != nil:
		if dt == tensor.Invalid {
			dt = tensor.F32
		}
		return ir.Rand(*a.Random, dt, a.Shape)
	}
	vals, shape, kind := numbers(&a.Value)
	if dt == tensor.Invalid {
		dt = kind
	}
	if a.Shape != nil {
		n, _ := tensor.Elems(a.Shape)
		fail.If(len(vals) != n && len(vals) != 1, "%d values for shape %v", len(vals), a.Shape)
		shape = a.Shape
	}
	if len(vals) == 0 {
		return tensor.New(dt, shape)
	}
	return filled(dt, shape, vals)
}

func (a *constArg) texts(name string) *pb.TensorProto {
	fail.If(a.Value.IsZero(), "constant %s of text needs value", quote(name))
	var list []string
	var one string
	if a.Value.Kind == yaml.ScalarNode && a.Value.Decode(&one) == nil {
		return StringTensor(name, a.Shape, []string{one})
	}
	if err := a.Value.Decode(&list); err != nil {
		fail.Errorf("constant %s: %w", quote(name), tidy(err))
	}
	shape := a.Shape
	if shape == nil {
		shape = []int{len(list)}
	}
	n, err := tensor.Elems(shape)
	fail.If(err != nil || n != len(list), "constant %s: %d texts for shape %v", quote(name), len(list), shape)
	return StringTensor(name, shape, list)
}

// numberTypes are the element types of YAML's numbers.
var numberTypes = map[string]tensor.DType{"!!int": tensor.I64, "!!float": tensor.F32, "!!bool": tensor.Bool}

// scalar is an int64, a float64, a bool or text.
func scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!int":
		v, err := strconv.ParseInt(n.Value, 0, 64)
		refuseAt(err != nil, n, "%s is no 64-bit integer", n.Value)
		return v
	case "!!float":
		var v float64
		refuseAt(n.Decode(&v) != nil, n, "%s is no number", n.Value)
		return v
	case "!!bool":
		var v bool
		fail.Check(tidy(n.Decode(&v)))
		return v
	case "!!null":
		fail.Check(lineErr(n, "no value"))
	}
	return n.Value
}

// numbers reads a number, or lists of lists of numbers of one shape; whole
// numbers make int64, others float, true and false bool.
func numbers(n *yaml.Node) (vals []float64, shape []int, dt tensor.DType) {
	switch n.Kind {
	case yaml.ScalarNode:
		if dt = numberTypes[n.Tag]; dt == tensor.Invalid {
			break
		}
		x, err := fail.Try(func() any { return scalar(n) })
		f, _ := x.(float64)
		i, whole := basic(x).(int64)
		switch {
		case n.Tag == "!!int" && (err != nil || i > 1<<53 || i < -1<<53):
			fail.Check(lineErr(n, "%s is too large to be written here; put it into a .npy file", n.Value))
		case err != nil:
			fail.Check(err)
		case whole:
			f = float64(i)
		}
		return []float64{f}, nil, dt
	case yaml.SequenceNode:
		if len(n.Content) == 0 {
			return nil, []int{0}, tensor.F32
		}
		var inner []int
		for i, c := range n.Content {
			v, s, t := numbers(c)
			switch {
			case i == 0:
				inner, dt = s, t
			case !slices.Equal(s, inner):
				fail.Check(lineErr(c, "this element has shape %v, those before it %v", s, inner))
			case t != dt && (t == tensor.Bool || dt == tensor.Bool):
				fail.Check(lineErr(c, "numbers and true or false in one list"))
			case t == tensor.F32:
				dt = t
			}
			vals = append(vals, v...)
		}
		return vals, append([]int{len(n.Content)}, inner...), dt
	}
	fail.Check(lineErr(n, "found %s; want a number or lists of numbers", kindText(n)))
	return
}

// newNode describes a node to be made.
type newNode struct {
	Op         string
	Domain     string
	Name       string
	Inputs     inputList
	Outputs    []string
	Attributes map[string]yaml.Node
}

// inputArg is a value by name, or a constant written in place.
type inputArg struct {
	name  string
	value *constArg
}

// inputList is the inputs of a new node.
type inputList []inputArg

// UnmarshalYAML reads a list; package yaml would pass over null by itself.
func (l *inputList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return lineErr(n, "found %s; want a list of inputs", kindText(n))
	}
	*l = make([]inputArg, len(n.Content))
	for i, c := range n.Content {
		(*l)[i].read(c)
	}
	return nil
}

// read takes a name or a mapping; null is an input left out.
func (a *inputArg) read(n *yaml.Node) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
	case n.Kind == yaml.ScalarNode:
		a.name = n.Value
	case n.Kind == yaml.MappingNode:
		a.value = &constArg{}
		strict(n, a.value)
	default:
		fail.Check(lineErr(n, "found %s; want the name of a value, a constant {value: ...}, or null", kindText(n)))
	}
}

// make builds the node and adds the constants written in place to the model.
// stream is the place of the input called $, -1 without.
func (a *newNode) make(m *Model, dir string) (n *pb.NodeProto, stream int) {
	s := NodeSpec{Op: a.Op, Domain: a.Domain, Name: a.Name, Outputs: a.Outputs, Attributes: map[string]any{}}
	fail.If(s.Name != "" && len(m.Find(Query{Name: s.Name})) > 0, "a node is called %s already", quote(s.Name))
	for _, k := range sortedKeys(a.Attributes) {
		v := a.Attributes[k]
		fail.Under("attribute "+quote(k), func() { s.Attributes[k] = attrValue(&v, dir) })
	}
	n = m.MakeNode(s)
	stream = -1
	for i, in := range a.Inputs {
		name := in.name
		switch {
		case name == "$":
			stream, name = i, ""
		case in.value != nil:
			base := a.Name
			if base == "" {
				base = a.Op
			}
			name = m.UniqueValue(fmt.Sprintf("%s_const_%d", base, i))
			t := in.value.make(name, dir)
			m.AddInitializer(t)
		}
		n.Input = append(n.Input, name)
	}
	return n, stream
}

// attrValue reads a number, text, a list of them, or {value: ..., dtype: ...}
// for a tensor.
func attrValue(n *yaml.Node, dir string) any {
	switch n.Kind {
	case yaml.MappingNode:
		var c constArg
		strict(n, &c)
		return c.make("", dir)
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			refuseAt(c.Kind != yaml.ScalarNode, c, "found %s; want a number or text", kindText(c))
			v := attrValue(c, dir)
			list = append(list, v)
		}
		return list
	case yaml.ScalarNode:
		v := scalar(n)
		x, ok := v.(float64)
		refuseAt(ok && math.IsNaN(x), n, "%s is no number", n.Value)
		return v
	}
	fail.Check(lineErr(n, "found %s; want a number, text, a list or {value: ...}", kindText(n)))
	return nil
}
