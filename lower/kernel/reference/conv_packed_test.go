// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// integers is a constant of small whole numbers, whose sums are exact in
// float32 whatever the order.
func integers(r *rand.Rand, n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprint(r.IntN(17) - 8)
	}
	return "{" + strings.Join(s, ",") + "}"
}

// packedGraph has random layers of all shapes, on whole numbers.
func packedGraph(r *rand.Rand, count int) string {
	g := &drawing{r: r}
	g.add("graph \"g\" {\n  const %%four : f32[] = {4}\n  const %%zero : f32[] = {0}\n")
	for i := range count {
		switch r.IntN(10) {
		case 8:
			g.pair(i)
		case 9:
			g.rows(i)
		case 0:
			g.gemm(i)
		case 1:
			g.products(i)
		case 2:
			g.transposed(i)
		default:
			g.conv(i)
		}
		g.add("  out \"y%d\" = %%y%d\n", i, i)
	}
	return g.b.String() + "}"
}

// drawing is a graph in the making.
type drawing struct {
	r *rand.Rand
	b strings.Builder
}

func (g *drawing) add(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }
func (g *drawing) in(lo, hi int) int              { return lo + g.r.IntN(hi-lo+1) }
func (g *drawing) one(of ...int) int              { return of[g.r.IntN(len(of))] }
func (g *drawing) constant(name string, s ...int) {
	g.add("  const %%%s : %s = %s\n", name, f32s(s), integers(g.r, count(s)))
}

// input is a tensor of whole numbers, name, without zeros below 0: where all that is
// added up is such, kernels and the interpreter may differ in the sign of zero.
func (g *drawing) input(name string, s ...int) {
	g.add("  in %%x%s : %s\n  %%m%s = Mul(%%x%s, %%four)\n", name, f32s(s), name, name)
	g.add("  %%n%s = Round(%%m%s)\n  %%%s = Add(%%n%s, %%zero)\n", name, name, name, name)
}

func f32s(s []int) string { return "f32" + strings.ReplaceAll(fmt.Sprint(s), " ", ",") }

