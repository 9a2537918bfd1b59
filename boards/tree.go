// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"go.yaml.in/yaml/v3"
)

// Limits of a definition. A board file is a page of text; whatever is larger
// or deeper is a mistake or an attack.
const (
	maxFileBytes = 256 << 10
	maxFiles     = 64
)

type kind uint8

const (
	scalar kind = iota
	null
	list
	dict
)

func (k kind) String() string {
	return [...]string{"a single value", "null", "a list", "a map"}[k]
}

type pos struct {
	file string
	line int
}

func (p pos) errorf(format string, args ...any) error {
	return &Error{File: p.file, Line: p.line, Msg: fmt.Sprintf(format, args...)}
}

// tree is YAML with positions: what is merged, then decoded. Trees are not
// edited once built, so that files can share them.
type tree struct {
	kind  kind
	pos   pos
	text  string // scalar: as written
	tag   string // scalar: !!str, !!int, !!bool, !!float
	items []*tree
	keys  []string // dict: order of the file
	m     map[string]*tree

	// conflicting is what another parent says; a child has to decide.
	conflicting *tree
}

func newDict(p pos) *tree { return &tree{kind: dict, pos: p, m: map[string]*tree{}} }

func (t *tree) set(key string, v *tree) {
	if _, ok := t.m[key]; !ok {
		t.keys = append(t.keys, key)
	}
	t.m[key] = v
}

func (t *tree) drop(key string) {
	if _, ok := t.m[key]; !ok {
		return
	}
	delete(t.m, key)
	for i, k := range t.keys {
		if k == key {
			t.keys = append(t.keys[:i:i], t.keys[i+1:]...)
			return
		}
	}
}

func parseTree(file string, data []byte) (*tree, error) {
	at := pos{file: file}
	if len(data) > maxFileBytes {
		return nil, at.errorf("the file has %d bytes; a board definition has at most %d", len(data), maxFileBytes)
	}
	root, err := files.YAML(data, "use inherits")
	if y := new(files.YAMLError); errors.As(err, &y) {
		return nil, pos{file, y.Line}.errorf("%s", y.Msg)
	}
	if root == nil {
		return nil, at.errorf("the file is empty")
	}
	c := converter{file: file}
	t, err := c.convert(root)
	if err != nil {
		c.faults.add(err)
	}
	if err := c.faults.err(); err != nil {
		return nil, err
	}
	if t.kind != dict {
		return nil, t.pos.errorf("a board file is a map of keys, this is %s", t.kind)
	}
	return t, nil
}

type converter struct {
	file   string
	faults faults
}

func (c *converter) convert(n *yaml.Node) (*tree, error) {
	at := pos{c.file, n.Line}
	switch n.Kind {
	case yaml.ScalarNode:
		tag := n.ShortTag()
		switch tag {
		case "!!null":
			return &tree{kind: null, pos: at}, nil
		case "!!str", "!!int", "!!bool", "!!float", "!!timestamp":
			return &tree{kind: scalar, pos: at, text: n.Value, tag: tag}, nil
		}
		return nil, at.errorf("tag %s is not accepted", tag)
	case yaml.SequenceNode:
		t := &tree{kind: list, pos: at}
		for _, e := range n.Content {
			v, err := c.convert(e)
			if err != nil {
				return nil, err
			}
			if v.kind == null {
				c.faults.add(v.pos.errorf("null in a list"))
			}
			t.items = append(t.items, v)
		}
		return t, nil
	case yaml.MappingNode:
		return c.dict(n)
	}
	return nil, at.errorf("unreadable YAML")
}

// dict converts a map. Keys that are no good are noted and left out.
func (c *converter) dict(n *yaml.Node) (*tree, error) {
	t := newDict(pos{c.file, n.Line})
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		kp := pos{c.file, k.Line}
		if k.Kind != yaml.ScalarNode {
			c.faults.add(kp.errorf("a key has to be a plain word"))
			continue
		}
		if prev, ok := t.m[k.Value]; ok {
			c.faults.add(kp.errorf("key %q a second time; first in line %d", k.Value, prev.pos.line))
			continue
		}
		v, err := c.convert(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		t.set(k.Value, v)
	}
	for _, k := range t.keys {
		if base, ok := strings.CutSuffix(k, "+"); ok && t.m[base] != nil {
			c.faults.add(t.m[k].pos.errorf("both %s and %s: one replaces, the other appends", base, k))
		}
	}
	return t, nil
}

// faults are the mistakes in a definition and the files that it inherits. A value with a
// mistake is left out, so that the others can be looked at.
type faults struct {
	list []*Error
	// without are the keys of values that were left out.
	without []string
}

