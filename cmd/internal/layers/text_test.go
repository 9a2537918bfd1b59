// SPDX-License-Identifier: Apache-2.0

package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// byText are the places that may look into a text, and why. What an error is
// about is told by its type or code, whose kernel it is by its library.
var byText = map[string]string{
	"frontend/files/read.go":      "a YAML parser's message is shown without the parser's name",
	"lower/kernel/element.go":     "names of C functions, told from identifiers of the language",
	"lower/kernel/loops/fn.go":    "identifiers of C sources",
	"lower/kernel/loops/fused.go": "identifiers of C sources",
}

// textual are the functions that look into a text.
var textual = []string{"Contains", "HasPrefix", "HasSuffix", "Index", "TrimPrefix", "CutPrefix", "CutSuffix",
	"EqualFold"}

// decision reports an expression that looks into the text of an error or the
// name of a kernel.
func decision(e *ast.CallExpr) bool {
	f, ok := e.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(textual, f.Sel.Name) {
		return false
	}
	if x, ok := f.X.(*ast.Ident); !ok || x.Name != "strings" && x.Name != "bytes" {
		return false
	}
	found := false
	for _, a := range e.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr: // err.Error()
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" && len(n.Args) == 0 {
					found = true
				}
			case *ast.SelectorExpr:
				found = found || slices.Contains([]string{"Msg", "Kernel", "Route", "Hint"}, n.Sel.Name)
			case *ast.BasicLit:
				s, err := strconv.Unquote(n.Value)
				for _, p := range []string{"arm_", "nncc_", "loops_", "BUG"} {
					found = found || n.Kind == token.STRING && err == nil && strings.HasPrefix(s, p)
				}
			}
			return true
		})
	}
	return found
}

// TestNoDecisionByText: outside of byText nothing is decided by the text of an
// error or the beginning of a kernel's name.
func TestNoDecisionByText(t *testing.T) {
	root, used := sharedata.Root(), map[string]bool{}
	err := sources.Walk(root, func(rel string) error {
		if !compiled(rel) || strings.HasPrefix(rel, "cmd/internal/conform/") ||
			strings.HasPrefix(rel, "cmd/nncccost/") {
			return nil // the last two are programs that measure; they read their own files
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(root, rel), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if b, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(b.Value, `"BUG: `) && rel != "ir/bug/bug.go" {
				t.Errorf("%s:%d: a fault without its type; make it with ir/bug", rel, fset.Position(b.Pos()).Line)
			}
			if c, ok := n.(*ast.CallExpr); ok && decision(c) {
				used[rel] = true
				if byText[rel] == "" {
					t.Errorf("%s:%d: decides by a text; ask a type, a code or the kernel's library", rel,
						fset.Position(c.Pos()).Line)
				}
			}
			return true
		})
		return nil
	})
	testenv.OK(t, err)
	for file := range byText {
		if !used[file] {
			t.Errorf("%s: stands in the list and decides nothing by a text", file)
		}
	}
}

// TestDecision: what the search finds, and what not.
func TestDecision(t *testing.T) {
	for src, want := range map[string]bool{
		`strings.Contains(err.Error(), "x")`: true,
		`strings.HasPrefix(d.Msg, "x")`:      true,
		`strings.HasPrefix(name, "arm_")`:    true,
		`strings.HasSuffix(l.Kernel, "_s8")`: true,
		`strings.HasPrefix(s, "BUG: ")`:      true,
		`strings.HasSuffix(file, ".npz")`:    false,
		`slices.Contains(names, l.Kernel)`:   false,
		`strings.Join(lines, err.Error())`:   false,
	} {
		e, err := parser.ParseExpr(src)
		testenv.OK(t, err)
		if got := decision(e.(*ast.CallExpr)); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}
