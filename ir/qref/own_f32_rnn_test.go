// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rnnParams mirrors nncc_rnn_params.
type rnnParams struct {
	Seq, Batch, InN, Hidden        int32
	Direction                      int32
	InputForget, LinearBeforeReset int32
	Clip, CellClip                 float32
	Act                            [6]struct {
		Kind        int32
		Alpha, Beta float32
	}
}

// rnnActs are the activations by code: see NNCC_RNN_* in nncc_f32.h.
var rnnActs = []func(v, a, b float64) float64{
	func(v, _, _ float64) float64 { return 1 / (1 + math.Exp(-v)) },
	func(v, _, _ float64) float64 { return math.Tanh(v) },
	func(v, _, _ float64) float64 { return max(v, 0) },
	func(v, a, b float64) float64 { return a*v + b },
	func(v, a, _ float64) float64 { return max(v, 0) + a*min(v, 0) },
	func(v, a, _ float64) float64 {
		if v > a {
			return v
		}
		return 0
	},
	func(v, a, b float64) float64 { return a * math.Tanh(b*v) },
	func(v, a, b float64) float64 { return max(0, min(1, a*v+b)) },
	func(v, a, _ float64) float64 {
		if v < 0 {
			return a * math.Expm1(v)
		}
		return v
	},
	func(v, _, _ float64) float64 { return v / (1 + math.Abs(v)) },
	func(v, _, _ float64) float64 { return math.Log1p(math.Exp(v)) },
}

func randRNN(r *rand.Rand, defaults ...int32) rnnParams {
	p := rnnParams{Seq: between(r, 1, 4), Batch: between(r, 1, 3), InN: between(r, 1, 5), Hidden: between(r, 1, 6),
		Direction: between(r, 0, 2), InputForget: between(r, 0, 1), LinearBeforeReset: between(r, 0, 1)}
	if r.IntN(3) == 0 {
		p.Clip = 0.75
	}
	if r.IntN(3) == 0 {
		p.CellClip = 0.4
	}
	other := r.IntN(2) == 0
	for i := range p.Act {
		p.Act[i].Kind, p.Act[i].Alpha, p.Act[i].Beta = defaults[i%3], 0.5, 0.25
		if other {
			p.Act[i].Kind = between(r, 0, len(rnnActs)-1)
		}
	}
	return p
}

func (p rnnParams) act(k int, v float64) float64 {
	if p.Clip > 0 {
		v = max(-float64(p.Clip), min(float64(p.Clip), v))
	}
	return p.function(k, v)
}

// function is an activation without clip: ONNX Runtime does not limit the
// cell state before h.
func (p rnnParams) function(k int, v float64) float64 {
	a := p.Act[k]
	return rnnActs[a.Kind](v, float64(a.Alpha), float64(a.Beta))
}

// rnnCase holds the tensors of one recurrent layer; gates is the number of
// gate matrices. w, r, b, peephole are per direction.
type rnnCase struct {
	p                            rnnParams
	dirs, gates                  int32
	x, w, r, b, peephole, h0, c0 []float32
	lens                         []int32
	wantY, wantH, wantC          []float64
}

func newRNNCase(r *rand.Rand, p rnnParams, gates int32) *rnnCase {
	c := &rnnCase{p: p, gates: gates, dirs: 1}
	if p.Direction == 2 {
		c.dirs = 2
	}
	opt := func(n int32) []float32 {
		if r.IntN(3) == 0 {
			return nil
		}
		return randF32(r, n, 0.5)
	}
	h := p.Hidden
	c.x = randF32(r, p.Seq*p.Batch*p.InN, 1)
	c.w, c.r = randF32(r, c.dirs*gates*h*p.InN, 0.5), randF32(r, c.dirs*gates*h*h, 0.5)
	c.b, c.peephole = opt(c.dirs*2*gates*h), opt(c.dirs*3*h)
	c.h0, c.c0 = opt(c.dirs*p.Batch*h), opt(c.dirs*p.Batch*h)
	if r.IntN(3) == 0 {
		for range p.Batch {
			c.lens = append(c.lens, between(r, 1, int(p.Seq)))
		}
	}
	c.wantY = make([]float64, p.Seq*c.dirs*p.Batch*h)
	return c
}

// gate is x*w + h*r (+ biases) of row j of gate g, in direction d; which of
// the parts are taken is chosen by useX and useH.
func (c *rnnCase) gate(d, g, j int32, x []float32, h []float64, useX, useH bool) float64 {
	n, row, v := c.p.Hidden, (d*c.gates+g)*c.p.Hidden+j, 0.0
	bias := d*2*c.gates*n + g*n + j
	if useX {
		for i, xv := range x {
			v += float64(xv) * float64(c.w[row*c.p.InN+int32(i)])
		}
		v += biasAt(c.b, bias)
	}
	if useH {
		for i, hv := range h {
			v += hv * float64(c.r[row*n+int32(i)])
		}
		v += biasAt(c.b, bias+c.gates*n)
	}
	return v
}

