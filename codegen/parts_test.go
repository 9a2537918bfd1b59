// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule"
)

// inParts divides the arena of a model in two, of which each holds about half, and emits it.
func inParts(t *testing.T, m *model) {
	t.Helper()
	m.generate(t)
	g, low := m.lowered(t)
	for _, share := range []int{60, 75, 90} {
		n := m.prog.ArenaBytes * share / 100
		r, _, err := schedule.BuildIn(schedule.Pools{List: []schedule.Pool{{Name: "DTCM", Bytes: n},
			{Name: "ram-2.x", Bytes: n, Cost: 0.5}, {Name: "int", Bytes: n, Cost: 1}}}, schedule.Medium, g, low)
		if err == nil {
			m.reread(t, r.Program)
			m.emit(t)
			return
		}
	}
	t.Fatal("the arena is in one piece")
}

// TestParts: models whose arena is in parts compile without a warning on three compilers, in
// C and C++, compute what they do in one arena, by steps, too, and refuse parts that are
// missing or misaligned.
func TestParts(t *testing.T) {
	gcc := testenv.Tool(t, "cc", "gcc")
	gxx := testenv.Tool(t, "cc", "g++")
	arm := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	for _, prefix := range []string{"plain", "qnative", "noweights", "types", "camera"} {
		t.Run(prefix, func(t *testing.T) {
			m, whole := find(t, prefix), find(t, prefix)
			whole.prefix += "_whole"
			inParts(t, m)
			whole.generate(t)
			dir := t.TempDir()
			m.write(t, dir)
			whole.write(t, dir)
			for name, text := range map[string]string{"main.c": partsMain(m, whole), "one.cpp": partsClass(m)} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			files := slices.Concat(sources([]*model{m, whole}, false), sources([]*model{m, whole}, true))
			warn := slices.Concat(warnings, includes, []string{"-O1"})
			run(t, dir, arm, slices.Concat(warn, []string{"-mcpu=cortex-m4", "-mthumb", "-c", m.prefix + ".c"})...)
			run(t, dir, gxx, slices.Concat(cppWarnings, includes, []string{"-std=c++11", "-fsyntax-only",
				"one.cpp"})...)
			run(t, dir, gcc, slices.Concat(warn, []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all",
				"-std=c11", "-DNNCC_NO_INCBIN", "-o", "main", "main.c"}, files, []string{"-lm"})...)
			run(t, dir, filepath.Join(dir, "main"))
		})
	}
}

