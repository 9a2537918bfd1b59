// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
)

// widen is a program of one loop whose input and output have elements of
// different sizes, so that GCC expresses one address by the other.
//
//go:embed testdata/widen.ir
var widen string

// nullStores counts the stores that GCC takes for stores through null pointers.
func nullStores(t *testing.T, dir, file string, flags ...string) int {
	t.Helper()
	dump := filepath.Join(dir, "dump.txt")
	run(t, dir, "arm-none-eabi-gcc", append(append(flags, includes...), "-std=c99", "-mthumb", "-c", file, "-o", "x.o",
		"-fdump-tree-local-pure-const2="+dump)...)
	text := testenv.Must(os.ReadFile(dump))(t)
	return strings.Count(string(text), "NULL memory access")
}

// TestStoresAreKept: GCC drops no store of a step. It computes the addresses of
// one tensor by those of another, without a base pointer, and its pass that
// looks for functions without effects takes those for null pointers.
func TestStoresAreKept(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	types := []struct {
		ir, c string
		bytes int
	}{{"i8", "int8_t", 1}, {"i16", "int16_t", 2}, {"i32", "int32_t", 4}, {"f32", "float", 4}}
	dropped := 0
	for _, from := range types {
		for _, to := range types {
			if from.bytes == to.bytes {
				continue
			}
			m := &model{prefix: "widen", opt: codegen.Options{Board: "host", Version: "test"}}
			var err error
			m.prog, err = program.Parse(fmt.Sprintf(widen, from.ir, 119*from.bytes, to.ir, 119*to.bytes, from.c, to.c))
			testenv.OK(t, err)
			dir := t.TempDir()
			m.emit(t).write(t, dir)
			bare := strings.ReplaceAll(m.file("widen.c"), "#pragma GCC optimize", "//")
			testenv.OK(t, os.WriteFile(filepath.Join(dir, "bare.c"), []byte(bare), 0o644))
			for _, flags := range [][]string{{"-mcpu=cortex-m0plus", "-O2"}, {"-mcpu=cortex-m4", "-Os"}} {
				testenv.Equal(t, nullStores(t, dir, "widen.c", flags...), 0, "%s to %s, %v: GCC drops stores", from.c,
					to.c, flags)
				if dropped == 0 {
					dropped = nullStores(t, dir, "bare.c", flags...)
				}
			}
		}
	}
	t.Logf("without the pragma this compiler drops stores: %t", dropped > 0)
}
