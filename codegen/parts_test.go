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
)

// TestParts: models whose arena is in parts compile without a warning on three compilers, in
// C and C++, compute what they do in one arena, by steps, too, and refuse parts that are
// missing or misaligned: with state, bound constants and copies, too.
func TestParts(t *testing.T) {
	gcc := testenv.Tool(t, "cc", "gcc")
	gxx := testenv.Tool(t, "cc", "g++")
	arm := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	list := []*model{everything("everything")}
	for _, prefix := range []string{"plain", "qnative", "noweights", "types", "camera"} {
		list = append(list, find(t, prefix))
	}
	for _, m := range list {
		t.Run(m.prefix, func(t *testing.T) {
			other := *m
			whole := &other
			whole.prefix, whole.parts, m.parts = m.prefix+"_whole", false, true
			m.generate(t)
			whole.generate(t)
			dir := t.TempDir()
			m.write(t, dir)
			whole.write(t, dir)
			for name, text := range map[string]string{"main.c": partsMain(m, whole), "one.cpp": partsClass(m)} {
				testenv.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			files := slices.Concat(sources([]*model{m, whole}, false), sources([]*model{m, whole}, true))
			warn := slices.Concat(warnings, includes, []string{"-O1"})
			run(t, dir, arm, slices.Concat(warn, []string{"-mcpu=cortex-m4", "-mthumb", "-c", m.prefix + ".c"})...)
			run(t, dir, gcc, slices.Concat(warn, []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all",
				"-std=c11", "-DNNCC_NO_INCBIN", "-o", "main", "main.c"}, files, []string{"-lm"})...)
			run(t, dir, filepath.Join(dir, "main"))
			objects := hostObjects(t, dir, m)
			for _, std := range []string{"-std=c++11", "-std=c++20"} {
				run(t, dir, gxx, slices.Concat(cppWarnings, includes, []string{std, "-o", "one", "one.cpp"}, objects,
					[]string{"-lm"})...)
				run(t, dir, filepath.Join(dir, "one"))
			}
		})
	}
}

