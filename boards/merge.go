// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

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
		var s []string
		for _, e := range t.items {
			s = append(s, brief(e))
		}
		return "[" + strings.Join(s, ", ") + "]"
	}
	return t.kind.String()
}
