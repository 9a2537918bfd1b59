package surgery

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Decoding is strict: a key that a step does not have is an error that names
// the keys it has, and every error has its line.

// lineErr is an error at a place of the script.
func lineErr(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

var unmarshaler = reflect.TypeFor[yaml.Unmarshaler]()

// strict decodes a node after its keys were checked.
func strict(n *yaml.Node, out any) error {
	if err := checkKeys(n, reflect.TypeOf(out).Elem()); err != nil {
		return err
	}
	return tidy(n.Decode(out))
}

// tidy takes the package's wrapping off errors of package yaml.
func tidy(err error) error {
	var t *yaml.TypeError
	if errors.As(err, &t) {
		for i, s := range t.Errors {
			t.Errors[i] = goType.ReplaceAllStringFunc(s, func(s string) string { return typeNames[s] })
		}
		return errors.New(strings.Join(t.Errors, "; "))
	}
	return err
}

// typeNames are words for Go types in errors of package yaml.
var typeNames = map[string]string{"int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "float64": "a number", "bool": "true or false",
	"string": "text", "[]string": "a list of names", "[]int": "a list of whole numbers", "map[string]string": "a map of names", "map[string]int64": "a map of whole numbers"}

var goType = regexp.MustCompile(`(\[\]|map\[string\])?(string|int64|uint64|float64|bool|int)$`)

// checkKeys compares the keys of mappings with the fields of the types that
// they are decoded into. Types with a decoder of their own check themselves.
func checkKeys(n *yaml.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[yaml.Node]() || reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			return nil
		}
		if n.Kind != yaml.MappingNode {
			return lineErr(n, "found %s; want a mapping with %s", kindText(n), strings.Join(keysOf(t), ", "))
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			f, ok := fieldOf(t, n.Content[i].Value)
			if !ok {
				all := keysOf(t)
				return lineErr(n.Content[i], "unknown key %s%s; keys here are %s", quote(n.Content[i].Value), near(n.Content[i].Value, all), strings.Join(all, ", "))
			}
			if err := checkKeys(n.Content[i+1], f.Type); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if n.Kind == yaml.SequenceNode {
			for _, c := range n.Content {
				if err := checkKeys(c, t.Elem()); err != nil {
					return err
				}
			}
		}
	case reflect.Map:
		if n.Kind == yaml.MappingNode {
			for i := 1; i < len(n.Content); i += 2 {
				if err := checkKeys(n.Content[i], t.Elem()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fields of a struct with those of embedded ones.
func fields(t reflect.Type) []reflect.StructField {
	var fs []reflect.StructField
	if t.Kind() != reflect.Struct { // a map of names that the user chooses
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if strings.Contains(f.Tag.Get("yaml"), ",inline") {
			fs = append(fs, fields(f.Type)...)
		} else if f.IsExported() {
			fs = append(fs, f)
		}
	}
	return fs
}

func keyName(f reflect.StructField) string {
	k, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return k
}

func keysOf(t reflect.Type) []string {
	var s []string
	for _, f := range fields(t) {
		s = append(s, keyName(f))
	}
	return s
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range fields(t) {
		if keyName(f) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func kindText(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "nothing"
		}
		return quote(n.Value)
	}
	return "something else"
}

// nodeSel says which nodes are meant: a name, a list, or a mapping.
type nodeSel struct {
	queries []sel
	line    int
}

// sel is one entry of a nodeSel.
type sel struct {
	query    Query
	plain    bool // by name alone: exactly one must match
	count    int  // how many must match; 0: at least one
	optional bool
}

type selArgs struct {
	Name     string `yaml:"name"`
	Regex    string `yaml:"regex"`
	Op       string `yaml:"op"`
	Domain   string `yaml:"domain"`
	Input    string `yaml:"input"`
	Output   string `yaml:"output"`
	Count    int    `yaml:"count"`
	Optional bool   `yaml:"optional"`
}

// UnmarshalYAML reads the three forms.
func (s *nodeSel) UnmarshalYAML(n *yaml.Node) error {
	s.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" || n.Value == "" {
			return lineErr(n, "no node is named")
		}
		s.queries = append(s.queries, sel{query: Query{Name: n.Value}, plain: true})
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if c.Kind == yaml.SequenceNode {
				return lineErr(c, "a list within a list of nodes; want names or mappings")
			}
			if err := s.UnmarshalYAML(c); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		var a selArgs
		if err := strict(n, &a); err != nil {
			return err
		}
		q := sel{query: Query{Name: a.Name, Op: a.Op, Domain: a.Domain, Input: a.Input, Output: a.Output}, count: a.Count, optional: a.Optional}
		if a.Regex != "" {
			r, err := regexp.Compile(a.Regex)
			if err != nil {
				return lineErr(n, "regex: %v", err)
			}
			q.query.Regex = r
		}
		if q.query == (Query{}) || a.Count < 0 {
			return lineErr(n, "no node is described; want name, regex, op, input or output")
		}
		s.queries = append(s.queries, q)
	default:
		return lineErr(n, "found %s; want the name of a node, a mapping, or a list of them", kindText(n))
	}
	return nil
}

func (s *nodeSel) find(m *Model) ([]*pb.NodeProto, error) {
	if s == nil || len(s.queries) == 0 {
		return nil, errors.New("no nodes are named (nodes)")
	}
	var out []*pb.NodeProto
	var errs []error
	for i := range s.queries {
		q := &s.queries[i]
		found := m.Find(q.query)
		switch {
		case q.plain && len(found) > 1:
			_, err := m.one(q.query)
			errs = append(errs, err)
		case len(found) == 0 && !q.optional:
			errs = append(errs, m.notFound(q.query))
		case q.count > 0 && len(found) != q.count && !(q.optional && len(found) == 0):
			errs = append(errs, fmt.Errorf("%d nodes with %s; want %d", len(found), q.query.String(), q.count))
		}
		for _, n := range found {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	if len(errs) > 20 {
		errs = append(errs[:20], fmt.Errorf("and %d more", len(errs)-20))
	}
	return out, errors.Join(errs...)
}

// single is find for exactly one node.
func (s *nodeSel) single(m *Model) (*pb.NodeProto, error) {
	found, err := s.find(m)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		var l []string
		for _, n := range found {
			l = append(l, n.GetName())
		}
		return nil, fmt.Errorf("%d nodes are described (%s); want one", len(found), quoted(l))
	}
	return found[0], nil
}

// shapeArg is a declared shape: sizes, symbols, null for an open dimension.
type shapeArg []Dim

// UnmarshalYAML reads a list.
func (s *shapeArg) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return lineErr(n, "found %s; want a shape: a list of sizes, names of symbols, or null", kindText(n))
	}
	*s = shapeArg{}
	for _, c := range n.Content {
		d := Dim{Size: -1}
		switch {
		case c.Kind != yaml.ScalarNode:
			return lineErr(c, "found %s; want a size, a symbol or null", kindText(c))
		case c.Tag == "!!null":
		case c.Tag == "!!int":
			v, err := strconv.ParseInt(c.Value, 0, 64)
			if err != nil || v < 0 || v > tensor.MaxElems {
				return lineErr(c, "size %s; want 0 to %d", c.Value, tensor.MaxElems)
			}
			d.Size = v
		default:
			d.Symbol = c.Value
		}
		*s = append(*s, d)
	}
	return nil
}

// constArg is a constant: values, a file, or seeded.
type constArg struct {
	Value  yaml.Node `yaml:"value"`
	DType  string    `yaml:"dtype"`
	Shape  []int     `yaml:"shape"`
	Npy    string    `yaml:"npy"`
	Random *uint64   `yaml:"random"`
}

// maxMade bounds the constants that a script makes out of nothing, in elements.
const maxMade = 1 << 25

// make builds the constant under a name. dir is the script's folder.
func (a *constArg) make(name, dir string) (*pb.TensorProto, error) {
	given := 0
	for _, b := range []bool{!a.Value.IsZero(), a.Npy != "", a.Random != nil} {
		if b {
			given++
		}
	}
	if given != 1 {
		return nil, fmt.Errorf("constant %s: %d of value, npy and random are given; want one of them", quote(name), given)
	}
	if a.Shape != nil {
		if n, err := tensor.Elems(a.Shape); err != nil {
			return nil, fmt.Errorf("constant %s: %w", quote(name), err)
		} else if n > maxMade {
			return nil, fmt.Errorf("constant %s: shape %v is too large: %d elements; a script may make %d", quote(name), a.Shape, n, maxMade)
		}
	}
	var dt tensor.DType
	if a.DType != "" {
		num, err := ElemType(a.DType)
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", quote(name), err)
		}
		if num == int32(pb.TensorProto_STRING) {
			return a.texts(name)
		}
		var ok bool
		if dt, ok = tensor.FromONNX(int(num)); !ok {
			return nil, fmt.Errorf("constant %s: values of type %s cannot be written here; want a type of numbers, bool or string", quote(name), elemName(num))
		}
	}
	d, err := a.data(dt, dir)
	if err != nil {
		return nil, fmt.Errorf("constant %s: %w", quote(name), err)
	}
	return TensorProto(name, d), nil
}

func (a *constArg) data(dt tensor.DType, dir string) (*tensor.Dense, error) {
	switch {
	case a.Npy != "":
		path := a.Npy
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		x, err := npz.ReadNpyFile(path, npz.Limits{})
		if err != nil {
			return nil, err
		}
		d, err := npz.ToTensor(x)
		if err != nil {
			return nil, err
		}
		if dt != tensor.Invalid {
			d = d.Cast(dt)
		}
		if a.Shape != nil {
			return TransposeReshape(d, nil, a.Shape)
		}
		return d, nil
	case a.Random != nil:
		if dt == tensor.Invalid {
			dt = tensor.F32
		}
		return ir.Rand(*a.Random, dt, a.Shape), nil
	}
	vals, shape, kind, err := numbers(&a.Value)
	if err != nil {
		return nil, err
	}
	if dt == tensor.Invalid {
		dt = kind
	}
	if a.Shape != nil {
		n, _ := tensor.Elems(a.Shape)
		if len(vals) != n && len(vals) != 1 {
			return nil, fmt.Errorf("%d values for shape %v", len(vals), a.Shape)
		}
		shape = a.Shape
	}
	if len(vals) == 0 {
		return tensor.New(dt, shape), nil
	}
	return filled(dt, shape, vals)
}

func (a *constArg) texts(name string) (*pb.TensorProto, error) {
	if a.Value.IsZero() {
		return nil, fmt.Errorf("constant %s of text needs value", quote(name))
	}
	var list []string
	var one string
	if a.Value.Kind == yaml.ScalarNode && a.Value.Decode(&one) == nil {
		return StringTensor(name, a.Shape, []string{one}), nil
	}
	if err := a.Value.Decode(&list); err != nil {
		return nil, fmt.Errorf("constant %s: %w", quote(name), tidy(err))
	}
	shape := a.Shape
	if shape == nil {
		shape = []int{len(list)}
	}
	if n, err := tensor.Elems(shape); err != nil || n != len(list) {
		return nil, fmt.Errorf("constant %s: %d texts for shape %v", quote(name), len(list), shape)
	}
	return StringTensor(name, shape, list), nil
}

// numbers reads a number, or lists of lists of numbers of one shape; whole
// numbers make int64, others float, true and false bool.
func numbers(n *yaml.Node) (vals []float64, shape []int, dt tensor.DType, err error) {
	switch n.Kind {
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!int":
			v, err := strconv.ParseInt(n.Value, 0, 64)
			if err != nil || v > 1<<53 || v < -1<<53 {
				return nil, nil, 0, lineErr(n, "%s is too large to be written here; put it into a .npy file", n.Value)
			}
			return []float64{float64(v)}, nil, tensor.I64, nil
		case "!!float":
			var v float64
			if err := n.Decode(&v); err != nil {
				return nil, nil, 0, tidy(err)
			}
			return []float64{v}, nil, tensor.F32, nil
		case "!!bool":
			var v bool
			if err := n.Decode(&v); err != nil {
				return nil, nil, 0, tidy(err)
			}
			if v {
				return []float64{1}, nil, tensor.Bool, nil
			}
			return []float64{0}, nil, tensor.Bool, nil
		}
	case yaml.SequenceNode:
		if len(n.Content) == 0 {
			return nil, []int{0}, tensor.F32, nil
		}
		var inner []int
		for i, c := range n.Content {
			v, s, t, err := numbers(c)
			if err != nil {
				return nil, nil, 0, err
			}
			switch {
			case i == 0:
				inner, dt = s, t
			case !slices.Equal(s, inner):
				return nil, nil, 0, lineErr(c, "this element has shape %v, those before it %v", s, inner)
			case t != dt && (t == tensor.Bool || dt == tensor.Bool):
				return nil, nil, 0, lineErr(c, "numbers and true or false in one list")
			case t == tensor.F32:
				dt = t
			}
			vals = append(vals, v...)
		}
		return vals, append([]int{len(n.Content)}, inner...), dt, nil
	}
	return nil, nil, 0, lineErr(n, "found %s; want a number or lists of numbers", kindText(n))
}

