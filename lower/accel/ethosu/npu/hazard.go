// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"fmt"

	"github.com/nncc/nncc/ir/fail"
)

// flight is what may still be at work.
type flight struct {
	kernels, transfers []*Op
	last               *Op // kernel
}

const kernelsInFlight = 2

func keep(ops []*Op, n int) []*Op { return ops[max(0, len(ops)-n):] }

// wait ends all but the last n.
func (f *flight) wait(dma bool, n int) {
	if dma {
		f.transfers = keep(f.transfers, n)
	} else {
		if f.kernels = keep(f.kernels, n); len(f.kernels) == 0 {
			f.last = nil
		}
	}
}

// clash is an error if one of two operations at work at a time writes what the other reads or writes.
func clash(o, other *Op, want string) error {
	for _, pair := range []struct {
		mine, its []access
		verb      string
	}{{o.reads, other.writes, "still be writing"}, {o.writes, other.writes, "still be writing"},
		{o.writes, other.reads, "still be reading"}} {
		for _, a := range pair.mine {
			for _, b := range pair.its {
				if a.region != b.region {
					continue
				}
				if at := meet(a.spans, b.spans); at >= 0 {
					return fmt.Errorf("%s is at byte %d of region %s, where %s may %s; want %s", a.what, at,
						regionName(a.region), other, pair.verb, want)
				}
			}
		}
	}
	return nil
}

func (f *flight) transferred(o *Op, c *Config) error {
	for _, k := range f.kernels {
		if err := clash(o, k, "a KERNEL_WAIT before"); err != nil {
			return err
		}
	}
	f.transfers = keep(append(f.transfers, o), c.transfers())
	return nil
}

func (f *flight) kernel(o *Op) (err error) {
	defer fail.Catch(&err)
	for _, t := range f.transfers {
		fail.Check(clash(o, t, "a DMA_WAIT before"))
	}
	if f.last != nil && o.Depend > 0 {
		fail.Check(o.behind(f.last))
	}
	f.kernels, f.last = keep(append(f.kernels, o), kernelsInFlight), o
	return nil
}

// behind checks BLOCKDEP: job i of an operation may start while so many less i of the last blocks of the
// one before are at work.
func (o *Op) behind(before *Op) error {
	maps := []*FeatureMap{&o.IFM}
	if o.TwoMaps() {
		maps = append(maps, &o.IFM2)
	}
	for i, f := range maps {
		if f.Region != before.OFM.Region || meet(o.reads[i].spans, before.writes[0].spans) < 0 {
			continue
		}
		for job := range o.Depend {
			in, ok := o.jobReads(f, job)
			if !ok {
				break
			}
			for back := range o.Depend - job {
				b, ok := before.blockBack(back)
				if !ok {
					break
				}
				if at := meet(f.spans(in), before.OFM.spans(b)); at >= 0 {
					return fmt.Errorf("with BLOCKDEP %d, %s is read at byte %d of region %s, where %s may still be "+
						"writing; want at most %d", o.Depend, o.reads[i].what, at, regionName(f.Region), before,
						job+back)
				}
			}
		}
	}
	return nil
}

// blockBack is the n-th block of the result from its end.
func (o *Op) blockBack(n int) (box, bool) {
	return o.block(cut(o.OFM.H, o.Block.H)*cut(o.OFM.W, o.Block.W)*cut(o.OFM.C, o.Block.C) - 1 - n)
}

// block is the n-th block of the result: channels first, then columns, then rows.
func (o *Op) block(n int) (box, bool) {
	h, w, d := cut(o.OFM.H, o.Block.H), cut(o.OFM.W, o.Block.W), cut(o.OFM.C, o.Block.C)
	if n < 0 || n >= h*w*d {
		return box{}, false
	}
	y, x, c := n/d/w*o.Block.H, n/d%w*o.Block.W, n%d*o.Block.C
	return box{y, x, c, min(y+o.Block.H, o.OFM.H), min(x+o.Block.W, o.OFM.W), min(c+o.Block.C, o.OFM.C)}, true
}

// jobReads is the part of an input that job n reads first.
func (o *Op) jobReads(f *FeatureMap, n int) (box, bool) {
	slices, depth := 1, f.C
	if o.Kind == Conv || o.Kind == Sum {
		depth = o.inputDepth()
		slices = cut(f.C, depth)
	}
	b, ok := o.block(n / slices)
	if !ok {
		return b, false
	}
	in := box{c0: n % slices * depth, c1: min(f.C, (n%slices+1)*depth)}
	if slices == 1 && o.Kind != Conv && o.Kind != Sum {
		in.c0, in.c1 = min(b.c0, f.C-1), min(b.c1, f.C)
	}
	if o.Kind == Elementwise {
		in.y0, in.x0, in.y1, in.x1 = min(b.y0, f.H-1), min(b.x0, f.W-1), min(b.y1, f.H), min(b.x1, f.W)
		return in, true
	}
	k := &o.Window
	in.y0, in.y1 = seen(b.y0, b.y1, k.StrideY, k.Top, k.H, k.DilateY, f.H, k.Upscale)
	in.x0, in.x1 = seen(b.x0, b.x1, k.StrideX, k.Left, k.W, k.DilateX, f.W, k.Upscale)
	return in, true
}

// seen is what windows from a result up to another see of the input along one dimension: of the first part
// of their kernels, at most 8 places.
func seen(from, to, stride, pad, kernel, dilate, size, upscale int) (int, int) {
	a, b := from*stride-pad, (to-1)*stride-pad+min((kernel-1)*dilate+1, 8)
	if upscale != 0 {
		a, b = a/2, cut(b, 2)
	}
	return max(0, min(size, a)), max(0, min(size, b))
}
