// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// maxExtent bounds strides, dilations, pads and kernel sizes, so that no sum
// or product of them can overflow; real models stay far below.
const maxExtent = 1 << 30

// Windows are what Conv, ConvTranspose and the pooling operators share: one
// entry a spatial dimension, outermost first (H then W in 2-D).
type Windows struct {
	In, Out            []int // spatial sizes
	Kernel             []int
	Strides, Dilations []int
	PadBegin, PadEnd   []int
}

// WindowsOf are those of a convolution or a pool whose shapes are inferred.
func WindowsOf(n *ir.Node) *Windows {
	if n.Op.Window.Pools() {
		return &bug.Must(PoolGeometry(n)).Windows
	}
	return &bug.Must(ConvGeometry(n)).Windows
}

// window is a kernel whose attributes are read, all conditions checked.
type window struct {
	autoPad string // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	Windows
}

// readWindow reads strides, dilations, pads and auto_pad for a kernel whose
// size is known. dilations is false for operators without that attribute.
func readWindow(n *ir.Node, kernel []int, dilations bool) (_ *window, err error) {
	defer fail.Catch(&err)
	k := len(kernel)
	w := &window{ir.AttrsOf[AutoPadAttr](n).AutoPad, Windows{Kernel: kernel, Strides: ones(k), Dilations: ones(k),
		PadBegin: make([]int, k), PadEnd: make([]int, k)}}
	switch w.autoPad {
	case "":
		w.autoPad = "NOTSET"
	case "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER":
	default:
		return nil, ir.Errf(n, "auto-pad", "auto_pad (autopad) is %q, want NOTSET, VALID, SAME_UPPER or SAME_LOWER",
			w.autoPad)
	}
	read := func(name string, v, into []int) error {
		if v == nil {
			return nil
		}
		refuse(n, len(v) != k, name, "attribute %s is %v, want %d values, one for each spatial dimension", name, v, k)
		for _, x := range v {
			refuse(n, x < 1 || x > maxExtent, name, "attribute %s is %v, want values from 1 to %d", name, v, maxExtent)
		}
		copy(into, v)
		return nil
	}
	fail.Check(read("strides", ir.AttrsOf[StridesAttr](n).Strides, w.Strides))
	if dilations {
		fail.Check(read("dilations", ir.AttrsOf[DilationsAttr](n).Dilations, w.Dilations))
	}
	for _, x := range kernel {
		refuse(n, x < 1 || x > maxExtent, "kernel-shape", "the kernel is %v, want values from 1 to %d", kernel,
			maxExtent)
	}
	if p := ir.AttrsOf[PadsAttr](n).Pads; p != nil && w.autoPad == "NOTSET" {
		refuse(n, len(p) != 2*k, "pads",
			"attribute pads is %v, want %d values: the begins, then the ends, of %d spatial dimensions", p, 2*k, k)
		for _, x := range p {
			if x < 0 {
				d := ir.Errf(n, "pads", "attribute pads is %v: negative padding is not accepted here", p)
				d.Hint = "crop with Slice, or with Pad, in front of the operator"
				return nil, d
			}
			refuse(n, x > maxExtent, "pads", "attribute pads is %v: padding is too large, at most %d", p, maxExtent)
		}
		copy(w.PadBegin, p[:k])
		copy(w.PadEnd, p[k:])
	}
	return w, nil
}

// Reach is the input span of the dilated kernel in dimension i.
func (w *Windows) Reach(i int) int { return (w.Kernel[i]-1)*w.Dilations[i] + 1 }

// Taps is the number of kernel positions, the product of Kernel.
func (w *Windows) Taps() int { return product(w.Kernel) }

// slide resolves auto_pad for the spatial input in and gives the spatial
// output of a sliding window.
func (w *window) slide(n *ir.Node, in []int, ceil bool) []int {
	out := make([]int, len(in))
	for i, size := range in {
		r, s := w.Reach(i), w.Strides[i]
		refuse(n, size < 1, "shape", "the input has spatial shape %v, want at least 1 in each dimension", in)
		if w.autoPad == "SAME_UPPER" || w.autoPad == "SAME_LOWER" {
			out[i] = (size + s - 1) / s
			w.PadBegin[i], w.PadEnd[i] = halves(max((out[i]-1)*s+r-size, 0), w.autoPad == "SAME_UPPER")
			continue
		}
		padded := size + w.PadBegin[i] + w.PadEnd[i]
		refuse(n, r > padded, "kernel-shape",
			"the kernel %v with dilations %v spans %d in spatial dimension %d, more than the padded input shape has: "+
				"%d", w.Kernel, w.Dilations, r, i, padded)
		out[i] = (padded-r)/s + 1
		if ceil && (padded-r)%s != 0 && out[i]*s < size+w.PadBegin[i] {
			out[i]++ // a last window that hangs over the end, unless it would start in the end padding
		}
	}
	return out
}

