// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

var (
	table = kernel.NewTable(dsp.Kernels, cmsisnn.Kernels, reference.Kernels)
	core  = kernel.Options{Core: kernel.Core{DSP: true}}
	plain = kernel.Options{}
)

// draw gives n numbers of f.
func draw(n int, f func() int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = f()
	}
	return v
}

func conv(b *kerneltest.Writer) {
	rank, k := b.One(1, 2, 2, 2), b.One(1, 1, 2, 3, 3, 4, 5)
	group := b.One(1, 1, 1, 1, 2, 3)
	ci, co := group*b.One(1, 2, 3, 4, 5, 7, 8, 16, 19), group*b.One(1, 2, 3, 4, 5, 6, 7, 8, 9, 16)
	if group == ci {
		ci *= 2
	}
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: ci, COut: co, Group: group,
		Size:   draw(rank, func() int { return b.In(1, 9) }),
		Kernel: draw(rank, func() int { return b.One(k, k, 1) }),
		Stride: draw(rank, func() int { return b.One(1, 1, 2, 3) }),
		Dil:    draw(rank, func() int { return b.One(1, 1, 1, 2) })})
}

// mapped is a convolution with a table at its end.
func mapped(b *kerneltest.Writer) {
	k := b.One(1, 1, 2, 3)
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: b.In(1, 40), COut: b.In(1, 13), Group: 1,
		Size: []int{b.In(1, 6), b.In(1, 6)}, Kernel: []int{k, k},
		Stride: draw(2, func() int { return b.One(1, 1, 2) }), Dil: []int{1, 1}, Then: "Sigmoid"})
}

// residual is a convolution, or a function of one, with a tensor added: a
// thousand outputs at least, which two tables want.
func residual(b *kerneltest.Writer) {
	k, s, h, w := b.One(1, 1, 2, 3), b.One(1, 1, 2), b.In(6, 12), b.In(6, 13)
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: b.In(1, 20), COut: (1024*s*s+(h-2)*(w-2)-1)/((h-2)*(w-2)) +
		b.In(1, 9), Group: 1,
		Size: []int{h, w}, Kernel: []int{k, k}, Stride: []int{s, s}, Dil: []int{1, 1},
		Then: []string{"", "", "Sigmoid"}[b.In(0, 2)], Plus: true})
}

func pointwise(b *kerneltest.Writer) {
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: b.In(1, 70), COut: b.In(1, 20), Group: 1,
		Size:   []int{b.In(1, 5), b.In(1, 5)},
		Kernel: []int{1, 1}, Stride: []int{1, 1}, Dil: []int{1, 1}})
}

// dots are 1x1 convolutions and products of few channels, and of more where
// results saturate or have finer steps than sums.
func dots(b *kerneltest.Writer) {
	channels := b.In(1, 3)
	if b.Chance(50) {
		b.Fine = 14
		channels = b.In(1, 9)
	}
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: b.In(1, 70), COut: channels, Group: 1,
		Size: []int{b.In(1, 6), b.In(1, 7)}, Kernel: []int{1, 1}, Pads: []int{0, 0, 0, 0},
		Stride: []int{b.One(1, 1, 2, 3), b.One(1, 1, 2, 3)}, Dil: []int{1, 1}})
	b.Fine = 0
}

// windowDots are windows of several pixels by few channels, inside the map and not.
func windowDots(b *kerneltest.Writer) {
	channels, then := b.One(1, 1, 2), b.One(0, 0, 1)
	if b.Chance(20) {
		b.Fine = 14
		channels, then = b.In(1, 6), 0
	}
	k := []int{b.In(1, 5), b.In(2, 5)}
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: b.One(1, 2, 4, b.In(1, 20), 16), COut: channels, Group: 1,
		Size: []int{b.In(k[0]*2-1, 12), b.In(k[1], 12)}, Kernel: k, Stride: []int{b.One(1, 1, 2, 3), b.One(1, 1, 2, 3)},
		Dil: []int{b.One(1, 1, 1, 2), 1}, Then: []string{"", "Sigmoid"}[then]})
	b.Fine = 0
}

