// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
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

const bindMain = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "one.h"
static _Alignas(16) unsigned char blob[4096], good[4096], arena[ONE_ARENA_BYTES];
static int bad;
static void check(int ok, const char *what) { if (!ok) { puts(what); bad = 1; } }
static void load(const char *name, unsigned char *to)
{
    FILE *const f = fopen(name, "rb");
    if (f == NULL || fread(to, 1, 4096, f) == 0) { exit(3); }
    (void)fclose(f);
}
int main(void)
{
    check(one_bind(NULL, 4096) == NNCC_ERR_NULL, "NULL");
    check(one_scale_x() == 0.0f && one_zero_point_y() == 0, "a scale without a file");
`

// TestBind: a weights file is taken as it is and refused where anything is wrong with
// it, each time with a status of its own; what was bound stays so.
func TestBind(t *testing.T) {
	cc := testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	m := layered("one", "1,2,3,4,5,6,7,8", 0.25, 4).generate(t)
	other := layered("two", "9,-8,7,-6,5,-4,3,-2", 0.125, -7).generate(t)
	if m.info.Layout == "" || m.info.Layout != other.info.Layout {
		t.Fatalf("two trainings of a network have the layouts %q and %q", m.info.Layout, other.info.Layout)
	}
	strange := layered("three", "1,2,3,4,5,6,7,8", 0.25, 4)
	strange.src = strings.ReplaceAll(strange.src, "[1,", "[3,")
	if strange.generate(t).info.Layout == m.info.Layout {
		t.Error("a network of another shape has the same layout")
	}
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
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
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
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(src.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	m.write(t, dir)
	args := slices.Concat(strings.Fields("-std=c11 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"),
		includes, []string{"main.c"}, sources([]*model{m}, false), sources([]*model{m}, true),
		[]string{"-lm", "-o", "run"})
	run(t, dir, cc, args...)
	if out, err := try(dir, "./run"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
