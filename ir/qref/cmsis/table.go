// SPDX-License-Identifier: Apache-2.0

package cmsis

import (
	_ "embed"
	"encoding/csv"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

//go:embed cmsis.csv
var knowledge string

// rows are the table, in its order. They are set when the program starts: their functions refer to them.
var rows func() []*Row

func init() { rows = sync.OnceValue(load) }

// Rows is the whole table.
func Rows() []*Row { return rows() }

// load reads the table. Terms are known from their row on.
func load() (rows []*Row) {
	r := csv.NewReader(strings.NewReader(knowledge))
	r.Comment = '#'
	x := exprs{}
	for _, l := range bug.Must(r.ReadAll())[1:] {
		if when, value := x.conditions(l[4]), l[5]; l[1] == "term" {
			x[l[2]] = term(when, x.parse(value))
		} else {
			rows = append(rows, x.row(l, when, value))
		}
	}
	return rows
}

// term is a value, or 0 where the conditions do not hold.
func term(when []Term, value expr) expr {
	return func(q *Query) int {
		if !holds(when, q) {
			return 0
		}
		return value(q)
	}
}

func (x exprs) row(l []string, when []Term, value string) *Row {
	row := &Row{ID: l[0], Kind: Kind(slices.Index(kindNames[:], l[1])), Function: l[2], WhenText: l[4], When: when,
		Until: l[6], Says: l[8], Source: l[9]}
	for _, name := range strings.Fields(l[3]) {
		row.Builds |= buildNames[name]
	}
	if row.Value = value; strings.HasPrefix(value, "as_conv(") {
		row.Value, row.AsConv = strings.Trim(value[len("as_conv"):], "()"), true
	}
	if row.Kind == Scratch && value != "routed" {
		row.Bytes = x.parse(value)
	}
	if l[7] != "" {
		row.Worth = x.parse(l[7])
	}
	return row
}

// expr is a value for a query; of a condition 1 where it holds, else 0.
type expr func(q *Query) int

// exprs are the terms by name.
type exprs map[string]expr

// conditions are the terms of a conjunction. Comparisons of numbers keep their
// sides, so that a failing one can say what was found.
func (x exprs) conditions(text string) []Term {
	if text == "" {
		return nil
	}
	source := func(e ast.Expr) string { return text[e.Pos()-1 : e.End()-1] }
	var split func(e ast.Expr) []Term
	split = func(e ast.Expr) []Term {
		b, binary := e.(*ast.BinaryExpr)
		if binary && b.Op == token.LAND {
			return append(split(b.X), split(b.Y)...)
		}
		t := Term{Text: source(e), Is: x.of(e)}
		if binary && b.Op.Precedence() == token.EQL.Precedence() {
			t.Left, t.LeftText, t.Op, t.Right, t.RightText = x.of(b.X), source(b.X), b.Op.String(), x.of(b.Y),
				source(b.Y)
		}
		return []Term{t}
	}
	return split(bug.Must(parser.ParseExpr(text)))
}

func (x exprs) parse(text string) expr { return x.of(bug.Must(parser.ParseExpr(text))) }

func (x exprs) of(e ast.Expr) expr {
	switch e := e.(type) {
	case *ast.BasicLit:
		n := bug.Must(strconv.Atoi(e.Value))
		return func(*Query) int { return n }
	case *ast.ParenExpr:
		return x.of(e.X)
	case *ast.UnaryExpr:
		in := x.of(e.X)
		if e.Op == token.NOT {
			return func(q *Query) int { return 1 - in(q) }
		}
		return func(q *Query) int { return -in(q) }
	case *ast.BinaryExpr:
		return binary(e.Op, x.of(e.X), x.of(e.Y))
	case *ast.SelectorExpr:
		return field(e.X.(*ast.Ident).Name, e.Sel.Name)
	case *ast.CallExpr:
		return x.call(e.Fun.(*ast.Ident).Name, e.Args)
	}
	switch name := e.(*ast.Ident).Name; name {
	case "mve":
		return func(q *Query) int { return number(q.Build == MVE) }
	case "true":
		return func(*Query) int { return 1 }
	default:
		if x[name] != nil {
			return x[name]
		}
		return field(name)
	}
}

func binary(op token.Token, left, right expr) expr {
	switch op { // of which the right side may not be a number where the left one decides
	case token.LAND:
		return func(q *Query) int { return number(left(q) != 0 && right(q) != 0) }
	case token.LOR:
		return func(q *Query) int { return number(left(q) != 0 || right(q) != 0) }
	}
	f := operators[op]
	return func(q *Query) int { return f(left(q), right(q)) }
}

var operators = map[token.Token]func(a, b int) int{
	token.ADD: func(a, b int) int { return a + b }, token.SUB: func(a, b int) int { return a - b },
	token.MUL: func(a, b int) int { return a * b }, token.QUO: func(a, b int) int { return a / b },
	token.REM: func(a, b int) int { return a % b },
	token.EQL: func(a, b int) int { return number(a == b) }, token.NEQ: func(a, b int) int { return number(a != b) },
	token.LSS: func(a, b int) int { return number(a < b) }, token.LEQ: func(a, b int) int { return number(a <= b) },
	token.GTR: func(a, b int) int { return number(a > b) }, token.GEQ: func(a, b int) int { return number(a >= b) },
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// field is a field of a query: has_bias is HasBias, in.c is In.C.
func field(path ...string) expr {
	t, index := reflect.TypeFor[Query](), []int(nil)
	for _, name := range path {
		name = strings.ReplaceAll(name, "_", "")
		f, ok := t.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		bug.If(!ok, "cmsis.csv: a query has no %v", path)
		t, index = f.Type, append(index, f.Index...)
	}
	return func(q *Query) int {
		v := reflect.ValueOf(q).Elem().FieldByIndex(index)
		if v.Kind() == reflect.Bool {
			return number(v.Bool())
		}
		return int(v.Int())
	}
}

// call is a function of numbers, or the size that another function of the library takes.
func (x exprs) call(name string, args []ast.Expr) expr {
	switch name {
	case "size":
		return func(q *Query) int { return Size(args[0].(*ast.Ident).Name, q) }
	case "size_as_conv":
		return func(q *Query) int { return Size(args[0].(*ast.Ident).Name, q.asConv()) }
	}
	f, in := calls[name], lists.Map(args, x.of)
	return func(q *Query) int { return f(lists.Map(in, func(v expr) int { return v(q) })) }
}

var calls = map[string]func(args []int) int{
	"max": slices.Max[[]int],
	"min": slices.Min[[]int],
	"up":  func(v []int) int { return (v[0] + v[1] - 1) / v[1] * v[1] },
	"pick": func(v []int) int {
		if v[0] != 0 {
			return v[1]
		}
		return v[2]
	},
}
