// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
)

// kind is a sort of layer with a seeded source of shapes.
type kind struct {
	name string
	draw func(r *rand.Rand) cost.Geometry
	add  func(l *layer) *ir.Node
	own  bool // only own kernels know the difference
	// What the layers compute in; int8 throughout by default.
	precision option.Precision
	weights   option.Weights
	// generic: own kernels have other functions that take any shape.
	generic bool
	// without are kernels that leave the layers to those behind them.
	without []string
	// elements are layers of several nodes, each of which is measured; nil: of one.
	elements *elementLayers
}

func (k *kind) alike(l *kind) bool {
	same := k.elements == l.elements || k.elements != nil && l.elements != nil && *k.elements == *l.elements
	return same && k.own == l.own && k.precision == l.precision && k.weights == l.weights &&
		slices.Equal(k.without, l.without)
}

// names are those of kinds that are measured together.
func names(ks []kind) string {
	return strings.Join(lists.Map(ks, func(k kind) string { return k.name }), ", ")
}

// channels are drawn small often, and beside multiples of four and 16.
func channels(r *rand.Rand) int {
	if r.IntN(3) == 0 {
		return 1 + r.IntN(8)
	}
	return []int{3, 4, 5, 6, 7, 8, 10, 12, 13, 15, 16, 17, 20, 24, 31, 32, 40, 48, 64}[r.IntN(19)]
}

// window completes a shape with input size, kernel, stride and padding.
func window(r *rand.Rand, s cost.Geometry, h, w, kh, kw, stride int) cost.Geometry {
	s.N, s.IH, s.IW, s.KH, s.KW, s.SH, s.SW, s.DH, s.DW = 1, h, w, kh, kw, stride, stride, 1, 1
	if r.IntN(3) > 0 {
		s.PH, s.PW = (kh-1)/2, (kw-1)/2
	}
	s.OH, s.OW = (h+2*s.PH-kh)/s.SH+1, (w+2*s.PW-kw)/s.SW+1
	return s
}

func conv(r *rand.Rand) cost.Geometry {
	return cost.Geometry{C: channels(r), OC: channels(r), Groups: 1}
}

var kinds = slices.Concat(plain, wide, narrow, floats)

// plain are layers of int8, but for elements.
var plain = []kind{
	{name: "conv3x3", draw: conv3x3, add: addConv, generic: true},
	{name: "conv3x3 relu", draw: conv3x3, add: relu(addConv), own: true},
	{name: "conv3x3 by tiles", draw: tiles, add: addConv, own: true, without: []string{"nncc_dsp_convolve_s8"}},
	{name: "conv groups", draw: grouped, add: addConv, own: true},
	{name: "depthwise lines", draw: depthwiseLines, add: addConv, own: true},
	{name: "conv1x1", draw: conv1x1, add: addConv, generic: true},
	{name: "conv1x1 relu", draw: conv1x1, add: relu(addConv), own: true},
	{name: "conv1x1 to few", draw: few(conv1x1), add: addConv, own: true},
	{name: "gemm to few", draw: few(gemm), add: addGemm, own: true},
	{name: "gemm rows to few", draw: few(gemmRows), add: addGemm, own: true},
	{name: "conv1d", draw: conv1d, add: addConv},
	{name: "conv1d strided", draw: strided(conv1d), add: addConv},
	{name: "conv dilated", draw: dilated(conv3x3), add: addConv},
	{name: "conv dilated relu", draw: dilated(conv3x3), add: relu(addConv), own: true},
	{name: "channel lines", draw: channelLines, add: addConv, own: true},
	{name: "channel lines apart", draw: strided(channelLines), add: addConv, own: true},
	{name: "depthwise taps", draw: depthwiseTaps, add: addConv, own: true},
	{name: "depthwise", draw: depthwise, add: addConv, generic: true},
	{name: "depthwise relu", draw: depthwise, add: relu(addConv), own: true},
	{name: "depthwise 3x3", draw: depthwise3x3, add: addConv, own: true},
	{name: "depthwise 3x3 relu", draw: depthwise3x3, add: relu(addConv), own: true},
	{name: "depthwise by windows", draw: depthwise3x3, add: addConv, own: true, without: ofThree},
	{name: "depthwise by windows relu", draw: depthwise3x3, add: relu(addConv), own: true, without: ofThree},
	{name: "depthwise windows", draw: depthwiseWindows, add: addConv, generic: true},
	{name: "depthwise windows relu", draw: depthwiseWindows, add: relu(addConv), own: true},
	{name: "depthwise multiplied", draw: multiplied(depthwiseWindows), add: addConv, generic: true},
	{name: "depthwise lines multiplied", draw: multiplied(depthwiseLines), add: addConv, own: true},
	{name: "gemm", draw: gemm, add: addGemm},
	{name: "gemm rows", draw: gemmRows, add: addGemm},
	{name: "gemm by octets", draw: eights, add: addGemm, own: true, without: []string{"nncc_dsp_fully_connected_s8"}},
	{name: "maxpool", draw: pool, add: addPool(op.MaxPool)},
	{name: "avgpool", draw: pool, add: addPool(op.AveragePool)},
	{name: "pad", draw: pad, add: addPad},
	{name: "transpose", draw: exchanged, add: addTranspose, own: true},
	{name: "transposed conv", draw: transposed, add: addTransposed},
	{name: "transposed conv of strides", draw: upscaled, add: addTransposed, own: true},
	{name: "products", draw: products, add: addProducts},
	{name: "softmax", draw: gemmRows, add: addSoftmax},
	{name: "softmax of short rows", draw: shortRows, add: addSoftmax, own: true},
	{name: "concat", draw: parts, add: addConcat},
	{name: "lstm", draw: recurrent, add: addRecurrent(op.LSTM, 4)},
	{name: "gru", draw: recurrent, add: addRecurrent(op.GRU, 3)},
	{name: "add", draw: add, add: addAdd},
	{name: "add of two scales", draw: addLarge, add: addScaled, own: true},
	{name: "add of one scale", draw: add, add: addEqual},
	elements("elements int8", option.Int8, false), elements("elements int16", option.Int16x8, false),
	elements("elements float", option.Float32, false), elements("loops int8", option.Int8, true),
	elements("loops int16", option.Int16x8, true), elements("loops float", option.Float32, true),
}

