// SPDX-License-Identifier: Apache-2.0

package npu

import "fmt"

// Kind is what an operation does.
type Kind int

// The kinds of operations.
const (
	Conv        Kind = 0
	Depthwise   Kind = 1
	Max         Kind = 2
	Average     Kind = 3
	Sum         Kind = 4 // over the channels
	Elementwise Kind = 5
	Transfer    Kind = 6
)

var kindNames = []string{"CONV", "DEPTHWISE", "MAX_POOL", "AVERAGE_POOL", "REDUCE_SUM", "ELEMENTWISE", "DMA"}

// Modes of element-wise operations.
const (
	Mul = iota
	Add
	Sub
	Minimum
	Maximum
	Leaky
	Abs
	LeadingZeros
	ShiftRight
	ShiftLeft
)

var modeNames = []string{"MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL"}

// Range is bytes of a region; shram stands for the core's own memory.
type Range struct {
	Region int
	From   int64
	Bytes  int64
}

const shram = 0x103

func (r Range) String() string {
	return fmt.Sprintf("%s[%d:%d]", regionName(r.Region), r.From, r.From+r.Bytes)
}

func regionName(r int) string {
	if r == shram {
		return "SHRAM"
	}
	return fmt.Sprint("r", r)
}

// FeatureMap is a tensor in memory: H×W×C elements in up to four tiles.
type FeatureMap struct {
	Region                    int
	Base                      [4]int64
	H0, H1, W0                int // of the tiles
	H, W, C                   int
	StrideX, StrideY, StrideC int64
	Bits                      int
	Signed                    bool
	Brick                     bool // NHCWB16: runs of 16 channels
	Zero                      int64
}

// Window is where the elements of a sum come from.
type Window struct {
	H, W                     int // without dilation
	StrideY, StrideX         int
	DilateY, DilateX         int
	Top, Left, Bottom, Right int
	PartFirst                bool // weights lie part of a kernel first
	Split                    int  // kernels are cut in so many rows and columns
	Upscale                  int
}

// Modes of Upscale.
const (
	Nearest = 1 + iota
	ZeroAfter
)

// Roundings of a scaled result.
const (
	RoundTwice = iota // as TensorFlow Lite: at bit 31, then at the shift
	Truncate
	HalfUp
)

// Op is one operation, with all that it depends on.
type Op struct {
	Index, At int // number, and word of the stream
	Kind      Kind
	Mode      int // of Elementwise
	Cores     int

	IFM, IFM2, OFM FeatureMap
	Window         Window

	Weights, Scales [2]Range

	Function    int // 0, tanh, sigmoid or table
	Table       int
	Low, High   int64
	PerChannel  bool
	Rounding    int
	Scale       uint32
	Shift       int
	A, B        uint32 // scales of the operands
	AShift      int
	ScaleMode   int // 0: both of 16 bits, 1: A of 32, 2: B of 32
	Scalar      bool
	ScalarValue int64
	Reversed    bool
	Spread      [3]bool // IFM2 has one element along H, W, C

	Block                   Block
	IBEnd, ABStart, IB2     int
	AccFormat, Depend, Wait int

	From, To Range // of Transfer

	reads, writes []access
}

const (
	noFunction = 0
	tanh       = 3
	sigmoid    = 4
	table      = 16
)

// TwoMaps says that it reads a second feature map.
func (o *Op) TwoMaps() bool { return o.Kind == Elementwise && !unary(o.Mode) && !o.Scalar }

func unary(mode int) bool { return mode == Leaky || mode == Abs || mode == LeadingZeros }

func (o *Op) weighted() bool { return o.Kind == Conv || o.Kind == Depthwise }

// Name is what it is for people.
func (o *Op) Name() string {
	if o.Kind == Elementwise {
		return modeNames[o.Mode]
	}
	return kindNames[o.Kind]
}

func (o *Op) String() string { return fmt.Sprintf("operation %d (%s)", o.Index, o.Name()) }

// reader reads registers of an operation; the first that was never set is its error.
type reader struct {
	*state
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) raw(x reg) value {
	v := r.regs[x]
	if !v.set {
		r.fail("%s was never set", registers[x].name)
	}
	return v
}

func (r *reader) get(x reg) int64 {
	v := r.raw(x)
	switch registers[x].most {
	case signed:
		return int64(int16(v.word))
	case address:
		return int64(v.word) | int64(v.param)<<32
	}
	return int64(v.word)
}

func (r *reader) num(x reg) int  { return int(r.get(x)) }
func (r *reader) size(x reg) int { return r.num(x) + 1 }

// mapRegs are the registers of a feature map.
type mapRegs struct{ region, base, h0, h1, w0, x, y, c, zero reg }