func (f *faults) add(err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Msg: err.Error()}
	}
	one := *e
	one.More = nil
	for _, e := range append([]*Error{&one}, e.More...) {
		if len(f.list) < maxFaults {
			f.list = append(f.list, e)
		}
	}
}

// drop notes a mistake for which the value of a key is left out.
func (f *faults) drop(key string, err error) {
	f.add(err)
	f.without = append(f.without, key)
}

// follows reports a finding about a key that another mistake can have caused: it is about
// a value that was left out, what that is in, or what is in it.
func (f *faults) follows(key string) bool {
	return slices.ContainsFunc(f.without, func(w string) bool {
		return w == key || strings.HasPrefix(w, key+".") || strings.HasPrefix(key, w+".")
	})
}

// err is all of them as one, in the order of the lines of each file; nil: there are none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	var files []string
	for _, e := range f.list {
		if !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		if d := slices.Index(files, a.File) - slices.Index(files, b.File); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
	first := *f.list[0]
	first.More = f.list[1:]
	return &first
}

// maxFaults bounds what is reported.
const maxFaults = 20

// merge lays a child over its parents: a scalar or a list of the child wins,
// `key+` appends to a list, maps merge key by key, null removes.
func merge(base, over *tree) (_ *tree, err error) {
	defer fail.Catch(&err)
	out := newDict(over.pos)
	for _, k := range base.keys {
		out.set(k, base.m[k])
	}
	for _, k := range over.keys {
		v := over.m[k]
		if name, ok := strings.CutSuffix(k, "+"); ok {
			joined := fail.Must(appendList(name, out.m[name], v))
			out.set(name, joined)
			continue
		}
		switch v.kind {
		case null:
			out.drop(k)
		case dict:
			under := out.m[k]
			if under == nil || under.kind != dict {
				// A fresh map still may hold nulls and `key+`.
				under = newDict(v.pos)
			}
			m := fail.Must(merge(under, v))
			out.set(k, m)
		default:
			out.set(k, v)
		}
	}
	return out, nil
}

func appendList(name string, base, more *tree) (*tree, error) {
	if more.kind != list {
		return nil, more.pos.errorf("%s+ appends to a list, so its value has to be a list; this is %s", name, more.kind)
	}
	if base == nil {
		return more, nil
	}
	if base.kind != list {
		return nil, more.pos.errorf("%s+ appends to a list, but %s is %s (%s:%d)", name, name, base.kind, base.pos.file,
			base.pos.line)
	}
	if base.conflicting != nil {
		return nil, disagreement(name, base)
	}
	joined := &tree{kind: list, pos: more.pos}
	joined.items = append(append(joined.items, base.items...), more.items...)
	return joined, nil
}

// join merges two parents. Where both speak they have to say the same; if
// not, the difference is kept until a child decides.
func join(a, b *tree) *tree {
	if a.kind != dict || b.kind != dict {
		if same(a, b) {
			return a
		}
		c := *a
		c.conflicting = b
		return &c
	}
	out := newDict(a.pos)
	for _, k := range a.keys {
		out.set(k, a.m[k])
	}
	for _, k := range b.keys {
		if v, ok := out.m[k]; ok {
			out.set(k, join(v, b.m[k]))
		} else {
			out.set(k, b.m[k])
		}
	}
	return out
}

func same(a, b *tree) bool {
	if a.kind != b.kind || a.text != b.text || a.tag != b.tag || len(a.items) != len(b.items) ||
		len(a.keys) != len(b.keys) {
		return false
	}
	for i := range a.items {
		if !same(a.items[i], b.items[i]) {
			return false
		}
	}
	for _, k := range a.keys {
		if v, ok := b.m[k]; !ok || !same(a.m[k], v) {
			return false
		}
	}
	return true
}

// unresolved finds the differences between parents that no child settled.
func (l *loader) unresolved(path string, t *tree) {
	if t.conflicting != nil {
		l.faults.drop(path, disagreement(path, t))
		return
	}
	for _, k := range t.keys {
		l.unresolved(dotted(path, k), t.m[k])
	}
}

func disagreement(path string, t *tree) error {
	return t.conflicting.pos.errorf("%s: the parents disagree, %s here and %s in %s:%d; state the value in the board "+
		"that inherits both", path, brief(t.conflicting), brief(t), t.pos.file, t.pos.line)
}

func brief(t *tree) string {
	switch t.kind {
	case scalar:
		return t.text
	case list:
		s := lists.Map(t.items, brief)
		return "[" + strings.Join(s, ", ") + "]"
	}
	return t.kind.String()
}