// wide are layers of int16 with weights of int8, narrow those of int8 with weights of int4.
var (
	wide = in(option.Int16x8, option.Int8Weights, "int16", "conv3x3", "conv1x1", "conv1d", "conv dilated", "depthwise",
		"depthwise windows", "depthwise multiplied", "gemm", "gemm rows", "maxpool", "avgpool", "add", "gemm to few",
		"conv1x1 to few", "transposed conv", "products", "softmax", "concat", "lstm", "gru", "add of one scale")
	floats = in(option.Float32, option.Int8Weights, "float", "softmax", "lstm", "gru")
	narrow = in(option.Int8, option.Int4Weights, "int4", "conv3x3", "conv1x1", "conv1d", "conv dilated", "depthwise",
		"gemm", "gemm rows")
)

// in gives some of the kinds other element types, and names that say so. No function takes any shape there.
func in(p option.Precision, w option.Weights, suffix string, names ...string) (out []kind) {
	for _, name := range names {
		k := plain[slices.IndexFunc(plain, func(k kind) bool { return k.name == name })]
		k.name, k.precision, k.weights, k.generic = name+" "+suffix, p, w, false
		out = append(out, k)
	}
	return out
}

// ofThree are the kernels of windows of 3x3, which the one of any window can stand in for.
var ofThree = []string{"nncc_helium_depthwise_3x3_stride1_s8", "nncc_helium_depthwise_3x3_stride2_s8"}

func conv1d(r *rand.Rand) cost.Geometry {
	return window(r, conv(r), 1, 16+r.IntN(50), 1, 2+r.IntN(9), 1)
}

// tiles are layers that kernels for 2x2 outputs at a time take.
func tiles(r *rand.Rand) cost.Geometry {
	s := conv(r)
	s.C = 4 * (1 + r.IntN(16))
	return window(r, s, 4+r.IntN(14), 4+r.IntN(20), 3, 3, 1)
}

// strided lets windows step by two to four along W.
func strided(draw func(r *rand.Rand) cost.Geometry) func(r *rand.Rand) cost.Geometry {
	return func(r *rand.Rand) cost.Geometry {
		s := draw(r)
		s.SW = 2 + r.IntN(3)
		s.OW = (s.IW+2*s.PW-s.KW)/s.SW + 1
		return s
	}
}

// dilated sets taps apart, along one axis or both, on a map that grows with it.
func dilated(draw func(r *rand.Rand) cost.Geometry) func(r *rand.Rand) cost.Geometry {
	return func(r *rand.Rand) cost.Geometry { return spread(r, draw(r)) }
}