func productDots(b *kerneltest.Writer) {
	channels := b.In(1, 3)
	if b.Chance(50) {
		b.Fine = 14
		channels = b.In(1, 9)
	}
	b.Gemm(b.One(1, 1, 2, 3, 4), b.In(1, 90), channels)
	b.Fine = 0
}

func depthwise(b *kerneltest.Writer) {
	c, rank := b.One(2, 3, 4, 5, 6, 7, 8, 11, 16), b.One(1, 2, 2, 2)
	k := b.One(1, 2, 3, 3, 5)
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: c, COut: c * b.One(1, 1, 1, 1, 2, 3), Group: c,
		Size:   draw(rank, func() int { return b.In(1, 8) }),
		Kernel: draw(rank, func() int { return b.One(k, k, k, 1) }),
		Stride: draw(rank, func() int { return b.One(1, 2, 3) }),
		Dil:    draw(rank, func() int { return b.One(1, 1, 1, 2) })})
}

// windowed has windows of several rows on maps that go through scratch at once
// or in spans.
func windowed(b *kerneltest.Writer) {
	c, h, w := b.One(2, 3, 4, 5, 6, 7, 8, 11, 16), b.In(2, 14), b.In(2, 20)
	if b.Chance(20) {
		c, w = b.In(2, 6), b.In(60, 150)
	}
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: c, COut: c * b.One(1, 1, 1, 2, 5), Group: c,
		Size: []int{h, w}, Kernel: []int{b.In(2, 7), b.In(1, 9)},
		Stride: draw(2, func() int { return b.One(1, 1, 1, 2, 3) }),
		Dil:    draw(2, func() int { return b.One(1, 1, 1, 2, 3) })})
}

func depthwise3x3(b *kerneltest.Writer) {
	c, s := b.One(4, 5, 7, 8, 12), b.One(1, 1, 2)
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: c, COut: c, Group: c, Size: []int{b.In(1, 9), b.In(1, 13)},
		Kernel: []int{3, 3}, Stride: []int{s, s}, Dil: []int{1, 1}})
}

// tall has maps whose columns are longer than their rows, and go in strips.
func tall(b *kerneltest.Writer) {
	c, s := b.One(4, 5, 8), b.One(1, 1, 2)
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: c, COut: c, Group: c, Size: []int{b.In(9, 60), b.In(1, 8)},
		Kernel: []int{3, 3}, Stride: []int{s, s}, Dil: []int{1, 1}})
}

func gemm(b *kerneltest.Writer) { b.Gemm(b.One(1, 1, 2, 3), b.In(1, 90), b.In(1, 23)) }

// wide is a convolution on int16 data.
func wide(b *kerneltest.Writer) {
	rank, k := b.One(1, 2, 2, 2), b.One(1, 1, 2, 3, 3, 5)
	group := b.One(1, 1, 1, 1, 2, 3)
	ci, co := group*b.One(1, 2, 3, 4, 5, 7, 8, 16, 19), group*b.One(1, 2, 3, 4, 5, 6, 7, 8, 9, 16)
	if group == ci {
		ci *= 2
	}
	b.Conv(kerneltest.ConvCase{Wide: true, Batch: b.One(1, 1, 2), CIn: ci, COut: co, Group: group,
		Size:   draw(rank, func() int { return b.In(1, 9) }),
		Kernel: draw(rank, func() int { return b.One(k, k, 1) }),
		Stride: draw(rank, func() int { return b.One(1, 1, 2, 3) }),
		Dil:    draw(rank, func() int { return b.One(1, 1, 1, 2) })})
}

