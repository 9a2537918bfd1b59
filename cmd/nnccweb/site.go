// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
)

// chapter is a page of the site, of a file of the repository or of what a command of nncc prints.
type chapter struct {
	page, title, file string
	command           []string
}

// chapters are those that every page leads to; examples and guides are listed on pages of their own.
var chapters = []chapter{
	{page: "index.html", title: "nncc", file: "README.md"},
	{page: "guides.html", title: "Guides"},
	{page: "examples.html", title: "Examples", file: "cmd/nncc/examples/README.md"},
	{page: "boards.html", title: "Boards", command: []string{"boards"}},
	{page: "operators.html", title: "Operators", command: []string{"ops"}},
	{page: "benchmarks.html", title: "Benchmarks", file: "docs/benchmarks.md"},
	{page: "architecture.html", title: "How it works", file: "docs/architecture.md"},
	{page: "changes.html", title: "Changes", file: "CHANGELOG.md"},
}

// tryFolder is where the browser page lies in the site.
const tryFolder = "try/"

// Site are the pages about nncc, from the texts of the repository in the working folder: what there is to read, and the
// figures that they show. The browser page goes below try/.
func Site() (_ []files.File, err error) {
	defer fail.Catch(&err)
	all := chapters
	add := func(folder, pattern string) {
		for _, f := range fail.Must(filepath.Glob(pattern)) {
			name := strings.TrimSuffix(path.Base(f), path.Ext(f))
			if name == "README" {
				name = path.Base(path.Dir(f))
			}
			all = append(all, chapter{page: folder + name + ".html", title: name, file: filepath.ToSlash(f)})
		}
	}
	add("guide-", "cmd/nncc/help/*.txt")
	add("example-", "cmd/nncc/examples/*/README.md")
	add("", "docs/zoo.md")
	pages := map[string]string{}
	for _, c := range all {
		pages[cmp.Or(c.file, c.page)] = c.page
	}
	var out []files.File
	for _, c := range all {
		body, pictures := c.body(all, pages)
		for _, p := range pictures {
			out = append(out, files.File{Path: path.Base(p), Data: []byte(read(p))})
		}
		out = append(out, files.File{Path: c.page, Data: framed(c, body)})
	}
	return out, nil
}

func read(file string) string { return string(fail.Must(os.ReadFile(file))) }

// body is what a page says, and the files of its pictures.
func (c chapter) body(all []chapter, pages map[string]string) (body string, pictures []string) {
	const shown = "<h1>%s</h1>\n<pre%s tabindex=\"0\">%s</pre>\n"
	switch {
	case c.command != nil:
		text := fail.Must(exec.Command("go", append([]string{"run", "./cmd/nncc"}, c.command...)...).Output())
		return fmt.Sprintf(shown, c.title, "", html.EscapeString(string(text))), nil
	case c.file == "":
		body = "<h1>Guides</h1>\n<ul>\n"
		for _, g := range all {
			if path.Ext(g.file) == ".txt" {
				first, _, _ := strings.Cut(read(g.file), "\n")
				body += fmt.Sprintf("<li><a href=\"%s\">%s</a>: %s</li>\n", g.page, g.title, html.EscapeString(first))
			}
		}
		return body + "</ul>\n", nil
	case path.Ext(c.file) == ".txt":
		title, text, _ := strings.Cut(html.EscapeString(read(c.file)), "\n")
		return fmt.Sprintf(shown, title, " class=\"guide\"", strings.Trim(text, "\n")), nil
	}
	m := &markdown{file: c.file, pages: pages}
	body = m.html(read(c.file))
	return body, m.pictures
}

// framed is a page around its body.
func framed(c chapter, body string) []byte {
	b := bytes.NewBufferString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"" + tryFolder + "page.css\">\n")
	fmt.Fprintf(b, "<title>%s - nncc</title>\n</head>\n<body>\n<nav>", html.EscapeString(c.title))
	for _, n := range chapters {
		fmt.Fprintf(b, "<a href=\"%s\">%s</a> ", n.page, n.title)
	}
	fmt.Fprintf(b, "<a href=\"%sindex.html\">Try it</a></nav>\n<main>\n%s</main>\n</body>\n</html>\n", tryFolder, body)
	return b.Bytes()
}

// markdown turns what READMEs are written in into HTML: headings, paragraphs, tables, lists, code, links, pictures.
type markdown struct {
	file     string
	pages    map[string]string // of files
	pictures []string
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	link       = regexp.MustCompile(`(!?)\[((?:!\[[^]]*\]\([^)]*\)|[^]])*)\]\(([^)]+)\)`)
	bold       = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	item       = regexp.MustCompile(`^(?:-|\d+\.) `)
	nextItem   = regexp.MustCompile(`\n(?:-|\d+\.) `)
)