// newNode describes a node to be made.
type newNode struct {
	Op         string               `yaml:"op"`
	Domain     string               `yaml:"domain"`
	Name       string               `yaml:"name"`
	Inputs     []inputArg           `yaml:"inputs"`
	Outputs    []string             `yaml:"outputs"`
	Attributes map[string]yaml.Node `yaml:"attributes"`
}

// inputArg is a value by name, or a constant written in place.
type inputArg struct {
	name  string
	value *constArg
}

// UnmarshalYAML reads a name or a mapping; null is an input left out.
func (a *inputArg) UnmarshalYAML(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
	case n.Kind == yaml.ScalarNode:
		a.name = n.Value
	case n.Kind == yaml.MappingNode:
		a.value = &constArg{}
		return strict(n, a.value)
	default:
		return lineErr(n, "found %s; want the name of a value, a constant {value: ...}, or null", kindText(n))
	}
	return nil
}

// make builds the node and adds the constants written in place to the model.
// stream is the place of the input called $, -1 without.
func (a *newNode) make(m *Model, dir string) (n *pb.NodeProto, stream int, err error) {
	s := NodeSpec{Op: a.Op, Domain: a.Domain, Name: a.Name, Outputs: a.Outputs, Attributes: map[string]any{}}
	if s.Name != "" && len(m.Find(Query{Name: s.Name})) > 0 {
		return nil, 0, fmt.Errorf("a node is called %s already", quote(s.Name))
	}
	for _, k := range sortedKeys(a.Attributes) {
		v := a.Attributes[k]
		if s.Attributes[k], err = attrValue(&v, dir); err != nil {
			return nil, 0, fmt.Errorf("attribute %s: %w", quote(k), err)
		}
	}
	if n, err = m.MakeNode(s); err != nil {
		return nil, 0, err
	}
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
			t, err := in.value.make(name, dir)
			if err != nil {
				return nil, 0, err
			}
			if err := m.AddInitializer(t); err != nil {
				return nil, 0, err
			}
		}
		n.Input = append(n.Input, name)
	}
	return n, stream, nil
}

