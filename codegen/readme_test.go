// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// entries are the points of a list of Markdown, each with the lines that go on.
func entries(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "- "):
			out = append(out, line)
		case strings.HasPrefix(line, "  ") && len(out) > 0:
			out[len(out)-1] += line
		}
	}
	return out
}

// foreign are the folders of sources that are not the model's.
func foreign(m *model) []string {
	out := []string{"harness"}
	for _, f := range m.files {
		top, _, below := strings.Cut(f.Path, "/")
		if below && top != "nncc" && path.Ext(f.Path) == ".c" && !slices.Contains(out, top) {
			out = append(out, top)
		}
	}
	return out
}

// missing are the folders that an entry of README.md should name and does not; said, how many lists it has.
func missing(entry string, headers, sources []string) (names []string, said int) {
	for _, list := range []struct {
		marks []string
		want  []string
	}{{[]string{"Includes", "include path"}, headers}, {[]string{"compile every", "from the build"}, sources}} {
		if !slices.ContainsFunc(list.marks, func(s string) bool { return strings.Contains(entry, s) }) {
			continue
		}
		said++
		for _, x := range list.want {
			if !strings.Contains(entry, "`"+x+"`") {
				names = append(names, x)
			}
		}
	}
	return names, said
}

// TestReadmeNamesFolders: where README.md says by hand what an IDE includes and leaves out, it names every
// folder with headers that sources include, and every folder of sources that are not the model's.
func TestReadmeNamesFolders(t *testing.T) {
	for _, p := range codegen.Projects() {
		for _, prefix := range []string{"quantised", "types"} {
			m, _ := withProject(t, &model{prefix: prefix, src: find(t, prefix).src}, p)
			headers, lists := []string{"nncc"}, 0
			if _, cmsis := modelSources(m); len(cmsis) > 0 {
				headers = append(headers, "nncc/cmsis_nn")
			}
			for _, e := range entries(m.file("README.md")) {
				names, said := missing(e, headers, foreign(m))
				if lists += said; len(names) > 0 {
					t.Errorf("%s, %s: %q are not named:\n%s", prefix, p, names, e)
				}
			}
			testenv.Check(t, lists >= 4, "%s, %s: README.md has %d lists of folders:\n%s", prefix, p, lists,
				m.file("README.md"))
		}
	}
}

// TestReadmeCompiles: the lines of C that README.md shows are C, whatever inputs and outputs are called.
func TestReadmeCompiles(t *testing.T) {
	cc := testenv.Tool(t, "cc", "gcc")
	for _, m := range models() {
		dir := t.TempDir()
		m.generate(t).write(t, dir)
		_, lines, _ := strings.Cut(m.file("README.md"), "```c\n")
		lines, _, _ = strings.Cut(lines, "```")
		include, lines, _ := strings.Cut(lines, "\n")
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "readme.c"),
			[]byte(include+"\nvoid use(void);\nvoid use(void)\n{\n"+lines+"}\n"), 0o644))
		run(t, dir, cc, append(strings.Fields("-std=c99 -Wall -Wno-unused-variable -Werror -fsyntax-only readme.c"),
			includes...)...)
	}
}
