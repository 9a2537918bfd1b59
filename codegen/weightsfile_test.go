// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/preprocess"
	"github.com/nncc/nncc/schedule"
)

// bound are models whose constants are bound at run time.
func bound(ms []*model) []*model {
	for _, m := range ms {
		m.opt.WeightsFile = true
	}
	return ms
}

// TestBound: every form of C with constants that are bound at run time, without
// warnings, and with the results of the interpreter.
func TestBound(t *testing.T) {
	t.Run("warnings", func(t *testing.T) { warningFree(t, bound(models())) })
	t.Run("run", func(t *testing.T) { runAll(t, 1e-6, bound(models())) })
}

// layered is a quantised layer, for which its weights and scales are a training.
func layered(prefix, kernel string, scale float64, zero int) *model {
	return &model{prefix: prefix, opt: codegen.Options{WeightsFile: true}, src: fmt.Sprintf(`
		in %%x : i8[1,4] q(0.5:-3)
		const %%w : i8[2,4] q(%[2]g:0) = {%[1]s}
		const %%b : i32[2] q(%[4]g:0) = {3,-9}
		%%g : i8[1,2] q(%[2]g:%[3]d) = Gemm(%%x, %%w, %%b) {transB=1}
		%%y : i8[1,2] q(%[2]g:%[3]d) = Relu(%%g)
		out "y" = %%y`, kernel, scale, zero, scale/2)}
}

//
//go:embed testdata/bindMain.c
var bindMain string

// TestBind: a weights file is taken as it is and refused where anything is wrong with
// it, each time with a status of its own; what was bound stays so.
func TestBind(t *testing.T) {
	cc := testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	m := layered("one", "1,2,3,4,5,6,7,8", 0.25, 4).generate(t)
	other := layered("two", "9,-8,7,-6,5,-4,3,-2", 0.125, -7).generate(t)
	testenv.Require(t, m.info.Layout != "" && m.info.Layout == other.info.Layout,
		"two trainings of a network have the layouts %q and %q", m.info.Layout, other.info.Layout)
	strange := layered("three", "1,2,3,4,5,6,7,8", 0.25, 4)
	strange.src = strings.ReplaceAll(strange.src, "[1,", "[3,")
	testenv.Check(t, strange.generate(t).info.Layout != m.info.Layout,
		"a network of another shape has the same layout")
	file := []byte(m.file("one_weights.bin"))
	word := func(at int, v uint32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[at:], v) }
	}
	sealed := func(b []byte) { binary.LittleEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:])) }
	if again := slices.Clone(file); len(again) > 0 {
		if sealed(again); !bytes.Equal(again, file) {
			t.Error("the file's checksum is not the CRC-32 of what is behind it")
		}
	}
	type trial struct {
		name   string
		status string
		change func([]byte)
		bytes  int // of the file that are given
		skew   int // of its address
	}
	trials := []trial{
		{"as it is", "OK", nil, len(file), 0},
		{"with more behind it", "OK", nil, len(file) + 100, 0},
		{"misaligned", "ERR_ALIGN", nil, len(file), 4},
		{"no bytes", "ERR_WEIGHTS_SHORT", nil, 0, 0},
		{"half a header", "ERR_WEIGHTS_SHORT", nil, 50, 0},
		{"a byte short", "ERR_WEIGHTS_SHORT", nil, len(file) - 1, 0},
		{"another magic", "ERR_WEIGHTS_MAGIC", word(0, 0), len(file), 0},
		{"another version", "ERR_WEIGHTS_VERSION", word(4, 2), len(file), 0},
		{"another size", "ERR_WEIGHTS_CRC", word(8, uint32(len(file))+16), len(file), 0},
		{"another layout", "ERR_WEIGHTS_LAYOUT", func(b []byte) { b[20] ^= 1; sealed(b) }, len(file), 0},
	}
	for at := 12; at < len(file); at++ {
		status := "ERR_WEIGHTS_CRC"
		if at >= 16 && at < 48 {
			status = "ERR_WEIGHTS_LAYOUT"
		}
		trials = append(trials, trial{fmt.Sprintf("byte %d flipped", at), status,
			func(b []byte) { b[at] ^= 1 << (at % 8) }, len(file), 0})
	}
	var src strings.Builder
	src.WriteString(bindMain)
	for i, x := range trials {
		data := append(slices.Clone(file), make([]byte, 200)...)
		if x.change != nil {
			x.change(data[:len(file)])
		}
		data = append(make([]byte, x.skew), data...)
		name := fmt.Sprintf("trial%d.bin", i)
		testenv.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		fmt.Fprintf(&src, "    load(\"%s\", blob);\n    check(one_bind(blob + %d, %d) == NNCC_%s, \"%s\");\n",
			name, x.skew, x.bytes, x.status, x.name)
		if x.status == "OK" {
			src.WriteString("    check(ONE_X_SCALE == 0.5f && ONE_X_ZERO_POINT == -3, \"scale of the input\");\n" +
				"    check(ONE_Y_SCALE == 0.25f, \"scale of the output\");\n")
		}
	}
	fmt.Fprintf(&src, `    check(one_run(arena) == NNCC_ERR_UNBOUND, "a damaged file stays bound");
    load("one_weights.bin", good);
    check(one_bind(good, %[1]d) == NNCC_OK && one_bind(blob, %[1]d) != NNCC_OK, "a file beside a damaged one");
    check(one_run(arena) == NNCC_OK, "what was bound does not stay so");
    return bad;
}
`, len(file))
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(src.String()), 0o644))
	m.write(t, dir)
	args := slices.Concat(strings.Fields("-std=c11 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"),
		includes, []string{"main.c"}, sources([]*model{m}, false), sources([]*model{m}, true),
		[]string{"-lm", "-o", "run"})
	run(t, dir, cc, args...)
	out, err := try(dir, "./run")
	testenv.Check(t, err == nil, "%v: %s", err, out)
}