// kinds of lines that stand together.
var (
	indented = func(l string) bool { return strings.HasPrefix(l, "    ") }
	row      = func(l string) bool { return strings.HasPrefix(l, "|") }
	listed   = func(l string) bool { return item.MatchString(l) || strings.HasPrefix(l, "  ") && !indented(l) }
	prose    = func(l string) bool { return !indented(l) && !row(l) && !item.MatchString(l) }
)

func (m *markdown) html(text string) string {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(text, "\n\n    ", "\n    ")), "\n\n") {
		for lines := strings.Split(block, "\n"); len(lines) > 0; {
			lines = lines[m.element(&b, lines):]
		}
	}
	return b.String()
}

// element writes what stands at the beginning of lines, and gives how many it took.
func (m *markdown) element(b *strings.Builder, lines []string) int {
	n := 1
	same := func(kind func(l string) bool) bool {
		is := kind(lines[0])
		for is && n < len(lines) && kind(lines[n]) {
			n++
		}
		return is
	}
	hashes, title, _ := strings.Cut(lines[0], " ")
	switch {
	case hashes != "" && strings.Trim(hashes, "#") == "":
		fmt.Fprintf(b, "<h%d>%s</h%d>\n", len(hashes), m.inline(title), len(hashes))
	case same(indented):
		code := strings.ReplaceAll(strings.Join(lines[:n], "\n"), "\n    ", "\n")[4:]
		fmt.Fprintf(b, "<pre tabindex=\"0\">%s</pre>\n", html.EscapeString(code))
	case same(row):
		m.table(b, lines[:n])
	case item.MatchString(lines[0]) && same(listed):
		tag := map[bool]string{true: "ul", false: "ol"}[lines[0][0] == '-']
		fmt.Fprintf(b, "<%s>\n", tag)
		items := nextItem.ReplaceAllString("\n"+strings.Join(lines[:n], "\n"), "\x00")
		for x := range strings.SplitSeq(items[1:], "\x00") {
			fmt.Fprintf(b, "<li>%s</li>\n", m.inline(x))
		}
		fmt.Fprintf(b, "</%s>\n", tag)
	default:
		same(prose)
		fmt.Fprintf(b, "<p>%s</p>\n", m.inline(strings.Join(lines[:n], "\n")))
	}
	return n
}

// table has its names in the first row, and what aligns them in the second.
func (m *markdown) table(b *strings.Builder, lines []string) {
	b.WriteString("<div class=\"wide\" tabindex=\"0\"><table>\n")
	for i, l := range lines {
		if i == 1 {
			continue
		}
		tag := map[bool]string{true: "th", false: "td"}[i == 0]
		b.WriteString("<tr>")
		for c := range strings.SplitSeq(strings.Trim(strings.ReplaceAll(l, `\|`, "\x01"), "|"), "|") {
			fmt.Fprintf(b, "<%s>%s</%s>", tag, m.inline(strings.ReplaceAll(strings.TrimSpace(c), "\x01", "|")), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table></div>\n")
}

// inline are code, links, pictures and bold words of a text. What code names is a link where the site has the file.
func (m *markdown) inline(text string) string {
	var code []string
	text = inlineCode.ReplaceAllStringFunc(text, func(s string) string {
		name := strings.Trim(s, "`")
		x := "<code>" + html.EscapeString(name) + "</code>"
		if p := m.pages[m.path(name)]; p != "" {
			x = "<a href=\"" + p + "\">" + x + "</a>"
		}
		code = append(code, x)
		return fmt.Sprintf("\x02%d\x03", len(code)-1)
	})
	text = m.links(html.EscapeString(text))
	text = bold.ReplaceAllString(text, "<b>$1</b>")
	for i, x := range code {
		text = strings.Replace(text, fmt.Sprintf("\x02%d\x03", i), x, 1)
	}
	return text
}

func (m *markdown) links(text string) string {
	return link.ReplaceAllStringFunc(text, func(s string) string {
		g := link.FindStringSubmatch(s)
		to, remote := g[3], strings.HasPrefix(g[3], "https://")
		switch {
		case g[1] == "!" && remote:
			return "" // badges
		case g[1] == "!":
			m.pictures = append(m.pictures, m.path(to))
			return fmt.Sprintf("<img src=\"%s\" alt=\"%s\">", path.Base(to), g[2])
		case !remote:
			to = m.pages[m.path(to)]
		}
		if inner := m.links(g[2]); inner != "" && to != "" {
			return fmt.Sprintf("<a href=\"%s\">%s</a>", to, inner)
		}
		return ""
	})
}

// path is where a name leads from the file: a page of the root, of its own folder, or the README of a folder.
func (m *markdown) path(name string) string {
	near := path.Join(path.Dir(m.file), name)
	for _, p := range []string{name, near, path.Join(near, "README.md"), path.Join(name, "README.md")} {
		if m.pages[p] != "" {
			return p
		}
	}
	return near
}
