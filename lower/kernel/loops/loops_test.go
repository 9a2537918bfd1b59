// SPDX-License-Identifier: Apache-2.0

package loops_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

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
			testenv.Check(t, used[o.Name] || slices.Contains(elsewhere, o.Name),
				"%s, of row %s, has no template", o.Name, k.Name)
		}
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
	testenv.OK(t, err)
	kerneltest.Host(t, kernel.NewTable(loops.Kernels), 0, g)
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
	testenv.OK(t, err)
	kerneltest.Host(t, kernel.NewTable(loops.Kernels), 0, g)
}

// notLowered are the operators without a kernel, with the reason.
var notLowered = map[*ir.OpDef]string{
	op.Get("", "CenterCropPad"): "the import writes it as Slice and Pad",
	op.Segment:                  "a part that an accelerator runs; its driver's calls are the kernel",
	op.Device:                   "a program of another compiler, which its device runs",
}

// TestEveryOperatorIsLowered: every operator has a row of a kernel, or a reason
// for having none.
func TestEveryOperatorIsLowered(t *testing.T) {
	has := map[*ir.OpDef]bool{}
	for _, k := range slices.Concat(reference.Kernels, cmsisnn.Kernels, loops.Kernels) {
		for _, d := range k.Ops {
			has[d] = true
		}
	}
	for _, d := range op.All() {
		if why := notLowered[d]; has[d] == (why != "") {
			t.Errorf("operator %s %s: has a kernel: %v, reason for none: %q", d.Domain, d.Name, has[d], why)
		}
	}
}