// partsMain runs a model in parts, each of its own memory, beside the same in one arena.
func partsMain(m, whole *model) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	up, wup := strings.ToUpper(m.prefix), strings.ToUpper(whole.prefix)
	p("#include \"%s.h\"\n#include \"%s.h\"\n%s", m.prefix, whole.prefix, streams)
	p("#define CHECK(x) do { if (!(x)) { fprintf(stderr, \"%%s\\n\", #x); exit(1); } } while (0)")
	p("int main(void)\n{\n    %s_arenas a, b;\n    int32_t i;\n    uint8_t *whole = aligned_alloc(16, %s_ARENA_BYTES);",
		m.prefix, wup)
	var sum []string
	for _, x := range m.info.ArenaParts {
		p("    a.%s = aligned_alloc(16, %s);\n    b.%[1]s = aligned_alloc(16, %[2]s);", x.Field, x.Macro)
		sum = append(sum, x.Macro)
	}
	p("    CHECK(%s == %s_ARENA_BYTES && %s_info.arena_bytes == %[2]s_ARENA_BYTES);", strings.Join(sum, " + "), up,
		m.prefix)
	p("    CHECK(%s_run_in(NULL) == NNCC_ERR_NULL);", m.prefix)
	for _, x := range m.info.ArenaParts {
		for _, bad := range [][2]string{{"NULL", "NULL"}, {"a." + x.Field + " + 4", "ALIGN"}} {
			p("    { %s_arenas c = a; c.%s = %s;", m.prefix, x.Field, bad[0])
			p("    CHECK(%s_run_in(&c) == NNCC_ERR_%s && %[1]s_step_in(&c, 0) == NNCC_ERR_%[2]s); }", m.prefix, bad[1])
		}
	}
	for k, x := range m.info.Inputs {
		p("    for (i = 0; i < %d; i++) { uint8_t v = (uint8_t)(i * 7 + %d);", x.Bytes, k)
		for _, at := range []string{"&a", "&b"} {
			p("        ((uint8_t *)%s_%s(%s))[i] = (uint8_t)(v & 0x3fu);", m.prefix, x.CName, at)
		}
		p("        ((uint8_t *)%s_%s(whole))[i] = (uint8_t)(v & 0x3fu);\n    }", whole.prefix, x.CName)
	}
	p("    CHECK(%s_run_in(&a) == NNCC_OK && %s_run(whole) == NNCC_OK);", m.prefix, whole.prefix)
	p("    for (i = 0; i < %s_STEPS; i++) { CHECK(%s_step_in(&b, i) == NNCC_OK); }", up, m.prefix)
	p("    CHECK(%s_step_in(&b, %s_STEPS) == NNCC_ERR_INDEX);", m.prefix, up)
	for _, x := range m.info.Outputs {
		for _, at := range []string{"&a", "&b"} {
			p("    CHECK(memcmp(%s_%s(%s), %s_%s(whole), %d) == 0);", m.prefix, x.CName, at, whole.prefix, x.CName,
				x.Bytes)
		}
		if x.Type.Quant != nil && x.Bytes > 0 {
			p("    { float r[%s_%s_ELEMS]; CHECK(%s_dequantize_%s(&a, r) == NNCC_OK);\n"+
				"    CHECK(%[3]s_dequantize_%[4]s(NULL, r) == NNCC_ERR_NULL); }", up, x.Upper, m.prefix, x.CName)
		}
	}
	for _, x := range m.info.ArenaParts {
		p("    free(a.%s); free(b.%[1]s);", x.Field)
	}
	p("    free(whole); (void)put; (void)get;\n    return 0;\n}")
	return b.String()
}

// partsClass uses the class on memory of the caller.
func partsClass(m *model) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include \"%s.hpp\"\n", m.prefix)
	var names []string
	for _, x := range m.info.ArenaParts {
		fmt.Fprintf(&b, "static uint8_t %s_part[%s] %s_SECTION;\n", x.Field, x.Macro,
			strings.TrimSuffix(x.Macro, "_BYTES"))
		names = append(names, x.Field+"_part")
	}
	fmt.Fprintf(&b, "int main()\n{\n    const %s_arenas arenas = {%s};\n    nncc::%[1]s_session session(arenas);\n",
		m.prefix, strings.Join(names, ", "))
	for _, x := range m.info.Inputs {
		fmt.Fprintf(&b, "    (void)session.input_%s();\n", x.CName)
	}
	b.WriteString("    return session.run() == NNCC_OK ? 0 : 1;\n}\n")
	return b.String()
}

// TestPartsNames: regions become C names apart from each other and from those of inputs, and the
// part of a linker script places each.
func TestPartsNames(t *testing.T) {
	m := &model{prefix: "net", src: `
		in %arena_dtcm : f32[64]
		in %arenas : f32[64]
		%y = Add(%arena_dtcm, %arenas)
		out "run_in" = %y`}
	m.generate(t)
	n := m.prog.ArenaBytes
	m.prog.Parts = []program.Part{{Name: "dtcm", Bytes: 256}, {Name: "Dtcm", Bytes: n - 256}}
	m.emit(t)
	h := m.file("net.h")
	for _, want := range []string{"#define NET_ARENA_DTCM_BYTES 256u /* in dtcm */", "#define NET_ARENA_DTCM_2_BYTES",
		"uint8_t *dtcm; ", "uint8_t *dtcm_2; ", "float *net_arena_dtcm_3(const net_arenas *arenas);",
		"nncc_status net_run_in(const net_arenas *arenas);"} {
		if !strings.Contains(h, want) {
			t.Errorf("the header has no %q:\n%s", want, h)
		}
	}
	if strings.Contains(h, "net_run(") || strings.Contains(h, "net_step(") {
		t.Errorf("the header has functions for one arena:\n%s", h)
	}
	files, err := codegen.SectionFiles(m.info, "test", "")
	if err != nil || len(files) != 1 || !strings.Contains(string(files[0].Data), "*(.bss.nncc.arena.Dtcm)") {
		t.Errorf("%v: %s", err, files)
	}
}