// wideDepthwise is a depthwise convolution on int16 data.
func wideDepthwise(b *kerneltest.Writer) {
	c, h, v := b.One(2, 3, 4, 5, 7, 8, 12, 16), b.One(1, 2, 3, 3, 5), b.One(1, 2, 3, 3, 3, 5)
	b.Conv(kerneltest.ConvCase{Wide: true, Batch: b.One(1, 1, 2), CIn: c, COut: c * b.One(1, 1, 2, 3, 4, 5), Group: c,
		Size: []int{b.In(1, 9), b.In(1, 9)}, Kernel: []int{h, v},
		Stride: []int{b.One(1, 1, 2, 3), b.One(1, 1, 2)}, Dil: []int{b.One(1, 1, 1, 2), b.One(1, 1, 1, 2)}})
}

// single are products of one row by eight outputs and more, two weights of which fit half a word.
func single(b *kerneltest.Writer) {
	b.Symmetric = true
	b.Gemm(1, b.In(1, 90), b.In(8, 40))
	b.Symmetric = false
}

// wideDots are products of int16 by few channels.
func wideDots(b *kerneltest.Writer) {
	b.Conv(kerneltest.ConvCase{Wide: true, Batch: b.One(1, 1, 2), CIn: b.In(1, 40), COut: 1, Group: 1,
		Size: []int{b.In(1, 6), b.In(1, 7)}, Kernel: []int{1, 1}, Pads: []int{0, 0, 0, 0},
		Stride: []int{b.One(1, 1, 2, 3), b.One(1, 1, 2, 3)}, Dil: []int{1, 1}})
}

func wideProductDots(b *kerneltest.Writer) {
	b.Gemm16(b.One(1, 1, 2, 5), b.In(1, 90), b.One(1, 1, 2, 3))
}

func wideGemm(b *kerneltest.Writer) { b.Gemm16(b.One(1, 1, 2, 3, 4, 7), b.In(1, 90), b.In(1, 23)) }

func recurrent(gru, wide bool) func(b *kerneltest.Writer) {
	return func(b *kerneltest.Writer) {
		b.RecurrentOf(gru, wide, b.In(1, 5), b.In(1, 2), b.In(1, 70), b.In(1, 40))
	}
}

func add(b *kerneltest.Writer) { b.Add(1, 1, 33, b.In(32, 40)) }

func limit(b *kerneltest.Writer) { b.Limit(b.In(1, 3), b.In(1, 70)) }

func pair(b *kerneltest.Writer) { b.Pair() }

// pool has windows of any size mostly, or, with a smaller one, those that slide.
func pool(kind string, most int) func(b *kerneltest.Writer) {
	return func(b *kerneltest.Writer) {
		rank := b.One(1, 2, 2)
		size := draw(rank, func() int { return b.In(1, 20) })
		kernel := make([]int, rank)
		for d := range kernel {
			kernel[d] = b.In(1, min(most, size[d]))
		}
		b.Pool(kind, b.One(1, 2), b.One(1, 3, 4, 6, 8, 13), size, kernel, draw(rank, func() int { return b.In(1, 4) }),
			nil)
	}
}

func relayout(b *kerneltest.Writer) {
	b.Relayout([]int{b.One(1, 2), b.In(1, 13), b.In(1, 9), b.In(1, 9)}, []int{0, 2, 3, 1})
}

// scattered has its dimensions in any order.
func scattered(b *kerneltest.Writer) {
	b.Relayout([]int{b.In(1, 9), b.In(1, 14), b.In(1, 9), b.In(1, 9)}, [][]int{{3, 2, 1, 0}, {0, 2, 1, 3}, {2, 1, 3, 0},
		{1, 3, 0, 2}, {2, 0, 1, 3}}[b.In(0, 4)])
}

// softmax has long rows and short ones.
func softmax(b *kerneltest.Writer) {
	size := b.One(1, 2, 3, 4, 5, 16, 17, b.In(6, 300), b.In(6, 300))
	b.Softmax(256/size+b.In(1, 9), size)
}

func softmaxPairs(b *kerneltest.Writer) { b.Softmax(b.In(1, 300), 2) }

