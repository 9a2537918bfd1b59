// SPDX-License-Identifier: Apache-2.0

package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"
	"github.com/nncc/nncc/ir/op"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

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
	"lower/align":            {3, "a rule for each operator: how its axes belong together, what fills them"},
	"lower/kernel/loops":     {2, "rows of kernels that compute several operators"},
	"lower/kernel/reference": {4, "rows of kernels that compute several operators"},
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
		if found[folder] == nil {
			t.Errorf("%s has no list of operators any more: take it out", folder)
		}
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
