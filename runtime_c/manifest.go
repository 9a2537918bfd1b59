// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/runtime_c/ctext"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// manifest is the table of kernels, a row each or, with axes (axes.go), for several.
const manifest = "kernels.csv"

// Kernel is one function that emitted code calls: a row of the manifest, or one that a row with axes stands for.
type Kernel struct {
	Function string
	// Group is the line KERNELS(group) of a header that becomes the prototype: by
	// default that of the function's own name.
	Group string
	// Body is the source that several kernels are made of, src/FAMILY/BODY.c.tmpl;
	// without one the kernel has a file of its own, src/FAMILY/FUNCTION.c.
	Body string
	With map[string]string // what Body's holes hold
	// Cost is how the kernel is called in the tables of measured costs (lower/cost);
	// "": by its own name.
	Cost string
	// Instructions says whether data decides which are executed.
	Instructions Instructions
	Doc          string // in front of a source without a comment of its own, and beside the prototype
}

// Kernels are those of the rows of the manifest, in their order.
var Kernels = sync.OnceValue(func() []Kernel {
	rows, err := readManifest(sources)
	bug.If(err != nil, "runtime_c: %w", err)
	return rows
})

// costs are the names of measured kernels in the cost tables, by function.
var costs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, k := range Kernels() {
		if k.Cost != "" {
			out[k.Function] = k.Cost
		}
	}
	return out
})

// CostName is how the tables of measured costs call a kernel: kernels that
// differ in what the shape says anyhow (unrolled so often) have one name. A
// kernel without an entry in the manifest's column goes by its own name.
func CostName(function string) string {
	if n, ok := costs()[function]; ok {
		return n
	}
	return function
}

// columns are those of the manifest.
var columns = []string{"function", "group", "body", "with", "cost", "instructions", "doc"}

// readManifest reads the manifest; a tree without one has no rows.
func readManifest(fsys fs.FS) ([]Kernel, error) {
	data, err := fs.ReadFile(fsys, manifest)
	if err != nil {
		return nil, nil
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], columns) {
		return nil, fmt.Errorf("%s: want the columns %s", manifest, strings.Join(columns, ","))
	}
	var out []Kernel
	for _, axes := range rows[1:] {
		rows, err := expandRow(axes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", manifest, err)
		}
		for _, row := range rows {
			k, err := readKernel(row)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", manifest, row[0], err)
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// readKernel reads a row without axes.
func readKernel(row []string) (k Kernel, err error) {
	k = Kernel{Function: row[0], Group: row[1], Body: row[2], Cost: row[4], Doc: row[6], With: map[string]string{}}
	if k.Group == "" {
		k.Group = k.Function
	}
	for _, pair := range strings.Split(row[3], "; ") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			k.With[name] = value
		} else if pair != "" {
			return k, fmt.Errorf("with %q: want name=value", pair)
		}
	}
	k.Instructions, err = parseInstructions(row[5])
	return k, err
}

// expand reads include/FAMILY and src/FAMILY of a tree and applies its manifest.
func expand(fsys fs.FS) (_ map[string][]byte, err error) {
	defer fail.Catch(&err)
	tree := map[string][]byte{}
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Count(p, "/") != 2 {
			return err
		}
		text, err := fs.ReadFile(fsys, p)
		tree[p] = spdx.Strip(text) // what it is made into gets the line when it is written
		return err
	})
	if err != nil {
		return nil, err
	}
	kernels := fail.Must(readManifest(fsys))
	instantiate(tree, kernels)
	for p, text := range tree {
		if strings.HasSuffix(p, ".h") {
			tree[p] = guarded(path.Base(p), text)
		}
	}
	declare(tree, kernels)
	head(tree, kernels)
	for p, text := range tree {
		tree[p] = ctext.Fold(text) // names that holes make longer
	}
	return tree, nil
}

// guarded is a header that may be included twice, by a macro with its name; the prototypes of kernels
// are those of C for C++, too. A header that has the macro stays as it is.
func guarded(name string, text []byte) []byte {
	macro := strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
	if bytes.Contains(text, []byte("#ifndef "+macro+"\n")) {
		return text
	}
	first, rest := 0, text
	if bytes.HasPrefix(text, []byte("/*")) {
		first = bytes.Index(text, []byte("*/\n")) + len("*/\n")
		rest = bytes.TrimLeft(text[first:], "\n")
	}
	open, closed := "", ""
	if bytes.Contains(rest, []byte("/* KERNELS(")) {
		includes := includeLines.Find(rest)
		open = string(includes) + "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
		closed = "\n#ifdef __cplusplus\n}\n#endif\n"
		rest = rest[len(includes):]
	}
	return fmt.Appendf(nil, "%s#ifndef %s\n#define %[2]s\n\n%s%s%s\n#endif /* %[2]s */\n", text[:first], macro,
		open, rest, closed)
}

