// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestManifest: every function that a public header declares has one row, and
// every row a name of the scheme, a type and a word about what it is.
func TestManifest(t *testing.T) {
	x := Shipped()
	rows := map[string]int{}
	for _, k := range Kernels() {
		rows[k.Function]++
		testenv.Check(t, regexp.MustCompile(`^(nncc|arm|mla)(_[a-z0-9]+)+$`).MatchString(k.Function),
			"%s is no name of a kernel", k.Function)
		testenv.Check(t, k.Doc != "", "%s: the row does not say what it is", k.Function)
		testenv.Check(t, x.defines[k.Function] != "", "%s: no source defines it", k.Function)
	}
	declared := regexp.MustCompile(`(?m)^[a-z_]\w* \*?(?:\w+ )?\*?(\w+)\([^;{]*\);`)
	n := 0
	for p, text := range x.files {
		// nncc_trace of nncc_model.h is the user's.
		if !strings.HasSuffix(p, ".h") || strings.HasSuffix(p, "_driver.h") || p == "nncc_model.h" {
			continue
		}
		if _, err := sources.Open("include/nncc/" + p); err != nil {
			if _, err := sources.Open("include/" + p); err != nil {
				continue // a header of sources
			}
		}
		for _, m := range declared.FindAllStringSubmatch(string(text()), -1) {
			if strings.HasPrefix(m[0], "typedef ") {
				continue
			}
			if n++; rows[m[1]] != 1 {
				t.Errorf("%s: %s has %d rows in %s", p, m[1], rows[m[1]], manifest)
			}
		}
	}
	testenv.Check(t, n == len(rows), "%d prototypes, %d rows", n, len(rows))
}

// TestExpand: bodies, prototypes and comments come from the rows; what does not
// fit together is an error that names it.
func TestExpand(t *testing.T) {
	const head = "function,group,body,with,cost,instructions,doc\n"
	tree := func(rows string) fstest.MapFS {
		return fstest.MapFS{
			"kernels.csv": {Data: []byte(head + rows)},
			"include/nncc/h.h": {Data: []byte(
				"#include \"t.h\"\n/* Fast. */\n/* KERNELS(few) */\n/* KERNELS(nncc_b) */\n")},
			"src/nncc/nncc_b.c":     {Data: []byte("NNCC_X_NAKED int *nncc_b(NNCC_X_ARG int a,\n    int b)\n{\n}\n")},
			"src/nncc/few.c.tmpl":   {Data: []byte("void {{.function}}(int n)\n{\n    {{template \"few\" .}});\n}\n")},
			"src/dsp/few.part.tmpl": {Data: []byte("{{- /* what it does */ -}}\nwork(n, {{.width}}")},
			"src/nncc/other.h":      {Data: []byte("\n")},
			"include/nncc/plain.h":  {Data: []byte("int KERNELS;\n")},
		}
	}
	got := testenv.Must(expand(tree("nncc_a1,few,few,width=1; more=2,,fixed,narrow\nnncc_a2,few,few,width=2,," +
		"branches; fixed=mve fpu,\"wide, slow\"\nnncc_b,,,,,loops,other\n")))(t)
	for p, want := range map[string]string{
		"include/nncc/h.h": "#ifndef H_H\n#define H_H\n\n#include \"t.h\"\n#ifdef __cplusplus\n" +
			"extern \"C\" {\n#endif\n\n/* Fast. */\nvoid nncc_a1(int n); /* narrow */\n" +
			"void nncc_a2(int n); /* wide, slow */\n" +
			"int *nncc_b(int a, int b); /* other */\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* H_H */\n",
		"src/nncc/nncc_a2.c": "/* nncc_a2: wide, slow. */\nvoid nncc_a2(int n)\n{\n    work(n, 2);\n}\n",
	} {
		testenv.Check(t, string(got[p]) == want, "%s is\n%s\nwant\n%s", p, got[p], want)
	}
	if got["src/nncc/few.c.tmpl"] != nil || got["src/dsp/few.part.tmpl"] != nil || got["src/nncc/nncc_a1.c"] == nil {
		t.Errorf("files: %d", len(got))
	}
	for rows, want := range map[string]string{
		"nncc_a1,few,few,,,fixed,x\nnncc_b,,,,,fixed,x\n": `"width"`,
		"nncc_b,,,,,,x\n":                                            `instructions ""`,
		"nncc_b,,,,,fixed=mve,x\n":                                   "want fixed, branches, loops",
		"nncc_b,,,,,branches; lengths=,x\n":                          "want fixed, branches, loops",
		"nncc_b,,,,,branches; rows=block m4,x\n":                     `no feature "m4"`,
		"nncc_b,,,,,branches; fixed=m4,x\n":                          `no feature "m4"`,
		"nncc_a1,few,none,,,fixed,x\nnncc_b,,,,,fixed,x\n":           "there is no body none",
		"nncc_b,few,few,width=1,,fixed,x\nnncc_b,,,,,fixed,x\n":      "a source of its own",
		"nncc_c,few,,,,fixed,x\nnncc_b,,,,,fixed,x\n":                "no source defines nncc_c",
		"nncc_b,,,,,fixed,x\n":                                       "no kernel is of the group few",
		"nncc_a1,few,few,width=1,,fixed,x\n":                         "no kernel is of the group nncc_b",
		"nncc_a1,few,few,width=1,,fixed,x\nnncc_b,lost,,,,fixed,x\n": "no kernel is of the group nncc_b",
		"nncc_a1,few,few,width,,fixed,x\n":                           "want name=value",
		"nncc_a1,few,few,width=1,,fixed,x\nnncc_b,,,,,fixed,x\nnncc_b,lost,,,,fixed,x\n"://
		"KERNELS(lost)",
		"nncc_a{n=1..2},few,few,width={m},,fixed,x\n":       "no axis of the name of {m}",
		"nncc_a{n=1..2},few,few,width={n:1|2|3},,fixed,x\n": "no axis of the name of {n:1|2|3}",
	} {
		testenv.Refused(t, testenv.Err(expand(tree(rows))), want)
	}
}

