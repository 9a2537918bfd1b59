// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
)

// layerEntry is a line of the file.
type layerEntry struct {
	pattern string
	line    int
	layer   Layer
	used    bool
}

// exact: the pattern is a name.
func (e *layerEntry) exact() bool { return !strings.Contains(e.pattern, "*") }

// LayersFile is a --layers-config file: a precision for layers by name.
type LayersFile struct {
	path    string
	Default *Layer // of layers that it does not name; nil: it does not say
	entries []*layerEntry
	errs    []error
}

func (f *LayersFile) fail(line int, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s, line %d: %s", f.path, line, fmt.Sprintf(format, args...)))
}

// maxLayersBytes bounds a --layers-config file, in bytes.
const maxLayersBytes = 4 << 20

// ReadLayers reads a --layers-config file and checks it against the names of a
// model's nodes.
func ReadLayers(path string, names []string) (*LayersFile, error) {
	data, err := files.Read(path, maxLayersBytes)
	if err != nil {
		return nil, fmt.Errorf("--layers-config: %w", err)
	}
	return parseLayers(path, data, names)
}

func parseLayers(path string, data []byte, names []string) (*LayersFile, error) {
	root, err := files.YAML(data, "write the precision out")
	if err != nil {
		return nil, fmt.Errorf("--layers-config %s: %w", path, err)
	}
	f := &LayersFile{path: path}
	if root == nil {
		return nil, fmt.Errorf("%s is empty: want `layers:` with a precision for each name", path)
	}
	f.mapping(root, "the file", func(key, v *yaml.Node) {
		switch key.Value {
		case "default":
			if l, ok := f.precision(v); ok {
				f.Default = &l
			}
		case "layers":
			f.mapping(v, "layers", func(key, v *yaml.Node) { f.entry(key, v, names) })
		default:
			f.fail(key.Line, "key %q is unknown%s; known: default, layers", key.Value,
				text.Meant(key.Value, []string{"default", "layers"}))
		}
	})
	return f, errors.Join(f.errs...)
}

// mapping calls do for every key of a mapping; no key may come twice.
func (f *LayersFile) mapping(n *yaml.Node, what string, do func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.fail(n.Line, "%s is no mapping of names to values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			f.fail(key.Line, "%q is there twice", key.Value)
			continue
		}
		seen[key.Value] = true
		do(key, n.Content[i+1])
	}
}

func (f *LayersFile) precision(v *yaml.Node) (Layer, bool) {
	l, ok := ParseLayer(v.Value)
	if !ok || v.Kind != yaml.ScalarNode {
		f.fail(v.Line, "precision %q is unknown%s; want %s", v.Value, text.Meant(v.Value, LayerNames()),
			strings.Join(LayerNames(), ", "))
	}
	return l, ok
}

func (f *LayersFile) entry(key, v *yaml.Node, names []string) {
	l, ok := f.precision(v)
	if !ok {
		return
	}
	e := &layerEntry{pattern: key.Value, line: key.Line, layer: l}
	if !slices.ContainsFunc(names, func(n string) bool { return glob(e.pattern, n) }) {
		f.fail(key.Line, "the model has no node %q%s", e.pattern, text.Meant(e.pattern, names))
		return
	}
	f.entries = append(f.entries, e)
}

// glob matches a name with a pattern in which * stands for any characters.
func glob(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	for { // what is between two stars as early as it can be
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// Layer is the precision of a node, base where the file names none; a name has priority over a pattern, a later
// line more than an earlier one.
func (f *LayersFile) Layer(n *ir.Node, base Layer) Layer {
	l := base
	var name *layerEntry
	for _, e := range f.entries {
		if !slices.ContainsFunc(append([]string{n.Name}, n.Origin...),
			func(s string) bool { return glob(e.pattern, s) }) {
			continue
		}
		e.used = true
		switch {
		case !e.exact():
			if name == nil {
				l = e.layer
			}
			continue
		case name != nil && name.layer != e.layer:
			f.fail(e.line, "%s and %s (line %d) are computed together and cannot differ in precision", e.pattern,
				name.pattern, name.line)
		case e.layer == Int4 && !TakesInt4(n):
			f.fail(e.line, "%s (%s) has no weights that a kernel takes with four bits; want int8, int16x8 or float32",
				e.pattern, n.Op.Name)
		case e.layer == Int16x8 && !TakesInt16(n):
			f.fail(e.line, "%s (%s) has no int16 form; want int8 or float32", e.pattern, n.Op.Name)
		}
		name, l = e, e.layer
	}
	return l
}

// Err is what was wrong with layers that the file names, once a model is quantised.
func (f *LayersFile) Err() error { return errors.Join(f.errs...) }

// Vain calls do for what the file asked for in vain, once a model is quantised.
func (f *LayersFile) Vain(do func(pattern, why string)) {
	for _, e := range f.entries {
		if !e.used {
			do(e.pattern, fmt.Sprintf("%s, line %d: %s has no precision of its own: it is part of another layer, "+
				"or moves data in the precision of what it reads", f.path, e.line, e.pattern))
		}
	}
}
