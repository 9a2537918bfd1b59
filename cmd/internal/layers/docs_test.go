// SPDX-License-Identifier: Apache-2.0

package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
)

// codeSpan finds `path/like/this` in Markdown; a name counts as a path of the
// repository when it has a slash and begins with a top-level folder, or is a
// relative path next to the document.
var codeSpan = regexp.MustCompile("`([A-Za-z0-9_.][A-Za-z0-9_./-]*)`")

// pathTables are the headings of table columns whose entries are files and
// folders beside the document, or from the root.
var pathTables = regexp.MustCompile(`^\|\s*(folder|files?|package|script|file or folder)\s*\|`)

// tablePaths are the paths in the first column of such tables of a document:
// every code span of a row, a_*.go being a pattern.
func tablePaths(doc string) []string {
	var out []string
	in := false
	for _, line := range strings.Split(doc, "\n") {
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case pathTables.MatchString(line):
			in = true
		case in:
			first, _, _ := strings.Cut(line[1:], "|")
			for _, m := range tableSpan.FindAllStringSubmatch(first, -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

var tableSpan = regexp.MustCompile("`([^`]+)`")

// namesFile says whether path exists. A file name in capitals (FUNCTION.c,
// NAME.txtar) stands for any file of its folder with that extension.
func namesFile(path string) bool {
	if _, err := os.Stat(path); err == nil {
		return true
	}
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(filepath.Base(path), ext)
	if ext == "" || stem != strings.ToUpper(stem) {
		return false
	}
	like, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+ext))
	return err == nil && len(like) > 0
}

// missingTablePaths are those that exist neither beside the document nor from
// the root.
func missingTablePaths(root, folder, doc string) []string {
	var out []string
	for _, name := range tablePaths(doc) {
		found := false
		for _, base := range []string{folder, root} {
			m, err := filepath.Glob(filepath.Join(base, filepath.FromSlash(strings.TrimSuffix(name, "/"))))
			found = found || err == nil && len(m) > 0
		}
		if !found {
			out = append(out, name)
		}
	}
	return out
}

// TestTablePaths: the check itself finds a row about what is not there.
func TestTablePaths(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"here", "a_1.go"} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, n), nil, 0o666))
	}
	doc := "| folder | what |\n| --- | --- |\n| `here/`, `gone/` | `not looked at` |\n| `a_*.go` | |\n\n| name |\n| " +
		"--- |\n| `other` |\n"
	got := missingTablePaths(t.TempDir(), dir, doc)
	testenv.Check(t, len(got) == 1 && got[0] == "gone/", "missing: %q, want gone/", got)
}

// TestDocsNamePathsThatExist keeps documentation true: a path named in any
// README exists, and so does everything that a table of files or folders lists.
func TestDocsNamePathsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	docs := 0
	err := sources.Walk(root, func(p string) error {
		if !strings.HasSuffix(p, ".md") || strings.Contains(p, "/testdata/") {
			return nil
		}
		docs++
		b, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return err
		}
		for _, name := range missingTablePaths(root, filepath.Join(root, filepath.Dir(p)), string(b)) {
			t.Errorf("%s has a table row for `%s`, which does not exist", p, name)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(b), -1) {
			name := strings.TrimSuffix(m[1], "/")
			first, _, deep := strings.Cut(name, "/")
			if !deep || !slices.Contains(sources.Folders, first) || strings.Contains(name, "...") {
				continue
			}
			testenv.Check(t, namesFile(filepath.Join(root, filepath.FromSlash(name))),
				"%s names `%s`, which does not exist", p, name)
		}
		return nil
	})
	testenv.OK(t, err)
	testenv.Check(t, docs >= 5, "found only %d documents", docs)
}