// TestLayoutCovers: the digest of a layout is another one for everything in the code that
// another file's constants would meet, pre- and postprocessing and copies among it, and the
// same for other names and other numbers.
func TestLayoutCovers(t *testing.T) {
	base := func() *model {
		m := everything("net")
		m.copies, m.parts = false, false
		return m
	}
	layout := func(change func(m *model)) string {
		m := base()
		change(m)
		return m.generate(t).info.Layout
	}
	replaced := func(old, with string) func(m *model) {
		return func(m *model) {
			testenv.Require(t, strings.Contains(m.src, old), "no %q", old)
			m.src = strings.ReplaceAll(m.src, old, with)
		}
	}
	classes := func(change func(c *postprocess.Classes)) func(m *model) {
		return func(m *model) {
			c := *m.unit.Postprocess.Classes
			change(&c)
			m.unit.Postprocess = &codegen.Postprocess{Outputs: m.unit.Postprocess.Outputs, Classes: &c}
		}
	}
	frames := func(change func(i *preprocess.Image)) func(m *model) {
		return func(m *model) { change(m.unit.Preprocess[0].Image) }
	}
	// Two outputs of one type, and what reads one of them.
	two := func(of string) func(m *model) {
		return func(m *model) {
			replaced("out \"y\" = %y", "%z : i8[1,6] q(0.2:-5) = Relu(%y)\n out \"y\" = %y\n out \"z\" = %z")(m)
			m.unit.Postprocess = &codegen.Postprocess{Outputs: []string{of}, Classes: m.unit.Postprocess.Classes}
		}
	}
	// Two inputs of one type, and what writes one of them.
	inputs := func(of string) func(m *model) {
		return func(m *model) {
			replaced("in %h", "in %x2 : i8[1,3,5,7] q(0.0078125:0)\n in %h")(m)
			replaced("out \"y\"", "%u : i8[1,3,5,7] q(0.0078125:0) = Relu(%x2)\n out \"u\" = %u\n out \"y\"")(m)
			m.unit.Preprocess = []codegen.Preprocess{cameraOf(of)}
		}
	}
	nothing := func(*model) {}
	for _, c := range []struct {
		name string
		a, b func(m *model)
		same bool
	}{
		{"weights", nothing, replaced("rand 2", "rand 5"), true},
		{"a bias", nothing, replaced("{10,-20", "{11,-20"), true},
		{"scales within", nothing, replaced("q(0.1:3) = Conv", "q(0.125:5) = Conv"), true},
		{"names of values", nothing, replaced("%c", "%other"), true},
		{"the name of an input", nothing, func(m *model) {
			replaced("%x", "%other")(m)
			m.unit.Preprocess[0].Input = "other"
		}, true},
		{"the prefix", nothing, func(m *model) { m.prefix = "another" }, true},
		{"a shape", nothing, func(m *model) {
			replaced("[1,6]", "[1,5]")(m)
			replaced("[6,60]", "[5,60]")(m)
			replaced("i32[6]", "i32[5]")(m)
			replaced(",-60", "")(m)
			classes(func(c *postprocess.Classes) { c.Count = 5 })(m)
		}, false},
		{"no state", nothing, func(m *model) { m.kept = nil }, false},
		{"parts", nothing, func(m *model) { m.parts = true }, false},
		{"copies", nothing, func(m *model) { m.copies = true }, false},
		{"no preprocessing", nothing, func(m *model) { m.unit.Preprocess = nil }, false},
		{"the format of frames", nothing, frames(func(i *preprocess.Image) { i.Format = preprocess.RGB565BE }), false},
		{"the size of frames", nothing, frames(func(i *preprocess.Image) {
			i.Height = 12
			i.Place(preprocess.Fit)
		}), false},
		{"the input that frames become", inputs("x"), inputs("x2"), false},
		{"the scale of an input with a table", nothing, replaced("0.0078125:0", "0.0078125:1"), false},
		{"no postprocessing", nothing, func(m *model) { m.unit.Postprocess = nil }, false},
		{"the scale of an output with thresholds", nothing, replaced("q(0.2:-5)", "q(0.25:-5)"), false},
		{"a threshold", nothing, classes(func(c *postprocess.Classes) { c.Threshold = []float32{0.2} }), false},
		{"how many classes", nothing, classes(func(c *postprocess.Classes) { c.Top = 3 }), false},
		{"the output that classes are of", two("y"), two("z"), false},
	} {
		a, b := layout(c.a), layout(c.b)
		testenv.Check(t, a != "" && (a == b) == c.same, "another one of %s: layouts %.8s and %.8s", c.name, a, b)
	}
}

// TestLayoutOfCopies: which copies steps read is in the layout.
func TestLayoutOfCopies(t *testing.T) {
	layout := func(staged, fetched []int) string {
		m := everything("net")
		m.copies, m.parts = false, false
		m.generate(t)
		testenv.OK(t, schedule.Stage(m.prog, staged, fetched))
		return m.emit(t).info.Layout
	}
	m := everything("net")
	m.copies, m.parts = false, false
	m.generate(t)
	var used []int
	for _, s := range m.prog.Steps {
		for _, i := range s.Constants() {
			if !slices.Contains(used, i) {
				used = append(used, i)
			}
		}
	}
	seen := map[string]string{}
	for _, i := range used {
		for how, l := range map[string]string{"staged": layout([]int{i}, nil), "fetched": layout(nil, []int{i})} {
			what := fmt.Sprintf("constant %d %s", i, how)
			testenv.Equal(t, seen[l], "", "%s and : the same layout", what)
			seen[l] = what
		}
	}
	testenv.Check(t, len(seen) >= 4, "%d layouts", len(seen))
}