// attrValue reads a number, text, a list of them, or {value: ..., dtype: ...}
// for a tensor.
func attrValue(n *yaml.Node, dir string) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		var c constArg
		if err := strict(n, &c); err != nil {
			return nil, err
		}
		return c.make("", dir)
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return nil, lineErr(c, "found %s; want a number or text", kindText(c))
			}
			v, err := attrValue(c, dir)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!int":
			v, err := strconv.ParseInt(n.Value, 0, 64)
			if err != nil {
				return nil, lineErr(n, "%s is no 64-bit integer", n.Value)
			}
			return v, nil
		case "!!float":
			var v float64
			if err := n.Decode(&v); err != nil || math.IsNaN(v) {
				return nil, lineErr(n, "%s is no number", n.Value)
			}
			return v, nil
		case "!!bool":
			var v bool
			err := n.Decode(&v)
			return v, tidy(err)
		case "!!null":
			return nil, lineErr(n, "no value")
		}
		return n.Value, nil
	}
	return nil, lineErr(n, "found %s; want a number, text, a list or {value: ...}", kindText(n))
}

// maxScript bounds the size of a script, in bytes.
const maxScript = 4 << 20

// readScript reads a regular file of bounded size.
func readScript(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file; want a YAML script", path)
	}
	if st.Size() > maxScript {
		return nil, fmt.Errorf("%s: %d bytes; a script may have %d", path, st.Size(), maxScript)
	}
	return os.ReadFile(path)
}
