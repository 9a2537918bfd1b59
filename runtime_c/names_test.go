// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// sample is a library in which f calls g and both include a header; h is on its
// own. Texts are changed by path.
func sample(t *testing.T, change map[string]string) *Library {
	t.Helper()
	texts := map[string]string{
		"include/nncc/nncc.h":                "typedef int nncc_status;\n",
		"include/nncc/k.h":                   "#include \"nncc.h\"\nvoid f(void);\nvoid g(void);\nvoid h(void);\n",
		"src/nncc/g.c":                       "/* g. */\n#include \"k.h\"\nvoid g(void) { }\n",
		"src/fast/f.c":                       "#include \"k.h\"\n#include \"own.h\"\nvoid f(void) { g(); }\n",
		"src/fast/own.h":                     "#define OWN 1\n",
		"src/nncc/h.c":                       "void h(void);\nvoid h(void) { }\n",
		"include/cmsis_nn/arm_nnfunctions.h": "/* API. */\nvoid arm_a(void);\nvoid arm_b(void);\n",
		"src/cmsis_nn/arm_a.c":               "#include \"arm_nnfunctions.h\"\nvoid arm_a(void) { }\n",
		"src/cmsis_nn/arm_b.c": "#include \"arm_nnfunctions.h\"\n#ifdef " +
			"CMSIS_NN_USE_SINGLE_ROUNDING\n#endif\nvoid arm_b(void) { }\n",
	}
	fsys := fstest.MapFS{}
	for p, s := range texts {
		if c, ok := change[p]; ok {
			s = c
		}
		fsys[p] = &fstest.MapFile{Data: []byte(s)}
	}
	x := testenv.Must(NewLibrary(fsys))(t)
	return x
}

// name is the symbol of a function for the linker.
func name(t *testing.T, x *Library, f string) string {
	t.Helper()
	files := testenv.Must(x.Files(f))(t)
	m := regexp.MustCompile(`#define ` + f + ` (\w+)`).FindStringSubmatch(x.Names(files))
	testenv.Require(t, m != nil && Plain(m[1]) == f && m[1] != f, "%s: %q", f, m)
	return m[1]
}

// TestNamesFollowSources: a function's name changes with its source, with what
// this includes and calls, and with nothing else.
func TestNamesFollowSources(t *testing.T) {
	was := sample(t, nil)
	for _, c := range []struct {
		path, text string
		moves      string // the functions with other names
	}{
		{"src/nncc/g.c", "#include \"k.h\"\nvoid g(void) { OTHER; }\n", "fg"},
		{"src/fast/own.h", "#define OWN 2\n", "f"},
		{"include/nncc/k.h", "#include \"nncc.h\"\nvoid f(void);\nvoid g(void);\nvoid h(void);\nvoid new(void);\n",
			"fg"},
		{"src/nncc/h.c", "void h(void);\nvoid h(void) { ; }\n", "h"},
		{"src/cmsis_nn/arm_a.c", "#include \"arm_nnfunctions.h\"\nvoid arm_a(void) { ; }\n", ""},
	} {
		is := sample(t, map[string]string{c.path: c.text})
		for _, f := range []string{"f", "g", "h"} {
			testenv.Equal(t, name(t, was, f) != name(t, is, f), strings.Contains(c.moves, f),
				"%s changed: the name of %s changed", c.path, f)
		}
	}
}

// TestEmitted: sources rename what they define and call and make it weak, and
// find headers by their place.
func TestEmitted(t *testing.T) {
	x := sample(t, nil)
	files := testenv.Must(x.Files("f", "arm_a", "arm_b"))(t)
	text := map[string]string{}
	for _, f := range x.Emitted(files) {
		text[f.Path] = string(f.Data)
	}
	f, g := name(t, x, "f"), name(t, x, "g")
	for path, want := range map[string][]string{
		"fast/f.c": {"#define f " + f + "\n", "#define g " + g + "\n", "#pragma weak " + f + "\n",
			`#include "../k.h"`, `#include "own.h"`, "void f(void) { g(); }"},
		"g.c":                        {"/* g. */\n/*", "#pragma weak " + g + "\n", `#include "k.h"`},
		"k.h":                        {`#include "nncc.h"`},
		"cmsis_nn/arm_nnfunctions.h": {"/* API. */\n#include \"nncc_cmsis_names.h\"\n"},
		"cmsis_nn/arm_a.c":           {"#include \"nncc_cmsis_names.h\"\n", "#pragma weak arm_a_r"},
		"cmsis_nn/nncc_cmsis_names.h": {"#define NNCC_CMSIS_NN 0x",
			"#ifdef CMSIS_NN_USE_SINGLE_ROUNDING\n#define arm_a arm_a_r"},
	} {
		for _, w := range want {
			testenv.Check(t, strings.Contains(text[path], w), "%s lacks %q:\n%s", path, w, text[path])
		}
	}
	testenv.Check(t, !strings.Contains(text["fast/f.c"], "#pragma weak "+g),
		"what is only called is weak, too: archives would not give it")
	if names := x.Names(files); strings.Contains(names, "#define arm_") ||
		!strings.Contains(names, "#define NNCC_CMSIS_NN_EXPECTED 0x") {
		t.Errorf("which CMSIS-NN is called is not this header's decision:\n%s", names)
	}
	double, single := "", ""
	for _, l := range strings.Split(text["cmsis_nn/nncc_cmsis_names.h"], "\n") {
		if s, ok := strings.CutPrefix(l, "#define arm_b "); ok {
			if single == "" {
				single = s
			} else {
				double = s
			}
		}
	}
	testenv.Check(t, single != double && Plain(single) == "arm_b" && Plain(double) == "arm_b",
		"with single rounding %q, else %q", single, double)
}

// TestShippedNames: every function that nncc ships has a name of its own, and
// no source or header depends on which folder the include path names first.
func TestShippedNames(t *testing.T) {
	x := Shipped()
	seen := map[string]string{}
	for _, f := range Functions() {
		if strings.HasPrefix(x.defines[f], "cmsis_nn/") {
			continue
		}
		n := name(t, x, f)
		testenv.Check(t, Plain(n) == f && seen[n] == "", "%s is linked as %s", f, n)
		seen[n] = f
	}
	include := regexp.MustCompile(`#\s*include\s*"([^"]+)"`)
	for _, f := range x.Emitted(All()) {
		for _, m := range include.FindAllStringSubmatch(string(f.Data), -1) {
			at := f.Path[:strings.LastIndex(f.Path, "/")+1] + m[1]
			for strings.Contains(at, "/../") {
				at = regexp.MustCompile(`[^/]+/\.\./`).ReplaceAllString(at, "")
			}
			if _, ok := x.files[at]; !ok && at != cmsisNames {
				t.Errorf("%s includes %q, which is not there", f.Path, m[1])
			}
		}
	}
}
