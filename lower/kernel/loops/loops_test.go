// SPDX-License-Identifier: Apache-2.0

package loops_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// layers are the templates with random sizes as the text of one graph: every
// operator in every type of its class, or one type each when quick.
func layers(r *rand.Rand, quick bool) (string, int) {
	var b strings.Builder
	b.WriteString("graph \"layers\" {\n")
	count, values := 0, 0
	var outs []string
	for _, x := range kerneltest.Templates {
		operands, types, ops := x.Parts()
		class := x.Class
		if quick {
			class = []string{class[r.IntN(len(class))]}
		}
		for _, dt := range class {
			for _, o := range ops {
				sizes := map[byte]int{}
				for c := byte('A'); c <= 'D'; c++ {
					sizes[c] = 1 + r.IntN(4)
				}
				fill := func(s string) string {
					s = strings.ReplaceAll(s, "T", dt)
					i := strings.IndexByte(s, '[')
					if i < 0 {
						return s
					}
					j := strings.IndexByte(s, ']')
					dims := []byte{}
					for k := i; k < j; k++ {
						if n := sizes[s[k]]; n > 0 {
							dims = append(dims, strconv.Itoa(n)...)
						} else {
							dims = append(dims, s[k])
						}
					}
					return s[:i] + string(dims) + s[j:]
				}
				var args []string
				for _, p := range operands {
					values++
					kind, decl, _ := strings.Cut(p, " ")
					decl, data, _ := strings.Cut(decl, " = ")
					if n, ok := strings.CutPrefix(data, "fill "); ok {
						data = "splat " + n
					}
					name := fmt.Sprintf("%%v%d", values)
					if kind == "x" {
						fmt.Fprintf(&b, "in %s : %s\n", name, fill(decl))
					} else {
						fmt.Fprintf(&b, "const %s : %s = %s\n", name, fill(decl), data)
					}
					args = append(args, name)
				}
				name, attrs, _ := strings.Cut(o, "{")
				if attrs != "" {
					attrs = " {" + attrs
				}
				if name == "Resize" && sizes['A'] > 0 {
					args[1] = "-"
				}
				var results []string
				for range types {
					values++
					results = append(results, fmt.Sprintf("%%v%d", values))
					outs = append(outs, fmt.Sprintf("v%d", values))
				}
				fmt.Fprintf(&b, "%s = %s(%s)%s\n", strings.Join(results, ", "), name, strings.Join(args, ", "), attrs)
				count++
			}
		}
	}
	for _, o := range outs {
		fmt.Fprintf(&b, "out %q = %%%s\n", o, o)
	}
	return b.String() + "}\n", count
}

// elsewhere are operators with rows that have their tests in other places:
// bodies of several nodes, what needs a condition known at compile time, and functions of
// integers alone (cmd/internal/conform, TestTFLite).
var elsewhere = []string{"Fused", "Compress", "InverseRoot", "LogQ12", "ReciprocalQ12", "RescaleBy",
	"RescaleWide", "Sigmoid16", "SignalLog", "SignalRoot", "Tanh16"}

// Every operator with a row has a template.
func TestTemplates(t *testing.T) {
	used := map[string]bool{}
	for _, x := range kerneltest.Templates {
		_, _, ops := x.Parts()
		for _, o := range ops {
			name, _, _ := strings.Cut(o, "{")
			used[name[strings.LastIndexByte(name, '.')+1:]] = true
		}
	}
	for _, k := range loops.Kernels {
		for _, o := range k.Ops {
			if !used[o.Name] && !slices.Contains(elsewhere, o.Name) {
				t.Errorf("%s, of row %s, has no template", o.Name, k.Name)
			}
		}
	}
}

// functions are the kernels of runtime_c for operators without a row here: they have
// templates, too.
func functions() []*kernel.Kernel {
	written := map[*ir.OpDef]bool{}
	for _, k := range loops.Kernels {
		for _, o := range k.Ops {
			written[o] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(reference.Kernels), func(k *kernel.Kernel) bool {
		return slices.ContainsFunc(k.Ops, func(o *ir.OpDef) bool { return written[o] })
	})
}

// Functions that are written for single nodes, against the interpreter: random
// sizes, every element type, under the sanitizers and between guards. One type
// of every class in a plain go test, with NNCC_LONG all of them, five
// times with other sizes.
func TestAgainstInterpreter(t *testing.T) {
	rounds, quick := 1, true
	if testenv.Long() {
		rounds, quick = 5, false
	}
	table := kernel.NewTable(slices.Concat(loops.Kernels, functions()))
	for seed := range uint64(rounds) {
		text, count := layers(rand.New(rand.NewPCG(seed, 5)), quick)
		g, err := ir.Parse(text, op.Get)
		if err != nil {
			t.Fatalf("%v", err)
		}
		m := kerneltest.Guard(t, g, table, kernel.Options{}, seed)
		m.Near = true
		m.RunHost(t)
		t.Logf("seed %d: %d functions of %d rows", seed, count, len(m.Rows))
	}
}

// A difference of unsigned numbers wraps to what is 2^64 as a double: an absorbed
// activation stores the nearest number of the type, as the interpreter does, whatever
// the core makes of a cast.
func TestActivationBeyondType(t *testing.T) {
	g, err := ir.Parse(`graph "ends" {
in %a : u64[40]
in %b : u64[40]
in %c : i64[40]
in %d : u8[40]
%e = Sub(%a, %b) {act_min=0.0}
%f = Add(%c, %c) {act_max=4e18}
%g = Add(%d, %d) {act_max=-2.0}
out "e" = %e
out "f" = %f
out "g" = %g
}
`, op.Get)
	if err != nil {
		t.Fatal(err)
	}
	m := kerneltest.Guard(t, g, kernel.NewTable(loops.Kernels), kernel.Options{}, 1)
	m.RunHost(t)
}

// Sums over the taps of a Resize are added in the interpreter's order: thirds and sevenths
// of integers often are whole numbers, on whose wrong side another order ends.
func TestResizeOfIntegers(t *testing.T) {
	g, err := ir.Parse(`graph "resized" {
in %a : u8[1,300,4,5]
in %b : i32[1,60,3,4,3]
const %s : f32[4] = {1,1,2,2}
const %r : f32[5] = {1,1,2,2,2}
%c = Resize(%a, -, %s) {mode="linear", coordinate_transformation_mode="align_corners"}
%d = Resize(%b, -, %r) {mode="linear", coordinate_transformation_mode="align_corners"}
%e = Resize(%a, -, %s) {mode="cubic", coordinate_transformation_mode="align_corners"}
out "c" = %c
out "d" = %d
out "e" = %e
}
`, op.Get)
	if err != nil {
		t.Fatal(err)
	}
	m := kerneltest.Guard(t, g, kernel.NewTable(loops.Kernels), kernel.Options{}, 1)
	m.RunHost(t)
}
