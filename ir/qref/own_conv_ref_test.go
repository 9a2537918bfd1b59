// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// Conv2dWZPParams is nncc_conv2d_wzp_s8_params.
type Conv2dWZPParams struct {
	Batch, InH, InW, InC int32
	OutH, OutW, OutC     int32
	KernelH, KernelW     int32
	StrideH, StrideW     int32
	DilationH, DilationW int32
	PadTop, PadLeft      int32
	Groups               int32
	InOffset, OutOffset  int32
	ActMin, ActMax       int32
}

// DepthwiseWZPParams is nncc_depthwise_conv2d_wzp_s8_params.
type DepthwiseWZPParams struct {
	Batch, InH, InW, InC int32
	OutH, OutW, MultC    int32
	KernelH, KernelW     int32
	StrideH, StrideW     int32
	DilationH, DilationW int32
	PadTop, PadLeft      int32
	InOffset, OutOffset  int32
	ActMin, ActMax       int32
}

// FullyConnectedWZPParams is nncc_fully_connected_wzp_s8_params.
type FullyConnectedWZPParams struct {
	Batch, InN, OutN    int32
	InOffset, OutOffset int32
	ActMin, ActMax      int32
}

// ChannelConsts are the constants of an output channel that the wzp kernels
// take as three arrays: weight zero point, multiplier and shift.
type ChannelConsts struct{ Zero, Mult, Shift []int32 }

func (c *ChannelConsts) check(name string, n int) error {
	return firstErr(checkLen(name, "weight zero points", len(c.Zero), n), checkLen(name, "multipliers", len(c.Mult), n),
		checkLen(name, "shifts", len(c.Shift), n))
}

func (c *ChannelConsts) output(acc int32, ch int32, offset, lo, hi int32) int8 {
	return int8(fixp.Clamp(fixp.Requantize(acc, c.Mult[ch], c.Shift[ch])+offset, lo, hi))
}

// Conv2dWZP is nncc_conv2d_wzp_s8: acc = bias + sum (x+InOffset)*(w-zero), then
// CMSIS-NN's requantisation. Layouts NHWC and OHWI; b may be nil.
func Conv2dWZP(p *Conv2dWZPParams, x, w []int8, b []int32, c *ChannelConsts, y []int8) error {
	const name = "Conv2dWZP"
	if p.Groups < 1 || p.InC%p.Groups != 0 || p.OutC%p.Groups != 0 {
		return badArgs(name, "%d groups do not divide %d input and %d output channels", p.Groups, p.InC, p.OutC)
	}
	cin, cout := p.InC/p.Groups, p.OutC/p.Groups
	if err := firstErr(checkClamp(name, p.ActMin, p.ActMax),
		checkLen(name, "input", len(x), int(p.Batch*p.InH*p.InW*p.InC)),
		checkLen(name, "weights", len(w), int(p.OutC*p.KernelH*p.KernelW*cin)), checkOptional(name, "bias", len(b),
			int(p.OutC)),
		c.check(name, int(p.OutC)), checkLen(name, "output", len(y), int(p.Batch*p.OutH*p.OutW*p.OutC))); err != nil {
		return err
	}
	work := len(y) * int(p.KernelH*p.KernelW*cin)
	parallel(int(p.Batch*p.OutH), work, func(from, to int) {
		for row := int32(from); row < int32(to); row++ {
			oy := row % p.OutH
			ky0, ky1 := window(int(oy*p.StrideH-p.PadTop), int(p.InH), int(p.KernelH), int(p.DilationH))
			for ox := range p.OutW {
				kx0, kx1 := window(int(ox*p.StrideW-p.PadLeft), int(p.InW), int(p.KernelW), int(p.DilationW))
				for oc := range p.OutC {
					var acc int32
					if len(b) > 0 {
						acc = b[oc]
					}
					for ky := int32(ky0); ky < int32(ky1); ky++ {
						for kx := int32(kx0); kx < int32(kx1); kx++ {
							iy, ix := oy*p.StrideH-p.PadTop+ky*p.DilationH, ox*p.StrideW-p.PadLeft+kx*p.DilationW
							xs := x[((row/p.OutH*p.InH+iy)*p.InW+ix)*p.InC+oc/cout*cin:][:cin]
							ws := w[((oc*p.KernelH+ky)*p.KernelW+kx)*cin:][:cin]
							for i, v := range xs {
								acc += (int32(v) + p.InOffset) * (int32(ws[i]) - c.Zero[oc])
							}
						}
					}
					y[(row*p.OutW+ox)*p.OutC+oc] = c.output(acc, oc, p.OutOffset, p.ActMin, p.ActMax)
				}
			}
		}
	})
	return nil
}

