// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

//go:embed defs/*.yaml
var defs embed.FS

// header holds the keys that belong to one file and are not inherited.
type header struct {
	Inherits []string `yaml:"inherits"`
	Abstract bool     `yaml:"abstract"`
	Name     string   `yaml:"name"`
	Doc      string   `yaml:"doc"`
	Known    `yaml:"-"`

	tree *tree // the same, with positions
}

// Known is what a board is known by, beside its name.
type Known struct {
	// Aliases are other names that are taken for it.
	Aliases []string `yaml:"aliases" json:"aliases,omitempty"`
	// Parts are patterns of part numbers with this chip: * is any text, ? one sign;
	// case and punctuation do not count.
	Parts []string `yaml:"parts" json:"parts,omitempty"`
	// Kits are patterns of the names of boards with this chip.
	Kits []string `yaml:"kits" json:"kits,omitempty"`
	// Families are patterns of chips and boards that have this core.
	Families []string `yaml:"families" json:"families,omitempty"`
}

// ownKeys are the keys of a header.
var ownKeys = names(fieldsOf(reflect.TypeFor[header]()))

// Load reads a board: a name of one that is shipped with nncc (see List) or an alias
// of it, or the path of a YAML file, known by its suffix .yaml or .yml or by a slash.
func Load(nameOrFile string) (*Spec, error) {
	l := loader{done: map[string]*tree{}}
	if isFile(nameOrFile) {
		return l.spec(filepath.Clean(nameOrFile), false)
	}
	if data, err := defs.ReadFile(defPath(nameOrFile)); err == nil && !isAbstract(nameOrFile, data) {
		return l.spec(nameOrFile, true)
	} else if err == nil {
		return nil, &Error{Msg: "board " + quote(nameOrFile) + " is abstract: it is a parent for boards; " + choice()}
	}
	if n := byAlias(nameOrFile); n != "" {
		return l.spec(n, true)
	}
	return nil, &Error{Msg: "unknown board " + quote(nameOrFile) + instead(nameOrFile) + " " + choice()}
}

// choice is what there is, for messages.
func choice() string { return "boards: " + strings.Join(List(), ", ") + ", or a FILE.yaml" }

// instead is what a message says of a name that is no board's.
func instead(name string) string {
	f := Find(name)
	switch {
	case f.Not != "":
		return ": " + f.Not + ";"
	case len(f.Matches) > 0 && f.Matches[0].class == byName:
		return "; did you mean " + f.Matches[0].Board + "?"
	case len(f.Matches) > 0 && f.Matches[0].class >= byFamily:
		return fmt.Sprintf("; did you mean %s (%s)?", f.Matches[0].Board, f.Matches[0].Why)
	}
	if near := text.Nearest(name, List()); near != "" {
		return "; did you mean " + near + "?"
	}
	return ";"
}

// List names the boards shipped with nncc that are not abstract, sorted.
func List() []string {
	return lists.Map(shipped(), func(h header) string { return h.Name })
}

// shipped are the headers of the boards that are shipped, by name, which is the
// file's.
var shipped = sync.OnceValue(func() []header {
	entries, err := defs.ReadDir("defs")
	bug.If(err != nil, "boards: embedded definitions: %w", err)
	var out []header
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".yaml")
		data, _ := defs.ReadFile(defPath(name))
		t, err := parseTree(defPath(name), data)
		bug.If(err != nil, "boards: %w", err)
		var f faults
		h, _ := split(t, &f)
		if err := f.err(); err != nil {
			panic(bug.Errorf("boards: %w", err))
		}
		if !h.Abstract {
			h.Name = name
			out = append(out, h)
		}
	}
	return out
})

// isAbstract reports a shipped file that is a parent only.
func isAbstract(name string, data []byte) bool {
	t, err := parseTree(defPath(name), data)
	return err == nil && t.m["abstract"] != nil && t.m["abstract"].text == "true"
}

// byAlias is the board with that alias, "" where there is none.
func byAlias(alias string) string {
	for _, h := range shipped() {
		if slices.Contains(h.Aliases, alias) {
			return h.Name
		}
	}
	return ""
}

func defPath(name string) string { return "defs/" + name + ".yaml" }

