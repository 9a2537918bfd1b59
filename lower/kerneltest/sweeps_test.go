// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// sweeps are layers of values and sizes that drawn forms seldom have, with the number of each in a program.
var sweeps = []struct {
	few      int
	layer    func(b *kerneltest.Writer)
	assembly bool // not what a compiler makes of C: Clang 14 takes LT and LE for C's "less", NaN or not
}{{20, arguments, false}, {40, denormals, false}, {30, notNumbers, true}, {30, widePools, false}, {6, signs, false},
	{30, smallMaps, false}}

// TestSweeps runs them on the host and on a board of every kind of core, bit for bit; with NNCC_LONG on Helium without
// assembly, too. NNCC_RANDOM=FROM+N runs N programs of other seeds, NNCC_BOARDS has the targets.
func TestSweeps(t *testing.T) {
	for _, name := range testenv.Boards("host", "cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			from, programs := testenv.Range(t, 1)
			for seed := from; seed < from+programs; seed++ {
				if spec.Core == "host" {
					sweep(t, spec, seed, false).RunBoard(t, spec, kerneltest.Sanitized())
					continue
				}
				sweep(t, spec, seed, false).RunBoard(t, spec, run.BuildOptions{})
				if testenv.Long() && spec.ISA.HasMVE() {
					m := sweep(t, spec, seed, true)
					kerneltest.Intrinsics(t, spec, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
						m.RunBoard(t, spec, opt)
					})
				}
			}
		})
	}
}

// sweep is a program of all sweeps, or of those that any compiler gets right.
func sweep(t *testing.T, spec *boards.Spec, seed int, anyCompiler bool) *kerneltest.Guarded {
	t.Helper()
	opt := kernel.Options{Core: coreOf(spec)}
	table, err := lower.Kernels(spec.Kernels, opt)
	testenv.OK(t, err)
	b := kerneltest.NewWriter(uint64(1000 + seed))
	for _, s := range sweeps {
		for range s.few {
			if !anyCompiler || !s.assembly {
				s.layer(b)
			}
		}
	}
	return kerneltest.Guard(t, b.Graph(t), table, opt, uint64(seed))
}

// arguments are the positions of maxima and minima over lengths, numbers of lines and places of the axis, with
// many equal values and, in float, denormals.
func arguments(b *kerneltest.Writer) {
	typ := "i8"
	q := fmt.Sprintf(" q(0.05:%d)", b.In(-100, 100))
	if b.Chance(50) {
		typ, q = "f32", ""
	}
	shape := []int{b.One(1, 1, 2), b.One(b.In(1, 9), b.In(1, 40), b.In(100, 300)), b.One(1, b.In(1, 20)),
		b.One(1, b.In(1, 9))}
	if b.Chance(50) {
		shape[1], shape[3] = shape[3], shape[1]
	}
	axis := b.One(1, 1, 2, 3, 3)
	out, keep := "", b.IntN(2)
	for d, n := range shape {
		switch {
		case d != axis:
			out += fmt.Sprintf(",%d", n)
		case keep == 1:
			out += ",1"
		}
	}
	data := fmt.Sprintf("%s[%d,%d,%d,%d]%s", typ, shape[0], shape[1], shape[2], shape[3], q)
	value := fmt.Sprintf("in %%x# : %s\n%%v# : %s = Relu(%%x#)", data, data)
	if typ == "f32" && b.Chance(50) { // denormals, which vectors of Helium take for 0
		size := strings.TrimPrefix(data, typ)
		value = fmt.Sprintf("in %%x# : bool%s\nconst %%a# : f32[1] = {1e-40}\nconst %%b# : f32[1] = {2e-40}\n"+
			"%%v# : %s = Where(%%x#, %%a#, %%b#)", size, data)
	}
	b.Text(fmt.Sprintf("%s\n%%y# : i64[%s] = %s(%%v#) {axis=%d, keepdims=%d, select_last_index=%d}", value, out[1:],
		[]string{"ArgMax", "ArgMin"}[b.IntN(2)], axis, keep, b.One(0, 0, 0, 1)))
}

// denormals are operators that decide by a value, or are steep at 0, on denormals: vectors of floats on Helium
// take these for 0, which a sum or product hardly shows, but a sign, a comparison or a logarithm does.
func denormals(b *kerneltest.Writer) {
	one := []string{"Sign(%v#)", "Ceil(%v#)", "Floor(%v#)", "Shrink(%v#) {lambd=0.0, bias=1.5}", "Reciprocal(%v#)",
		"Abs(%v#)", "Sqrt(%v#)", "Log(%v#)"}
	positive := 6 // operators from here on give NaN below 0, whose sign is nobody's promise
	two := []string{"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
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
		b.Text(operands(1, "v") + fmt.Sprintf("%%y# : f32%s = %s", shape, f))
	case 1:
		b.Text(operands(2, "v") + fmt.Sprintf("%%y# : f32%s = %s", shape, one[b.IntN(positive)]))
	case 2:
		b.Text(operands(2, "v") + fmt.Sprintf("%%y# : bool%s = Cast(%%v#) {to=9}", shape))
	case 3:
		b.Text(operands(2, "v") + fmt.Sprintf("const %%zero# : f32[1] = {0}\n%%y# : bool%s = %s(%%v#, %%zero#)",
			shape, two[b.IntN(len(two))]))
	default:
		b.Text(operands(2, "v", "w") + fmt.Sprintf("%%y# : bool%s = %s(%%v#, %%w#)", shape, two[b.IntN(len(two))]))
	}
}

