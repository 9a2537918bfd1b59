// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// widen is a program of one loop whose input and output have elements of
// different sizes, so that GCC expresses one address by the other.
func widen(from, to tensor.DType, fromC, toC string) *program.Program {
	loop := strings.NewReplacer("FROM", fromC, "TO", toC)
	code := &call.Code{Hint: "loop", Params: []string{"const " + fromC + " *x0", "const " + fromC + " *c1",
		toC + " *y0", "int32_t n0", "int32_t n1"}, Body: loop.Replace(`    int32_t i = 0;
    for (int32_t i0 = 0; i0 < n0; i0++) {
        const FROM v1 = c1[i0];
        for (int32_t i1 = 0; i1 < n1; i1++) {
            const FROM v0 = x0[i];
            y0[i] = (TO)(v0 < v1 ? v0 : v1);
            i++;
        }
    }
`)}
	x, y := types.T(from, 17, 7), types.T(to, 17, 7)
	step := &program.Step{Name: "Min", Op: "Min", Origin: []string{"Min"}, In: []program.Operand{{}, {Buffer: -1}},
		Out: []int{1}, Kernel: "loop", Scratch: -1, Calls: []call.Call{{Code: code, Args: []call.Arg{
			call.In{CType: fromC}, call.Const{NoCast: true}, call.Out{CType: toC}, call.Lit("17"), call.Lit("7")}}}}
	return &program.Program{Name: "g", ArenaBytes: 4096, LowerBound: 4096, PeakOptimal: true,
		Buffers: []program.Buffer{{Name: "x", Type: x, Offset: 1024, Bytes: x.Bytes(), AliasOf: -1},
			{Name: "y", Type: y, Offset: 2048, Bytes: y.Bytes(), AliasOf: -1}},
		Inputs: []program.IO{{Name: "x"}}, Outputs: []program.IO{{Name: "y", Buffer: 1}},
		Steps:  []*program.Step{step},
		Consts: []program.Const{{Hint: "const", CType: fromC, Data: ir.Rand(1, from, []int{17}).Bytes()}}}
}

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
	elements := []struct {
		d tensor.DType
		c string
	}{{tensor.I8, "int8_t"}, {tensor.I16, "int16_t"}, {tensor.I32, "int32_t"}, {tensor.F32, "float"}}
	dropped := 0
	for _, from := range elements {
		for _, to := range elements {
			if from.d.Size() == to.d.Size() {
				continue
			}
			m := &model{prefix: "widen", opt: codegen.Options{Board: "host", Version: "test"}}
			m.prog = widen(from.d, to.d, from.c, to.c)
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
