// SPDX-License-Identifier: Apache-2.0

package cnn

import (
	"math"
	"math/rand/v2"
)

// layer is one step of the network. forward keeps what backward needs; backward
// takes the gradient at the output of the last forward, adds to the gradients
// of the parameters and returns the gradient at the input. What both return
// stays valid until their next call.
type layer interface {
	forward(x *act, training bool) *act
	backward(dy *act) *act
	params() []*param
	// export appends the layer's ONNX nodes and returns the name of its output.
	export(e *exporter, in string) string
}

// param is a tensor that is learned.
type param struct {
	v, g, m []float32 // values, gradient, momentum
	part    [shards][]float32
	decay   bool // weight decay applies
}

func newParam(n int, decay bool) *param {
	p := &param{v: make([]float32, n), g: make([]float32, n), m: make([]float32, n), decay: decay}
	for i := range p.part {
		p.part[i] = make([]float32, n)
	}
	return p
}

// uniform fills the parameter from [-bound, bound).
func (p *param) uniform(rng *rand.Rand, bound float64) {
	for i := range p.v {
		p.v[i] = float32((2*rng.Float64() - 1) * bound)
	}
}

// collect adds up the shards' gradients, in order, and clears them.
func (p *param) collect() {
	clear(p.g)
	for _, s := range p.part {
		for i, v := range s {
			p.g[i] += v
		}
		clear(s)
	}
}

// conv is a convolution without bias; weights are [kh][kw][in][out], for a
// depthwise one [kh][kw][channel]. Padding keeps the size at stride 1.
type conv struct {
	name      string
	k, stride int
	in, out   int
	depthwise bool
	w         *param
	x         *act
	y, dx     act
	cols      []float32         // the patches below each output position, of all samples
	dcolOf    [shards][]float32 // their gradient, of one sample
}

func newConv(rng *rand.Rand, name string, k, stride, in, out int, depthwise bool) *conv {
	c := &conv{name: name, k: k, stride: stride, in: in, out: out, depthwise: depthwise}
	fan := k * k * in
	if depthwise {
		fan = k * k
	}
	c.w = newParam(fan*out, true)
	c.w.uniform(rng, math.Sqrt(6/float64(fan)))
	return c
}

func (c *conv) params() []*param { return []*param{c.w} }

// outSize is the number of positions along an axis of n.
func (c *conv) outSize(n int) int { return (n-1)/c.stride + 1 }

// taps calls f for each pair of an output position and an input position that
// a tap of the kernel joins, for one sample.
func (c *conv) taps(h, w int, f func(out, in, tap int)) {
	oh, ow, pad := c.outSize(h), c.outSize(w), c.k/2
	for oy := range oh {
		for ox := range ow {
			for ky := range c.k {
				iy := oy*c.stride + ky - pad
				if iy < 0 || iy >= h {
					continue
				}
				for kx := range c.k {
					if ix := ox*c.stride + kx - pad; ix >= 0 && ix < w {
						f(oy*ow+ox, iy*w+ix, ky*c.k+kx)
					}
				}
			}
		}
	}
}

func (c *conv) forward(x *act, _ bool) *act {
	c.x = x
	oh, ow := c.outSize(x.h), c.outSize(x.w)
	y := c.y.fit(x.n, oh, ow, c.out)
	clear(y.v)
	inN, outN := x.h*x.w*c.in, oh*ow*c.out
	patch := c.k * c.k * c.in
	if !c.depthwise && c.k > 1 {
		c.cols = resize(c.cols, x.n*oh*ow*patch)
	}
	parallel(x.n, func(_, lo, hi int) {
		for n := lo; n < hi; n++ {
			xs, ys := x.v[n*inN:(n+1)*inN], y.v[n*outN:(n+1)*outN]
			switch {
			case c.depthwise:
				c.taps(x.h, x.w, func(out, in, tap int) {
					mulAdd(ys[out*c.out:(out+1)*c.out], xs[in*c.in:], c.w.v[tap*c.in:])
				})
			case c.k == 1:
				matmul(ys, xs, c.w.v, oh*ow, c.in, c.out)
			default:
				cols := c.cols[n*oh*ow*patch : (n+1)*oh*ow*patch]
				clear(cols)
				c.taps(x.h, x.w, func(out, in, tap int) {
					copy(cols[out*patch+tap*c.in:], xs[in*c.in:(in+1)*c.in])
				})
				matmul(ys, cols, c.w.v, oh*ow, patch, c.out)
			}
		}
	})
	return y
}