func spread(r *rand.Rand, s cost.Geometry) cost.Geometry {
	s.DH, s.DW = 1+r.IntN(3), 1+r.IntN(3)
	if s.KH == 1 {
		s.DH = 1
	}
	if s.KW == 1 {
		s.DW = 1
	}
	s.PH, s.PW = s.PH*s.DH, s.PW*s.DW
	s.IH, s.IW = s.IH+(s.DH-1)*(s.KH-1), s.IW+(s.DW-1)*(s.KW-1)
	s.OH = (s.IH+2*s.PH-(s.KH-1)*s.DH-1)/s.SH + 1
	s.OW = (s.IW+2*s.PW-(s.KW-1)*s.DW-1)/s.SW + 1
	return s
}

func gemm(r *rand.Rand) cost.Geometry { return matrix(1, 1+r.IntN(300), 1+r.IntN(80)) }

// eights are layers that kernels for eight outputs at a time take.
func eights(r *rand.Rand) cost.Geometry { return matrix(1, 1+r.IntN(700), 8+r.IntN(140)) }

func gemmRows(r *rand.Rand) cost.Geometry {
	return matrix(2+r.IntN(20), 1+r.IntN(150), 1+r.IntN(60))
}

func shortRows(r *rand.Rand) cost.Geometry { return matrix(1+r.IntN(90), 2+r.IntN(24), 1) }

func pad(r *rand.Rand) cost.Geometry {
	s := elementwise(channels(r))
	s.IW = 4 + r.IntN(300)
	s.OW, s.OC = s.IW, (s.C/4+1+r.IntN(2))*4
	return s
}

// exchanged are rows and columns, of one matrix or several.
func exchanged(r *rand.Rand) cost.Geometry {
	s := elementwise(channels(r))
	s.IW, s.OC, s.Groups = 2+r.IntN(4)*r.IntN(100), s.C, 1
	s.N = 1 + r.IntN(2)*r.IntN(7)
	s.OW = s.IW
	return s
}

func add(r *rand.Rand) cost.Geometry { return elementwise(channels(r) * (1 + r.IntN(200))) }

// addLarge are sums for which tables are worth their flash.
func addLarge(r *rand.Rand) cost.Geometry { return elementwise(1024 + r.IntN(4000)) }

func matrix(rows, c, oc int) cost.Geometry {
	return cost.Geometry{N: rows, IH: 1, IW: 1, C: c, OH: 1, OW: 1, OC: oc, KH: 1, KW: 1, SH: 1, SW: 1, DH: 1, DW: 1,
		Groups: 1}
}

func conv3x3(r *rand.Rand) cost.Geometry {
	k := []int{2, 3, 3, 3, 5}[r.IntN(5)]
	return window(r, conv(r), 5+r.IntN(6), 5+r.IntN(6), k, k, 1+r.IntN(4)/3)
}

func conv1x1(r *rand.Rand) cost.Geometry {
	return window(r, conv(r), 2+r.IntN(9), 2+r.IntN(9), 1, 1, 1+r.IntN(4)/3)
}

// few has one to three output channels.
func few(draw func(r *rand.Rand) cost.Geometry) func(r *rand.Rand) cost.Geometry {
	return func(r *rand.Rand) cost.Geometry {
		s := draw(r)
		s.OC = 1 + r.IntN(3)
		return s
	}
}

// grouped are groups of four channels and their multiples that do not mix.
func grouped(r *rand.Rand) cost.Geometry {
	k, g := []int{1, 1, 3, 3, 5}[r.IntN(5)], 2+r.IntN(7)
	s := cost.Geometry{C: 4 * g * (1 + r.IntN(3)), OC: 4 * g * (1 + r.IntN(3)), Groups: g}
	return window(r, s, k+r.IntN(8), k+r.IntN(8), k, k, 1+r.IntN(4)/3)
}

// depthwiseLines are windows of one row.
func depthwiseLines(r *rand.Rand) cost.Geometry {
	k, c := 2+r.IntN(15), channels(r)+3
	return window(r, cost.Geometry{C: c, OC: c, Groups: c}, 1+r.IntN(4), k+4+r.IntN(60), 1, k, 1+r.IntN(4)/3)
}

// depthwiseTaps are a row or a column of a few taps.
func depthwiseTaps(r *rand.Rand) cost.Geometry {
	k, c := [2]int{1, 2 + r.IntN(4)}, 4+4*r.IntN(20)
	turn := r.IntN(2)
	return window(r, cost.Geometry{C: c, OC: c, Groups: c}, 6+r.IntN(12), 6+r.IntN(30), k[turn], k[1-turn], 1)
}

