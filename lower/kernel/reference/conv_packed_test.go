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

// packedGraph has random convolutions of all shapes, on whole numbers.
func packedGraph(r *rand.Rand, count int) string {
	var b strings.Builder
	b.WriteString("graph \"g\" {\n  const %four : f32[] = {4}\n")
	for i := range count {
		in := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
		groups, cin, cout := 1, in(1, 9), []int{1, 3, 4, 5, 8, 15, 16, 17, 20, 33}[r.IntN(10)]
		switch r.IntN(4) {
		case 0: // depthwise
			cin = []int{2, 3, 4, 7, 16, 18, 21, 35}[r.IntN(8)]
			groups, cout = cin, cin
		case 1:
			groups = in(2, 3)
			cin, cout = groups*in(1, 4), groups*in(1, 20)
		}
		kh, kw := in(1, 4), in(1, 4)
		h, w := kh+in(0, 6), kw+in(0, 6)
		pads := []int{in(0, kh-1), in(0, kw-1), in(0, kh-1), in(0, kw-1)}
		dh, dw := 1, 1
		if r.IntN(3) == 0 && h >= 2*kh && w >= 2*kw {
			dh, dw = 2, in(1, 2)
		}
		bias := ""
		if r.IntN(3) > 0 {
			fmt.Fprintf(&b, "  const %%b%d : f32[%d] = %s\n", i, cout, integers(r, cout))
			bias = fmt.Sprintf(", %%b%d", i)
		}
		act := ""
		if r.IntN(2) == 0 {
			act = ", act_min=0.0"
		}
		if r.IntN(4) == 0 {
			act += ", act_max=20.0"
		}
		fmt.Fprintf(&b, "  in %%x%d : f32[%d,%d,%d,%d]\n  %%m%d = Mul(%%x%d, %%four)\n  %%r%d = Round(%%m%d)\n", i,
			in(1, 2), cin, h, w, i, i, i, i)
		fmt.Fprintf(&b, "  const %%w%d : f32[%d,%d,%d,%d] = %s\n", i, cout, cin/groups, kh, kw,
			integers(r, cout*cin/groups*kh*kw))
		fmt.Fprintf(&b, "  %%y%d = Conv(%%r%d, %%w%d%s) {group=%d, pads=[%d,%d,%d,%d], strides=[%d,%d], "+
			"dilations=[%d,%d]%s}\n  out \"y%d\" = %%y%d\n",
			i, i, i, bias, groups, pads[0], pads[1], pads[2], pads[3], in(1, 3), in(1, 3), dh, dw, act, i, i)
	}
	return b.String() + "}"
}

// TestPacked: convolutions that compute several channels of several pixels at a
// time, their portable bodies on the host and the others on the cores, give exactly
// the interpreter's sums.
func TestPacked(t *testing.T) {
	table := kernel.NewTable(reference.Kernels)
	layers := 120
	if testenv.Long() {
		layers = 1500
	}
	for _, name := range []string{"", "cortex-m4", "cortex-m55"} {
		core := kernel.Core{DSP: true, FPU: true, MVE: name == "cortex-m55"}
		g := irtest.Parse(t, packedGraph(rand.New(rand.NewPCG(3, 4)), layers))
		m := kerneltest.Compile(t, table, "packed", g, core, 5)
		for _, k := range []string{"nncc_conv2d_packed_f32", "nncc_depthwise_conv2d_packed_f32"} {
			if m.Rows[k] < 10 {
				t.Fatalf("only %d layers by %s", m.Rows[k], k)
			}
		}
		if name == "" {
			kerneltest.RunHost(t, []*kerneltest.Model{m}, "", "")
			continue
		}
		testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		testenv.Tool(t, "qemu", "qemu-system-arm")
		spec, err := boards.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		m.RunBoard(t, spec, run.BuildOptions{})
	}
}