// notNumbers: what is no number stays so between limits, alone and behind sums, and zero times it, or times
// infinity, is no number, on either side; padding is nothing, not zeros. Of Helium's comparisons LT and LE are true of
// it.
func notNumbers(b *kerneltest.Writer) {
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
		text += "const %l# : f32[] = {-1}\nconst %h# : f32[] = {1}\n%r# : f32" + shape + " = Clip(%v#, %l#, %h#)"
	case 1:
		text += "%r# : f32" + shape + " = Relu(%v#)"
	case 2:
		text += fmt.Sprintf("const %%w# : f32[%d,%d,1,1] = {%s}\n%%r# : f32[1,%d,2,%d] = Conv(%%v#, %%w#) {%s}",
			o, c, weights(o*c), o, w, limits)
	case 3, 4:
		into, group := o, 1
		if b.Chance(30) {
			into, group = c, c
		}
		text += fmt.Sprintf("const %%w# : f32[%d,%d,2,3] = {%s}\n%%r# : f32[1,%d,3,%d] = Conv(%%v#, %%w#) "+
			"{group=%d, pads=[1,1,1,1], %s}", into, c/group, weights(into*c/group*6), into, w, group, limits)
	case 5:
		text += fmt.Sprintf("%%p# = LpNormalization(%%v#) {axis=1, p=%d}\n%%r# = Sign(%%p#)", b.In(1, 2))
	case 6:
		b.Text(fmt.Sprintf("%s%%y# = %s(%%v#) {axis=1, select_last_index=%d}", text,
			[]string{"ArgMax", "ArgMin"}[b.IntN(2)], b.In(0, 1)))
		return
	default:
		text += fmt.Sprintf("const %%w# : f32[%d,%d] = {%s}\n%%r# : f32[1,%d,2,%d] = MatMul(%%v#, %%w#) {%s}",
			w, o, weights(w*o), c, o, limits)
	}
	// The sign of what is no number, and of zero, is nobody's promise.
	text += "\nconst %l0# : f32[1] = {0}\nconst %l7# : f32[1] = {7}\n%q# = IsNaN(%r#)\n%s# = Add(%r#, %l0#)\n" +
		"%y# = Where(%q#, %l7#, %s#)"
	b.Text(text)
}

// widePools are int16 pools of channels, windows of one element to 25, strides, padding and limits.
func widePools(b *kerneltest.Writer) {
	c, h, w := b.One(1, 2, 3, 4, b.In(5, 9), b.In(5, 40)), b.In(1, 9), b.In(1, 9)
	kh, kw := b.One(1, 2, b.In(1, min(h, 5))), b.One(1, 2, b.In(1, min(w, 5)))
	sh, sw := b.In(1, 3), b.In(1, 3)
	top, left := b.IntN(kh), b.IntN(kw)
	bottom, right := b.IntN(kh), b.IntN(kw)
	h, w = max(h, kh), max(w, kw)
	oh, ow := (h+top+bottom-kh)/sh+1, (w+left+right-kw)/sw+1
	limits := []string{"", ", act_min=0.0", ", act_min=-0.5, act_max=0.75"}[b.IntN(3)]
	b.Text(fmt.Sprintf("in %%x# : i16[%d,%d,%d,%d] q(0.0001:0)\n%%y# : i16[%[1]d,%[2]d,%[5]d,%[6]d] q(0.0001:0) = "+
		"%s(%%x#) {kernel_shape=[%d,%d], strides=[%d,%d], pads=[%d,%d,%d,%d]%s}", b.One(1, 1, 2), c, h, w, oh, ow,
		[]string{"MaxPool", "AveragePool"}[b.IntN(2)], kh, kw, sh, sw, top, left, bottom, right, limits))
}

// signs are forms in C with a minus before an attribute that has one itself, which -0.0 has, too.
func signs(b *kerneltest.Writer) {
	b.Text(fmt.Sprintf("in %%x# : f64[1,%[1]d]\n%%y# : f64[1,%[1]d] = Shrink(%%x#) {lambd=%[2]s, bias=%[3]s}",
		b.In(1, 20), []string{"-0.0", "-0.5", "0.25"}[b.IntN(3)], []string{"-0.0", "-1.5", "2.0"}[b.IntN(3)]))
}

// smallMaps are transposed convolutions of maps that one window covers, of channels that are no whole words.
func smallMaps(b *kerneltest.Writer) {
	data := []string{"i8", "i16"}[b.One(0, 0, 1)]
	zero, stride := 0, b.In(2, 3)
	if data == "i8" {
		zero = b.In(-100, 100)
	}
	h, w, c, out, k := b.One(1, 2, 2, 3), b.One(1, 2, 2, 3), b.In(1, 9), b.In(1, 18), b.In(2, 5)
	most := min(k, 1+(stride*(min(h, w)-1)+k-1)/2)
	pad := b.One(most-1, b.IntN(most))
	size := func(n int) int { return stride*(n-1) + k - 2*pad }
	text := "in %%x# : %s[1,%d,%d,%d] q(0.03:%d)\nconst %%w# : i8[%d,%d,%d,%d] q(0.01:0) = rand %d\n" +
		"%%y# : %s[1,%d,%d,%d] q(0.04:%d) = ConvTranspose(%%x#, %%w#) {strides=[%d,%d], pads=[%d,%d,%d,%d]}"
	b.Text(fmt.Sprintf(text, data, c, h, w, zero, c, out, k, k, b.IntN(1000), data, out, size(h), size(w), zero, stride,
		stride, pad, pad, pad, pad))
}