// TestAxes: a row with axes is the rows that it stands for, cell by cell.
func TestAxes(t *testing.T) {
	rows, err := expandRow([]string{"f{n=9..10}{relu=|_relu}_s8", "g", "b{relu:|_r}", "n={n}; r={relu:0|1}", "c{relu}",
		"fixed", "{n:nine|more} v{n:|s}"})
	testenv.OK(t, err)
	var got strings.Builder
	for _, row := range rows {
		got.WriteString(strings.Join(row, ",") + "\n")
	}
	const want = `f9_s8,g,b,n=9; r=0,c,fixed,nine v
f9_relu_s8,g,b_r,n=9; r=1,c_relu,fixed,nine v
f10_s8,g,b,n=10; r=0,c,fixed,more vs
f10_relu_s8,g,b_r,n=10; r=1,c_relu,fixed,more vs
`
	testenv.Check(t, got.String() == want, "rows are\n%s\nwant\n%s", got.String(), want)
}

// TestExpandNames: two bodies or parts of one name are an error, a part that
// does not exist, too.
func TestExpandNames(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"src/dsp/few.c.tmpl", "", "two templates are called few.c.tmpl"},
		{"src/dsp/one.part.tmpl", "", "two templates are called one"},
		{"src/dsp/more.c.tmpl", "{{template", "src/dsp/more.c.tmpl"},
		{"src/nncc/few.c.tmpl", "{{template \"none\" .}}", `"none"`},
	} {
		tree := fstest.MapFS{
			"kernels.csv":            {Data: []byte(strings.Join(columns, ",") + "\nnncc_a,,few,,,fixed,x\n")},
			"src/nncc/few.c.tmpl":    {Data: []byte("{{template \"one\" .}}")},
			"src/nncc/one.part.tmpl": {},
		}
		tree[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		testenv.Refused(t, testenv.Err(expand(tree)), c.want)
	}
}

// TestDeclaration: lines are at most as long as a line may be.
func TestDeclaration(t *testing.T) {
	long := "void f(" + strings.Repeat("const int32_t *parameter, ", 9) + "int32_t n)"
	for _, doc := range []string{"", "short", strings.Repeat("many words ", 30)} {
		for _, line := range strings.Split(declaration(long, strings.TrimSpace(doc)), "\n") {
			testenv.Check(t, len(line) <= width, "%d characters: %s", len(line), line)
		}
	}
	testenv.Equal(t, declaration("void f(int a)", "b"), "void f(int a); /* b */\n")
}
