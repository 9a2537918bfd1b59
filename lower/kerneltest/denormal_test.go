// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/lower/kerneltest"
)

// TestDenormals sweeps operators that decide by a value, or are steep at 0, over denormals: vectors of floats on Helium
// take these for 0, which a sum or product hardly shows, but a sign, a comparison or a logarithm does.
func TestDenormals(t *testing.T) {
	one := []string{"Sign(%v#)", "Ceil(%v#)", "Floor(%v#)", "Shrink(%v#) {lambd=0.0, bias=1.5}", "Reciprocal(%v#)",
		"Abs(%v#)", "Sqrt(%v#)", "Log(%v#)"}
	positive := 6 // operators from here on give NaN below 0, whose sign is nobody's promise
	two := []string{"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
	everywhere(t, 80, func(b *kerneltest.Writer) {
		shape := fmt.Sprintf("[1,%d,%d]", b.One(1, 2, b.In(1, 9)), b.One(4, 16, 64, b.In(1, 40)))
		operands := func(signs int, names ...string) string {
			text := ""
			for _, name := range names {
				sign := []string{"", "-"}
				text += fmt.Sprintf("in %%c%[1]s# : bool%[2]s\n"+
					"const %%a%[1]s# : f32[1] = {%[3]s1e-40}\nconst %%b%[1]s# : f32[1] = {%[4]s5e-39}\n"+
					"%%%[1]s# : f32%[2]s = Where(%%c%[1]s#, %%a%[1]s#, %%b%[1]s#)\n",
					name, shape, sign[b.IntN(signs)], sign[b.IntN(signs)])
			}
			return text
		}
		switch b.IntN(5) {
		case 0:
			f := one[b.In(positive, len(one)-1)]
			b.Text(operands(1, "v")+fmt.Sprintf("%%y# : f32%s = %s", shape, f), "y#")
		case 1:
			b.Text(operands(2, "v")+fmt.Sprintf("%%y# : f32%s = %s", shape, one[b.IntN(positive)]), "y#")
		case 2:
			b.Text(operands(2, "v")+fmt.Sprintf("%%y# : bool%s = Cast(%%v#) {to=9}", shape), "y#")
		case 3:
			b.Text(operands(2, "v")+fmt.Sprintf("const %%zero# : f32[1] = {0}\n%%y# : bool%s = %s(%%v#, %%zero#)",
				shape, two[b.IntN(len(two))]), "y#")
		default:
			b.Text(operands(2, "v", "w")+fmt.Sprintf("%%y# : bool%s = %s(%%v#, %%w#)", shape, two[b.IntN(len(two))]),
				"y#")
		}
	})
}