// DepthwiseWZP is nncc_depthwise_conv2d_wzp_s8; weights [1,KH,KW,InC*MultC].
func DepthwiseWZP(p *DepthwiseWZPParams, x, w []int8, b []int32, c *ChannelConsts, y []int8) error {
	const name = "DepthwiseWZP"
	outC := p.InC * p.MultC
	if err := firstErr(checkClamp(name, p.ActMin, p.ActMax),
		checkLen(name, "input", len(x), int(p.Batch*p.InH*p.InW*p.InC)),
		checkLen(name, "weights", len(w), int(p.KernelH*p.KernelW*outC)), checkOptional(name, "bias", len(b),
			int(outC)),
		c.check(name, int(outC)), checkLen(name, "output", len(y), int(p.Batch*p.OutH*p.OutW*outC))); err != nil {
		return err
	}
	parallel(int(p.Batch*p.OutH), len(y)*int(p.KernelH*p.KernelW), func(from, to int) {
		acc := make([]int32, outC)
		for row := int32(from); row < int32(to); row++ {
			oy := row % p.OutH
			ky0, ky1 := window(int(oy*p.StrideH-p.PadTop), int(p.InH), int(p.KernelH), int(p.DilationH))
			for ox := range p.OutW {
				kx0, kx1 := window(int(ox*p.StrideW-p.PadLeft), int(p.InW), int(p.KernelW), int(p.DilationW))
				clear(acc)
				copy(acc, b)
				for ky := int32(ky0); ky < int32(ky1); ky++ {
					for kx := int32(kx0); kx < int32(kx1); kx++ {
						iy, ix := oy*p.StrideH-p.PadTop+ky*p.DilationH, ox*p.StrideW-p.PadLeft+kx*p.DilationW
						xs := x[((row/p.OutH*p.InH+iy)*p.InW+ix)*p.InC:][:p.InC]
						ws := w[(ky*p.KernelW+kx)*outC:][:outC]
						for oc := range acc {
							acc[oc] += (int32(xs[oc/int(p.MultC)]) + p.InOffset) * (int32(ws[oc]) - c.Zero[oc])
						}
					}
				}
				for oc, a := range acc {
					y[(row*p.OutW+ox)*outC+int32(oc)] = c.output(a, int32(oc), p.OutOffset, p.ActMin, p.ActMax)
				}
			}
		}
	})
	return nil
}

// FullyConnectedWZP is nncc_fully_connected_wzp_s8; weights [OutN,InN].
func FullyConnectedWZP(p *FullyConnectedWZPParams, x, w []int8, b []int32, c *ChannelConsts, y []int8) error {
	q := &Conv2dWZPParams{Batch: p.Batch, InH: 1, InW: 1, InC: p.InN, OutH: 1, OutW: 1, OutC: p.OutN, KernelH: 1,
		KernelW: 1,
		StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Groups: 1, InOffset: p.InOffset, OutOffset: p.OutOffset,
		ActMin: p.ActMin, ActMax: p.ActMax}
	return Conv2dWZP(q, x, w, b, c, y)
}