// includeLines are those that a text begins with.
var includeLines = regexp.MustCompile(`^(#include .*\n|\n)*`)

// head puts what a kernel is in front of sources that do not say it themselves.
func head(tree map[string][]byte, kernels []Kernel) {
	files := sourceOf(tree)
	for _, k := range kernels {
		if p := files[k.Function]; p != "" && !bytes.HasPrefix(tree[p], []byte("/*")) {
			tree[p] = fmt.Appendf(nil, "%s%s", comment(k.Function+": "+k.Doc+"."), tree[p])
		}
	}
}

// comment is a text in lines that are not too long.
func comment(text string) string {
	if len(text)+6 <= width {
		return "/* " + text + " */\n"
	}
	var b strings.Builder
	b.WriteString("/*")
	column := width
	for _, word := range strings.Fields(text) {
		if column+1+len(word) > width {
			b.WriteString("\n *")
			column = 2
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	}
	b.WriteString("\n */\n")
	return b.String()
}

// sourceOf gives the source by the name of its function.
func sourceOf(tree map[string][]byte) map[string]string {
	out := map[string]string{}
	for p := range tree {
		if strings.HasSuffix(p, ".c") {
			out[strings.TrimSuffix(path.Base(p), ".c")] = p
		}
	}
	return out
}

// bodyExt ends the names of sources with holes, partExt those of parts that
// bodies of any family include: {{template "PART" .}}, headExt those of headers
// with loops.
const (
	bodyExt = ".c.tmpl"
	partExt = ".part.tmpl"
	headExt = ".h.tmpl"
)

// holes are the functions that holes can call. Loops are {{range span 0 (int .count)}}.
var holes = template.FuncMap{"upper": strings.ToUpper, "int": strconv.Atoi,
	"add": func(a, b int) int { return a + b }, "mul": func(a, b int) int { return a * b },
	"mod": func(a, b int) int { return a % b }, "span": span, "words": strings.Fields}

// span gives the numbers from the first one to below the last one.
func span(first, last int) []int {
	var out []int
	for i := first; i < last; i++ {
		out = append(out, i)
	}
	return out
}

// takeTemplates moves the bodies and parts out of a tree into one set of
// templates: bodies by the names of their files, which a part may share, and
// parts by theirs without the ending. folder is that of each.
func takeTemplates(tree map[string][]byte) (set *template.Template, folder map[string]string, err error) {
	set = template.New("").Funcs(holes).Option("missingkey=error")
	folder = map[string]string{}
	for p, text := range tree {
		name, isPart := strings.CutSuffix(path.Base(p), partExt)
		if !isPart && !strings.HasSuffix(p, bodyExt) && !strings.HasSuffix(p, headExt) {
			continue
		}
		if folder[name] != "" {
			return nil, nil, fmt.Errorf("two templates are called %s: %s and %s", name, folder[name], path.Dir(p))
		}
		if _, err := set.New(name).Parse(string(text)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p, err)
		}
		folder[name] = path.Dir(p)
		delete(tree, p)
	}
	return set, folder, nil
}

// instantiate replaces bodies by the sources that kernels make of them. Holes
// are {{.function}}, {{.doc}} and what the column "with" holds.
func instantiate(tree map[string][]byte, kernels []Kernel) {
	bodies, folder := fail.Must2(takeTemplates(tree))
	for name, dir := range folder {
		if !strings.HasSuffix(name, headExt) {
			continue
		}
		var b bytes.Buffer
		if err := bodies.ExecuteTemplate(&b, name, nil); err != nil {
			fail.Errorf("%s: %w", name, err)
		}
		tree[path.Join(dir, strings.TrimSuffix(name, ".tmpl"))] = b.Bytes()
	}
	for _, k := range kernels {
		if k.Body == "" {
			continue
		}
		t := bodies.Lookup(k.Body + bodyExt)
		if t == nil {
			fail.Errorf("%s: %s: there is no body %s%s", manifest, k.Function, k.Body, bodyExt)
		}
		hold := maps.Clone(k.With)
		hold["function"], hold["doc"] = k.Function, k.Doc
		var b bytes.Buffer
		if err := t.Execute(&b, hold); err != nil {
			fail.Errorf("%s: %s: %w", manifest, k.Function, err)
		}
		p := path.Join(folder[k.Body+bodyExt], k.Function+".c")
		if tree[p] != nil {
			fail.Errorf("%s: %s has a body and a source of its own", manifest, k.Function)
		}
		tree[p] = withHead(b.Bytes(), k.Function)
	}
}