func phases(b *kerneltest.Writer) { b.ConvTranspose() }

func batches(b *kerneltest.Writer) { b.BatchMatMul() }

type generator struct {
	row   string
	build func(b *kerneltest.Writer)
}

// generators are the rows with what makes layers for them.
var generators = slices.Concat([]generator{
	{"nncc_dsp_convolve_s8", conv}, {"nncc_dsp_convolve_s8", pointwise}, {"nncc_dsp_convolve_lut_s8", mapped},
	{"nncc_dsp_convolve_add_s8", residual}, {"nncc_dsp_depthwise_s8", depthwise},
	{"nncc_dsp_depthwise_s8", depthwise3x3}, {"nncc_dsp_depthwise_s8", windowed},
	{"nncc_dsp_fully_connected_s8", gemm}, {"nncc_dsp_lstm_s8", recurrent(false, false)},
	{"nncc_dsp_lstm_s16", recurrent(false, true)}, {"nncc_dsp_gru_s8", recurrent(true, false)},
	{"nncc_dsp_gru_s16", recurrent(true, true)}, {"nncc_pairs_s8", pair},
	{"nncc_channel_lines_s8", (*kerneltest.Writer).Line}, {"nncc_lut_s8", limit},
	{"nncc_dsp_avg_pool_s8", pool("AveragePool", 20)},
	{"nncc_dsp_max_pool_s8", pool("MaxPool", 20)}, {"nncc_dsp_avg_pool_fours_s8", pool("AveragePool", 2)},
	{"nncc_dsp_max_pool_fours_s8", pool("MaxPool", 2)}, {"nncc_dsp_avg_pool_sliding_s8", pool("AveragePool", 5)},
	{"nncc_dsp_max_pool_sliding_s8", pool("MaxPool", 5)},
	{"nncc_dsp_transpose_s8", relayout}, {"nncc_copy_nd", scattered}, {"nncc_dsp_softmax_s8", softmax},
	{"nncc_softmax_pairs_s8", softmaxPairs},
	{"nncc_dsp_batch_matmul_s8", batches}, {"nncc_dsp_batch_matmul_rows_s8", batches},
	{"nncc_dsp_transpose_conv_phase_s8", phases}, {"nncc_dsp_convolve_s8", (*kerneltest.Writer).Entire},
	{"nncc_dsp_convolve_s16", wide}, {"nncc_dsp_fully_connected_s16", wideGemm},
	{"nncc_plain_dots_s16", wideDots}, {"nncc_plain_fully_connected_dots_s16", wideProductDots},
	{"nncc_dsp_depthwise_s16", wideDepthwise}, {"nncc_dsp_batch_matmul_s16", (*kerneltest.Writer).BatchMatMul16},
	{"nncc_dsp_transpose_conv_phase_s16", (*kerneltest.Writer).ConvTranspose16},
}, wideKinds(), []generator{{"nncc_dsp_dots_s8", dots}, {"nncc_dsp_fully_connected_dots_s8", productDots},
	{"nncc_dsp_depthwise_s8", tall}, {"nncc_pair_add_s8", (*kerneltest.Writer).Sum}})

// wideKinds are those on int16 data that other families have, too.
func wideKinds() []generator {
	var list []generator
	for _, k := range kerneltest.WideKinds {
		list = append(list, generator{k.Row, k.Build})
	}
	return list
}

// behind are the rows that only costs choose, or fusion, where another one takes the layer,
// with what makes layers for them.
var behind = []struct {
	row   string
	build func(b *kerneltest.Writer)
}{{"nncc_dsp_convolve_3x3_s8", tiled}, {"nncc_dsp_convolve_3x3_add_s8", tiledResidual},
	{"nncc_dsp_fully_connected_octets_s8", single}, {"nncc_dsp_add_s8", add}}