var (
	ifmRegs = mapRegs{ifmRegion, ifmBase, ifmHeight0, ifmHeight1, ifmWidth0, ifmStrideX, ifmStrideY, ifmStrideC,
		ifmZero}
	ifm2Regs = mapRegs{ifm2Region, ifm2Base, ifm2Height0, ifm2Height1, ifm2Width0, ifm2StrideX, ifm2StrideY,
		ifm2StrideC, ifm2Zero}
	ofmRegs = mapRegs{ofmRegion, ofmBase, ofmHeight0, ofmHeight1, ofmWidth0, ofmStrideX, ofmStrideY, ofmStrideC,
		ofmZero}
)

func (r *reader) fm(m mapRegs, f *FeatureMap) {
	f.Region, f.H0, f.H1, f.W0 = r.num(m.region), r.size(m.h0), r.size(m.h1), r.size(m.w0)
	for i := range f.Base {
		f.Base[i] = r.get(m.base + reg(i))
	}
	f.StrideX, f.StrideY, f.StrideC, f.Zero = r.get(m.x), r.get(m.y), r.get(m.c), r.get(m.zero)
}

// precision reads the element type: bits in units of 8 from bit at, NHCWB16 in bit 6.
func (r *reader) precision(x reg, at int, f *FeatureMap) {
	v := r.num(x)
	f.Signed, f.Brick = v&1 != 0, v>>6&1 != 0
	switch size := v >> at & 3; {
	case size > 2 || size == 2 && !f.Signed:
		r.fail("%s is %#x, of no element type", registers[x].name, v)
	default:
		f.Bits = 8 << size
	}
}

// operation reads an operation from the registers.
func (s *state) operation(index, at, code, param int) (*Op, error) {
	o, r := &Op{Index: index, At: at, Cores: 1}, &reader{state: s}
	if s.cfg.Cores > 1 && r.num(parallel) == 1 {
		o.Cores = 2
	}
	if code == doDMA {
		r.transfer(o, param)
		return o, r.err
	}
	switch {
	case code == doConv || code == doDepthwise:
		o.Kind = Kind(code - doConv)
	case code == doPool && param <= 2:
		o.Kind = Max + Kind(param)
	case code == doElementwise && param <= ShiftLeft:
		o.Kind, o.Mode = Elementwise, param
	default:
		r.fail("the operation has mode %d, of which there is none", param)
	}
	r.common(o)
	if o.Kind == Elementwise {
		r.elementwise(o)
	} else {
		r.window(o)
	}
	if o.weighted() {
		r.weights(o)
	}
	if r.err == nil {
		r.err = o.check()
	}
	return o, r.err
}

func (r *reader) transfer(o *Op, param int) {
	o.Kind = Transfer
	n, from, to := r.get(dmaLength), r.num(dmaFrom), r.num(dmaTo)
	if param != 0 || (from|to)&^shram > 7 {
		r.fail("the transfer has channel and mode %d, regions %#x and %#x; want one of one dimension", param, from, to)
	}
	o.From, o.To = Range{from, r.get(dmaSource), n}, Range{to, r.get(dmaTarget), n}
	all := !r.cfg.U65
	for _, x := range []Range{o.From, o.To} {
		if (all || x.Region == shram) && x.From%16 != 0 {
			r.fail("the transfer begins at %d, want a multiple of 16", x.From)
		}
	}
	if (all || o.To.Region == shram) && n%16 != 0 || n == 0 {
		r.fail("the transfer has %d bytes, want a multiple of 16", n)
	}
}

func (r *reader) common(o *Op) {
	r.fm(ifmRegs, &o.IFM)
	r.precision(ifmPrecision, 2, &o.IFM)
	o.ScaleMode = r.num(ifmPrecision) >> 8 & 3
	r.fm(ofmRegs, &o.OFM)
	r.precision(ofmPrecision, 1, &o.OFM)
	p := r.num(ofmPrecision)
	o.PerChannel, o.Rounding = p>>8&1 == 0, p>>14
	if o.Rounding > HalfUp {
		r.fail("OFM_PRECISION has rounding mode 3, of which there is none")
	}
	o.OFM.H, o.OFM.W, o.OFM.C = r.size(ofmHeight), r.size(ofmWidth), r.size(ofmDepth)
	o.IFM.C = r.size(ifmDepth)
	o.Window.Upscale = r.num(ifmUpscale)
	act := r.num(activation)
	o.Low, o.High = r.get(activationMin), r.get(activationMax)
	if o.Function = act & 31; o.Function >= table {
		o.Function, o.Table = table, act&31-table
	}
	clip := map[int][2]int64{2: {0, 255}, 3: {-128, 127}, 5: {-32768, 32767}}
	if c, forced := clip[act>>12]; forced {
		o.Low, o.High = max(o.Low, c[0]), min(o.High, c[1])
	} else if act>>12 != 0 || o.Table > 7 || o.Function != noFunction && o.Function < tanh ||
		o.Function > sigmoid && o.Function < table {
		r.fail("ACTIVATION is %#x, of which there is none", act)
	}
	o.Block = Block{r.size(blockHeight), r.size(blockWidth), r.size(blockDepth)}
	o.IBEnd, o.ABStart, o.AccFormat, o.Depend = r.num(ifmEnd), r.num(accStart), r.num(accFormat), r.num(blockDepend)
	if !o.PerChannel {
		v := r.raw(ofmScale)
		o.Scale, o.Shift = v.word, int(v.param)
	}
}