// withHead is a source with the head of its function in lines that are not too long.
func withHead(text []byte, function string) []byte {
	at := bytes.Index(text, []byte(" "+function+"("))
	if at < 0 {
		return text
	}
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	end := at + bytes.IndexByte(text[at:], ')') + 1
	if !bytes.HasPrefix(text[end:], []byte("\n{")) {
		return text
	}
	head := strings.ReplaceAll(strings.Join(strings.Fields(string(text[start:end])), " "), "( ", "(")
	lines, _ := parameterLines(head)
	return slices.Concat(text[:start], []byte(lines), text[end:])
}

// kernelsGroup is the group of a line KERNELS(group), "" of another line.
func kernelsGroup(line []byte) string {
	group, ok := bytes.CutPrefix(line, []byte("/* KERNELS("))
	if group, closed := bytes.CutSuffix(group, []byte(") */\n")); ok && closed {
		return string(group)
	}
	return ""
}

// declare replaces the lines KERNELS(group) of headers by the prototypes of the
// group's kernels, which are read from their definitions.
func declare(tree map[string][]byte, kernels []Kernel) {
	files, made := sourceOf(tree), map[string]bool{}
	groups := map[string][]Kernel{}
	for _, k := range kernels {
		groups[k.Group] = append(groups[k.Group], k)
		made[files[k.Function]] = k.Body != ""
	}
	written := slices.DeleteFunc(slices.Sorted(maps.Keys(tree)), func(p string) bool {
		return !strings.HasSuffix(p, ".c") || made[p]
	})
	for p, text := range tree {
		if !strings.HasSuffix(p, ".h") {
			continue
		}
		var b bytes.Buffer
		for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
			group := kernelsGroup(line)
			if group == "" {
				b.Write(line)
				continue
			}
			if len(groups[group]) == 0 {
				fail.Errorf("%s: no kernel is of the group %s", p, group)
			}
			for _, k := range groups[group] {
				proto := fail.Must(prototype(tree, written, files[k.Function], k.Function))
				b.WriteString(declaration(proto, k.Doc))
			}
			delete(groups, group)
		}
		tree[p] = b.Bytes()
	}
	for group := range groups {
		fail.Errorf("%s: no header has a line KERNELS(%s)", manifest, group)
	}
}

// attributes are macros of definitions that prototypes leave out.
var attributes = regexp.MustCompile(`\bNNCC_\w+_(NAKED|ARG) `)

// prototype is the head of a function's definition in one line, without
// attributes. file is empty where the function has no file of its own: one that was written defines it.
func prototype(tree map[string][]byte, written []string, file, function string) (string, error) {
	if file != "" {
		if p := definition(string(tree[file]), function); p != "" {
			return p, nil
		}
	}
	for _, p := range written {
		if !bytes.Contains(tree[p], []byte(" "+function+"(")) {
			continue
		}
		if d := definition(string(tree[p]), function); d != "" {
			return d, nil
		}
	}
	return "", fmt.Errorf("%s: no source defines %s", manifest, function)
}

func definition(text, function string) string {
	for {
		at := strings.Index(text, " "+function+"(")
		if at < 0 {
			at = strings.Index(text, " *"+function+"(")
		}
		if at < 0 {
			return ""
		}
		start := strings.LastIndexByte(text[:at], '\n') + 1
		end := at + strings.Index(text[at:], ")") + 1
		head := text[start:end]
		text = text[end:]
		if strings.HasPrefix(strings.TrimSpace(text), "{") && isName(head) {
			if strings.Contains(head, "NNCC_") {
				head = attributes.ReplaceAllString(head, "")
			}
			head = strings.Join(strings.Fields(head), " ")
			return strings.ReplaceAll(head, "( ", "(")
		}
	}
}

// width is that of lines of C.
const width = 120

// declaration is a prototype in lines that are not too long, with its comment.
func declaration(proto, doc string) string {
	text, column := parameterLines(proto + ";")
	switch beside := " /* " + doc + " */"; {
	case doc == "":
		return text + "\n"
	case column+len(beside) <= width:
		return text + beside + "\n"
	default:
		return comment(doc) + text + "\n"
	}
}

// parameterLines is the head of a function in lines that are not too long, and where the
// last one ends.
func parameterLines(head string) (text string, column int) {
	open := strings.IndexByte(head, '(') + 1
	var b strings.Builder
	for i, word := range strings.SplitAfter(head, ", ") {
		switch {
		case i > 0 && column+1+len(strings.TrimSpace(word)) > width:
			b.WriteString("\n" + strings.Repeat(" ", open))
			column = open
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		word = strings.TrimSpace(word)
		b.WriteString(word)
		column += len(word)
	}
	return b.String(), column
}
