// SPDX-License-Identifier: Apache-2.0

package data

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/postprocess"
)

// Outputs says what becomes of a model's outputs: what --postprocess declares, and "outputs"
// of a specification. The zero value declares nothing.
type Outputs struct {
	Boxes    *Boxes // nil: not declared
	Classes  *Classes
	Keywords *Keywords
	// From is the file that it was declared in, if any: other files are named from there.
	From string
}

// outputKinds are the keys below "outputs".
func outputKinds() []string { return []string{"boxes", "classes", "keywords"} }

// Empty reports that nothing is declared.
func (o *Outputs) Empty() bool { return o.Boxes == nil && o.Classes == nil && o.Keywords == nil }

// Emits reports whether code is wanted for any of it.
func (o *Outputs) Emits() bool {
	return o.Boxes != nil && o.Boxes.Emit || o.Classes != nil && o.Classes.Emit ||
		o.Keywords != nil && o.Keywords.Emit
}

// ParseOutputs reads the values of --postprocess into a specification: a YAML file as
// --preprocess takes, or KIND.KEY=VALUE such as boxes.threshold=0.3. What comes later wins.
func (s *Spec) ParseOutputs(values []string) error {
	for _, v := range values {
		if err := s.outputValue(v); err != nil {
			return text.Errorf("--postprocess %s: %w", v, err)
		}
	}
	return nil
}

func (s *Spec) outputValue(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if ext := filepath.Ext(v); ext == ".yaml" || ext == ".yml" || !ok {
		if _, err := os.Stat(v); err != nil && ext == "" {
			return errors.New("want FILE.yaml or KIND.KEY=VALUE, such as boxes.threshold=0.3")
		}
		return s.file(v)
	}
	return s.Outputs.set(name, strings.Split(value, ","))
}

// declare makes a kind one that is declared; the function sets its keys.
func (o *Outputs) declare(kind string) func(name string, v []string) error {
	switch kind {
	case "boxes":
		o.Boxes = cmp.Or(o.Boxes, NewBoxes())
		return func(name string, v []string) error {
			o.Boxes.said = append(o.Boxes.said, name)
			return setKey(o.Boxes, boxKeys, name, v)
		}
	case "classes":
		o.Classes = cmp.Or(o.Classes, NewClasses())
		return func(name string, v []string) error { return setKey(o.Classes, classKeys, name, v) }
	}
	o.Keywords = cmp.Or(o.Keywords, NewKeywords())
	return func(name string, v []string) error { return setKey(o.Keywords, keywordKeys, name, v) }
}

// set sets a key, "boxes.threshold".
func (o *Outputs) set(name string, v []string) error {
	kind, k, dot := strings.Cut(name, ".")
	if slices.Contains(outputKinds(), kind) && dot {
		return o.declare(kind)(k, v)
	}
	if n := nearOutput(kind, k, dot); n != "" {
		return text.Errorf("unknown key %s (did you mean %s?)", name, n)
	}
	return text.Errorf("unknown key %s; want KIND.KEY with one of the kinds %s", name,
		strings.Join(outputKinds(), ", "))
}

// nearOutput is the key that was meant by a kind and the rest of a name; "" for none.
func nearOutput(kind, rest string, dot bool) string {
	if n := text.Nearest(kind, outputKinds()); n != "" && dot {
		return n + "." + rest
	}
	if dot {
		return ""
	}
	for _, k := range boxKeys {
		if k.name == kind {
			return "boxes." + kind
		}
	}
	for _, k := range classKeys {
		if k.name == kind {
			return "classes." + kind
		}
	}
	for _, k := range keywordKeys {
		if k.name == kind {
			return "keywords." + kind
		}
	}
	return ""
}

// outputs reads what stands below "outputs" in a file.
func (r *specReader) outputs(o *Outputs, path string, n *yaml.Node) {
	o.From = path
	r.mapping(n, "outputs", func(k, v *yaml.Node) {
		if !slices.Contains(outputKinds(), k.Value) {
			r.fail(k, "unknown key %s%s; want one of %s", k.Value, near(k.Value, outputKinds()),
				strings.Join(outputKinds(), ", "))
			return
		}
		set := o.declare(k.Value)
		if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
			return
		}
		r.mapping(v, k.Value, func(k2, v2 *yaml.Node) {
			words, ok := r.words(k2, v2)
			if !ok {
				return
			}
			if err := set(k2.Value, words); err != nil {
				r.fail(k2, "%s: %w", k.Value, err)
			}
		})
	})
}

// words are those of a value: one, or a list, lists in it one behind the other.
func (r *specReader) words(k, v *yaml.Node) ([]string, bool) {
	switch v.Kind {
	case yaml.ScalarNode:
		return []string{v.Value}, true
	case yaml.SequenceNode:
	default:
		r.fail(v, "%s: want a word, a number or a list of them", k.Value)
		return nil, false
	}
	var out []string
	for _, c := range v.Content {
		switch {
		case c.Kind == yaml.ScalarNode:
			out = append(out, c.Value)
		case c.Kind == yaml.SequenceNode && !slices.ContainsFunc(c.Content, func(x *yaml.Node) bool {
			return x.Kind != yaml.ScalarNode
		}):
			for _, x := range c.Content {
				out = append(out, x.Value)
			}
		default:
			r.fail(c, "%s: want numbers or words in the list", k.Value)
			return nil, false
		}
	}
	return out, true
}

// Emitted is what of p code is wanted for; the others are nil.
func (o *Outputs) Emitted(p *Post) (b *postprocess.Boxes, c *postprocess.Classes, k *postprocess.Keywords) {
	if o.Boxes != nil && o.Boxes.Emit {
		b = p.Boxes
	}
	if o.Classes != nil && o.Classes.Emit {
		c = p.Classes
	}
	if o.Keywords != nil && o.Keywords.Emit {
		k = p.Keywords
	}
	return b, c, k
}