// partsMain runs a model in parts, each of its own memory, beside the same in one arena: twice,
// since there can be state.
func partsMain(m, whole *model) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	up, wup, state := strings.ToUpper(m.prefix), strings.ToUpper(whole.prefix), len(m.info.States) > 0
	with := func(arena string) string { // the arguments of a run
		if state {
			return arena + ", state_" + strings.Trim(arena, "&")
		}
		return arena
	}
	for _, x := range []*model{m, whole} {
		p("#include \"%s.h\"", x.prefix)
		if len(x.info.Preprocess) > 0 {
			p("#include \"%s_preprocess.h\"", x.prefix)
		}
		if len(x.info.Postprocess) > 0 {
			p("#include \"%s_postprocess.h\"", x.prefix)
		}
	}
	p("%s", mainHead)
	p("#define CHECK(x) do { if (!(x)) { fprintf(stderr, \"%%s\\n\", #x); exit(1); } } while (0)")
	p("int main(void)\n{\n    %s_arenas a, b;\n    int32_t i, turn;\n"+
		"    uint8_t *whole = aligned_alloc(16, %s_ARENA_BYTES);", m.prefix, wup)
	var sum []string
	for _, x := range m.info.ArenaParts {
		p("    a.%s = aligned_alloc(16, %s);\n    b.%[1]s = aligned_alloc(16, %[2]s);", x.Field, x.Macro)
		sum = append(sum, x.Macro)
	}
	p("    CHECK(%s == %s_ARENA_BYTES && %s_info.arena_bytes == %[2]s_ARENA_BYTES);", strings.Join(sum, " + "), up,
		m.prefix)
	if state {
		for _, s := range []string{"a", "b", "c", "whole"} {
			p("    uint8_t *state_%s = aligned_alloc(16, %s_STATE_BYTES);", s, up)
		}
		p("    CHECK(%s_run_in(&a, NULL) == NNCC_ERR_NULL && %[1]s_run_in(&a, state_a + 4) == NNCC_ERR_ALIGN);",
			m.prefix)
	}
	p("    CHECK(%s_run_in(%s) == NNCC_ERR_NULL);", m.prefix, strings.Replace(with("&a"), "&a", "NULL", 1))
	p("%s", partsRefused(m, with("&c"))+partsReady(m, with("&a"))+partsReady(whole, with("whole")))
	if state {
		p("    CHECK(%s_reset(state_a) == NNCC_OK && %[1]s_reset(state_b) == NNCC_OK);", m.prefix)
		p("    CHECK(%s_reset(state_whole) == NNCC_OK);", whole.prefix)
	}
	p("    for (turn = 0; turn < 2; turn++) {")
	for k, x := range m.info.Inputs {
		p("    for (i = 0; i < %d; i++) { uint8_t v = (uint8_t)(i * 7 + %d + turn);", x.Bytes, k)
		for _, at := range []string{"&a", "&b"} {
			p("        ((uint8_t *)%s_%s(%s))[i] = (uint8_t)(v & 0x3fu);", m.prefix, x.CName, at)
		}
		p("        ((uint8_t *)%s_%s(whole))[i] = (uint8_t)(v & 0x3fu);\n    }", whole.prefix, x.CName)
	}
	p("    CHECK(%s_run_in(%s) == NNCC_OK && %s_run(%s) == NNCC_OK);", m.prefix, with("&a"), whole.prefix,
		with("whole"))
	p("    for (i = 0; i < %s_STEPS; i++) { CHECK(%s_step_in(%s, i) == NNCC_OK); }", up, m.prefix, with("&b"))
	p("    CHECK(%s_step_in(%s, %s_STEPS) == NNCC_ERR_INDEX);", m.prefix, with("&b"), up)
	p("%s%s    }", partsEqual(m, whole), partsAround(m, whole))
	for _, x := range m.info.ArenaParts {
		p("    free(a.%s); free(b.%[1]s);", x.Field)
	}
	if state {
		p("    free(state_a); free(state_b); free(state_c); free(state_whole);")
	}
	p("    free(whole); (void)put; (void)get; (void)load; (void)status;\n    return 0;\n}")
	return b.String()
}

// partsRefused is C that takes parts away from an arena, and moves them.
func partsRefused(m *model, args string) string {
	var b strings.Builder
	for _, x := range m.info.ArenaParts {
		for _, bad := range [][2]string{{"NULL", "NULL"}, {"a." + x.Field + " + 4", "ALIGN"}} {
			fmt.Fprintf(&b, "    { %s_arenas c = a; c.%s = %s;\n    CHECK(%[1]s_run_in(%[4]s) == NNCC_ERR_%[5]s);\n"+
				"    CHECK(%[1]s_step_in(%[4]s, 0) == NNCC_ERR_%[5]s); }\n", m.prefix, x.Field, bad[0], args, bad[1])
		}
	}
	return b.String()
}

// partsEqual is C that compares outputs.
func partsEqual(m, whole *model) string {
	var b strings.Builder
	for _, x := range m.info.Outputs {
		for _, at := range []string{"&a", "&b"} {
			fmt.Fprintf(&b, "    CHECK(memcmp(%s_%s(%s), %s_%s(whole), %d) == 0);\n", m.prefix, x.CName, at,
				whole.prefix, x.CName, x.Bytes)
		}
		if x.Type.Quant != nil && x.Bytes > 0 {
			fmt.Fprintf(&b, "    { float r[%s_%s_ELEMS]; CHECK(%s_dequantize_%s(&a, r) == NNCC_OK);\n"+
				"    CHECK(%[3]s_dequantize_%[4]s(NULL, r) == NNCC_ERR_NULL); }\n", strings.ToUpper(m.prefix), x.Upper,
				m.prefix, x.CName)
		}
	}
	return b.String()
}

