// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestMarkdown: what the repository's texts are written in.
func TestMarkdown(t *testing.T) {
	m := &markdown{file: "a/README.md", pages: map[string]string{"a/b.md": "b.html", "c/README.md": "c.html"}}
	for text, want := range map[string]string{
		"# A <b>\n\nx *y* **z**":            "<h1>A &lt;b&gt;</h1>\n<p>x *y* <b>z</b></p>\n",
		"say:\n\n    a < b\n\n    c\n\nend": "<p>say:</p>\n<pre tabindex=\"0\">a &lt; b\nc</pre>\n<p>end</p>\n",
		"- one\n  more\n- two":              "<ul>\n<li>one\n  more</li>\n<li>two</li>\n</ul>\n",
		"1. one\n2. two":                    "<ol>\n<li>one</li>\n<li>two</li>\n</ol>\n",
		"[b](b.md), `c/`, `[x](y)`": `<p><a href="b.html">b</a>, <a href="c.html"><code>c/</code></a>, ` +
			"<code>[x](y)</code></p>\n",
		"[![ci](https://x/y.svg)](https://x) text": "<p> text</p>\n",
		"| a | `b\\|c` |\n| - | - |\n| d | |": "<div class=\"wide\" tabindex=\"0\"><table>\n<tr><th>a</th>" +
			"<th><code>b|c</code></th></tr>\n<tr><td>d</td><td></td></tr>\n</table></div>\n",
	} {
		testenv.Equal(t, m.html(text), want, "%q", text)
	}
}

var reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// TestSite: every page has a title and words, every link and picture leads to a file of the site, and a page fits a
// telephone and a screen.
func TestSite(t *testing.T) {
	t.Chdir(sharedata.Root())
	list := testenv.Must(Site())(t)
	there := map[string]bool{tryFolder + "index.html": true, tryFolder + "page.css": true}
	for _, f := range list {
		there[f.Path] = true
	}
	links := 0
	for _, f := range list {
		if path.Ext(f.Path) != ".html" {
			continue
		}
		text := string(f.Data)
		testenv.Check(t, strings.Contains(text, "<h1>") && len(text) > 1000, "%s says nothing", f.Path)
		testenv.Check(t, !strings.ContainsAny(text, "\x00\x01\x02\x03"), "%s has marks of its own", f.Path)
		for _, g := range reference.FindAllStringSubmatch(text, -1) {
			links++
			to := g[1]
			testenv.Check(t, there[to] || strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "data:"),
				"%s leads to %q, which is not there", f.Path, to)
		}
	}
	for _, c := range chapters {
		testenv.Check(t, there[c.page], "no page %s", c.page)
	}
	testenv.Check(t, links > 300 && there["guide-start.html"] && there["example-gesture.html"], "%d links", links)
	testenv.Tool(t, "chromium", "chromium")
	dir := t.TempDir()
	testenv.OK(t, files.WriteTree(filepath.Join(dir, "site"), append(list, files.File{Path: tryFolder + "page.css",
		Data: testenv.Must(page.ReadFile("page/page.css"))(t)})))
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "site"))))
	t.Cleanup(server.Close)
	for _, width := range []int64{390, 1280} {
		tab := browser.New(t, width, 900)
		for _, p := range []string{"index.html", "guide-vision.html", "boards.html", "zoo.html", "examples.html"} {
			tab.Open(t, server.URL+"/"+p)
			tab.Fits(t)
		}
	}
}
