// SPDX-License-Identifier: Apache-2.0

// Command users lists the tests of this repository that use the data beside it
// (package sharedata), or with -long those that have a long form, with -slow
// those that make test leaves out (package testenv), one line a test: folder and
// name. It reads the sources: a test uses a function if it names one that does,
// directly or over others, in its package or another one.
//
//	users [-long | -slow] [ROOT]
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/irtest/sources"
	"github.com/nncc/nncc/ir/lists"
)

func main() {
	root, of := ".", data
	for _, arg := range os.Args[1:] {
		switch arg {
		case "-long":
			of = long
		case "-slow":
			of = slow
		default:
			root = arg
		}
	}
	tests, err := Users(root, of)
	if err != nil {
		fmt.Fprintln(os.Stderr, "users:", err)
		os.Exit(1)
	}
	for _, t := range tests {
		fmt.Println(t.dir, t.name)
	}
}

// A name is one of a package's declarations; methods have that of the method
// alone. Packages of tests (x_test) count to their folder.
type name struct{ dir, name string }

const module = "github.com/nncc/nncc"

// used are functions of a folder.
type used struct {
	dir   string
	names []string
}

var (
	data = used{"ir/irtest/sharedata", []string{"Dir", "Find", "Glob", "Need"}} // give paths of data
	slow = used{"ir/irtest/testenv", []string{"Slow"}}
	long = used{"ir/irtest/testenv", []string{"Slow", "Long"}}
)

// Users finds the tests below root that use one of the functions, sorted.
func Users(root string, of used) ([]name, error) {
	uses := map[name]map[name]bool{} // what a declaration names
	err := sources.Walk(root, func(rel string) error {
		if path.Ext(rel) != ".go" || strings.Contains(rel, "/testdata/") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, rel), nil, parser.SkipObjectResolution)
		if err == nil {
			read(file, path.Dir(rel), uses)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	users := map[name]bool{}
	for grown := true; grown; {
		grown = false
		for n, named := range uses {
			if users[n] || n.dir == of.dir {
				continue
			}
			for u := range named {
				if u.dir == of.dir && slices.Contains(of.names, u.name) || users[u] {
					users[n], grown = true, true
					break
				}
			}
		}
	}
	var out []name
	for n := range users {
		if strings.HasPrefix(n.name, "Test") || strings.HasPrefix(n.name, "Fuzz") {
			out = append(out, name{"./" + n.dir, n.name})
		}
	}
	slices.SortFunc(out, func(a, b name) int {
		return strings.Compare(a.dir+" "+a.name, b.dir+" "+b.name)
	})
	return out, nil
}

// read notes what the declarations of a file name.
func read(file *ast.File, dir string, uses map[name]map[name]bool) {
	imports := map[string]string{} // local name -> folder
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil || !strings.HasPrefix(p, module+"/") {
			continue
		}
		p = strings.TrimPrefix(p, module+"/")
		local := path.Base(p)
		if i.Name != nil {
			local = i.Name.Name
		}
		imports[local] = p
	}
	note := func(owners []string, body ast.Node) {
		ast.Inspect(body, func(n ast.Node) bool {
			var to name
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
					to = name{imports[x.Name], n.Sel.Name}
					break
				}
				to = name{dir, n.Sel.Name}
			case *ast.Ident:
				to = name{dir, n.Name}
			default:
				return true
			}
			for _, o := range owners {
				from := name{dir, o}
				if uses[from] == nil {
					uses[from] = map[name]bool{}
				}
				uses[from][to] = true
			}
			_, selector := n.(*ast.SelectorExpr)
			return !selector || to.dir == dir
		})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				note([]string{d.Name.Name}, d.Body)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					owners := lists.Map(v.Names, func(id *ast.Ident) string { return id.Name })
					note(owners, v)
				}
			}
		}
	}
}
