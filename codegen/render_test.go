// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"slices"
	"testing"
	"text/template"
	"text/template/parse"

	"github.com/go-task/slim-sprig/v3"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestFunctions: templates print; the functions they use are text functions of
// the allow-list (numbers are made in Go, where a wrong type is an error), and
// comparisons on the values of a view.
func TestFunctions(t *testing.T) {
	used := map[string]bool{}
	all := sprig.HermeticTxtFuncMap()
	have := funcs()
	testenv.Check(t, len(have) == len(allowed)+len(own), "%d functions, want %d", len(have), len(allowed)+len(own))
	for _, n := range allowed {
		testenv.Check(t, have[n] != nil && all[n] != nil, "sprig has no %s", n)
	}
	ok := append(slices.Clone(allowed), "eq", "ne", "not", "and", "or", "xml", "word", "md")
	for _, tm := range templates.Templates() {
		if tm.Tree == nil {
			continue
		}
		eachNode(tm.Tree.Root, func(n parse.Node) {
			if f, is := n.(*parse.IdentifierNode); is {
				used[f.Ident] = true
				testenv.Check(t, slices.Contains(ok, f.Ident), "%s uses %s", tm.Name(), f.Ident)
			}
		})
	}
	for n := range have {
		testenv.Check(t, used[n], "no template uses %s", n)
	}
	testenv.Check(t, testenv.Err(template.New("").Funcs(funcs()).Parse(`{{add 1 2}}`)) != nil,
		"a function outside the list is known")
}

// eachNode visits a template's tree.
func eachNode(n parse.Node, f func(parse.Node)) {
	f(n)
	list := func(l *parse.ListNode) {
		if l != nil {
			for _, x := range l.Nodes {
				eachNode(x, f)
			}
		}
	}
	pipe := func(p *parse.PipeNode) {
		if p != nil {
			eachNode(p, f)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		list(n)
	case *parse.ActionNode:
		pipe(n.Pipe)
	case *parse.IfNode:
		pipe(n.Pipe)
		list(n.List)
		list(n.ElseList)
	case *parse.RangeNode:
		pipe(n.Pipe)
		list(n.List)
		list(n.ElseList)
	case *parse.WithNode:
		pipe(n.Pipe)
		list(n.List)
		list(n.ElseList)
	case *parse.TemplateNode:
		pipe(n.Pipe)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			eachNode(c, f)
		}
	case *parse.CommandNode:
		for _, a := range n.Args {
			eachNode(a, f)
		}
	}
}

// TestMissingKey: a view without a field that a template prints is an error,
// not an empty text.
func TestMissingKey(t *testing.T) {
	testenv.Check(t, testenv.Err(render("model.h.tmpl", map[string]any{"Prefix": "x"})) != nil, "no error")
}

func TestTidy(t *testing.T) {
	testenv.Equal(t, string(tidy([]byte("\n\na  \n\n\n\nb\t\n\n"))), "a\n\nb\n")
}
