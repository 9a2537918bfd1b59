// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// sources are the emitted C files of the models, below nncc/ or not.
func sources(ms []*model, kernels bool) []string {
	seen := map[string]bool{}
	var out []string
	for _, m := range ms {
		for _, f := range m.files {
			if strings.HasSuffix(f.Path, ".c") && strings.HasPrefix(f.Path, "nncc/") == kernels && !seen[f.Path] {
				seen[f.Path] = true
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// TestWarnings compiles what is emitted for all models, in one folder.
func TestWarnings(t *testing.T) { warningFree(t, models()) }

func warningFree(t *testing.T, ms []*model) {
	dir := t.TempDir()
	for _, m := range ms {
		m.generate(t).write(t, dir)
	}
	files := sources(ms, false)
	for _, c := range []struct{ name, label, cc, flags string }{
		{"gcc-O2", "cc", "gcc", "-O2"},
		{"gcc-Os-trace", "cc", "gcc", "-Os -DNNCC_TRACE -Wcast-align -Wundef"},
		{"clang-O2", "clang", "clang", "-O2"},
		{"m0plus", "arm-gcc", "arm-none-eabi-gcc", "-Os -mcpu=cortex-m0plus -mthumb"},
		{"m4", "arm-gcc", "arm-none-eabi-gcc", "-O2 -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard"},
		{"m55", "arm-gcc", "arm-none-eabi-gcc", "-O2 -mcpu=cortex-m55 -mthumb -mfloat-abi=hard"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cc := testenv.Tool(t, c.label, c.cc)
			at := t.TempDir() // objects are named after the sources
			args := append(slices.Clone(warnings), strings.Fields(c.flags)...)
			for _, i := range []string{"", "nncc", "nncc/cmsis_nn"} {
				args = append(args, "-I"+filepath.Join(dir, i))
			}
			args = append(args, "-c")
			for _, f := range files {
				args = append(args, filepath.Join(dir, f))
			}
			run(t, at, cc, args...)
		})
	}
}

// TestHeaderIsCPlusPlus: all headers together, in C++.
func TestHeaderIsCPlusPlus(t *testing.T) {
	dir := t.TempDir()
	var src bytes.Buffer
	for _, m := range models() {
		m.generate(t).write(t, dir)
		fmt.Fprintf(&src, "#include \"%s.h\"\n", m.prefix)
	}
	src.WriteString("int main() { return plain_run(nullptr) == NNCC_ERR_NULL ? 0 : 1; }\n")
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.cpp"), src.Bytes(), 0o644))
	cc := testenv.Tool(t, "cc", "g++")
	run(t, dir, cc, append(strings.Fields("-std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "+
		"-fsyntax-only main.cpp"), includes...)...)
}

// streams is C that reads from stdin and writes to stdout.
const streams = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void get(void *p, size_t n) { if (n > 0 && fread(p, 1, n, stdin) != n) { exit(3); } }
static void put(const void *p, size_t n) { if (n > 0) { (void)fwrite(p, 1, n, stdout); } }
`

const mainHead = streams + `static uint8_t *load(const char *name)
{
    static uint8_t *p;
    FILE *const f = fopen(name, "rb");
    const size_t size = 1u << 20;
    p = p == NULL ? aligned_alloc(16, 64u * size) : p + size; /* a bound file stays where it is */
    if (f == NULL || fread(p, 1, size, f) == 0u) { exit(3); }
    (void)fclose(f);
    return p;
}
static void status(nncc_status s) { const int32_t i = (int32_t)s; put(&i, 4); }
`

// driver writes C that feeds a model from stdin and writes what it gives:
// status for no arena and for a misaligned one; the input memory after the
// quantising helpers; status of a run; outputs, as they are and as reals.
func driver(m *model) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, "    "+format+"\n", args...) }
	p("a = aligned_alloc(16, %s_ARENA_BYTES + 16u);", strings.ToUpper(m.prefix))
	p("memset(a, 0xa5, %s_ARENA_BYTES + 16u);", strings.ToUpper(m.prefix))
	p("status(%s_run(NULL));", m.prefix)
	p("status(%s_run(a + 1));", m.prefix)
	p("status(%s_run(a + 8));", m.prefix)
	p("status((nncc_status)!(%s));", strings.Join(refusals(m), " && "))
	p("put(a, 16);")
	if m.info.WeightsFile != "" {
		p("if (%s_run(a) != NNCC_ERR_UNBOUND) { exit(5); }", m.prefix)
		p("if (%s_bind(load(\"%s\"), %s_WEIGHTS_FILE_BYTES) != NNCC_OK) { exit(6); }", m.prefix, m.info.WeightsFile,
			strings.ToUpper(m.prefix))
	}
	if up := strings.ToUpper(m.prefix); m.info.StagedMacro != "" {
		p("if (%[1]s_STEPS > 0 && (%[2]s_run(a) != NNCC_ERR_UNSTAGED || %[2]s_step(a, 0) != NNCC_ERR_UNSTAGED)) "+
			"{ exit(9); }", up, m.prefix)
		p("f = aligned_alloc(16, %s_STAGED_BYTES + 16u); memset(f, 0xa5, %[1]s_STAGED_BYTES + 16u);", up)
		p("if (%[1]s_stage(NULL) != NNCC_ERR_NULL || %[1]s_stage(f + 1) != NNCC_ERR_ALIGN) { exit(10); }", m.prefix)
		p("if (%s_stage(f) != NNCC_OK) { exit(11); }", m.prefix)
		p("for (i = 0; i < 16; i++) { if (f[%s_STAGED_BYTES + i] != 0xa5) { exit(12); } }", up)
	}
	for _, x := range m.info.Inputs {
		if x.Type.Quant == nil {
			continue
		}
		p("v = malloc(4u * %s_%s_ELEMS + 1u); get(v, 4u * %s_%s_ELEMS);", strings.ToUpper(m.prefix), x.Upper,
			strings.ToUpper(m.prefix), x.Upper)
		p("status(%s_quantize_%s(a, v)); free(v);", m.prefix, x.CName)
		p("put(%s_%s(a), %d);", m.prefix, x.CName, x.Bytes)
	}
	for _, x := range m.info.Inputs {
		if x.Type.SameMemory(nil) {
			p("get(%s_%s(a), %d);", m.prefix, x.CName, x.Bytes)
		} else {
			p("v = malloc(%d); get(v, %d); %s_load_%s(a, (const %s *)v); free(v);", x.Bytes, x.Bytes, m.prefix, x.CName,
				x.CType)
		}
	}
	stepped(m, p)
	p("status(%s_run(a));", m.prefix)
	p("free(c);")
	for _, x := range m.info.Outputs {
		if x.Type.SameMemory(nil) {
			p("put(%s_%s(a), %d);", m.prefix, x.CName, x.Bytes)
		} else {
			p("v = malloc(%d); %s_store_%s(a, (%s *)v); put(v, %d); free(v);", x.Bytes, m.prefix, x.CName, x.CType,
				x.Bytes)
		}
		if x.Type.Quant != nil {
			p("v = malloc(4u * %s_%s_ELEMS + 1u); %s_dequantize_%s(a, v);", strings.ToUpper(m.prefix), x.Upper,
				m.prefix, x.CName)
			p("put(v, 4u * %s_%s_ELEMS); free(v);", strings.ToUpper(m.prefix), x.Upper)
		}
	}
	for _, x := range m.info.Outputs {
		for i, s := range m.unit.Classes[x.Name] {
			p("if (strcmp(%s_classes_%s[%d], %s) != 0 || %s_%s_CLASSES <= %d) { exit(13); }", m.prefix, x.CName, i,
				strings.ReplaceAll(strconv.QuoteToASCII(s), "?", `\?`), strings.ToUpper(m.prefix), x.Upper, i)
		}
	}
	p("for (i = 0; i < 16; i++) { if (a[%s_ARENA_BYTES + i] != 0xa5) { exit(4); } }", strings.ToUpper(m.prefix))
	p("free(a);")
	return b.String()
}

// stepped writes C that runs a copy of the arena step by step: inputs stay until
// the step that the header names, outputs are there after theirs.
func stepped(m *model, p func(format string, args ...any)) {
	up := strings.ToUpper(m.prefix)
	p("c = aligned_alloc(16, %s_ARENA_BYTES); d = aligned_alloc(16, %s_ARENA_BYTES);", up, up)
	p("memcpy(c, a, %s_ARENA_BYTES); memcpy(d, a, %s_ARENA_BYTES);", up, up)
	p("if (%s_run(d) != NNCC_OK) { exit(5); }", m.prefix)
	p("for (i = 0; i < %s_STEPS; i++) {", up)
	for _, x := range m.info.Inputs {
		p("    if (i <= %s_%s_UNTIL && memcmp(%s_%s(a), %s_%s(c), %d) != 0) { exit(6); }", up, x.Upper,
			m.prefix, x.CName, m.prefix, x.CName, x.Bytes)
	}
	p("    if (%s_step(c, i) != NNCC_OK) { exit(7); }", m.prefix)
	for _, x := range m.info.Outputs {
		p("    if (i >= %s_%s_FROM && memcmp(%s_%s(d), %s_%s(c), %d) != 0) { exit(8); }", up, x.Upper,
			m.prefix, x.CName, m.prefix, x.CName, x.Bytes)
	}
	p("}")
	p("free(d);")
}

// namedSteps are conditions that hold: steps have the names of layers, and of chains.
func namedSteps(m *model) (list []string) {
	for i, s := range m.prog.Steps {
		name := s.Name
		if m.prog.GoesOn(i + 1) {
			name = s.Chain
		}
		if !m.prog.GoesOn(i) {
			list = append(list, fmt.Sprintf("strlen(%s_info.step_names[%d]) == %d", m.prefix, m.prog.StepOf()(i),
				len(name)))
		}
	}
	return list
}

// refusals are conditions that hold: every function of a model's interface
// refuses no arena and misaligned ones, and helpers no values.
func refusals(m *model) []string {
	up := strings.ToUpper(m.prefix)
	list := []string{fmt.Sprintf("strcmp(%s_info.name, \"%s\") == 0", m.prefix, m.prefix),
		fmt.Sprintf("%s_info.steps == %s_STEPS && %s_info.arena_bytes == %s_ARENA_BYTES", m.prefix, up, m.prefix, up)}
	if len(m.info.States) == 0 {
		none := "INDEX"
		switch {
		case len(m.prog.Steps) == 0:
		case m.info.WeightsFile != "":
			none = "UNBOUND" // nothing is bound yet
		case m.info.StagedMacro != "":
			none = "UNSTAGED"
		}
		for _, c := range [][3]string{{"NULL", "0", "NULL"}, {"a + 1", "0", "ALIGN"}, {"a", "-1", none},
			{"a", up + "_STEPS", none}, {"a", "INT32_MIN", none}} {
			list = append(list, fmt.Sprintf("%s_step(%s, %s) == NNCC_ERR_%s", m.prefix, c[0], c[1], c[2]))
		}
	}
	list = append(list, namedSteps(m)...)
	for i, x := range slices.Concat(m.info.Inputs, m.info.Outputs) {
		input := i < len(m.info.Inputs)
		for _, arena := range []string{"NULL", "a + 1", "a + 8"} {
			list = append(list, fmt.Sprintf("%s_%s(%s) == NULL", m.prefix, x.CName, arena))
		}
		var verbs []string
		if x.Type.Quant != nil {
			verbs = append(verbs, map[bool]string{true: "quantize", false: "dequantize"}[input])
		}
		if !x.Type.SameMemory(nil) {
			verbs = append(verbs, map[bool]string{true: "load", false: "store"}[input])
		}
		for _, v := range verbs {
			for _, c := range [][3]string{{"NULL", "(void *)b", "NULL"}, {"a", "NULL", "NULL"},
				{"a + 1", "(void *)b", "ALIGN"}, {"a + 8", "(void *)b", "ALIGN"}} {
				list = append(list, fmt.Sprintf("%s_%s_%s(%s, %s) == NNCC_ERR_%s", m.prefix, v, x.CName, c[0], c[1],
					c[2]))
			}
		}
	}
	if len(m.info.States) > 0 {
		for bad, code := range map[string]string{"NULL": "NULL", "a + 1": "ALIGN", "a + 8": "ALIGN"} {
			list = append(list, fmt.Sprintf("%s_reset(%s) == NNCC_ERR_%s", m.prefix, bad, code),
				fmt.Sprintf("%s_run(a, %s) == NNCC_ERR_%s", m.prefix, bad, code),
				fmt.Sprintf("%s_run(%s, a) == NNCC_ERR_%s", m.prefix, bad, code))
		}
	}
	return list
}

// reals are values that quantise to everything from one end of the range to
// the other and beyond, halves among them.
func reals(t ir.Type) []float32 {
	s, z := t.Quant.Scale[0], t.Quant.Zero[0]
	special := []float32{0, 0.5, 1.5, -0.5, -1.5, 2.5, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
		1e30, -1e30, 0.49999997, 8388609.5, 2147483520, -2147483648, 2147483648}
	v := make([]float32, t.Elems())
	for i := range v {
		if i < len(special) && len(v) > len(special) {
			v[i] = special[i] * s
		} else {
			v[i] = (float32(i)*1.25 - 100 - float32(z)) * s
		}
		if i >= len(special) && i%3 == 0 {
			v[i] = (float32(i%40) + 0.5) * s
		}
	}
	return v
}

func bytesOf(v []float32) []byte {
	var b []byte
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// TestRun builds all models into one program with the sanitizers, and compares
// outputs with the interpreter and helpers with the definition of Quantize- and
// DequantizeLinear.
func TestRun(t *testing.T) { runAll(t, 1e-6, models()) }

// TestRandom does the same with random networks and with graphs of views and
// odd memory orders, some of whose steps have several calls: places and orders must be the kernels', not only the
// interpreter's.
func TestRandom(t *testing.T) {
	var ms []*model
	for seed := range uint64(24) {
		m := &model{prefix: fmt.Sprintf("r%d", seed), net: irtest.Gen(seed, tensor.F32),
			precision: []option.Precision{option.Float32, option.Int8}[seed%2], native: seed%3 == 0,
			chained: seed%4 > 1}
		if m.precision == option.Int8 && irtest.Count(m.net, "ConvTranspose") > 0 {
			m.precision = option.Float32
		}
		ms = append(ms, m)
	}
	orders := testenv.Must(txtar.ParseFile("testdata/graphs/orders.txtar"))(t)
	for i, f := range orders.Files {
		ms = append(ms, &model{prefix: fmt.Sprintf("o%d", i), src: "\n" + string(f.Data), native: i%2 == 0})
	}
	runAll(t, 1e-4, ms)
}

// runAll compiles models into one program, runs it and compares. tol bounds
// max|a-b| / max|b| of float outputs.
func runAll(t *testing.T, tol float64, ms []*model) {
	cc := testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	var src, stdin bytes.Buffer
	for _, m := range ms {
		m.generate(t).write(t, dir)
		fmt.Fprintf(&src, "#include \"%s.h\"\n", m.prefix)
	}
	src.WriteString(mainHead)
	src.WriteString("int main(void)\n{\n    uint8_t *a, *c, *d, *f = NULL;\n    double b[1] = {0};\n    void *v;\n" +
		"    int32_t i;\n    (void)load;\n")
	for k, m := range ms {
		src.WriteString(driver(m))
		for _, x := range m.info.Inputs {
			if x.Type.Quant != nil {
				stdin.Write(bytesOf(reals(x.Type)))
			}
		}
		for _, d := range irtest.Inputs(m.graph, uint64(k)+1) {
			stdin.Write(d.Bytes())
		}
	}
	src.WriteString("    return 0;\n}\n")
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.c"), src.Bytes(), 0o644))
	args := slices.Concat(strings.Fields("-std=c11 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all "+
		"-ffp-contract=off"), includes,
		[]string{"main.c"}, sources(ms, false), sources(ms, true), []string{"-lm", "-o", "run"})
	run(t, dir, cc, args...)
	c := exec.Command(filepath.Join(dir, "run"))
	c.Dir = dir
	var out, msg bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = &stdin, &out, &msg
	c.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, msg.String())
	}
	for k, m := range ms {
		m.compare(t, uint64(k)+1, tol, &out)
	}
	testenv.Check(t, out.Len() == 0, "%d bytes too many", out.Len())
}

// compare reads what driver's code wrote.
func (m *model) compare(t *testing.T, seed uint64, tol float64, out *bytes.Buffer) {
	t.Helper()
	status := func(what string, want int) {
		testenv.Equal(t, int(binary.LittleEndian.Uint32(out.Next(4))), want, "%s: status %s", m.prefix, what)
	}
	status("without an arena", 1)
	status("with a misaligned arena", 2)
	status("with an arena aligned to 8 only", 2)
	status("of what is to be refused", 0)
	if got := out.Next(16); !bytes.Equal(got, bytes.Repeat([]byte{0xa5}, 16)) {
		t.Errorf("%s: a refused run wrote into the arena", m.prefix)
	}
	tensorOf := func(ty ir.Type) *tensor.Dense {
		d, err := tensor.FromBytes(ty.DType, ty.Shape, out.Next(ty.Bytes()))
		testenv.Require(t, err == nil, "%s: %v", m.prefix, err)
		return d
	}
	for _, x := range m.info.Inputs {
		if x.Type.Quant == nil {
			continue
		}
		status("of quantize", 0)
		want := ir.QuantiseEven(tensor.Of(x.Type.Shape, reals(x.Type)), x.Type)
		if got := out.Next(x.Bytes); !bytes.Equal(got, want.Transpose(x.Type.OrderOrIdentity()).Bytes()) {
			t.Errorf("%s: quantize_%s gives %v, want %v", m.prefix, x.CName, got, want.Bytes())
		}
	}
	status("of the run", 0)
	for i, want := range irtest.Run(t, m.graph, irtest.Inputs(m.graph, seed)) {
		x := m.info.Outputs[i]
		got := tensorOf(x.Type)
		switch {
		case x.Type.DType.IsFloat():
			d := irtest.Diff(got, want)
			testenv.Check(t, !(d > tol), "%s: output %s differs by %g", m.prefix, x.Name, d)
		case !bytes.Equal(got.Bytes(), want.Bytes()):
			t.Errorf("%s: output %s is %v, want %v", m.prefix, x.Name, got.Int64s(), want.Int64s())
		}
		if q := x.Type.Quant; q != nil {
			for k := range want.Len() {
				f := math.Float32frombits(binary.LittleEndian.Uint32(out.Next(4)))
				testenv.Equal(t, f, float32(got.Int(k)-int64(q.Zero[0]))*q.Scale[0],
					"%s: dequantize_%s: element %d", m.prefix, x.CName, k)
			}
		}
	}
}
