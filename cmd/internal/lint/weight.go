// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// apart is what files have in their paths that count for themselves, in whatever folder.
const apart = "ethosu"

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

func weigh(root string) (map[key]int, error) {
	have := map[key]int{}
	var code [][]line
	err := walk(root, func(file string, text []byte) error {
		rule := ruleOf(file)
		if rule == "" || rule != testLines && isGenerated(text) {
			return nil
		}
		top, _, below := strings.Cut(file, "/")
		switch {
		case strings.Contains(file, apart):
			top = apart
		case !below:
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

// ruleOf says as what a file counts. Data of tests and what a build packs count for nothing; in runtime_c all else is
// what kernels are written in.
func ruleOf(file string) string {
	base, ext := path.Base(file), path.Ext(file)
	switch {
	case strings.HasSuffix(file, "_test.go"):
		return testLines
	case ext == ".go":
		return goLines
	case file == "runtime_c/kernels.csv":
		return kernelRows
	case strings.Contains(file, "/testdata/") || base == "CHANGELOG.md" || ext == ".gz" || ext == ".zip":
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

// line is the words and signs of a line of code, with 0 for strings and numbers.
type line []string

// place is a line of one of the sources, repeat the first lines of two places that share six or more.
type (
	place  struct{ file, at int }
	repeat struct{ a, b place }
)

const (
	shared = 6 // lines that make a pair
	common = 8 // what stands in more places is idiom
)

// repeats counts the pairs of places of the sources with six or more lines in a row that are equal but for names,
// strings and numbers. A name stands for the same name throughout.
func repeats(code [][]line) int {
	places := map[uint64][]place{}
	for i, lines := range code {
		for at := 0; at+shared <= len(lines); at++ {
			h := shape(lines[at : at+shared])
			places[h] = append(places[h], place{i, at})
		}
	}
	same := map[repeat]bool{}
	for _, list := range places {
		if len(list) > common {
			continue
		}
		for i, a := range list {
			for _, b := range list[i+1:] {
				if a.file != b.file || b.at-a.at >= shared {
					same[repeat{a, b}] = true
				}
			}
		}
	}
	starts := 0
	for r := range same {
		if !same[repeat{place{r.a.file, r.a.at - 1}, place{r.b.file, r.b.at - 1}}] {
			starts++
		}
	}
	return starts
}

// shape hashes lines with their names numbered as they come.
func shape(lines []line) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	numbers := map[string]int{}
	for _, l := range lines {
		for _, w := range l {
			if isName(w) && !token.IsKeyword(w) && !cKeywords[w] {
				n, ok := numbers[w]
				if !ok {
					n = len(numbers)
					numbers[w] = n
				}
				w = "name " + strconv.Itoa(n)
			}
			h.WriteString(w)
			h.WriteByte(' ')
		}
		h.WriteByte('\n')
	}
	return h.Sum64()
}

func isName(w string) bool { return w[0] == '_' || w[0]|' ' >= 'a' && w[0]|' ' <= 'z' }

var (
	seed      = maphash.MakeSeed()
	cKeywords = map[string]bool{"while": true, "do": true, "static": true, "void": true, "int": true, "float": true,
		"double": true, "char": true, "sizeof": true, "asm": true, "__asm": true}
	// part is a comment, a string, a word or number, or a sign.
	part = regexp.MustCompile("//.*|/\\*.*?\\*/|`[^`]*`|\"(\\\\.|[^\"\\\\])*\"|'(\\\\.|[^'\\\\])*'|\\w+|[^\\w\\s]")
	// idle are lines that repeat by their nature: what they import, and middles of comments.
	idle = regexp.MustCompile(`^\s*(/\*|\* |package |import |#include)`)
)

// significant are the lines of a text that have words beside comments and values.
func significant(text []byte) (out []line) {
	for s := range strings.Lines(string(text)) {
		if idle.MatchString(s) {
			continue
		}
		var l line
		named := false
		for _, w := range part.FindAllString(s, -1) {
			switch c := w[0]; {
			case c == '/' && len(w) > 1:
				continue
			case strings.IndexByte("`\"'0123456789", c) >= 0:
				w = "0"
			default:
				named = named || isName(w)
			}
			l = append(l, w)
		}
		if named {
			out = append(out, l)
		}
	}
	return out
}