// inFront is the table with the rows behind in front.
var inFront = func() kernel.Table {
	var first []*kernel.Kernel
	for _, k := range dsp.Kernels {
		for _, b := range behind {
			if b.row == k.Name {
				first = append(first, k)
			}
		}
	}
	return kernel.NewTable(first, dsp.Kernels, cmsisnn.Kernels, reference.Kernels)
}()

func tiled(b *kerneltest.Writer) {
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: 4 * b.In(1, 9), COut: b.In(1, 18), Group: 1,
		Size: []int{b.In(2, 9), b.In(2, 13)}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Dil: []int{1, 1}})
}

// tiledResidual has a tensor of a thousand elements added.
func tiledResidual(b *kerneltest.Writer) {
	h, w := b.In(6, 11), b.In(6, 13)
	b.Conv(kerneltest.ConvCase{Batch: b.One(1, 1, 2), CIn: 4 * b.In(1, 5), COut: 1024/((h-2)*(w-2)) + b.In(1, 9),
		Group: 1, Size: []int{h, w}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Dil: []int{1, 1}, Plus: true})
}

// batch is the number of layers of a generator in one program.
const batch = 40

// each runs random layers in batches and checks that rows took most of them.
func each(t *testing.T, count int, opt kernel.Options, f func(t *testing.T, m *kerneltest.Guarded)) {
	rows := map[string]int{}
	start, _ := testenv.Range(t, 0)
	for from := 0; from < count; from += batch {
		b := kerneltest.NewWriter(uint64(1 + start + from))
		b.Int4 = true
		for _, g := range generators {
			if g.row == "nncc_dsp_convolve_add_s8" && !opt.Core.DSP { // nothing else takes what is fused
				continue
			}
			for range min(batch, count-from) {
				g.build(b)
			}
		}
		m := kerneltest.Guard(t, b.Graph(t), table, opt, uint64(start+from))
		for k, n := range m.Rows {
			rows[k] += n
		}
		f(t, m)
		if !opt.Core.DSP {
			continue
		}
		b = kerneltest.NewWriter(uint64(1 + start + from))
		for _, g := range behind {
			for range min(batch, count-from) {
				g.build(b)
			}
		}
		m = kerneltest.Guard(t, b.Graph(t), inFront, opt, uint64(start+from))
		for k, n := range m.Rows {
			rows[k] += n
		}
		f(t, m)
	}
	for _, k := range dsp.Kernels {
		if rows[k.Name] == 0 && len(k.Rules[0].Check(kernel.NewNode(nil, &opt))) == 0 {
			t.Errorf("no layer was taken by %s", k.Name)
		}
	}
	t.Logf("layers by row: %v", rows)
}

// TestHost runs the portable bodies under the sanitizers. NNCC_RANDOM
// sets the number of layers of every kind (default 12).
func TestHost(t *testing.T) {
	for _, opt := range []kernel.Options{core, plain} {
		each(t, testenv.Count(t, 12), opt, func(t *testing.T, m *kerneltest.Guarded) { m.RunHost(t) })
	}
}

// TestBoards runs the assembly under QEMU: cortex-m4, m3 and m0plus always, the
// others with NNCC_LONG, or those of NNCC_BOARDS.
func TestBoards(t *testing.T) {
	names := []string{"cortex-m4", "cortex-m3", "cortex-m0plus"}
	if testenv.Long() {
		names = append(names, "cortex-m7", "cortex-m33")
	}
	for _, name := range testenv.Boards(names...) {
		t.Run(name, func(t *testing.T) {
			spec, err := boards.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			opt := kernel.Options{Core: kernel.Core{DSP: spec.ISA.DSP, Armv6M: spec.Armv6M()}}
			each(t, testenv.Count(t, 12), opt,
				func(t *testing.T, m *kerneltest.Guarded) { m.RunBoard(t, spec, run.BuildOptions{}) })
		})
	}
}

