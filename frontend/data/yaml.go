// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
)

// maxSpecBytes bounds a specification file.
const maxSpecBytes = 1 << 20

// Parse reads the values of --preprocess: a YAML file, or [INPUT:]KEY=VALUE such as
// image.resize=fit. What comes later wins.
//
// A file has the keys of an input (image, audio, csv, layout) for all inputs, and, below
// "inputs", for each by name; "outputs" says what follows the model (ParseOutputs).
func Parse(values []string) (*Spec, error) {
	s := &Spec{Inputs: map[string]*Input{}}
	for _, v := range values {
		if err := s.value(v); err != nil {
			return nil, text.Errorf("--preprocess %s: %w", v, err)
		}
	}
	return s, nil
}

func (s *Spec) value(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if ext := filepath.Ext(v); ext == ".yaml" || ext == ".yml" || !ok {
		if _, err := os.Stat(v); err != nil && ext == "" {
			return errors.New("want FILE.yaml or [INPUT:]KEY=VALUE, such as image.resize=fit")
		}
		return s.file(v)
	}
	in := &s.All
	if i := strings.LastIndex(name, ":"); i >= 0 {
		in, name = s.input(name[:i]), name[i+1:]
	}
	return in.set(name, strings.Split(value, ","))
}

// input is what is declared for an input: all that is said of every input, at
// first.
func (s *Spec) input(name string) *Input {
	if s.Inputs[name] == nil {
		s.Inputs[name] = s.All.clone()
	}
	return s.Inputs[name]
}

func (in *Input) clone() *Input {
	out := *in
	if in.Image != nil {
		x := *in.Image
		out.Image = &x
	}
	if in.Sound != nil {
		x := *in.Sound
		out.Sound = &x
	}
	if in.Table != nil {
		x := *in.Table
		out.Table = &x
	}
	return &out
}

func (s *Spec) file(path string) error {
	b, err := files.Read(path, maxSpecBytes)
	if err != nil {
		return files.Reason(err)
	}
	root, err := files.YAML(b, "write the value out")
	if err != nil {
		return err
	}
	if root == nil {
		return errors.New("the file is empty; want keys such as image or inputs")
	}
	r := &specReader{}
	var byName *yaml.Node // read when all is known that is said of every input
	r.mapping(root, "the file", func(k, v *yaml.Node) {
		switch k.Value {
		case "inputs":
			byName = v
		case "outputs":
			r.outputs(&s.Outputs, path, v)
		default:
			r.input(&s.All, k, v, "inputs", "outputs")
		}
	})
	if byName != nil {
		r.mapping(byName, "inputs", func(name, v *yaml.Node) {
			in := s.input(name.Value)
			r.mapping(v, name.Value, func(k, v *yaml.Node) { r.input(in, k, v) })
		})
	}
	return errors.Join(r.errs...)
}

// specReader collects what is wrong with a file, by line.
type specReader struct{ errs []error }

func (r *specReader) fail(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, text.Errorf("line %d: %w", n.Line, text.Errorf(format, args...)))
}

// mapping calls do for every key, none of which may come twice.
func (r *specReader) mapping(n *yaml.Node, what string, do func(k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%s: want keys with values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if seen[k.Value] {
			r.fail(k, "%s is there twice", k.Value)
			continue
		}
		seen[k.Value] = true
		do(k, n.Content[i+1])
	}
}

// input reads a key of an input; more are other keys that may stand there.
func (r *specReader) input(in *Input, k, v *yaml.Node, more ...string) {
	empty := v.Kind == yaml.ScalarNode && v.Tag == "!!null"
	switch {
	case slices.Contains(Kinds(), k.Value) && (v.Kind == yaml.MappingNode || empty):
		in.declare(k.Value)
		if !empty {
			r.mapping(v, k.Value, func(k2, v2 *yaml.Node) { r.scalar(in, k2, k.Value+"."+k2.Value, v2) })
		}
	case slices.Contains(Kinds(), k.Value):
		r.fail(v, "%s: want keys with values below it", k.Value)
	default:
		r.scalar(in, k, k.Value, v, more...)
	}
}

// scalar sets a key to a word or a list of words.
func (r *specReader) scalar(in *Input, k *yaml.Node, name string, v *yaml.Node, more ...string) {
	words := []string{v.Value}
	if v.Kind == yaml.SequenceNode {
		words = nil
		for _, c := range v.Content {
			if c.Kind != yaml.ScalarNode {
				r.fail(c, "%s: want numbers or words in the list", k.Value)
				return
			}
			words = append(words, c.Value)
		}
	}
	if err := in.set(name, words, more...); err != nil {
		r.fail(k, "%w", err)
	}
}
