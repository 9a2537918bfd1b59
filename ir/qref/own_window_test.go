// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"testing"
)

func TestOwnPoolS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(56)
	for range 300 {
		g := randPool(r)
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		p := Pool2dParams{Batch: g.Batch, InH: g.InH, InW: g.InW, InC: g.InC, OutH: g.OutH, OutW: g.OutW,
			KernelH: g.KernelH, KernelW: g.KernelW,
			StrideH: g.StrideH, StrideW: g.StrideW, DilationH: g.DilationH, DilationW: g.DilationW, PadTop: g.PadTop,
			PadLeft:   g.PadLeft,
			PadBottom: g.PadBottom, PadRight: g.PadRight, CountIncludePad: g.CountIncludePad}
		raw := r.IntN(2) == 0
		p.SetQuant(in, out, raw)
		p.ActMin, p.ActMax = randAct(r, out)
		x := randS8(r, p.Batch*p.InH*p.InW*p.InC)
		n := p.Batch * p.OutH * p.OutW * p.InC
		y, want := make([]int8, n), make([]int8, n)
		must(t, AvgPool2d(&p, x, want))
		d.call(t, "nncc_avg_pool2d_s8", p, x, y)
		same(t, "avg_pool2d_s8", p, y, want)
		if !(raw && in == out) { // the definition, literally in float64
			var def []int8
			g.windows(func(taps []int32, count int) {
				for c := range p.InC {
					sum := 0.0
					for _, at := range taps {
						sum += in.Real(int32(x[at*p.InC+c]))
					}
					def = append(def, int8(out.Quantise(sum/float64(max(count, 1)), p.ActMin, p.ActMax)))
				}
			})
			same(t, "definition of avg_pool2d_s8", p, y, def)
		}
		must(t, MaxPool2d(&p, x, want))
		d.call(t, "nncc_max_pool2d_s8", p, x, y)
		same(t, "max_pool2d_s8", p, y, want)
	}
}

// linearAxis gives the tables of linear interpolation with half-pixel centres.
func linearAxis(t *testing.T, in, out int32) (*ResizeAxis, []float64) {
	var index []int32
	var weight []float64
	for o := range out {
		c := (float64(o)+0.5)*float64(in)/float64(out) - 0.5
		lo := math.Floor(c)
		frac := c - lo
		i0, i1 := min(max(int32(lo), 0), in-1), min(max(int32(lo)+1, 0), in-1)
		index, weight = append(index, i0, i1), append(weight, 1-frac, frac)
	}
	a, err := NewResizeAxis(2, index, weight)
	must(t, err)
	return a, weight
}

func TestOwnResizeS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(59)
	for range 150 {
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		p := ResizeParams{Batch: between(r, 1, 2), InH: between(r, 1, 5), InW: between(r, 1, 5),
			Channels: between(r, 1, 4)}
		h, wh := linearAxis(t, p.InH, between(r, 1, 9))
		w, ww := linearAxis(t, p.InW, between(r, 1, 9))
		outside := r.IntN(5) == 0
		if outside {
			h.Index[0] = -1
		}
		p.SetAxes(h, w, in, out, 0.5)
		x := randS8(r, p.Batch*p.InH*p.InW*p.Channels)
		n := p.Batch * p.OutH * p.OutW * p.Channels
		y, want := make([]int8, n), make([]int8, n)
		must(t, Resize(&p, x, h, w, want))
		d.call(t, "nncc_resize_s8", p, x, h.Index, h.Weight, w.Index, w.Weight, y)
		same(t, "resize_s8", p, y, want)
		if outside {
			continue
		}
		for i, got := range y { // exact wherever no tie is near
			c, ox := int32(i)%p.Channels, int32(i)/p.Channels%p.OutW
			oy, b := int32(i)/p.Channels/p.OutW%p.OutH, int32(i)/p.Channels/p.OutW/p.OutH
			v := 0.0
			for s := range int32(2) {
				for u := range int32(2) {
					v += in.Real(int32(x[((b*p.InH+h.Index[2*oy+s])*p.InW+w.Index[2*ox+u])*p.Channels+c])) * wh[2*oy+
						s] * ww[2*ox+u]
				}
			}
			lo, hi := out.Quantise(v-1e-9, -128, 127), out.Quantise(v+1e-9, -128, 127)
			if int32(got) < lo || int32(got) > hi {
				t.Fatalf("resize_s8: element %d is %d, want %g + %d\n%+v", i, got, v/float64(out.Scale), out.Zero, p)
			}
		}
	}
}

// TestOwnResizeLinearS8: the bilinear kernels, those of few channels too, give
// what Resize gives, for factors that 256ths hold exactly and for others, with and without a change of
// scale, and for what lies outside.
func TestOwnResizeLinearS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(61)
	seen := map[string]int{}
	for range 500 {
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		if r.IntN(3) == 0 {
			in.Zero = []int32{-128, 127}[r.IntN(2)]
			out.Zero = in.Zero
		}
		p := ResizeParams{Batch: between(r, 1, 2), InH: between(r, 1, 9), InW: between(r, 1, 9),
			Channels: between(r, 1, []int{7, 19}[r.IntN(2)])}
		to := func(n int32) int32 {
			if r.IntN(2) == 0 {
				return n << between(r, 0, 3)
			}
			return between(r, 1, 31)
		}
		h, _ := linearAxis(t, p.InH, to(p.InH))
		w, _ := linearAxis(t, p.InW, to(p.InW))
		if r.IntN(5) == 0 {
			h.Index[0], w.Index[2*(len(w.Index)/2-1)] = -1, -1
		}
		p.SetAxes(h, w, in, out, 0.5)
		l, ok := BuildResizeLinear(&p, h, w)
		if !ok {
			if out.Scale > in.Scale/16 { // results beyond int8 hundreds of times over need not have constants
				t.Errorf("no constants for %+v", p)
			}
			continue
		}
		x := randS8(r, p.Batch*p.InH*p.InW*p.Channels)
		if r.IntN(3) == 0 {
			for i := range x {
				x[i] = []int8{-128, 127}[r.IntN(2)]
			}
		}
		n := p.Batch * p.OutH * p.OutW * p.Channels
		y, want := make([]int8, n), make([]int8, n)
		must(t, Resize(&p, x, h, w, want))
		elements, den, few := l.Elements(&p)
		q := struct {
			Batch, InH, InW, Channels, OutH, OutW, Scale, Den, Bias, Mult, Add, Shift, OutZero, Outside int32
		}{p.Batch, p.InH, p.InW, p.Channels, p.OutH, p.OutW, l.Scale, den, l.Bias, l.Mult, l.Add, l.Shift, p.OutZero,
			p.Outside}
		name, scratch := "nncc_resize_linear_s8", make([]int32, (p.Channels+p.Channels%4)/2*p.InW)
		byElement := "nncc_resize_linear_few_s8"
		if l.Wide {
			name, scratch = "nncc_resize_linear_wide_s8", make([]int32, p.Channels*p.InW)
			byElement = "nncc_resize_linear_few_wide_s8"
		}
		seen[name]++
		d.call(t, name, q, x, l.Rows, l.Cols, scratch, y)
		same(t, name, p, y, want)
		if few {
			clear(y)
			seen[byElement]++
			d.call(t, byElement, q, x, l.Rows, elements, scratch, y)
			same(t, byElement, p, y, want)
		}
	}
	for _, form := range []string{"", "_wide", "_few", "_few_wide"} {
		if n := seen["nncc_resize_linear"+form+"_s8"]; n < 20 {
			t.Errorf("%d layers of nncc_resize_linear%s_s8, want 20", n, form)
		}
	}
}
