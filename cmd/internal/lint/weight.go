// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

// What is counted, the rules of the ceilings' table. All but the first three are of the whole tree.
const (
	goLines    = "lines of Go"
	testLines  = "lines of tests"
	cLines     = "lines of C"
	kernelRows = "rows of kernels.csv"
	pairs      = "pairs of places that share six lines"
	branchy    = "functions above 15 branches"
	words      = "words of Markdown"
	subjects   = "subjects above 72 characters"
)

const ceilingsFile = "cmd/internal/lint/ceilings.csv"

// allowed is the folder of the row that says by how much all folders together may be above their ceilings.
const allowed = "(allowance)"

// firstCommit is the commit after which subjects are held to 72 characters.
const firstCommit = "d8496321"

// checkWeight holds the figures of the tree against ceilings.csv. With update it writes lower ceilings.
func checkWeight(root string, update bool, out io.Writer) (err error) {
	defer fail.Catch(&err)
	have := fail.Must(weigh(root))
	file := filepath.Join(root, ceilingsFile)
	b := fail.Must(os.ReadFile(file))
	most, err := readBaseline(b)
	if err != nil {
		return fmt.Errorf("%s: %w", ceilingsFile, err)
	}
	failed, lower := compare(have, most, out)
	if update && lower > 0 {
		err = os.WriteFile(file, writeBaseline(most), 0o666)
	}
	if len(failed) > 0 {
		err = fmt.Errorf("above the ceiling: %s; make it smaller, or raise rows of %s by hand and say why in the "+
			"commit (code that moved: lower the row it left by as much)", strings.Join(failed, ", "), ceilingsFile)
	}
	return err
}

// compare tells what is above and below its ceiling. It returns the rules whose excess over all folders is above
// their allowance, and how many ceilings can be lower, which it lowers in most.
func compare(have, most map[key]int, out io.Writer) (failed []string, lower int) {
	over := map[string]int{}
	for _, k := range slices.SortedFunc(maps.Keys(have), byName) {
		n := have[k] - most[k]
		if n > 0 {
			over[k.rule] += n
			fmt.Fprintf(out, "%s, %s: %d, %d above the ceiling\n", k.folder, k.rule, have[k], n)
		} else if n < 0 {
			lower++
			most[k] = have[k]
			fmt.Fprintf(out, "%s, %s: %d, %d below the ceiling; go run ./cmd/internal/lint -update lowers it\n",
				k.folder, k.rule, have[k], -n)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(over)) {
		may := most[key{rule, allowed}]
		fmt.Fprintf(out, "%s: %d above their ceilings together, %d are allowed\n", rule, over[rule], may)
		if over[rule] > may {
			failed = append(failed, rule)
		}
	}
	return failed, lower
}

// weigh counts the files below root. Folders are the top ones.
func weigh(root string) (map[key]int, error) {
	have := map[key]int{}
	var code [][]line
	err := walk(root, func(file string, text []byte) error {
		rule := ruleOf(file)
		if rule == "" || rule != testLines && isGenerated(text) {
			return nil
		}
		top, _, below := strings.Cut(file, "/")
		if !below {
			top = "."
		}
		lines := bytes.Count(text, []byte("\n"))
		switch rule {
		case words:
			have[key{rule, "."}] += len(bytes.Fields(text))
			return nil
		case kernelRows:
			have[key{rule, "."}] = lines - 1
			return nil
		case goLines:
			n, err := above15(file, text)
			if have[key{branchy, "."}] += n; err != nil {
				return err
			}
		}
		have[key{rule, top}] += lines
		code = append(code, significant(text))
		return nil
	})
	have[key{pairs, "."}] = repeats(code)
	if n, ok := longSubjects(root); ok {
		have[key{subjects, "."}] = n
	}
	return have, err
}

// ruleOf says as what a file counts. Data of tests counts for nothing; in runtime_c all else is what kernels are
// written in.
func ruleOf(file string) string {
	base, ext := path.Base(file), path.Ext(file)
	switch {
	case strings.HasSuffix(file, "_test.go"):
		return testLines
	case ext == ".go":
		return goLines
	case file == "runtime_c/kernels.csv":
		return kernelRows
	case strings.Contains(file, "/testdata/") || base == "CHANGELOG.md":
		return ""
	case ext == ".md":
		return words
	case strings.HasPrefix(file, "runtime_c/") || slices.Contains([]string{".c", ".h", ".S", ".tmpl"}, ext):
		return cLines
	}
	return ""
}

// isGenerated reports a file that says so in its first five lines.
func isGenerated(text []byte) bool {
	lines := bytes.SplitAfterN(text, []byte("\n"), 6)
	return bytes.Contains(bytes.Join(lines[:min(len(lines), 5)], nil), []byte("Code generated"))
}

// above15 counts the functions of a Go file with more than 15 branches: one, and one for each if, for, case and
// logical operator.
func above15(name string, text []byte) (int, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	many := 0
	for _, d := range file.Decls {
		n := 1
		ast.Inspect(d, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
				n++
			case *ast.CaseClause:
				n += min(len(x.List), 1)
			case *ast.CommClause:
				if x.Comm != nil {
					n++
				}
			case *ast.BinaryExpr:
				if x.Op == token.LAND || x.Op == token.LOR {
					n++
				}
			}
			return true
		})
		if _, ok := d.(*ast.FuncDecl); ok && n > 15 {
			many++
		}
	}
	return many, nil
}

// longSubjects counts the commits since firstCommit whose subject is too long; false where there is no such history.
func longSubjects(root string) (int, bool) {
	log, err := exec.Command("git", "-C", root, "log", "--no-merges", "--format=%s", firstCommit+"..HEAD").Output()
	n := 0
	for line := range strings.Lines(string(log)) {
		if len([]rune(strings.TrimSpace(line))) > 72 {
			n++
		}
	}
	return n, err == nil
}