func depthwise(r *rand.Rand) cost.Geometry {
	k := []int{3, 3, 3, 2, 5}[r.IntN(5)]
	c := channels(r) + 1
	return window(r, cost.Geometry{C: c, OC: c, Groups: c}, 5+r.IntN(8), 5+r.IntN(8), k, k, 1+r.IntN(4)/3)
}

// depthwiseWindows are windows of up to 9x9 on maps of a few columns or many, of
// one row or one column at times, and of taps that lie apart.
func depthwiseWindows(r *rand.Rand) cost.Geometry {
	kh, kw := []int{3, 3, 4, 5, 6, 7, 9}[r.IntN(7)], []int{3, 3, 4, 5, 6, 7, 9}[r.IntN(7)]
	h, w := kh+r.IntN(12), kw+r.IntN(30)
	switch r.IntN(8) {
	case 0:
		kh, h, kw = 1, 1, 2+r.IntN(30)
		w = kw + r.IntN(60)
	case 1:
		kw = 1
	}
	c := channels(r) + 1
	s := window(r, cost.Geometry{C: c, OC: c, Groups: c}, h, w, kh, kw, 1+r.IntN(4)/3)
	if r.IntN(4) == 0 {
		s = spread(r, s)
	}
	return s
}

// channelLines are depthwise convolutions of one tap: a factor and a summand for each channel.
func channelLines(r *rand.Rand) cost.Geometry {
	c := channels(r) + 1
	return window(r, cost.Geometry{C: c, OC: c, Groups: c}, 1+r.IntN(12), 1+r.IntN(30), 1, 1, 1)
}

// depthwise3x3 are windows of 3x3 on maps of a few columns or many.
func depthwise3x3(r *rand.Rand) cost.Geometry {
	c := channels(r) + 1
	return window(r, cost.Geometry{C: c, OC: c, Groups: c}, 3+r.IntN(18), 3+r.IntN(46), 3, 3, 1+r.IntN(3)/2)
}

// multiplied gives each channel two to four outputs.
func multiplied(draw func(r *rand.Rand) cost.Geometry) func(r *rand.Rand) cost.Geometry {
	return func(r *rand.Rand) cost.Geometry {
		s := draw(r)
		s.OC = s.C * (2 + r.IntN(3))
		return s
	}
}

// elementwise layers count elements as channels of one pixel.
func elementwise(n int) cost.Geometry { return cost.Elements(n, cost.Parts{}) }

func pool(r *rand.Rand) cost.Geometry {
	c := channels(r)
	k := 2 + r.IntN(2)
	h, w, kh := 4+r.IntN(8), 4+r.IntN(8), k
	if r.IntN(3) == 0 {
		h, kh = 1, 1
	}
	s := window(r, cost.Geometry{C: c, OC: c, Groups: c}, h, w, kh, k, 1)
	s.SH, s.SW = min(kh, 2), 2
	if r.IntN(4) == 0 { // the whole map
		s.KH, s.KW, s.PH, s.PW = h, w, 0, 0
	}
	s.OH, s.OW = (s.IH+2*s.PH-s.KH)/s.SH+1, (s.IW+2*s.PW-s.KW)/s.SW+1
	return s
}

// transposed are windows of up to five, with strides of up to three.
func transposed(r *rand.Rand) cost.Geometry {
	s, k, stride := conv(r), 2+r.IntN(4), 1+r.IntN(3)
	s = window(r, s, 4+r.IntN(12), 4+r.IntN(12), k, k, stride)
	if r.IntN(6) == 0 {
		s.OC, s.Groups = s.C, s.C
	}
	return s
}

// upscaled are windows of the size of their strides.
func upscaled(r *rand.Rand) cost.Geometry {
	k := 2 + r.IntN(2)
	s := window(r, conv(r), k*(2+r.IntN(6)), k*(2+r.IntN(6)), k, k, k)
	s.PH, s.PW, s.OH, s.OW = 0, 0, s.IH/k, s.IW/k
	return s
}

// products have up to four right sides.
func products(r *rand.Rand) cost.Geometry {
	s := gemmRows(r)
	s.Groups = 1 + r.IntN(4)
	s.OH = s.Groups
	return s
}

// parts are rows of two to four parts.
func parts(r *rand.Rand) cost.Geometry {
	s := elementwise(channels(r))
	s.N, s.Groups = 1+r.IntN(2)*r.IntN(60), 2+r.IntN(3)
	return s
}

// recurrent are sequences of some steps.
func recurrent(r *rand.Rand) cost.Geometry { return matrix(1+r.IntN(12), 1+r.IntN(40), 1+r.IntN(40)) }
