// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
)

//go:embed defs/*.yaml
var defs embed.FS

// header holds the keys that belong to one file and are not inherited.
type header struct {
	Inherits []string `yaml:"inherits"`
	Abstract bool     `yaml:"abstract"`
	Name     string   `yaml:"name"`
	Doc      string   `yaml:"doc"`
}

var ownKeys = []string{"inherits", "abstract", "name", "doc"}

// Load reads a board: a name of one that is shipped with nncc (see List), or
// the path of a YAML file, known by its suffix .yaml or .yml or by a slash.
func Load(nameOrFile string) (*Spec, error) {
	l := loader{done: map[string]*tree{}}
	if isFile(nameOrFile) {
		return l.spec(filepath.Clean(nameOrFile), false)
	}
	all := List()
	for _, n := range all {
		if n == nameOrFile {
			return l.spec(n, true)
		}
	}
	msg := "unknown board " + quote(nameOrFile)
	if _, err := defs.ReadFile(defPath(nameOrFile)); err == nil {
		msg = "board " + quote(nameOrFile) + " is abstract: it is a parent for boards;"
	} else if near := text.Nearest(nameOrFile, all); near != "" {
		msg += "; did you mean " + near + "?"
	} else {
		msg += ";"
	}
	return nil, &Error{Msg: msg + " boards: " + strings.Join(all, ", ") + ", or a FILE.yaml"}
}

// List names the boards shipped with nncc that are not abstract, sorted.
func List() []string {
	entries, err := defs.ReadDir("defs")
	if err != nil {
		panic(bug.Errorf("boards: embedded definitions: %w", err))
	}
	var out []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".yaml")
		data, _ := defs.ReadFile(defPath(name))
		t, err := parseTree(defPath(name), data)
		if err != nil {
			panic(bug.Errorf("boards: %w", err))
		}
		if a := t.m["abstract"]; a == nil || a.text != "true" {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

func defPath(name string) string { return "defs/" + name + ".yaml" }

func isFile(s string) bool {
	return strings.HasSuffix(s, ".yaml") || strings.HasSuffix(s, ".yml") || strings.ContainsAny(s, `/\`)
}

type loader struct {
	stack []string         // files being resolved, for cycles
	done  map[string]*tree // resolved files, for diamonds
	files int
}

func (l *loader) spec(ref string, shipped bool) (*Spec, error) {
	t, h, err := l.resolve(ref, shipped, pos{})
	if err != nil {
		return nil, err
	}
	file := ref
	if shipped {
		file = defPath(ref)
	}
	if h.Abstract {
		return nil, &Error{File: file, Msg: "the board is abstract: it is a parent for boards"}
	}
	if err := unresolved("", t); err != nil {
		return nil, err
	}
	s := &Spec{Name: h.Name, Doc: h.Doc, own: !shipped}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(ref), ".yaml"), ".yml")
	}
	if err := decode(t, reflect.ValueOf(s).Elem(), ""); err != nil {
		return nil, err
	}
	s.why = origins(t, "", nil)
	if err := s.finish(); err != nil {
		return nil, locate(err, t, file)
	}
	return s, nil
}

// resolve reads a file and lays it over its parents.
func (l *loader) resolve(ref string, shipped bool, from pos) (*tree, header, error) {
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
	head, body := newDict(t.pos), newDict(t.pos)
	for _, k := range t.keys {
		if own(k) {
			v := t.m[k]
			if k == "inherits" && v.kind == scalar { // one parent needs no brackets
				v = &tree{kind: list, pos: v.pos, items: []*tree{v}}
			}
			head.set(k, v)
		} else {
			body.set(k, t.m[k])
		}
	}
	if err := check(head, reflect.TypeFor[header](), ""); err != nil {
		return nil, h, err
	}
	for _, k := range head.keys {
		if head.m[k].kind == null {
			return nil, h, head.m[k].pos.errorf("%s: null", k)
		}
	}
	if err := decode(head, reflect.ValueOf(&h).Elem(), ""); err != nil {
		return nil, h, err
	}
	if err := check(body, reflect.TypeFor[Spec](), ""); err != nil {
		return nil, h, err
	}
	if d, ok := l.done[file]; ok {
		return d, h, nil
	}
	l.stack = append(l.stack, file)
	base := newDict(t.pos)
	for i, p := range h.Inherits {
		at := head.m["inherits"].items[i].pos
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

func own(key string) bool {
	for _, k := range ownKeys {
		if k == key {
			return true
		}
	}
	return false
}

func read(file string, shipped bool) ([]byte, error) {
	if shipped {
		data, err := defs.ReadFile(file)
		if err != nil {
			return nil, errors.New("no such board among those shipped; boards: " + strings.Join(List(), ", "))
		}
		return data, nil
	}
	data, err := files.Read(file, maxFileBytes)
	// The file is named by the caller.
	var (
		path *fs.PathError
		kind *files.KindError
		size *files.SizeError
	)
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &kind):
		err = fmt.Errorf("not %s: it is %s", kind.Want, files.Kind(kind.Mode))
	case errors.As(err, &size):
		err = fmt.Errorf("the file has %d bytes; a board definition has at most %d", size.Size, maxFileBytes)
	}
	return data, err
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