// TestIntrinsics runs layers without assembly, on the boards that NNCC_BOARDS names, too.
func TestIntrinsics(t *testing.T) {
	n := 12
	if testenv.Long() {
		n = 100
	}
	for _, name := range testenv.Boards("cortex-m4") {
		kerneltest.Intrinsics(t, name, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
			core := kernel.Options{Core: kernel.Core{DSP: spec.ISA.DSP, Armv6M: spec.Armv6M()}}
			each(t, testenv.Count(t, n), core, func(t *testing.T, m *kerneltest.Guarded) { m.RunBoard(t, spec, opt) })
		})
	}
}

// written runs layers of one kind, on the boards that NNCC_BOARDS names, too.
func written(t *testing.T, build func(b *kerneltest.Writer), names ...string) {
	t.Helper()
	ran(t, build, func(t *testing.T, m *kerneltest.Guarded, spec *boards.Spec) {
		m.RunBoard(t, spec, run.BuildOptions{})
	}, names...)
}

// ran makes layers of one kind for boards, in programs that f runs.
func ran(t *testing.T, build func(b *kerneltest.Writer), f func(*testing.T, *kerneltest.Guarded, *boards.Spec),
	names ...string) {
	t.Helper()
	const program = 40
	for _, name := range testenv.Boards(names...) {
		spec, err := boards.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		opt := kernel.Options{Core: kernel.Core{DSP: spec.ISA.DSP, Armv6M: spec.Armv6M()}}
		from, count := testenv.Range(t, program)
		for n, seed := count, uint64(from+1); n > 0; n, seed = n-program, seed+1 {
			b := kerneltest.NewWriter(seed)
			for range min(n, program) {
				build(b)
			}
			m := kerneltest.Guard(t, b.Graph(t), table, opt, seed)
			f(t, m, spec)
		}
	}
}

// TestPairs runs operators with broadcasting.
func TestPairs(t *testing.T) { written(t, (*kerneltest.Writer).Pair, "cortex-m4", "cortex-m0plus") }

// TestLines runs lines per channel, rounded once and twice, of all elements and of some.
func TestLines(t *testing.T) {
	written(t, func(w *kerneltest.Writer) { w.Line(); w.LineApart() }, "cortex-m4", "cortex-m0plus")
}

// TestWindowDots runs windows by few channels.
func TestWindowDots(t *testing.T) {
	ran(t, windowDots, func(t *testing.T, m *kerneltest.Guarded, spec *boards.Spec) {
		m.RunHost(t)
		m.RunBoard(t, spec, run.BuildOptions{})
		kerneltest.Intrinsics(t, spec.Name, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
			m.RunBoard(t, spec, opt)
		})
	}, "cortex-m4")
}

// TestBatches runs products of two activations.
func TestBatches(t *testing.T) { written(t, batches, "cortex-m4", "cortex-m3", "cortex-m0plus") }

// TestPhases runs transposed convolutions.
func TestPhases(t *testing.T) { written(t, phases, "cortex-m4", "cortex-m0plus") }

// TestEntire runs convolutions whose windows are whole images.
func TestEntire(t *testing.T) {
	written(t, (*kerneltest.Writer).Entire, "cortex-m4", "cortex-m3", "cortex-m0plus")
}

// TestWideDepthwise runs depthwise convolutions on int16, some of fewer channels than go together.
func TestWideDepthwise(t *testing.T) {
	written(t, wideDepthwise, "cortex-m4", "cortex-m3", "cortex-m0plus")
}

// TestPools runs windows that slide, and small ones.
func TestPools(t *testing.T) {
	written(t, func(b *kerneltest.Writer) { pool([]string{"AveragePool", "MaxPool"}[b.IntN(2)], b.One(2, 5))(b) },
		"cortex-m4", "cortex-m0plus")
}

// TestSoftmaxPairs runs softmaxes of two values.
func TestSoftmaxPairs(t *testing.T) { written(t, softmaxPairs, "cortex-m4", "cortex-m0plus") }