// halves splits padding; the odd one goes to the end when upper.
func halves(total int, upper bool) (begin, end int) {
	if upper {
		return total / 2, total - total/2
	}
	return total - total/2, total / 2
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

// ConvGeom is the geometry of Conv and ConvTranspose with auto_pad resolved.
type ConvGeom struct {
	N, CIn, COut, Group int
	Windows
	// OutputPadding is extra output at the end of each dimension, ConvTranspose
	// only. PadBegin and PadEnd are then what is cut from the full result.
	OutputPadding []int
	Transposed    bool
}

// Turned is the int8 weights [I][O/groups][taps] of a ConvTranspose as those of a convolution, [O][taps in opposite
// order][I/groups].
func (g *ConvGeom) Turned(w *tensor.Dense) []int8 {
	return swapInner(g.COut, g.CIn/g.Group, g.Taps(), tensor.As[int8](TurnedWeights(g, w)))
}

// IsDepthwise reports a convolution that CMSIS-NN computes with its depthwise
// kernels: one group per input channel, COut a multiple of CIn. (A single
// input channel is left to the ordinary convolution.)
func IsDepthwise(g *ConvGeom) bool {
	return !g.Transposed && g.Group == g.CIn && g.Group > 1 && g.COut%g.CIn == 0
}

// closeSingles gives windows one form: an element by itself has no distance to a next one, so its dilation is 1.
func (w *window) closeSingles(kernel []int) {
	for i, k := range kernel {
		if k == 1 {
			w.Dilations[i] = 1
		}
	}
}

// ConvGeometry checks a Conv or ConvTranspose node against ONNX's rules and
// gives its geometry. Every violation is an error that names the attribute.
func ConvGeometry(n *ir.Node) (_ *ConvGeom, err error) {
	defer fail.Catch(&err)
	x, w := n.Input(0).Type.Shape, n.Input(1).Type.Shape
	refuse(n, len(x) < 3, "rank", "the input %s has shape %v, want [N, C, spatial...]", n.In[0], x)
	refuse(n, len(x) > 5, "rank", "the input %s has shape %v: at most 3 spatial dimensions are supported", n.In[0], x)
	refuse(n, len(w) != len(x), "rank", "the weights %s have shape %v, want rank %d as the input %v", n.In[1], w,
		len(x), x)
	kernel := append([]int(nil), w[2:]...)
	if ks := ir.AttrsOf[KernelShapeAttr](n).KernelShape; ks != nil && !sameShape(ks, kernel) {
		return nil, ir.Errf(n, "kernel-shape", "attribute kernel_shape is %v, but the weights have shape %v", ks, w)
	}
	win := fail.Must(readWindow(n, kernel, true))
	win.In = slices.Clone(x[2:])
	g := &ConvGeom{N: x[0], CIn: x[1], Group: ir.AttrsOf[GroupAttr](n).Group, Windows: win.Windows,
		Transposed: n.Op.Name == "ConvTranspose"}
	refuse(n, g.Group < 1, "group", "attribute group is %d, want at least 1", g.Group)
	refuse(n, g.CIn < 1 || g.CIn%g.Group != 0, "group", "group %d does not divide the %d input channels", g.Group,
		g.CIn)
	if g.Transposed {
		g.transposed(n, win, w)
		win.closeSingles(kernel)
		return g, nil
	}
	g.COut = w[0]
	refuse(n, g.COut < 1 || g.COut%g.Group != 0, "group", "group %d does not divide the %d output channels", g.Group,
		g.COut)
	refuse(n, w[1] != g.CIn/g.Group, "weight-shape",
		"the weights have shape %v: %d channels, want %d (the input's %d channels in %d groups)", w, w[1],
		g.CIn/g.Group, g.CIn, g.Group)
	g.Out = win.slide(n, g.In, false)
	win.closeSingles(kernel)
	checkBias(n, 2, g.COut)
	return g, nil
}

// transposed completes the geometry of a ConvTranspose. Weights are
// [CIn, COut/group, kernel...]. Sizes follow the ONNX specification: with
// output_shape (or auto_pad SAME) the pads follow from the output's size.
func (g *ConvGeom) transposed(n *ir.Node, win *window, w []int) {
	k := len(g.Kernel)
	refuse(n, w[0] != g.CIn, "weight-shape", "the weights have shape %v: %d input channels, the input has %d", w, w[0],
		g.CIn)
	refuse(n, w[1] < 1, "weight-shape", "the weights have shape %v: no output channels", w)
	g.COut = w[1] * g.Group
	g.OutputPadding = make([]int, k)
	if op := ir.AttrsOf[ConvTransposeAttrs](n).OutputPadding; op != nil {
		refuse(n, len(op) != k, "output-padding", "attribute output_padding is %v, want %d values", op, k)
		for i, p := range op {
			refuse(n, p < 0 || p >= max(g.Strides[i], g.Dilations[i]), "output-padding",
				"attribute output_padding is %v, want values from 0 to below the stride or dilation (%v, %v)", op,
				g.Strides, g.Dilations)
		}
		copy(g.OutputPadding, op)
	}
	shape := ir.AttrsOf[ConvTransposeAttrs](n).OutputShape
	if len(shape) == k+2 { // some exporters write N and C too
		shape = shape[2:]
	}
	refuse(n, shape != nil && len(shape) != k, "output-shape", "attribute output_shape is %v, want %d spatial sizes",
		shape, k)
	g.Out = make([]int, k)
	for i, in := range g.In {
		refuse(n, in < 1 || in > maxExtent, "shape",
			"the input has spatial shape %v, want at least 1 in each dimension", g.In)
		full := g.Strides[i]*(in-1) + g.OutputPadding[i] + win.Reach(i)
		switch {
		case shape != nil:
			g.Out[i] = shape[i]
		case win.autoPad == "SAME_UPPER" || win.autoPad == "SAME_LOWER":
			g.Out[i] = in * g.Strides[i]
		default:
			g.Out[i] = full - g.PadBegin[i] - g.PadEnd[i]
			refuse(n, g.Out[i] < 1, "pads",
				"the pads %v and %v leave no output in spatial dimension %d, where the full result has %d", g.PadBegin,
				g.PadEnd, i, full)
			continue
		}
		refuse(n, g.Out[i] < 1, "output-shape", "the output's spatial shape is %v, want at least 1 in each dimension",
			g.Out)
		g.PadBegin[i], g.PadEnd[i] = halves(max(full-g.Out[i], 0), win.autoPad == "SAME_UPPER")
	}
	checkBias(n, 2, g.COut)
}

func checkBias(n *ir.Node, i, channels int) {
	b := n.Input(i)
	if b == nil {
		return
	}
	s := b.Type.Shape
	refuse(n, len(s) != 1 || s[0] != channels, "bias-shape",
		"the bias %s has shape %v, want [%d]: one value for each output channel", b, s, channels)
}

// PoolGeom is the geometry of a pooling operator with auto_pad, ceil_mode and
// global pooling resolved.
type PoolGeom struct {
	N, C int
	Windows
	CountPad bool // AveragePool with count_include_pad
}

// Exact reports that every window lies inside the padded input: false when
// ceil_mode gave a last window that hangs over the end.
func (w *Windows) Exact() bool {
	for i := range w.In {
		if (w.Out[i]-1)*w.Strides[i]+w.Reach(i) > w.In[i]+w.PadBegin[i]+w.PadEnd[i] {
			return false
		}
	}
	return true
}

// Padded reports any padding, or windows that hang over the end.
func (w *Windows) Padded() bool {
	for i := range w.In {
		if w.PadBegin[i] != 0 || w.PadEnd[i] != 0 {
			return true
		}
	}
	return !w.Exact()
}

// PoolGeometry checks an AveragePool, MaxPool, LpPool or Global*Pool node and
// gives its geometry.
func PoolGeometry(n *ir.Node) (_ *PoolGeom, err error) {
	defer fail.Catch(&err)
	x := n.Input(0).Type.Shape
	refuse(n, len(x) < 3 || len(x) > 5, "rank",
		"the input %s has shape %v, want [N, C, spatial...] with 1 to 3 spatial dimensions", n.In[0], x)
	g := &PoolGeom{N: x[0], C: x[1], Windows: Windows{In: slices.Clone(x[2:])}}
	k := len(g.In)
	if isGlobalPool(n.Op) {
		for _, d := range g.In {
			refuse(n, d < 1, "shape", "the input has spatial shape %v, want at least 1 in each dimension", g.In)
		}
		g.Kernel, g.Out, g.Strides, g.Dilations = slices.Clone(g.In), ones(k), ones(k), ones(k)
		g.PadBegin, g.PadEnd = make([]int, k), make([]int, k)
		return g, nil
	}
	kernel := slices.Clone(ir.AttrsOf[KernelShapeAttr](n).KernelShape)
	refuse(n, len(kernel) != k, "kernel-shape", "attribute kernel_shape is %v, want %d values for the input %v",
		kernel, k, x)
	win := fail.Must(readWindow(n, kernel, true))
	win.In = g.In
	win.Out = win.slide(n, g.In, ir.AttrsOf[PoolWindow](n).CeilMode != 0)
	for i, windows := range win.Out {
		if windows == 1 { // the way to the next one says nothing: the same pool has one form
			win.Strides[i] = 1
		}
	}
	win.closeSingles(kernel)
	g.Windows = win.Windows
	// before anything is done for every window or tap of a hostile model
	wantElems(n, "the kernel: ", kernel)
	wantElems(n, "the output: ", g.Out)
	g.CountPad = n.Op.Name == "AveragePool" && ir.AttrsOf[AveragePoolAttrs](n).CountIncludePad != 0
	if g.CountPad || n.Op.Name == "LpPool" {
		return g, nil
	}
	for i := range g.In {
		o, ok := emptyWindow(g, i)
		refuse(n, ok, "pads",
			"window %d of spatial dimension %d lies wholly in the padding (pads %v and %v, kernel %v)", o, i,
			g.PadBegin, g.PadEnd, g.Kernel)
	}
	return g, nil
}

func isGlobalPool(d *ir.OpDef) bool {
	switch d.Name {
	case "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool":
		return true
	}
	return false
}

// emptyWindow finds a window of dimension i without any real element: one that
// starts behind the input, or one that starts before it and steps over it.
func emptyWindow(g *PoolGeom, i int) (int, bool) {
	last := g.Out[i] - 1
	if last*g.Strides[i]-g.PadBegin[i] >= g.In[i] {
		return last, true
	}
	for o := 0; o <= last && o*g.Strides[i] < g.PadBegin[i]; o++ {
		if lo, hi := g.taps(i, o); lo >= hi {
			return o, true
		}
	}
	return 0, false
}

// taps are the kernel positions [lo, hi) of window o of dimension i that fall
// on real input elements.
func (g *PoolGeom) taps(i, o int) (lo, hi int) {
	return tapRange(o*g.Strides[i]-g.PadBegin[i], g.Dilations[i], g.Kernel[i], g.In[i])
}

// tapRange is the range of k with 0 <= start + k*dil < size, within [0, kernel).
func tapRange(start, dil, kernel, size int) (lo, hi int) {
	if start < 0 {
		lo = (-start + dil - 1) / dil
	}
	hi = kernel
	if start+(kernel-1)*dil >= size {
		if start >= size {
			return lo, lo
		}
		hi = (size-1-start)/dil + 1
	}
	return lo, max(lo, hi)
}

func product(s []int) int {
	p := 1
	for _, v := range s {
		p *= v
	}
	return p
}

// work is a product of sizes that stays at the largest number where it would
// overflow: what an operator costs, for attributes that no memory bounds.
func work(s ...int) int64 {
	p := int64(1)
	for _, v := range s {
		switch {
		case v <= 0:
			return 0
		case p > math.MaxInt64/int64(v):
			p = math.MaxInt64
		default:
			p *= int64(v)
		}
	}
	return p
}

// pad3 puts ones (or v) in front of a list of 1 to 3 spatial values, so that
// one three-dimensional loop serves every rank.
func pad3(s []int, v int) [3]int {
	r := [3]int{v, v, v}
	copy(r[3-len(s):], s)
	return r
}
