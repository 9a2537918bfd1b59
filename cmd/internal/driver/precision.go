package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// The precision of layers: --precision and --weights for all of them,
// --layers-config for single ones.

// checkPrecision validates the combination of flags.
func (c *Config) checkPrecision() error {
	fixed := c.FixedWeights != "" || c.FixedActs != ""
	switch {
	case c.Weights == option.Int4Weights && c.Precision == option.Int16x8:
		return usage("--weights int4 goes with int8 data: leave --precision int16x8 out, or name the layers in a " +
			"--layers-config file")
	case c.Weights == option.Int4Weights && c.unquantised():
		return usage("--weights int4 goes with int8 data, not with --precision %s", c.Precision)
	case fixed && (c.Weights == option.Int4Weights || c.Precision == option.Int16x8 || c.LayersConfig != ""):
		return usage("--fixed-point-weights and --fixed-point-activations choose the numbers themselves; they do " +
			"not go with --weights int4, --precision int16x8 or --layers-config")
	}
	return nil
}

// unquantised: the flags ask for a program in float.
func (c *Config) unquantised() bool {
	return c.Precision.Float()
}

// precisionIsFixed refuses flags that a quantised model leaves no choice about.
func (c *Config) precisionIsFixed() error {
	for _, f := range []struct {
		set  bool
		flag string
	}{{c.Precision == option.Int16x8, "--precision int16x8"}, {c.Weights == option.Int4Weights, "--weights int4"},
		{c.LayersConfig != "", "--layers-config"}, {c.Sensitivity, "--sensitivity"}} {
		if f.set {
			return badInput("%s is quantised already: its own precision is kept bit for bit; %s takes the float model",
				c.Model, f.flag)
		}
	}
	return nil
}

// baseLayer is the precision of all layers that no file names.
func (c *Config) baseLayer() quant.Layer {
	switch {
	case c.Precision == option.Int16x8:
		return quant.Int16x8
	case c.unquantised():
		return quant.Float
	case c.Weights == option.Int4Weights:
		return quant.Int4
	}
	return quant.Int8
}

// layerEntry is a line of the file.
type layerEntry struct {
	pattern string
	line    int
	layer   quant.Layer
	used    bool
}

// exact: the pattern is a name.
func (e *layerEntry) exact() bool { return !strings.Contains(e.pattern, "*") }

// layersFile is a --layers-config file: a precision for layers by name.
type layersFile struct {
	path    string
	base    *quant.Layer
	entries []*layerEntry
	errs    []error
}

func (f *layersFile) fail(line int, format string, args ...any) {
	f.errs = append(f.errs, &InputError{fmt.Errorf("%s, line %d: %s", f.path, line, fmt.Sprintf(format, args...))})
}

// maxLayersFile bounds a --layers-config file, in bytes.
const maxLayersFile = 4 << 20

// readLayers reads a file and checks it against the names of a model's nodes.
func readLayers(path string, names []string) (*layersFile, error) {
	text, err := files.Read(path, maxLayersFile)
	if err != nil {
		return nil, badInput("--layers-config: %w", err)
	}
	return parseLayers(path, text, names)
}

func parseLayers(path string, text []byte, names []string) (*layersFile, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, badInput("--layers-config %s: %w", path, err)
	}
	f := &layersFile{path: path}
	if len(doc.Content) == 0 {
		return nil, badInput("%s is empty: want `layers:` with a precision for each name", path)
	}
	f.mapping(doc.Content[0], "the file", func(key, v *yaml.Node) {
		switch key.Value {
		case "default":
			if l, ok := f.precision(v); ok {
				f.base = &l
			}
		case "layers":
			f.mapping(v, "layers", func(key, v *yaml.Node) { f.entry(key, v, names) })
		default:
			f.fail(key.Line, "key %q is unknown; known: default, layers", key.Value)
		}
	})
	return f, errors.Join(f.errs...)
}

// mapping calls do for every key of a mapping; no key may come twice.
func (f *layersFile) mapping(n *yaml.Node, what string, do func(key, value *yaml.Node)) {
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

func (f *layersFile) precision(v *yaml.Node) (quant.Layer, bool) {
	l, ok := quant.ParseLayer(v.Value)
	if !ok || v.Kind != yaml.ScalarNode {
		f.fail(v.Line, "precision %q is unknown; want %s", v.Value, strings.Join(quant.LayerNames(), ", "))
	}
	return l, ok
}

func (f *layersFile) entry(key, v *yaml.Node, names []string) {
	l, ok := f.precision(v)
	if !ok {
		return
	}
	e := &layerEntry{pattern: key.Value, line: key.Line, layer: l}
	if !slices.ContainsFunc(names, func(n string) bool { return glob(e.pattern, n) }) {
		hint := ""
		if near := text.Nearest(e.pattern, names); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		f.fail(key.Line, "the model has no node %q%s", e.pattern, hint)
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

// layer is the precision of a node; a name weighs more than a pattern, a later
// line more than an earlier one.
func (f *layersFile) layer(n *ir.Node, base quant.Layer) quant.Layer {
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
		case e.layer == quant.Int4 && !quant.TakesInt4(n):
			f.fail(e.line, "%s (%s) has no weights that a kernel takes with four bits; want int8, int16x8 or float32",
				e.pattern, n.Op.Name)
		case e.layer == quant.Int16x8 && !quant.TakesInt16(n):
			f.fail(e.line, "%s (%s) has no int16 form; want int8 or float32", e.pattern, n.Op.Name)
		}
		name, l = e, e.layer
	}
	return l
}

// layerPrecision is the precision of every layer as the flags and the file say;
// nil: int8.
func (c *Config) layerPrecision(g *ir.Graph) (func(n *ir.Node) quant.Layer, error) {
	base := c.baseLayer()
	c.layers = nil
	if c.LayersConfig == "" {
		if base == quant.Int8 {
			return nil, nil // and a target with a wider format may choose
		}
		return func(*ir.Node) quant.Layer { return base }, nil
	}
	var names []string
	for _, n := range g.Nodes {
		names = append(append(names, n.Origin...), n.Name)
	}
	f, err := readLayers(c.LayersConfig, names)
	if err != nil {
		return nil, err
	}
	if f.base != nil {
		base = *f.base
	}
	c.layers = f
	return func(n *ir.Node) quant.Layer { return f.layer(n, base) }, nil
}

// layersDone reports what the file asked for in vain, once a model is quantised.
func (c *Config) layersDone() error {
	if c.layers == nil {
		return nil
	}
	for _, e := range c.layers.entries {
		if !e.used {
			c.warn("quantize", "layers-config", e.pattern,
				"%s, line %d: %s has no precision of its own: it is part of another layer, "+
					"or moves data in the precision of what it reads", c.layers.path, e.line, e.pattern)
		}
	}
	return errors.Join(c.layers.errs...)
}