func (c *conv) backward(dy *act) *act {
	x := c.x
	dx := c.dx.fit(x.n, x.h, x.w, c.in)
	clear(dx.v)
	inN, outN := x.h*x.w*c.in, dy.h*dy.w*c.out
	patch := c.k * c.k * c.in
	var wt []float32
	if !c.depthwise {
		wt = transpose(c.w.v, patch, c.out)
	}
	parallel(x.n, func(shard, lo, hi int) {
		dw := c.w.part[shard]
		for n := lo; n < hi; n++ {
			xs, dxs, dys := x.v[n*inN:(n+1)*inN], dx.v[n*inN:(n+1)*inN], dy.v[n*outN:(n+1)*outN]
			switch {
			case c.depthwise:
				c.taps(x.h, x.w, func(out, in, tap int) {
					d := dys[out*c.out : (out+1)*c.out]
					mulAdd(dxs[in*c.in:(in+1)*c.in], d, c.w.v[tap*c.in:])
					mulAdd(dw[tap*c.in:(tap+1)*c.in], d, xs[in*c.in:])
				})
			case c.k == 1:
				matmulT(dw, xs, dys, dy.h*dy.w, c.in, c.out)
				matmul(dxs, dys, wt, dy.h*dy.w, c.out, c.in)
			default:
				rows := dy.h * dy.w
				matmulT(dw, c.cols[n*rows*patch:(n+1)*rows*patch], dys, rows, patch, c.out)
				c.dcolOf[shard] = resize(c.dcolOf[shard], rows*patch)
				d := c.dcolOf[shard]
				clear(d)
				matmul(d, dys, wt, rows, c.out, patch)
				c.taps(x.h, x.w, func(out, in, tap int) {
					axpy(dxs[in*c.in:(in+1)*c.in], 1, d[out*patch+tap*c.in:])
				})
			}
		}
	})
	c.w.collect()
	return dx
}

// mulAdd adds a*b to y, element by element.
func mulAdd(y, a, b []float32) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] += float32(a[i] * b[i])
	}
}

// relu is max(x, 0).
type relu struct {
	name  string
	y, dx act
}

func (r *relu) params() []*param { return nil }

func (r *relu) forward(x *act, _ bool) *act {
	y := r.y.fit(x.n, x.h, x.w, x.c)
	for i, v := range x.v {
		y.v[i] = max(v, 0)
	}
	return y
}

func (r *relu) backward(dy *act) *act {
	dx := r.dx.fit(dy.n, dy.h, dy.w, dy.c)
	for i, v := range r.y.v {
		if dx.v[i] = 0; v > 0 {
			dx.v[i] = dy.v[i]
		}
	}
	return dx
}

// residual adds its input to what the layers within make of it.
type residual struct {
	name  string
	body  []layer
	y, dx act
}

func (r *residual) params() []*param {
	var ps []*param
	for _, l := range r.body {
		ps = append(ps, l.params()...)
	}
	return ps
}

func (r *residual) forward(x *act, training bool) *act {
	b := x
	for _, l := range r.body {
		b = l.forward(b, training)
	}
	y := r.y.fit(x.n, x.h, x.w, x.c)
	for i := range y.v {
		y.v[i] = x.v[i] + b.v[i]
	}
	return y
}

func (r *residual) backward(dy *act) *act {
	d := dy
	for i := len(r.body) - 1; i >= 0; i-- {
		d = r.body[i].backward(d)
	}
	dx := r.dx.fit(dy.n, dy.h, dy.w, dy.c)
	for i := range dx.v {
		dx.v[i] = dy.v[i] + d.v[i]
	}
	return dx
}

// pool averages over all positions.
type pool struct {
	name  string
	h, w  int
	y, dx act
}

func (p *pool) params() []*param { return nil }

func (p *pool) forward(x *act, _ bool) *act {
	p.h, p.w = x.h, x.w
	y := p.y.fit(x.n, 1, 1, x.c)
	clear(y.v)
	area := x.h * x.w
	for n := range x.n {
		for i := range area {
			at := (n*area + i) * x.c
			axpy(y.v[n*x.c:(n+1)*x.c], 1/float32(area), x.v[at:at+x.c])
		}
	}
	return y
}

func (p *pool) backward(dy *act) *act {
	dx := p.dx.fit(dy.n, p.h, p.w, dy.c)
	clear(dx.v)
	area := p.h * p.w
	for n := range dy.n {
		for i := range area {
			at := (n*area + i) * dy.c
			axpy(dx.v[at:at+dy.c], 1/float32(area), dy.v[n*dy.c:(n+1)*dy.c])
		}
	}
	return dx
}

// dense is a fully connected layer; weights are [in][out].
type dense struct {
	name    string
	in, out int
	w, b    *param
	x       *act
	y, dx   act
}

func newDense(rng *rand.Rand, name string, in, out int) *dense {
	d := &dense{name: name, in: in, out: out, w: newParam(in*out, true), b: newParam(out, false)}
	d.w.uniform(rng, 1/math.Sqrt(float64(in)))
	return d
}

func (d *dense) params() []*param { return []*param{d.w, d.b} }

func (d *dense) forward(x *act, _ bool) *act {
	d.x = x
	y := d.y.fit(x.n, 1, 1, d.out)
	for n := range x.n {
		copy(y.v[n*d.out:], d.b.v)
	}
	matmul(y.v, x.v, d.w.v, x.n, d.in, d.out)
	return y
}

func (d *dense) backward(dy *act) *act {
	matmulT(d.w.part[0], d.x.v, dy.v, dy.n, d.in, d.out)
	for n := range dy.n {
		axpy(d.b.part[0], 1, dy.v[n*d.out:(n+1)*d.out])
	}
	d.w.collect()
	d.b.collect()
	dx := d.dx.fit(dy.n, 1, 1, d.in)
	clear(dx.v)
	matmul(dx.v, dy.v, transpose(d.w.v, d.in, d.out), dy.n, d.out, d.in)
	return dx
}
