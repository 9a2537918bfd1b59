// SPDX-License-Identifier: Apache-2.0

package param

import "github.com/nncc/nncc/ir/call"

// Walk is the order in which a kernel reads an input and writes its result, both maps of images whose pixels lie behind
// each other. It computes the result in groups, and never goes back to one.
type Walk struct {
	Images   int
	From, To int // bytes of a pixel of the input, and of the result
	// Rows and Pixels of a group: so many rows of the result by so many pixels of each; 0 pixels: whole rows; 0 rows:
	// pixels wherever rows end, but for the last ones of an image.
	Rows, Pixels int
	Reads        Reads
	Wait         int // pixels that wait elsewhere before they are written: until those of the next group are too many
	Last         int // bytes of a group whose reads are Mixed that are written behind the last read of its first pixel
}

// Reads says when a group reads its windows.
type Reads uint8

const (
	// Before is before any result of the group is written.
	Before Reads = iota
	// Mixed is until the last results are written.
	Mixed
	// Once is before, into scratch memory, from which later groups take what they have in common: whole rows.
	Once
)

// Rest is what is left for the last of blocks of n channels, all of it where they end with a block.
func Rest(channels, n int) int { return (channels-1)%n + 1 }

// Channelwise is Last where a channel of the result reads the same one of the input, and blocks of n channels go one by
// one, the last one over some of those before.
func Channelwise(channels, n int) int {
	if channels < n {
		return channels
	}
	return channels - n + Rest(channels, n)
}

// Line is the window of a product of single pixels.
func Line(pixels int) Window {
	one := Tile{H: 1, W: 1}
	line := Tile{H: 1, W: pixels}
	return Window{In: line, Out: line, Kernel: one, Stride: one, Dilation: one}
}

// Overlap states from which distance on the result may lie over input 0.
func (k Walk) Overlap(w *Window) []call.Overlap { return []call.Overlap{{Ahead: k.ahead(w)}} }

// ahead is the most by which writing runs ahead of reading.
func (k Walk) ahead(w *Window) int {
	in, out := w.In.H*w.In.W*k.From, w.Out.H*w.Out.W*k.To
	most := 0
	k.groups(w, func(g group) {
		first, next := k.first(w, g.first), k.next(w, &g)
		for n := range k.Images {
			if k.Reads == Mixed {
				most = max(most, n*out+g.end*k.To-k.Last-n*in-first*k.From)
			}
			if g.end < w.Out.H*w.Out.W || n+1 < k.Images {
				most = max(most, n*out+g.end*k.To-n*in-next*k.From)
			}
		}
	})
	return most
}

// group is results that are computed together: the first pixel, and the one behind the last. Those of the next group
// begin at the pixel next; the number of the result's pixels is there none.
type group struct{ first, end, next int }

// groups are what is written together.
func (k Walk) groups(w *Window, f func(g group)) {
	if k.Wait == 0 {
		k.computed(w, f)
		return
	}
	written := 0
	k.computed(w, func(g group) {
		if g.end-written > k.Wait {
			f(group{written, g.first, g.next})
			written = g.first
		}
		if g.end == w.Out.H*w.Out.W {
			f(group{written, g.end, g.end})
		}
	})
}

// computed are what is computed together.
func (k Walk) computed(w *Window, f func(g group)) {
	pixels, rows, columns := w.Out.H*w.Out.W, k.Rows, k.Pixels
	if rows == 0 {
		for p := 0; p < pixels; p += columns {
			end := min(p+columns, pixels)
			f(group{p, end, end})
		}
		return
	}
	if columns == 0 {
		columns = w.Out.W
	}
	for y := 0; y < w.Out.H; y += rows {
		last := min(y+rows, w.Out.H)
		for x := 0; x < w.Out.W; x += columns {
			end := min(x+columns, w.Out.W)
			g := group{y*w.Out.W + x, (last-1)*w.Out.W + end, y*w.Out.W + end}
			if end == w.Out.W {
				g.next = last * w.Out.W
			}
			f(g)
		}
	}
}

// first is the first pixel of the input that windows from a pixel of the result on read.
func (k Walk) first(w *Window, pixel int) int {
	at := func(y, x int) int {
		row := min(max(0, y*w.Stride.H-w.Pad.H), w.In.H)
		return row*w.In.W + min(max(0, x*w.Stride.W-w.Pad.W), w.In.W)
	}
	y, x := pixel/w.Out.W, pixel%w.Out.W
	if y == w.Out.H {
		return w.In.H * w.In.W
	}
	p := at(y, x)
	if k.Rows > 0 {
		y = y/k.Rows*k.Rows + k.Rows - 1
	}
	if y+1 < w.Out.H {
		p = min(p, at(y+1, 0))
	}
	return p
}

// next is the first pixel of the input that is read behind a group.
func (k Walk) next(w *Window, g *group) int {
	if k.Reads != Once {
		return k.first(w, g.next)
	}
	if g.next == w.Out.H*w.Out.W {
		return w.In.H * w.In.W
	}
	return min(max(0, (g.end-1)/w.Out.W*w.Stride.H-w.Pad.H+w.Span().H), w.In.H) * w.In.W
}