func count(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// bias is one for so many channels, now and then, as an operand.
func (g *drawing) bias(i, channels int) string {
	if g.r.IntN(3) == 0 {
		return ""
	}
	g.constant(fmt.Sprintf("b%d", i), channels)
	return fmt.Sprintf(", %%b%d", i)
}

// act are limits of the results.
func (g *drawing) act() string {
	s := ""
	if g.r.IntN(2) == 0 {
		s = ", act_min=0.0"
	}
	if g.r.IntN(4) == 0 {
		s += ", act_max=20.0"
	}
	return s
}

// conv is a convolution: dense, grouped or depthwise.
func (g *drawing) conv(i int) {
	groups, cin, cout := 1, g.in(1, 9), g.one(1, 3, 4, 5, 8, 15, 16, 17, 20, 33)
	switch g.r.IntN(4) {
	case 0: // depthwise
		cin = g.one(2, 3, 4, 7, 8, 16, 18, 21, 35)
		groups, cout = cin, cin
	case 1:
		groups = g.in(2, 3)
		cin, cout = groups*g.in(1, 4), groups*g.in(1, 20)
	}
	kh, kw := g.in(1, 4), g.in(1, 4)
	h, w := kh+g.in(0, 6), kw+g.in(0, 6)
	pads := []int{g.in(0, kh-1), g.in(0, kw-1), g.in(0, kh-1), g.in(0, kw-1)}
	dh, dw := 1, 1
	if g.r.IntN(3) == 0 && h >= 2*kh && w >= 2*kw {
		dh, dw = 2, g.in(1, 2)
	}
	bias := g.bias(i, cout)
	g.input(fmt.Sprintf("r%d", i), g.in(1, 2), cin, h, w)
	g.constant(fmt.Sprintf("w%d", i), cout, cin/groups, kh, kw)
	g.add("  %%y%d = Conv(%%r%d, %%w%d%s) {group=%d, pads=%s, strides=[%d,%d], dilations=[%d,%d]%s}\n", i, i, i, bias,
		groups, strings.ReplaceAll(fmt.Sprint(pads), " ", ","), g.in(1, 3), g.in(1, 3), dh, dw, g.act())
}

// transposed is a transposed convolution: dense, grouped or depthwise; strides may be larger than
// the kernel, which leaves phases without taps.
func (g *drawing) transposed(i int) {
	groups, cin, cout := 1, g.in(1, 9), g.one(1, 3, 4, 5, 9, 17)
	switch g.r.IntN(4) {
	case 0: // depthwise
		cin = g.one(2, 3, 5, 8, 13, 16)
		groups, cout = cin, cin
	case 1:
		groups = g.in(2, 3)
		cin, cout = groups*g.in(1, 4), groups*g.in(1, 9)
	}
	kh, kw, sh, sw, dh, dw := g.in(1, 5), g.in(1, 5), g.in(1, 3), g.in(1, 3), 1, 1
	if g.r.IntN(3) == 0 {
		dh, dw = g.in(1, 3), g.in(1, 2)
	}
	top, left := g.in(0, (kh-1)*dh/2), g.in(0, (kw-1)*dw/2)
	bottom, right := g.in(0, (kh-1)*dh/2), g.in(0, (kw-1)*dw/2)
	bias := g.bias(i, cout)
	g.input(fmt.Sprintf("r%d", i), g.in(1, 2), cin, g.in(1, 5), g.in(1, 5))
	g.constant(fmt.Sprintf("w%d", i), cin, cout/groups, kh, kw)
	g.add("  %%y%d = ConvTranspose(%%r%d, %%w%d%s) {group=%d, strides=[%d,%d], dilations=[%d,%d], pads=[%d,%d,%d,%d], "+
		"output_padding=[%d,%d]%s}\n", i, i, i, bias, groups, sh, sw, dh, dw, top, left, bottom, right,
		g.in(0, max(sh, dh)-1), g.in(0, max(sw, dw)-1), g.act())
}

// gemm is a product with constant weights.
func (g *drawing) gemm(i int) {
	rows, k, cols, trans := g.in(1, 7), g.in(1, 40), g.one(1, 2, 3, 5, 8, 12, 13, 17, 33), g.in(0, 1)
	bias := g.bias(i, cols)
	g.input(fmt.Sprintf("r%d", i), rows, k)
	if trans == 1 {
		g.constant(fmt.Sprintf("w%d", i), cols, k)
	} else {
		g.constant(fmt.Sprintf("w%d", i), k, cols)
	}
	g.add("  %%y%d = Gemm(%%r%d, %%w%d%s) {transB=%d%s}\n", i, i, i, bias, trans, g.act())
}

// pair is a function of two tensors, alike or broadcast.
func (g *drawing) pair(i int) {
	rows, n := g.in(1, 3), g.in(1, 37)
	g.input(fmt.Sprintf("r%d", i), 2, rows, n)
	g.input(fmt.Sprintf("q%d", i), g.one(1, 2), rows, g.one(1, n, n))
	op := []string{"Add", "Sub", "Mul"}[g.r.IntN(3)]
	if g.r.IntN(3) > 0 {
		g.add("  %%y%d = %s(%%r%d, %%q%d)\n", i, op, i, i)
		return
	}
	g.add("  %%p%d = %s(%%r%d, %%q%d)\n  %%y%d = Clip(%%p%d) {act_min=-2.0, act_max=%d.0}\n", i, op, i, i,
		i, i, g.in(1, 9))
}

// rows is a function of rows of channels.
func (g *drawing) rows(i int) {
	g.input(fmt.Sprintf("r%d", i), 1, g.one(1, 3, 7, 8, 9, 16, 21), 2*g.in(1, 4), 2*g.in(1, 4))
	switch g.r.IntN(4) {
	case 0:
		g.add("  %%y%d = MaxPool(%%r%d) {kernel_shape=[2,%d]}\n", i, i, g.in(1, 2))
	case 1:
		g.add("  %%y%d = AveragePool(%%r%d) {kernel_shape=[2,2], strides=[2,1]}\n", i, i)
	case 2:
		g.add("  %%y%d = ReduceSum(%%r%d) {axes=[2,3], keepdims=%d}\n", i, i, g.in(0, 1))
	default:
		g.add("  const %%s%d : f32[4] = {1,1,2,2}\n  %%y%d = Resize(%%r%d, -, %%s%d) {mode=\"linear\"}\n", i, i, i, i)
	}
}

// products are those of matrices that are both computed.
func (g *drawing) products(i int) {
	batch, m, k, n := g.in(1, 2), g.in(1, 7), g.in(1, 20), g.one(1, 3, 7, 8, 9, 15, 16, 17, 24)
	g.input(fmt.Sprintf("r%d", i), batch, m, k)
	g.input(fmt.Sprintf("q%d", i), g.one(1, batch), k, n)
	g.add("  %%y%d = MatMul(%%r%d, %%q%d)\n", i, i, i)
}

// TestPacked: products that compute several channels of several pixels at a time,
// and those of rows, their portable bodies on the host and the others on the cores, give exactly
// the interpreter's sums. NNCC_RANDOM sets the number of layers and the seed, NNCC_BOARDS the targets.
func TestPacked(t *testing.T) {
	table := kernel.NewTable(reference.Kernels)
	layers := 200
	if testenv.Long() {
		layers = 1500
	}
	const program = 1500
	from, n := testenv.Range(t, layers)
	for _, name := range testenv.Boards("host", "cortex-m4", "cortex-m55") {
		spec, err := boards.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		core := kernel.Core{DSP: true, FPU: true}
		if name != "host" {
			testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
			testenv.Tool(t, "qemu", "qemu-system-arm")
			core = kernel.Core{DSP: spec.ISA.DSP, FPU: spec.ISA.HasFPU(), MVE: spec.ISA.HasMVE(), Armv6M: spec.Armv6M()}
		}
		for at := 0; at < n; at += program {
			g := irtest.Parse(t, packedGraph(rand.New(rand.NewPCG(3, uint64(4+from+at))), min(program, n-at)))
			m := kerneltest.Compile(t, table, "packed", g, core, uint64(5+from+at))
			for _, k := range []string{"nncc_conv2d_packed_f32", "nncc_depthwise_conv2d_packed_f32",
				"nncc_batch_matmul_f32", "nncc_resize_f32"} {
				if core.FPU && n-at >= layers && m.Rows[k] < 4 {
					t.Fatalf("only %d layers by %s", m.Rows[k], k)
				}
			}
			if name == "host" {
				kerneltest.RunHost(t, []*kerneltest.Model{m}, "", "")
			} else {
				m.RunBoard(t, spec, run.BuildOptions{})
			}
			if name != "host" { // without assembly
				m.RunBoard(t, spec, kerneltest.NoAsm())
				m.RunBoard(t, kerneltest.Clang(t, spec), kerneltest.NoAsm())
			}
		}
	}
}