func (r *reader) elementwise(o *Op) {
	o.IFM.H, o.IFM.W = o.OFM.H, o.OFM.W
	if o.Mode == Add || o.Mode == Sub {
		a := r.raw(opaScale)
		o.A, o.AShift, o.B = a.word, int(a.param), r.raw(opbScale).word
	}
	if unary(o.Mode) {
		return
	}
	r.precision(ifm2Precision, 2, &o.IFM2)
	b := r.num(ifm2Broadcast)
	o.Reversed, o.Scalar = b>>6&1 != 0, b>>7 != 0
	if o.Scalar {
		o.IFM2.Zero = r.get(ifm2Zero)
		v := r.num(ifm2Scalar)
		if o.ScalarValue = int64(v); o.IFM2.Signed || o.IFM2.Bits > 16 {
			o.ScalarValue = int64(int16(v))
		}
		return
	}
	r.fm(ifm2Regs, &o.IFM2)
	o.IFM2.H, o.IFM2.W, o.IFM2.C, o.IB2 = o.OFM.H, o.OFM.W, o.OFM.C, r.num(ifm2Start)
	for i, d := range []*int{&o.IFM2.H, &o.IFM2.W, &o.IFM2.C} {
		if b>>i&1 != 0 {
			*d, o.Spread[i] = 1, true
		}
	}
}

func (r *reader) window(o *Op) {
	s := r.num(kernelStride)
	w := &o.Window
	w.StrideX, w.StrideY = 1+(s&1|s>>5&0xE), 1+(s>>1&1|s>>8&0xE)
	w.DilateX, w.DilateY = 1+s>>3&1, 1+s>>4&1
	w.PartFirst, w.Split = s>>2&1 != 0, 8>>(s>>5&1)
	h, b := r.num(kernelHeight), r.num(kernelWidth)
	if h%w.DilateY != 0 || b%w.DilateX != 0 {
		r.fail("the kernel reaches over %d rows and %d columns, which its dilation does not give", h+1, b+1)
	}
	w.H, w.W = h/w.DilateY+1, b/w.DilateX+1
	w.Top, w.Left, w.Bottom, w.Right = r.num(padTop), r.num(padLeft), r.num(padBottom), r.num(padRight)
	o.See()
	if o.IFM.H < 1 || o.IFM.W < 1 {
		r.fail("the windows with their padding leave %d×%d elements to read", o.IFM.H, o.IFM.W)
	}
}

// See sets rows and columns of the input to those that windows see.
func (o *Op) See() {
	if o.IFM.H, o.IFM.W = o.bounds(); o.Window.Upscale != 0 {
		o.IFM.H, o.IFM.W = (o.IFM.H+1)/2, (o.IFM.W+1)/2
	}
}

func (r *reader) weights(o *Op) {
	at := [2][4]reg{{weightBase, weightLength, scaleBase, scaleLength},
		{weight1Base, weight1Length, scale1Base, scale1Length}}
	for i := range o.Cores {
		o.Weights[i] = Range{r.num(weightRegion), r.get(at[i][0]), r.get(at[i][1])}
		o.Scales[i] = Range{r.num(scaleRegion), r.get(at[i][2]), r.get(at[i][3])}
		if w := o.Weights[i]; w.From%16 != 0 || w.Bytes%16 != 0 {
			r.fail("the weights are %s, want multiples of 16", w)
		}
		channels := (o.OFM.C + o.Cores - 1 - i) / o.Cores
		if s := o.Scales[i]; s.Bytes != int64(10*channels+15)&^15 || s.From%16 != 0 {
			r.fail("the scales are %s for %d channels, want 10 bytes for each and multiples of 16", s, channels)
		}
	}
}

// Through sends results through a table of the shared memory.
func (o *Op) Through(slot int) { o.Function, o.Table = table, slot }

// TableAt is where a table lies in the shared memory.
func (c *Config) TableAt(slot int, bytes int64) Range {
	return Range{shram, int64(c.lutAt() + 256*slot), bytes}
}
