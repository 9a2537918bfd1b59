// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// cppWarnings are those of a project that takes headers as they are.
var cppWarnings = []string{"-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fno-exceptions",
	"-fno-rtti"}

// cppMain runs a model through its class and through its functions, on the same inputs.
func cppMain(m *model) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include \"%s.hpp\"\n#include <cstdio>\n#include <cstring>\n\n", m.prefix)
	fmt.Fprintf(&b, "static nncc::%s_model model;\n"+
		"alignas(16) static unsigned char arena[nncc::%[1]s_session::arena_bytes()];\n", m.prefix)
	args := "arena"
	if len(m.info.States) > 0 {
		fmt.Fprintf(&b, "alignas(16) static unsigned char state[nncc::%s_session::state_bytes()];\n", m.prefix)
		args = "arena, state"
	}
	if m.info.StagedMacro != "" {
		fmt.Fprintf(&b, "alignas(16) static unsigned char fast[%s];\n", m.info.StagedMacro)
	}
	fmt.Fprintf(&b, "\nint main()\n{\n    nncc::%s_session session(%s);\n    int bad = 0;\n", m.prefix, args)
	if m.info.StagedMacro != "" {
		fmt.Fprintf(&b, "    bad += session.run() != NNCC_ERR_UNSTAGED;\n")
		fmt.Fprintf(&b, "    bad += nncc::%s_model::stage(fast) != NNCC_OK;\n", m.prefix)
	}
	if len(m.info.States) > 0 {
		fmt.Fprintf(&b, "    bad += session.reset() != NNCC_OK;\n")
	}
	b.WriteString("    for (int turn = 0; turn < 2; turn++) {\n")
	for _, x := range m.info.Inputs {
		if x.Bytes == 0 {
			continue
		}
		fmt.Fprintf(&b, "        std::memset(model.input_%s().data(), turn + 1, "+
			"model.input_%[1]s().size() * sizeof(%s));\n"+
			"        std::memset(session.input_%[1]s().data(), turn + 1, %[3]du);\n", x.CName, x.CType, x.Bytes)
	}
	b.WriteString("        bad += model.run() != NNCC_OK;\n" +
		"        for (std::int32_t i = 0; i < session.steps(); i++) { bad += session.step(i) != NNCC_OK; }\n" +
		"        bad += session.step(session.steps()) != NNCC_ERR_INDEX;\n")
	for _, x := range m.info.Outputs {
		fmt.Fprintf(&b, "        { const auto one = model.output_%s(); "+
			"const auto other = session.output_%[1]s();\n"+
			"        bad += one.size() * sizeof(%s) != %du;\n"+
			"        for (const auto &v : one) { static_cast<void>(v); }\n"+
			"        bad += std::memcmp(one.data(), other.data(), %[3]du) != 0; }\n", x.CName, x.CType, x.Bytes)
	}
	fmt.Fprintf(&b, "    }\n    bad += model.info().steps != session.steps();\n"+
		"    bad += std::strcmp(session.info().name, %q) != 0;\n", m.prefix)
	b.WriteString("    std::printf(\"%d\\n\", bad);\n    return bad;\n}\n")
	return b.String()
}

// TestCPlusPlus: the class of every model compiles without a warning by g++ and clang++
// from C++11 on, and computes what the functions do.
func TestCPlusPlus(t *testing.T) {
	gcc := testenv.Tool(t, "cc", "gcc")
	compilers := []string{testenv.Tool(t, "cc", "g++"), testenv.Tool(t, "clang", "clang++")}
	for _, m := range models() {
		t.Run(m.prefix, func(t *testing.T) {
			m.copies = m.prefix == "quantised"
			m.generate(t)
			dir := t.TempDir()
			m.write(t, dir)
			testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.cpp"), []byte(cppMain(m)), 0o644))
			own, cmsis := modelSources(m)
			include := []string{"-I.", "-Inncc", "-Inncc/cmsis_nn"}
			run(t, dir, gcc, slices.Concat(include, []string{"-c"}, own, cmsis)...)
			objects, err := filepath.Glob(filepath.Join(dir, "*.o"))
			testenv.Require(t, err == nil && len(objects) != 0, "no objects (%v)", err)
			for i, cxx := range compilers {
				for k, std := range []string{"11", "17", "20"} {
					if m.prefix != "quantised" && len(m.info.States) == 0 && (i+k)%2 != 0 {
						continue // all six for a few
					}
					exe := filepath.Join(dir, "main"+std)
					run(t, dir, cxx, slices.Concat(cppWarnings, include, []string{"-std=c++" + std, "-o", exe,
						"main.cpp"}, objects, []string{"-lm"})...)
					run(t, dir, exe)
				}
			}
		})
	}
}