// partsAround is C that makes inputs of frames and classes of outputs, in parts and in one arena.
func partsAround(m, whole *model) string {
	var b strings.Builder
	for i, x := range m.info.Postprocess {
		fmt.Fprintf(&b, "    { %s_postprocess_class_list r; %s_postprocess_class_list q;\n"+
			"    CHECK(%s(&a, &r) == NNCC_OK && %s(whole, &q) == NNCC_OK && r.count > 0);\n"+
			"    CHECK(%[3]s(NULL, &r) == NNCC_ERR_NULL && memcmp(&r, &q, sizeof r) == 0); }\n", m.prefix, whole.prefix,
			x.Function, whole.info.Postprocess[i].Function)
	}
	for i, x := range m.info.Preprocess {
		k := slices.IndexFunc(m.info.Inputs, func(y codegen.IOInfo) bool { return y.Name == x.Input })
		in, out := m.info.Inputs[k], whole.info.Inputs[k]
		macro, of := m.frame(&x)
		fmt.Fprintf(&b, "    { static %s from[%s];\n"+
			"    for (i = 0; i < (int32_t)%[2]s; i++) { from[i] = (%[1]s)(i * 31); }\n"+
			"    CHECK(%[3]s(&a, from) == NNCC_OK && %[4]s(whole, from) == NNCC_OK);\n"+
			"    CHECK(%[3]s(NULL, from) == NNCC_ERR_NULL);\n"+
			"    CHECK(memcmp(%[5]s_%[6]s(&a), %[7]s_%[8]s(whole), %[9]d) == 0); }\n", of, macro, x.Function,
			whole.info.Preprocess[i].Function, m.prefix, in.CName, whole.prefix, out.CName, in.Bytes)
	}
	return b.String()
}

// frame is the macro of how much preprocessing takes, and the C type of it.
func (m *model) frame(x *codegen.PreprocessInfo) (macro, ctype string) {
	k := slices.IndexFunc(m.info.Inputs, func(y codegen.IOInfo) bool { return y.Name == x.Input })
	macro = strings.ToUpper(m.prefix) + "_" + m.info.Inputs[k].Upper + "_FRAME_BYTES"
	if !strings.Contains(m.file(m.prefix+"_preprocess.h"), macro) {
		return strings.ReplaceAll(macro, "FRAME_BYTES", "SAMPLES"), "int16_t"
	}
	return macro, "uint8_t"
}

// partsReady is C that binds and stages a model's constants; nothing runs before.
func partsReady(m *model, args string) string {
	var b strings.Builder
	fn := m.prefix + "_run"
	if len(m.info.ArenaParts) > 0 {
		fn += "_in"
	}
	if m.info.WeightsFile != "" {
		fmt.Fprintf(&b, "    CHECK(%s(%s) == NNCC_ERR_UNBOUND);\n"+
			"    CHECK(%s_bind(load(\"%s\"), %s_WEIGHTS_FILE_BYTES) == NNCC_OK);\n", fn, args, m.prefix,
			m.info.WeightsFile, strings.ToUpper(m.prefix))
	}
	if m.info.StagedMacro != "" {
		fmt.Fprintf(&b, "    { static _Alignas(16) uint8_t fast[%s]; CHECK(%s(%s) == NNCC_ERR_UNSTAGED);\n"+
			"    CHECK(%s_stage(fast) == NNCC_OK); }\n", m.info.StagedMacro, fn, args, m.prefix)
	}
	return b.String()
}

