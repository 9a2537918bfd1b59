// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestNotANumber: what is no number stays so between limits, alone and behind sums, and zero times it, or times
// infinity, is no number, on either side; padding is nothing, not zeros. Of Helium's comparisons LT and LE are true of
// it. Without assembly that is the compiler's affair: Clang 14 takes these for C's "less".
func TestNotANumber(t *testing.T) {
	everywhereBy(t, 40, func(b *kerneltest.Writer) {
		c, o, w := b.One(1, 4, b.In(2, 9)), b.One(1, 8, 16, b.In(1, 24)), b.One(1, 4, b.In(1, 9))
		shape := fmt.Sprintf("[1,%d,2,%d]", c, w)
		odd := []string{"nan", "nan", "inf", "-inf"}[b.IntN(4)]
		plain, weight := []string{"0", "1.5"}[b.IntN(2)], "0.25"
		if b.Chance(50) {
			odd, weight = "2", odd
		}
		weights := func(n int) string { // one of them is another
			v := slices.Repeat([]string{"0", "0.25", "-1", "3"}, n/4+1)[:n]
			v[b.IntN(n)] = weight
			return strings.Join(v, ", ")
		}
		text := "in %c# : bool" + shape + "\nconst %n# : f32[1] = {" + odd + "}\nconst %k# : f32[1] = {" + plain +
			"}\n%v# : f32" + shape + " = Where(%c#, %n#, %k#)\n"
		limits := []string{"act_min=0.0", "act_min=-1.0, act_max=1.0"}[b.IntN(2)]
		switch b.IntN(8) {
		case 0:
			text += "const %l# : f32[] = {-1}\nconst %h# : f32[] = {1}\n%y# : f32" + shape + " = Clip(%v#, %l#, %h#)"
		case 1:
			text += "%y# : f32" + shape + " = Relu(%v#)"
		case 2:
			text += fmt.Sprintf("const %%w# : f32[%d,%d,1,1] = {%s}\n%%y# : f32[1,%d,2,%d] = Conv(%%v#, %%w#) {%s}",
				o, c, weights(o*c), o, w, limits)
		case 3, 4:
			into, group := o, 1
			if b.Chance(30) {
				into, group = c, c
			}
			text += fmt.Sprintf("const %%w# : f32[%d,%d,2,3] = {%s}\n%%y# : f32[1,%d,3,%d] = Conv(%%v#, %%w#) "+
				"{group=%d, pads=[1,1,1,1], %s}", into, c/group, weights(into*c/group*6), into, w, group, limits)
		case 5:
			text += fmt.Sprintf("%%p# = LpNormalization(%%v#) {axis=1, p=%d}\n%%y# = Sign(%%p#)", b.In(1, 2))
		case 6:
			b.Text(fmt.Sprintf("%s%%y# = %s(%%v#) {axis=1, select_last_index=%d}", text,
				[]string{"ArgMax", "ArgMin"}[b.IntN(2)], b.In(0, 1)), "y#")
			return
		default:
			text += fmt.Sprintf("const %%w# : f32[%d,%d] = {%s}\n%%y# : f32[1,%d,2,%d] = MatMul(%%v#, %%w#) {%s}",
				w, o, weights(w*o), c, o, limits)
		}
		// The sign of what is no number, and of zero, is nobody's promise.
		text += "\nconst %l0# : f32[1] = {0}\nconst %l7# : f32[1] = {7}\n%q# = IsNaN(%y#)\n%s# = Add(%y#, %l0#)\n" +
			"%z# = Where(%q#, %l7#, %s#)"
		b.Text(text, "z#")
	}, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions,
		test func(t *testing.T, spec *boards.Spec, opt run.BuildOptions)) {
		test(t, spec, opt)
	})
}
