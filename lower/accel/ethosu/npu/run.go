// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"encoding/binary"
	"fmt"
	mathbits "math/bits"

	"github.com/nncc/nncc/ir/fail"
)

// machine executes operations on regions. A dry one moves and checks everything, and computes no result.
type machine struct {
	lister
	flight
	cfg     *Config
	regions map[int]*Memory
	dry     bool
	work    int64
}

func (m *machine) wait(dma bool, n int) { m.flight.wait(dma, n) }

// most work of a stream, in MACs, beyond which nobody waits for it.
const mostWork = 1 << 37

// Run executes a stream on regions by number. An error is what silicon would have punished; nothing
// outside of the regions was touched.
func (s *Stream) Run(regions map[int]*Memory) error { return s.run(regions, false, nil) }

// Check does what Run does except for the arithmetic; see, if any, gets every operation.
func (s *Stream) Check(regions map[int]*Memory, see func(o *Op) error) error {
	return s.run(regions, true, see)
}

// lister reads operations and checks nothing that depends on memory.
type lister struct {
	n   int
	see func(o *Op) error
}

func (l *lister) wait(bool, int) {}

func (l *lister) op(at int, st *state, code, param int) error {
	o, err := st.operation(l.n, at, code, param)
	if l.n++; err == nil {
		err = l.see(o)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	return nil
}

// Ops gives every operation of a stream with nothing checked that depends on memory.
func (s *Stream) Ops(see func(o *Op) error) error { return s.walk(&lister{see: see}) }

func (s *Stream) run(regions map[int]*Memory, dry bool, see func(o *Op) error) error {
	m := &machine{cfg: s.Config, dry: dry, regions: map[int]*Memory{shram: Scratch(s.Config.Banks * bankBytes)}}
	for k, v := range regions {
		m.regions[k] = v
	}
	m.see = func(o *Op) error {
		err := m.step(o)
		if err == nil && see != nil {
			err = see(o)
		}
		return err
	}
	return s.walk(m)
}

func (m *machine) step(o *Op) (err error) {
	defer fail.Catch(&err)
	if o.Kind == Transfer {
		return m.transfer(o)
	}
	if m.work += o.Work(); m.work > mostWork {
		return fmt.Errorf("more than %d multiplications so far", int64(mostWork))
	}
	m.accesses(o)
	o.over()
	fail.Check(o.layout(m.cfg).check(o, m.cfg))
	fail.Check(m.kernel(o))
	err = m.compute(o)
	if m.know(o.writes[0], true); o.Function != table && m.cfg.SharesTables() {
		m.know(m.cfg.lut(o), false)
	}
	return err
}

// lut is what an operation reads of the tables, or all of them.
func (c *Config) lut(o *Op) access {
	r := Range{shram, int64(c.lutAt()), lutBytes}
	if o.Function == table {
		n := int64(256 * o.OFM.Bits / 8)
		if o.OFM.Bits == 16 {
			n = lutBytes
		}
		r = Range{shram, r.From + int64(o.Table)*256, n}
	}
	return r.access("the table of the activation")
}

// touch finds what an operation reads and writes.
func (o *Op) touch(c *Config) {
	o.reads = []access{o.IFM.access("the input")}
	if o.TwoMaps() {
		o.reads = append(o.reads, o.IFM2.access("the second input"))
	}
	for i := range o.Cores {
		if o.weighted() && o.OFM.C > i {
			o.reads = append(o.reads, o.Weights[i].access("the weights"), o.Scales[i].access("the scales"))
		}
	}
	if o.Function == table {
		o.reads = append(o.reads, c.lut(o))
	}
	o.writes = []access{o.OFM.access("the result")}
	if o.Function != table && c.SharesTables() {
		o.writes = append(o.writes, c.lut(o))
	}
}

// over refuses a result over an input but where every element takes the place of the one that it comes from.
func (o *Op) over() {
	maps := []*FeatureMap{&o.IFM}
	if o.TwoMaps() {
		maps = append(maps, &o.IFM2)
	}
	for i, f := range maps {
		if f.Region != o.OFM.Region || meet(o.reads[i].spans, o.writes[0].spans) < 0 {
			continue
		}
		a, b := *f, o.OFM
		a.Zero, a.Signed, b.Zero, b.Signed = 0, false, 0, false
		if a != b || o.Kind != Elementwise && o.Window.H*o.Window.W > 1 {
			fail.Errorf("the result is at %d of region %s, over %s in another order; want the same or apart",
				o.OFM.Base[0], regionName(o.OFM.Region), o.reads[i].what)
		}
	}
}

// accesses finds and checks what an operation reads and writes.
func (m *machine) accesses(o *Op) {
	o.touch(m.cfg)
	for _, a := range o.reads {
		fail.Check(m.within(a, false))
	}
	fail.Check(m.within(o.writes[0], true))
}

func (m *machine) transfer(o *Op) (err error) {
	defer fail.Catch(&err)
	from, to := o.From.access("the transfer"), o.To.access("the transfer")
	o.reads, o.writes = []access{from}, []access{to}
	r, w := m.regions[o.From.Region], m.regions[o.To.Region]
	// What is copied need not be known: holes of feature maps are not.
	fail.Check(m.within(access{from.what, from.region, nil}, false))
	if o.From.From+o.From.Bytes > int64(len(r.Data)) {
		return fmt.Errorf("it reads %s, the region has %d bytes", o.From, len(r.Data))
	}
	fail.Check(m.within(to, true))
	fail.Check(m.transferred(o, m.cfg))
	copy(w.Data[o.To.From:][:o.To.Bytes], r.Data[o.From.From:])
	copy(w.Known[o.To.From:][:o.To.Bytes], r.Known[o.From.From:])
	return nil
}

// Work is multiplications, or elements.
func (o *Op) Work() int64 {
	n := int64(o.OFM.elems())
	switch o.Kind {
	case Conv:
		return n * int64(o.Window.H*o.Window.W*o.IFM.C)
	case Depthwise, Max, Average:
		return n * int64(o.Window.H*o.Window.W)
	case Sum:
		return n * int64(o.IFM.C)
	}
	return n
}

func (m *machine) compute(o *Op) error {
	var w []int16
	var params []Channel
	if o.weighted() {
		var err error
		if w, params, err = m.weights(o); err != nil {
			return err
		}
	}
	if m.dry {
		return nil
	}
	out, a := make([]int32, o.OFM.elems()), m.load(&o.IFM)
	finish := m.finisher(o)
	put := func(i int, v int64) { out[i] = finish(v) }
	switch {
	case o.Kind == Elementwise:
		m.elementwise(o, a, put)
	case o.weighted():
		o.multiply(a, w, func(i int, v int64) {
			p := &params[i%o.OFM.C]
			if v += p.Bias; o.PerChannel {
				v = scaleBy(v, p.Scale, p.Shift, o.Rounding)
			} else {
				v = scaleBy(v, o.Scale, o.Shift, o.Rounding)
			}
			put(i, v)
		})
	case o.Kind == Sum:
		for i := range out {
			v := int64(0)
			for _, x := range a[i*o.IFM.C:][:o.IFM.C] {
				v += int64(x)
			}
			if !o.PerChannel {
				v = scaleBy(v, o.Scale, o.Shift, o.Rounding)
			}
			put(i, v)
		}
	default:
		o.pool(a, put)
	}
	m.store(&o.OFM, out)
	return nil
}

// depth is the channels of a sum.
func (o *Op) depth() int {
	if o.Kind == Depthwise {
		return 1
	}
	return o.IFM.C
}

// order is how the weights of a core lie.
func (o *Op) order(c *Config, core int) *order {
	k := &o.Window
	return &order{out: cut(o.OFM.C-core, o.Cores), in: o.depth(), kh: k.H, kw: k.W, unit: c.Unit.C,
		block: max(1, cut(o.Block.C-core, o.Cores)), depthwise: o.Kind == Depthwise, part: k.PartFirst,
		wide: o.IFM.Bits == 16, splitH: k.Split / k.DilateY, splitW: k.Split / k.DilateX}
}

// weights decodes the weights, [out][y][x][in], and the scales of an operation's channels.
func (m *machine) weights(o *Op) (_ []int16, _ []Channel, err error) {
	defer fail.Catch(&err)
	in, win := o.depth(), &o.Window
	each := win.H * win.W * in
	if int64(each)*int64(o.OFM.C) > 1<<28 {
		return nil, nil, fmt.Errorf("%d×%d weights, want at most %d", each, o.OFM.C, 1<<28)
	}
	w, params := make([]int16, each*o.OFM.C), make([]Channel, o.OFM.C)
	for core := range min(o.Cores, o.OFM.C) {
		r := o.order(m.cfg, core)
		n := 0
		r.visit(func(_, _, _, _ int) { n++ })
		src := o.Weights[core]
		got := fail.Must(DecodeWeights(m.regions[src.Region].Data[src.From:][:src.Bytes], n))
		if len(got) != n {
			return nil, nil, fmt.Errorf("the stream has %d weights, blocks of %d channels want %d", len(got),
				o.Block.C, n)
		}
		n = 0
		r.visit(func(oc, y, x, i int) {
			if oc >= 0 {
				w[((oc*o.Cores+core)*win.H+y)*win.W*in+x*in+i] = got[n]
			} else if got[n] != 0 && err == nil {
				err = fmt.Errorf("padding of the weights is %d, want 0", got[n])
			}
			n++
		})
		if err != nil {
			return nil, nil, err
		}
		m.scales(o, core, params)
	}
	return w, params, nil
}

func (m *machine) scales(o *Op, core int, params []Channel) {
	b := m.regions[o.Scales[core].Region].Data[o.Scales[core].From:]
	for c := core; c < len(params); c += o.Cores {
		lo := binary.LittleEndian.Uint64(b)
		if b[9]>>6 != 0 {
			fail.Errorf("the scale of channel %d has bits above its shift", c)
		}
		params[c] = Channel{int64(lo<<24) >> 24, uint32(lo>>40) | uint32(b[8])<<24, int(b[9])}
		b = b[10:]
	}
}

// sample is the index in the input of a place in the windows; below 0: it is padding.
func sample(at, size, upscale int) int {
	if at < 0 {
		return -1
	}
	if upscale == ZeroAfter && at&1 == 1 {
		return -1
	}
	if upscale != 0 {
		at /= 2
	}
	if at >= size {
		return -1
	}
	return at
}

// bounds are how far windows see, in places of the upscaled input.
func (o *Op) bounds() (h, w int) {
	k := &o.Window
	return (o.OFM.H-1)*k.StrideY + (k.H-1)*k.DilateY + 1 - k.Top - k.Bottom,
		(o.OFM.W-1)*k.StrideX + (k.W-1)*k.DilateX + 1 - k.Left - k.Right
}

// taps visits what a window reads: the tap, and the first element of its channels.
func (o *Op) taps(oy, ox int, visit func(ky, kx, at int)) {
	k := &o.Window
	h, w := o.bounds()
	for ky := range k.H {
		at := oy*k.StrideY - k.Top + ky*k.DilateY
		y := sample(at, o.IFM.H, k.Upscale)
		if y < 0 || at >= h {
			continue
		}
		for kx := range k.W {
			at := ox*k.StrideX - k.Left + kx*k.DilateX
			if x := sample(at, o.IFM.W, k.Upscale); x >= 0 && at < w {
				visit(ky, kx, (y*o.IFM.W+x)*o.IFM.C)
			}
		}
	}
}

// multiply gives the sums of a convolution.
func (o *Op) multiply(a []int32, w []int16, put func(i int, v int64)) {
	k, sums := &o.Window, make([]int64, o.OFM.C)
	for oy := range o.OFM.H {
		for ox := range o.OFM.W {
			clear(sums)
			o.taps(oy, ox, func(ky, kx, at int) {
				tap := ky*k.W + kx
				if o.Kind == Depthwise {
					for c := range sums {
						sums[c] += int64(a[at+c]) * int64(w[c*k.H*k.W+tap])
					}
					return
				}
				in := a[at : at+o.IFM.C]
				for c := range sums {
					row, s := w[(c*k.H*k.W+tap)*len(in):][:len(in)], int64(0)
					for i, x := range in {
						s += int64(x) * int64(row[i])
					}
					sums[c] += s
				}
			})
			for c, s := range sums {
				put((oy*o.OFM.W+ox)*o.OFM.C+c, s)
			}
		}
	}
}

// pool gives greatest elements or means.
func (o *Op) pool(a []int32, put func(i int, v int64)) {
	for oy := range o.OFM.H {
		for ox := range o.OFM.W {
			for c := range o.OFM.C {
				v, n := int64(0), int64(0)
				o.taps(oy, ox, func(_, _, at int) {
					if x := int64(a[at+c]); o.Kind == Average {
						v += x
					} else if n == 0 || x > v {
						v = x
					}
					n++
				})
				switch {
				case o.Kind == Max:
				case !o.PerChannel:
					v = scaleBy(v, o.Scale, o.Shift, o.Rounding)
				case n > 0 && v >= 0:
					v = (v + n/2) / n
				case n > 0:
					v = (v - n/2) / n
				}
				put((oy*o.OFM.W+ox)*o.OFM.C+c, v)
			}
		}
	}
}

// second gives the elements of the second operand.
func (m *machine) second(o *Op) func(i int) int64 {
	if unary(o.Mode) {
		return func(int) int64 { return 0 }
	}
	if o.Scalar {
		v := o.ScalarValue - o.IFM2.Zero
		return func(int) int64 { return v }
	}
	b, f := m.load(&o.IFM2), &o.IFM2
	return func(i int) int64 {
		c, x, y := i%o.OFM.C, i/o.OFM.C%o.OFM.W, i/o.OFM.C/o.OFM.W
		return int64(b[(min(y, f.H-1)*f.W+min(x, f.W-1))*f.C+min(c, f.C-1)])
	}
}

func (m *machine) elementwise(o *Op, a []int32, put func(i int, v int64)) {
	second := m.second(o)
	for i := range o.OFM.elems() {
		x, y := int64(a[i]), second(i)
		if o.Reversed {
			x, y = y, x
		}
		put(i, o.element(x, y))
	}
}

// element is the result of two elements, scaled.
func (o *Op) element(x, y int64) int64 {
	scaled := func(v int64) int64 {
		if o.PerChannel {
			return v
		}
		return scaleBy(v, o.Scale, o.Shift, o.Rounding)
	}
	switch o.Mode {
	case Mul:
		if o.IFM.Bits == 32 { // the product has no room for another factor
			return scaleBy(x*y, 1, o.Shift, o.Rounding)
		}
		return scaled(x * y)
	case Add, Sub:
		x, y = o.operands(x, y)
		if o.Mode == Sub {
			y = -y
		}
		return scaled(x + y)
	case Minimum:
		return min(x, y)
	case Maximum:
		return max(x, y)
	case Leaky:
		if x >= 0 {
			return x
		}
		return scaled(x)
	case Abs:
		return scaled(max(x, -x))
	case LeadingZeros:
		return int64(mathbits.LeadingZeros32(uint32(x)))
	case ShiftRight:
		return scaleBy(x, 1, int(y&63), o.Rounding)
	}
	return int64(int32(uint32(x) << uint(y&63)))
}

// operands scales those of a sum: both by 16 bits, or one by 32 and the other by a power of two.
func (o *Op) operands(x, y int64) (int64, int64) {
	other := 19
	if o.IFM.Bits != 8 {
		other = 14
	}
	switch o.ScaleMode {
	case 1:
		return scaleBy(x, o.A, o.AShift, o.Rounding), y << other
	case 2:
		return x << other, scaleBy(y, o.A, o.AShift, o.Rounding)
	}
	return x * int64(o.A&0xFFFF), y * int64(o.B&0xFFFF)
}

// finisher is what becomes of a scaled number: zero point, limits, activation.
func (m *machine) finisher(o *Op) func(v int64) int32 {
	low, high, z := o.Low, o.High, o.OFM.Zero
	if o.OFM.Bits == 32 && o.Function != table { // Vela sets limits and zero point that these do not have
		low, high, z = -1<<31, 1<<31-1, 0
	}
	switch o.Function {
	case tanh, sigmoid:
		return func(v int64) int32 { return int32(clamp(curve(v, o.Function)+z, low, high)) }
	case table:
		a := m.cfg.lut(o)
		return looked(m.regions[shram].Data[a.spans[0].from:a.spans[0].to], o, low, high)
	}
	return func(v int64) int32 { return int32(clamp(v+z, low, high)) }
}

// looked gives entries of a table: of 8 or 32 bits as they are, of 16 between two of them.
func looked(t []byte, o *Op, low, high int64) func(v int64) int32 {
	first := int64(0)
	if o.OFM.Signed {
		first = -128
	}
	return func(v int64) int32 {
		switch v = clamp(v+o.OFM.Zero, low, high); o.OFM.Bits {
		case 16:
			e := binary.LittleEndian.Uint32(t[(v>>7+256)*4:])
			base, slope := int64(int16(e)), int64(int32(e)>>16)
			return int32(clamp(base+(slope*(v&127)+64)>>7, -32768, 32767))
		case 32:
			return int32(binary.LittleEndian.Uint32(t[(v-first)*4:]))
		}
		e := t[clamp(v-first, 0, 255)]
		if o.OFM.Signed {
			return int32(int8(e))
		}
		return int32(e)
	}
}