// TestEveryFolderHasREADME: the folders fixed by the project explain
// themselves.
func TestEveryFolderHasREADME(t *testing.T) {
	for _, d := range append([]string{"."}, sources.Folders...) {
		_, err := os.Stat(filepath.Join("..", "..", "..", d, "README.md"))
		testenv.Check(t, err == nil, "%s has no README.md", d)
	}
}

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
		testenv.Check(t, used[file], "%s: stands in the list and decides nothing by a text", file)
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
		e := testenv.Must(parser.ParseExpr(src))(t)
		testenv.Equal(t, decision(e.(*ast.CallExpr)), want, src)
	}
}

// operatorLists are the lists of three operators and more that stand outside
// ir/op, by folder: how many, and why no trait says the same. The numbers may
// only fall.
var operatorLists = map[string]struct {
	most int
	why  string
}{
	"cmd/nncccost":           {2, "what measured layers draw: operators of one and of two operands"},
	"frontend/onnx/expand":   {2, "ONNX's operators before they are the IR's"},
	"frontend/onnx/exporter": {1, "forms in older versions of ONNX"},
	"frontend/onnx/upgrade":  {3, "what changed between versions of ONNX"},
	"frontend/surgery":       {2, "edits of models that are not in the IR yet"},
	"ir/irtest":              {1, "what random graphs draw"},
	"lower/accel/mla":        {7, "what the accelerator has, by its vendor's guide"},
	"lower/align":            {2, "a rule for each operator: how its axes belong together, what fills them"},
	"lower/kernel/loops":     {3, "rows of kernels that compute several operators"},
	"lower/kernel/reference": {3, "rows of kernels that compute several operators"},
	"lower/kerneltest":       {1, "what random graphs draw more often"},
	"lower/legal":            {3, "operators that keep the order of a feature map; idle movements"},
	"lower/legal4d":          {3, "rewrites by operator on 4-D tensors, cells of recurrent ones; where parts meet"},
	"lower/quant":            {2, "what has integer kernels: arithmetic, normalisations"},
}

// TestOperatorLists: no list of operators (a literal, a case, a call) stands
// outside ir/op without a reason; a trait on the definition says it.
func TestOperatorLists(t *testing.T) {
	root := sharedata.Root()
	found := map[string][]string{}
	err := sources.Walk(root, func(rel string) error {
		if !compiled(rel) || strings.HasPrefix(rel, "ir/op/") || strings.HasSuffix(rel, "_gen.go") {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, rel), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(rel)
		ast.Inspect(f, func(n ast.Node) bool {
			if operators(n) >= 3 {
				found[folder] = append(found[folder], rel+":"+strconv.Itoa(files.Position(n.Pos()).Line))
			}
			return true
		})
		return nil
	})
	testenv.OK(t, err)
	for folder, at := range found {
		switch a := operatorLists[folder]; {
		case len(at) > a.most:
			t.Errorf("%s has %d lists of operators, at most %d are accepted (%s); say it by a trait of ir.OpDef: %s",
				folder, len(at), a.most, a.why, strings.Join(at, ", "))
		case len(at) < a.most:
			t.Errorf("%s has %d lists of operators, %d are accepted: lower the number", folder, len(at), a.most)
		}
	}
	for folder := range operatorLists {
		testenv.Check(t, found[folder] != nil, "%s has no list of operators any more: take it out", folder)
	}
}

// operators counts the operators that a literal, a case or a call lists.
func operators(n ast.Node) int {
	var list []ast.Expr
	switch n := n.(type) {
	case *ast.CompositeLit:
		list = n.Elts
	case *ast.CaseClause:
		list = n.List
	case *ast.CallExpr:
		list = n.Args
	}
	seen := map[string]bool{}
	for _, e := range list {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Key
		}
		name := ""
		switch e := e.(type) {
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok && x.Name == "op" {
				name = e.Sel.Name
			}
		case *ast.BasicLit:
			name, _ = strconv.Unquote(e.Value)
		}
		name = strings.TrimPrefix(name, "nncc.")
		if op.Get("", name) != nil || op.Get("nncc", name) != nil {
			seen[name] = true
		}
	}
	return len(seen)
}