// run walks directions, batch entries and steps; step updates the states.
func (c *rnnCase) run(step func(d int32, x []float32, h, cell []float64)) {
	p, n := c.p, c.p.Hidden
	for d := range c.dirs {
		for b := range p.Batch {
			h, cell := make([]float64, n), make([]float64, n)
			for j := range n {
				h[j], cell[j] = biasAt(c.h0, (d*p.Batch+b)*n+j), biasAt(c.c0, (d*p.Batch+b)*n+j)
			}
			length := p.Seq
			if c.lens != nil {
				length = c.lens[b]
			}
			for s := range length {
				at := s
				if d == 1 || p.Direction == 1 {
					at = length - 1 - s
				}
				step(d, c.x[(at*p.Batch+b)*p.InN:][:p.InN], h, cell)
				copy(c.wantY[((at*c.dirs+d)*p.Batch+b)*n:], h)
			}
			c.wantH, c.wantC = append(c.wantH, h...), append(c.wantC, cell...)
		}
	}
}

func TestOwnLSTMF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(30)
	for range 150 {
		c := newRNNCase(r, randRNN(r, 0, 1, 1), 4)
		p, n := c.p, c.p.Hidden
		c.run(func(dir int32, x []float32, h, cell []float64) {
			before := append([]float64(nil), h...)
			for j := range n {
				gate := func(g int32) float64 { return c.gate(dir, g, j, x, before, true, true) }
				peep := func(k int32) float64 { return biasAt(c.peephole, (dir*3+k)*n+j) }
				a := int(3 * dir)
				i := p.act(a, gate(0)+peep(0)*cell[j])
				f := p.act(a, gate(2)+peep(2)*cell[j])
				if p.InputForget == 1 {
					f = 1 - i
				}
				cell[j] = f*cell[j] + i*p.act(a+1, gate(3))
				if limit := float64(p.CellClip); limit > 0 {
					cell[j] = max(-limit, min(limit, cell[j]))
				}
				h[j] = p.act(a, gate(1)+peep(1)*cell[j]) * p.function(a+2, cell[j])
			}
		})
		y, yh, yc := poisonF32(int32(len(c.wantY))), poisonF32(int32(len(c.wantH))), poisonF32(int32(len(c.wantC)))
		if r.IntN(4) == 0 {
			y = nil
		}
		d.call(t, "nncc_lstm_f32", p, c.x, c.w, c.r, c.b, c.peephole, c.h0, c.c0, c.lens, y, yh, yc, poisonF32(6*n))
		if y != nil {
			near(t, "lstm Y", p, y, c.wantY, 1e-5)
		}
		near(t, "lstm Y_h", p, yh, c.wantH, 1e-5)
		near(t, "lstm Y_c", p, yc, c.wantC, 1e-5)
	}
}

func TestOwnGRUF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(31)
	for range 150 {
		c := newRNNCase(r, randRNN(r, 0, 1, 1), 3)
		p, n := c.p, c.p.Hidden
		c.run(func(dir int32, x []float32, h, _ []float64) {
			a := int(3 * dir)
			before, reset := append([]float64(nil), h...), make([]float64, n)
			z, rg := make([]float64, n), make([]float64, n)
			for j := range n {
				z[j] = p.act(a, c.gate(dir, 0, j, x, before, true, true))
				rg[j] = p.act(a, c.gate(dir, 1, j, x, before, true, true))
				reset[j] = rg[j] * before[j]
			}
			for j := range n {
				var v float64
				if p.LinearBeforeReset == 1 {
					v = c.gate(dir, 2, j, x, nil, true, false) + rg[j]*c.gate(dir, 2, j, nil, before, false, true)
				} else {
					v = c.gate(dir, 2, j, x, reset, true, true)
				}
				h[j] = (1-z[j])*p.act(a+1, v) + z[j]*before[j]
			}
		})
		y, yh := poisonF32(int32(len(c.wantY))), poisonF32(int32(len(c.wantH)))
		d.call(t, "nncc_gru_f32", p, c.x, c.w, c.r, c.b, c.h0, c.lens, y, yh, poisonF32(5*n))
		near(t, "gru Y", p, y, c.wantY, 1e-5)
		near(t, "gru Y_h", p, yh, c.wantH, 1e-5)
	}
}

func TestOwnRNNF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(32)
	for range 80 {
		c := newRNNCase(r, randRNN(r, 1, 1, 1), 1)
		p, n := c.p, c.p.Hidden
		c.run(func(dir int32, x []float32, h, _ []float64) {
			before := append([]float64(nil), h...)
			for j := range n {
				h[j] = p.act(int(3*dir), c.gate(dir, 0, j, x, before, true, true))
			}
		})
		y, yh := poisonF32(int32(len(c.wantY))), poisonF32(int32(len(c.wantH)))
		d.call(t, "nncc_rnn_f32", p, c.x, c.w, c.r, c.b, c.h0, c.lens, y, yh, poisonF32(2*n))
		near(t, "rnn Y", p, y, c.wantY, 1e-5)
		near(t, "rnn Y_h", p, yh, c.wantH, 1e-5)
	}
}