// TestBehind runs the rows that only costs choose, on the boards that NNCC_BOARDS names, too.
func TestBehind(t *testing.T) {
	for _, name := range testenv.Boards("cortex-m4") {
		spec, err := boards.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		opt := kernel.Options{Core: kernel.Core{DSP: spec.ISA.DSP, Armv6M: spec.Armv6M()}}
		from, count := testenv.Range(t, 8)
		for n, seed := count, uint64(from+1000); n > 0; n, seed = n-batch, seed+1 {
			b := kerneltest.NewWriter(seed)
			for _, g := range behind {
				for range min(n, batch) {
					g.build(b)
				}
			}
			m := kerneltest.Guard(t, b.Graph(t), inFront, opt, seed)
			m.RunBoard(t, spec, run.BuildOptions{})
		}
	}
}

// TestQuarter: 1x1 convolutions of few pixels on int16 data whose scales leave the product nothing to be shifted by.
func TestQuarter(t *testing.T) {
	written(t, func(b *kerneltest.Writer) {
		b.Text("in %x# : i16[1,5,1,2] q(0.01:0)\nconst %w# : i8[3,5,1,1] q(0.01:0) = rand 1\n"+
			"%y# : i16[1,3,1,2] q(0.0003:0) = Conv(%x#, %w#)", "y#")
	}, "cortex-m4")
}

// widePixels is a convolution on int16 data by the pixel, or one that reads a window.
func widePixels(b *kerneltest.Writer) {
	ci, co, k := b.In(1, 40), b.In(1, 40), b.One(1, 1, 3)
	b.Conv(kerneltest.ConvCase{Wide: true, Batch: b.One(1, 1, 2), CIn: ci, COut: co, Group: 1,
		Size: []int{b.In(1, 6), b.In(1, 6)}, Kernel: square(k), Stride: square(b.One(1, 1, 2)), Dil: square(1)})
}

// TestWideProducts runs convolutions on int16 data on the host, with assembly and without it.
func TestWideProducts(t *testing.T) {
	const program = 30
	from, count := testenv.Range(t, program)
	for n, seed := count, uint64(from+1); n > 0; n, seed = n-program, seed+1 {
		b := kerneltest.NewWriter(seed)
		for range min(n, program) {
			wide(b)
			widePixels(b)
		}
		m := kerneltest.Guard(t, b.Graph(t), table, core, seed)
		m.RunHost(t)
		spec, err := boards.Load("cortex-m4")
		if err != nil {
			t.Fatal(err)
		}
		m.RunBoard(t, spec, run.BuildOptions{})
		kerneltest.Intrinsics(t, spec.Name, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
			m.RunBoard(t, spec, opt)
		})
	}
}

// TestWide runs the rows on int16 data, on the boards that NNCC_BOARDS names,
// NNCC_RANDOM layers of each.
func TestWide(t *testing.T) {
	kinds := append([]kerneltest.WideKind{
		{Row: "nncc_dsp_transpose_conv_phase_s16", Build: (*kerneltest.Writer).ConvTranspose16},
		{Row: "nncc_dsp_convolve_s16", Build: wide},
		{Row: "nncc_dsp_batch_matmul_s16", Build: (*kerneltest.Writer).BatchMatMul16},
		{Row: "nncc_dsp_fully_connected_s16", Build: wideGemm}, {Row: "nncc_dsp_depthwise_s16", Build: wideDepthwise}},
		kerneltest.WideKinds...)
	few := []kerneltest.WideKind{{Row: "nncc_plain_dots_s16", Build: wideDots},
		{Row: "nncc_plain_fully_connected_dots_s16", Build: wideProductDots}}
	for _, name := range testenv.Boards("cortex-m4", "cortex-m0plus") {
		spec, err := boards.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		list := slices.Concat(kinds, few)
		if !spec.ISA.DSP {
			list = slices.Concat(kinds[:2], kinds[3:], few) // products of two activations are another library's
		}
		core := kernel.Core{DSP: spec.ISA.DSP, Armv6M: spec.Armv6M()}
		kerneltest.RunWide(t, table, spec, kernel.Options{Core: core}, list)
	}
}
