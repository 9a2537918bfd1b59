// SPDX-License-Identifier: Apache-2.0

package param

import (
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

// Tile is a vertical and a horizontal value.
type Tile = cmsis.Tile

// Spatial gives a list for one or two spatial dimensions as height and width,
// v for a height that is not there.
func Spatial(s []int, v int) Tile {
	if len(s) == 1 {
		return Tile{H: v, W: s[0]}
	}
	return Tile{H: s[0], W: s[1]}
}

// Window is how a convolution or a pooling moves over its input.
type Window struct {
	In, Out, Kernel, Stride, Pad, Dilation Tile
}

// ConvWindow is the window of a convolution in one or two dimensions.
func ConvWindow(g *op.ConvGeom) Window { return windowOf(&g.Windows) }

// PoolWindow is the window of a pooling in one or two dimensions.
func PoolWindow(g *op.PoolGeom) Window { return windowOf(&g.Windows) }

func windowOf(w *op.Windows) Window {
	return Window{In: Spatial(w.In, 1), Out: Spatial(w.Out, 1), Kernel: Spatial(w.Kernel, 1),
		Stride: Spatial(w.Strides, 1), Pad: Spatial(w.PadBegin, 0), Dilation: Spatial(w.Dilations, 1)}
}

// fields are the values by their names in C.
func (w *Window) fields() map[string]int {
	return map[string]int{"in_h": w.In.H, "in_w": w.In.W, "out_h": w.Out.H, "out_w": w.Out.W, "kernel_h": w.Kernel.H,
		"kernel_w": w.Kernel.W, "stride_h": w.Stride.H, "stride_w": w.Stride.W, "pad_h": w.Pad.H, "pad_w": w.Pad.W,
		"pad_top": w.Pad.H, "pad_left": w.Pad.W, "dil_h": w.Dilation.H, "dil_w": w.Dilation.W,
		"dilation_h": w.Dilation.H, "dilation_w": w.Dilation.W}
}

// Phases are how far outputs lie apart that read rows, or columns, which lie a dilation apart.
func Phases(dilation, stride Tile) Tile {
	return Tile{H: dilation.H / lists.GCD(dilation.H, stride.H), W: dilation.W / lists.GCD(dilation.W, stride.W)}
}

// Span is the extent of a window in the input.
func (w *Window) Span() Tile {
	return Tile{H: (w.Kernel.H-1)*w.Dilation.H + 1, W: (w.Kernel.W-1)*w.Dilation.W + 1}
}

// Padded says that some window reaches beyond the input.
func (w *Window) Padded() bool {
	s := w.Span()
	return w.Pad.H > 0 || w.Pad.W > 0 || (w.Out.H-1)*w.Stride.H+s.H-w.Pad.H > w.In.H ||
		(w.Out.W-1)*w.Stride.W+s.W-w.Pad.W > w.In.W
}