// partsClass uses the class on memory of the caller: pointers, and a type for each part.
func partsClass(m *model) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	up := strings.ToUpper(m.prefix)
	p("#include \"%s.hpp\"\n#include <cstdio>\n#include <cstring>", m.prefix)
	var names, typed []string
	for _, x := range m.info.ArenaParts {
		section := strings.TrimSuffix(x.Macro, "_BYTES") + "_SECTION"
		p("static uint8_t %s_part[%s] %s;\nstatic nncc::%s_%[1]s_part %[1]s_typed %[3]s;", x.Field, x.Macro, section,
			m.prefix)
		names, typed = append(names, x.Field+"_part"), append(typed, x.Field+"_typed")
	}
	one, two := "arenas", strings.Join(typed, ", ")
	if len(m.info.States) > 0 {
		p("alignas(16) static unsigned char state[2][%s_STATE_BYTES];", up)
		one, two = one+", state[0]", two+", state[1]"
	}
	p("int main()\n{\n    const %s_arenas arenas = {%s};\n    nncc::%[1]s_session session(%[3]s);\n"+
		"    nncc::%[1]s_session other(%[4]s);\n    int bad = 0;", m.prefix, strings.Join(names, ", "), one, two)
	if m.info.WeightsFile != "" {
		p("    alignas(16) static unsigned char file[%s_WEIGHTS_FILE_BYTES];\n    std::FILE *const f = "+
			"std::fopen(\"%s\", \"rb\");", up, m.info.WeightsFile)
		p("    bad += session.run() != NNCC_ERR_UNBOUND;\n    if (f == nullptr) { return 100; }\n" +
			"    bad += std::fread(file, 1, sizeof file, f) != sizeof file;\n    (void)std::fclose(f);\n" +
			"    bad += session.bind(file, sizeof file) != NNCC_OK;")
	}
	if m.info.StagedMacro != "" {
		p("    alignas(16) static unsigned char fast[%s];\n    bad += session.run() != NNCC_ERR_UNSTAGED;\n"+
			"    bad += session.stage(fast) != NNCC_OK;", m.info.StagedMacro)
	}
	if len(m.info.States) > 0 {
		p("    bad += session.reset() != NNCC_OK;\n    bad += other.reset() != NNCC_OK;")
	}
	p("    for (int turn = 0; turn < 2; turn++) {")
	for _, s := range []string{"session", "other"} {
		for _, x := range m.info.Inputs {
			p("        std::memset(%s.input_%s().data(), 3 + turn, %d);", s, x.CName, x.Bytes)
		}
	}
	for i := range m.info.Preprocess {
		x := &m.info.Preprocess[i]
		bytes, elem := m.frame(x)
		p("        { static %s from[%s]; for (auto &v : from) { v = 77; }", elem, bytes)
		name := strings.TrimPrefix(x.Function, m.prefix+"_")
		p("        bad += session.%s(from) != NNCC_OK;\n        bad += other.%[1]s(from) != NNCC_OK; }", name)
	}
	p("        bad += session.run() != NNCC_OK;\n        for (std::int32_t i = 0; i < other.steps(); i++) " +
		"{ bad += other.step(i) != NNCC_OK; }")
	for _, x := range m.info.Outputs {
		p("        bad += std::memcmp(session.output_%s().data(), other.output_%[1]s().data(), %d) != 0;", x.CName,
			x.Bytes)
	}
	for _, x := range m.info.Postprocess {
		p("        { %s_postprocess_class_list r, q;\n        bad += session.%s(r) != NNCC_OK;\n"+
			"        bad += ::%s(&arenas, &q) != NNCC_OK;\n        bad += std::memcmp(&r, &q, sizeof r) != 0; }",
			m.prefix, strings.TrimPrefix(x.Function, m.prefix+"_"), x.Function)
	}
	p("    }\n    return bad;\n}")
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
		testenv.Check(t, strings.Contains(h, want), "the header has no %q:\n%s", want, h)
	}
	testenv.Check(t, !strings.Contains(h, "net_run(") && !strings.Contains(h, "net_step("),
		"the header has functions for one arena:\n%s", h)
	for _, want := range []string{"`.bss.nncc.arena.dtcm`, `.bss.nncc.arena.Dtcm`", "`net_sections.ld` places"} {
		s := m.file("README.md")
		testenv.Check(t, strings.Contains(s, want), "README.md does not say %q:\n%s", want, s)
	}
	files, err := codegen.SectionFiles([]*codegen.Info{m.info}, "test", "")
	if err != nil || len(files) != 1 || !strings.Contains(string(files[0].Data), "*(.bss.nncc.arena.Dtcm)") {
		t.Errorf("%v: %s", err, files)
	}
}
