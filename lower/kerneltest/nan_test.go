// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestNotANumber: what is no number stays so between limits, alone and behind sums. Of Helium's comparisons LT and LE
// are true of it. Without assembly that is the compiler's affair: Clang 14 takes these for C's "less".
func TestNotANumber(t *testing.T) {
	everywhereBy(t, 40, func(b *kerneltest.Writer) {
		c, o, w := b.One(1, 4, b.In(2, 9)), b.One(1, 8, 16, b.In(1, 24)), b.One(1, 4, b.In(1, 9))
		shape := fmt.Sprintf("[1,%d,2,%d]", c, w)
		text := "in %c# : bool" + shape + "\nconst %n# : f32[1] = {nan}\nconst %k# : f32[1] = {1.5}\n" +
			"%v# : f32" + shape + " = Where(%c#, %n#, %k#)\n"
		limits := []string{"act_min=0.0", "act_min=-1.0, act_max=1.0"}[b.IntN(2)]
		switch b.IntN(4) {
		case 0:
			text += "const %l# : f32[] = {-1}\nconst %h# : f32[] = {1}\n%y# : f32" + shape + " = Clip(%v#, %l#, %h#)"
		case 1:
			text += "%y# : f32" + shape + " = Relu(%v#)"
		case 2:
			text += fmt.Sprintf("const %%w# : f32[%d,%d,1,1] = rand %d\n%%y# : f32[1,%d,2,%d] = Conv(%%v#, %%w#) {%s}",
				o, c, b.In(1, 99), o, w, limits)
		default:
			text += fmt.Sprintf("const %%w# : f32[%d,%d] = rand %d\n%%y# : f32[1,%d,2,%d] = MatMul(%%v#, %%w#) {%s}",
				w, o, b.In(1, 99), c, o, limits)
		}
		b.Text(text, "y#")
	}, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions,
		test func(t *testing.T, spec *boards.Spec, opt run.BuildOptions)) {
		test(t, spec, opt)
	})
}
