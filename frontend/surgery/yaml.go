// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Decoding is strict: a key that a step does not have is an error that names
// the keys it has, and every error has its line.

// lineErr is an error at a place of the script.
func lineErr(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// refuseAt ends a function where something is so with an error about a line.
func refuseAt(is bool, n *yaml.Node, format string, args ...any) {
	if is {
		fail.Check(lineErr(n, format, args...))
	}
}

var unmarshaler = reflect.TypeFor[yaml.Unmarshaler]()

// strict decodes a node after its keys were checked.
func strict(n *yaml.Node, out any) {
	checkKeys(n, reflect.TypeOf(out).Elem())
	fail.Check(tidy(n.Decode(out)))
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
var typeNames = map[string]string{"int": "a whole number", "int64": "a whole number", "uint64": "a whole number",
	"float64": "a number", "bool": "true or false",
	"string": "text", "[]string": "a list of names", "[]int": "a list of whole numbers",
	"map[string]string": "a map of names", "map[string]int64": "a map of whole numbers",
	"map[string]int": "a map of whole numbers", "[]yaml.Node": "a list", "map[string]yaml.Node": "a mapping"}

var goType = regexp.MustCompile(`(\[\]|map\[string\])?(string|int64|uint64|float64|bool|int|yaml\.Node)$`)

// checkKeys compares the keys of mappings with the fields of the types that
// they are decoded into. Types with a decoder of their own check themselves.
func checkKeys(n *yaml.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[yaml.Node]() || reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64:
		var v float64
		if n.Kind == yaml.ScalarNode && n.Tag == "!!float" && n.Decode(&v) == nil && v != math.Trunc(v) {
			fail.Check(lineErr(n, "found %s; want a whole number", n.Value)) // package yaml would cut it
		}
	case reflect.Struct:
		checkFields(n, t)
	case reflect.Slice:
		if n.Kind == yaml.SequenceNode {
			for _, c := range n.Content {
				if c.Kind == yaml.ScalarNode && c.Tag == "!!null" {
					fail.Check(lineErr(c, "an entry of the list is empty")) // package yaml would pass over it
				}
				checkKeys(c, t.Elem())
			}
		}
	case reflect.Map:
		if n.Kind == yaml.MappingNode {
			for i := 1; i < len(n.Content); i += 2 {
				checkKeys(n.Content[i], t.Elem())
			}
		}
	}
}

// checkFields compares the keys of a mapping with the fields of a struct.
func checkFields(n *yaml.Node, t reflect.Type) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		fail.Check(lineErr(n, "found %s; want a mapping with %s", kindText(n), strings.Join(keysOf(t), ", ")))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f, ok := fieldOf(t, n.Content[i].Value)
		if !ok {
			all := keysOf(t)
			fail.Check(lineErr(n.Content[i], "unknown key %s%s; keys here are %s", quote(n.Content[i].Value),
				near(n.Content[i].Value, all), strings.Join(all, ", ")))
		}
		checkKeys(n.Content[i+1], f.Type)
	}
}

// fields of a struct with those of embedded ones.
func fields(t reflect.Type) []reflect.StructField {
	var fs []reflect.StructField
	if t.Kind() != reflect.Struct { // a map of names that the user chooses
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch tag := f.Tag.Get("yaml"); {
		case strings.Contains(tag, ",inline"):
			fs = append(fs, fields(f.Type)...)
		case f.IsExported() && tag != "-":
			fs = append(fs, f)
		}
	}
	return fs
}

func keyName(f reflect.StructField) string {
	k, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return cmp.Or(k, strings.ToLower(f.Name))
}

func keysOf(t reflect.Type) []string {
	return lists.Map(fields(t), keyName)
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
	Name     string
	Regex    string
	Op       string
	Domain   string
	Input    string
	Output   string
	Count    int
	Optional bool
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
		strict(n, &a)
		q := sel{query: Query{Name: a.Name, Op: a.Op, Domain: a.Domain, Input: a.Input, Output: a.Output},
			count:    a.Count,
			optional: a.Optional}
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

func (s *nodeSel) find(m *Model) []*pb.NodeProto {
	if s == nil || len(s.queries) == 0 {
		fail.Check(errors.New("no nodes are named (nodes)"))
	}
	var out []*pb.NodeProto
	var errs []error
	for i := range s.queries {
		q := &s.queries[i]
		found := m.Find(q.query)
		switch {
		case q.plain && len(found) > 1:
			errs = append(errs, fail.Caught(func() { m.one(q.query) }))
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
	fail.Check(errors.Join(errs...))
	return out
}

// single is find for exactly one node.
func (s *nodeSel) single(m *Model) *pb.NodeProto {
	found := s.find(m)
	fail.If(len(found) != 1, "%d nodes are described (%s); want one", len(found), quoted(names(found)))
	return found[0]
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

// maxScript bounds the size of a script, in bytes.
const maxScript = 4 << 20

// readScript reads a regular file of bounded size.
func readScript(path string) []byte {
	b, err := files.Read(path, maxScript)
	fail.If(err != nil, "%w; want a YAML script", err)
	return b
}