func isFile(s string) bool {
	return strings.HasSuffix(s, ".yaml") || strings.HasSuffix(s, ".yml") || strings.ContainsAny(s, `/\`)
}

type loader struct {
	stack  []string         // files being resolved, for cycles
	done   map[string]*tree // resolved files, for diamonds
	files  int
	faults faults
}

func (l *loader) spec(ref string, shipped bool) (*Spec, error) {
	t, h, err := l.resolve(ref, shipped, pos{})
	if err != nil {
		l.faults.add(err)
		return nil, l.faults.err()
	}
	file := ref
	if shipped {
		file = defPath(ref)
	}
	if h.Abstract {
		return nil, &Error{File: file, Msg: "the board is abstract: it is a parent for boards"}
	}
	l.unresolved("", t)
	l.incomplete("memory", t.m["memory"])
	if r := t.m["runner"]; r != nil && r.kind == dict {
		l.incomplete("runner.memory", r.m["memory"])
	}
	s := &Spec{Name: h.Name, Doc: h.Doc, Known: h.Known, own: !shipped}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(ref), ".yaml"), ".yml")
	}
	if err := decode(t, reflect.ValueOf(s).Elem(), ""); err != nil {
		l.faults.add(err)
		return nil, l.faults.err()
	}
	s.why = origins(h.known(), "", origins(t, "", nil))
	for _, err := range s.finish() {
		if !l.faults.follows(err.key) {
			l.faults.add(locate(err, t, file))
		}
	}
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// incomplete finds regions of which something is missing that has no default.
func (l *loader) incomplete(key string, regions *tree) {
	if regions == nil || regions.kind != dict {
		return
	}
	var placed []string // that a parent has, or that are complete
	for _, name := range regions.keys {
		if r := regions.m[name]; r.kind == dict && r.m["origin"] != nil {
			placed = append(placed, name)
		}
	}
	for _, name := range regions.keys {
		r := regions.m[name]
		if r.kind != dict {
			continue
		}
		other := ""
		if r.m["origin"] == nil {
			other = near(name, placed)
		}
		for _, k := range []struct{ key, what string }{{"origin", "the address where it begins, such as 0x20000000"},
			{"size", "such as 128K"}, {"holds", "some of " + strings.Join(Content, ", ")}} {
			at := key + "." + name + "." + k.key
			if r.m[k.key] == nil && !slices.Contains(l.faults.without, at) {
				l.faults.drop(at, r.pos.errorf("%s: missing: %s%s", at, k.what, other))
			}
		}
	}
}

// resolve reads a file and lays it over its parents.
func (l *loader) resolve(ref string, shipped bool, from pos) (_ *tree, _ header, err error) {
	defer fail.Catch(&err)
	var h header
	file := ref
	if shipped {
		file = defPath(ref)
	}
	for i, f := range l.stack {
		if f == file {
			return nil, h, from.errorf("inheritance goes round in a circle: %s", strings.Join(append(l.stack[i:], file),
				" -> "))
		}
	}
	if l.files++; l.files > maxFiles {
		return nil, h, from.errorf("more than %d files are inherited", maxFiles)
	}
	data, err := read(file, shipped)
	if err != nil {
		if from.file == "" {
			return nil, h, &Error{File: file, Msg: err.Error()}
		}
		return nil, h, from.errorf("inherits %s: %v", ref, err)
	}
	t, err := parseTree(file, data)
	if err != nil {
		return nil, h, err
	}
	h, body := split(t, &l.faults)
	check(body, reflect.TypeFor[Spec](), "", &l.faults)
	if d, ok := l.done[file]; ok {
		return d, h, nil
	}
	l.stack = append(l.stack, file)
	base := newDict(t.pos)
	for i, p := range h.Inherits {
		at := h.tree.m["inherits"].items[i].pos
		ref, emb := p, !isFile(p)
		if !emb && !filepath.IsAbs(p) && !shipped {
			ref = filepath.Join(filepath.Dir(file), p)
		}
		parent, _, err := l.resolve(ref, emb, at)
		if err != nil {
			return nil, h, err
		}
		base = join(base, parent)
	}
	l.stack = l.stack[:len(l.stack)-1]
	out, err := merge(base, body)
	if err != nil {
		return nil, h, err
	}
	l.done[file] = out
	return out, h, nil
}

// split takes the keys that a file does not pass on from the others.
func split(t *tree, f *faults) (h header, body *tree) {
	head, body := newDict(t.pos), newDict(t.pos)
	for _, k := range t.keys {
		v := t.m[k]
		switch {
		case !slices.Contains(ownKeys, k):
			body.set(k, v)
		case v.kind == null:
			f.drop(k, v.pos.errorf("%s: null", k))
		case k == "inherits" && v.kind == scalar: // one parent needs no brackets
			head.set(k, &tree{kind: list, pos: v.pos, items: []*tree{v}})
		default:
			head.set(k, v)
		}
	}
	h.tree = head
	check(head, reflect.TypeFor[header](), "", f)
	if err := decode(head, reflect.ValueOf(&h).Elem(), ""); err != nil {
		f.add(err)
	}
	return h, body
}

// known is the part of a header that Known has.
func (h *header) known() *tree {
	out := newDict(h.tree.pos)
	for _, k := range names(fieldsOf(reflect.TypeFor[Known]())) {
		if v := h.tree.m[k]; v != nil {
			out.set(k, v)
		}
	}
	return out
}

// parents are all names that a board of one's own may inherit, abstract ones among them.
func parents() []string {
	entries, err := defs.ReadDir("defs")
	bug.If(err != nil, "boards: embedded definitions: %w", err)
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

func read(file string, shipped bool) ([]byte, error) {
	if shipped {
		data, err := defs.ReadFile(file)
		if err != nil {
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			return nil, errors.New("no such board among those shipped" + near(name, parents()) + "; boards: " +
				strings.Join(List(), ", "))
		}
		return data, nil
	}
	data, err := files.Read(file, maxFileBytes)
	return data, files.Reason(err) // the file is named by the caller
}

func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s) + `"`
}
