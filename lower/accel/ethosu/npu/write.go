// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"encoding/binary"
	mathbits "math/bits"

	"github.com/nncc/nncc/ir/fail"
)

// Writer writes a stream: registers that change, and the waits that operations need.
type Writer struct {
	cfg    *Config
	words  []uint32
	regs   map[reg]value
	flight flight
	n      int
}

// NewWriter begins a stream for a configuration.
func NewWriter(c *Config) *Writer {
	w := &Writer{cfg: c, regs: map[reg]value{}}
	if c.Cores > 1 {
		w.set(parallel, 1)
	}
	return w
}

// set sets a register where it does not hold the value yet.
func (w *Writer) set(r reg, v int64) {
	x := value{uint32(v), uint16(v >> 32), true}
	if r&wide == 0 {
		x = value{uint32(uint16(v)), 0, true}
	}
	if w.regs[r] == x {
		return
	}
	w.regs[r] = x
	if r&wide == 0 {
		w.words = append(w.words, uint32(r)|x.word<<16)
		return
	}
	w.words = append(w.words, uint32(r)|uint32(x.param)<<16, x.word)
}

// size sets a register that holds one less.
func (w *Writer) size(r reg, n int) { w.set(r, int64(n-1)) }

func (w *Writer) command(code, param int) { w.words = append(w.words, uint32(code)|uint32(param)<<16) }

// Add appends an operation, with the waits and the dependency that it needs.
func (w *Writer) Add(o *Op) (err error) {
	defer fail.Catch(&err)
	o.Index, o.Cores = w.n, w.cfg.Cores
	w.n++
	if o.Kind == Transfer {
		return w.transfer(o)
	}
	fail.Check(o.check())
	fail.Check(o.layout(w.cfg).check(o, w.cfg))
	o.touch(w.cfg)
	for o.Depend = maxDepend; o.Depend > 0 && w.flight.last != nil && o.behind(w.flight.last) != nil; {
		o.Depend--
	}
	fail.Check(w.wait(true, doDMAWait, func(f *flight) error { return f.kernel(o) }))
	w.common(o)
	code, param := doConv+int(o.Kind), 0
	switch o.Kind {
	case Max, Average, Sum:
		code, param = doPool, int(o.Kind-Max)
	case Elementwise:
		code, param = doElementwise, o.Mode
	}
	w.command(code, param)
	return nil
}

// wait waits for as few operations as possible until another one may start.
func (w *Writer) wait(dma bool, code int, start func(f *flight) error) error {
	var err error
	for n := maxDepend; n >= 0; n-- {
		f := w.flight
		f.wait(dma, n)
		if err = start(&f); err == nil {
			if running := map[bool][]*Op{true: w.flight.transfers, false: w.flight.kernels}[dma]; n < len(running) {
				w.command(code, n)
			}
			w.flight = f
			return nil
		}
	}
	return err
}

func (w *Writer) transfer(o *Op) error {
	o.reads, o.writes = []access{o.From.access("the transfer")}, []access{o.To.access("the transfer")}
	if err := w.wait(false, doKernelWait, func(f *flight) error { return f.transferred(o, w.cfg) }); err != nil {
		return err
	}
	w.set(dmaFrom, int64(o.From.Region))
	w.set(dmaSource, o.From.From)
	w.set(dmaTo, int64(o.To.Region))
	w.set(dmaTarget, o.To.From)
	w.set(dmaLength, o.From.Bytes)
	w.command(doDMA, 0)
	return nil
}

// fm sets the registers of a feature map.
func (w *Writer) fm(m mapRegs, f *FeatureMap) {
	w.set(m.region, int64(f.Region))
	for i, b := range f.Base {
		w.set(m.base+reg(i), b)
	}
	w.size(m.h0, f.H0)
	w.size(m.h1, f.H1)
	w.size(m.w0, f.W0)
	w.set(m.x, f.StrideX)
	w.set(m.y, f.StrideY)
	w.set(m.c, f.StrideC)
	w.set(m.zero, f.Zero)
}

// precision is what a register says of an element type: its bits in units of 8 from bit at on.
func (f *FeatureMap) precision(at int) int64 {
	return flag(f.Signed, 0) | flag(f.Brick, 6) | int64(mathbits.Len(uint(f.Bits/8))-1)<<at
}

func flag(is bool, at int) int64 {
	if is {
		return 1 << at
	}
	return 0
}

func (w *Writer) common(o *Op) {
	w.fm(ifmRegs, &o.IFM)
	w.size(ifmDepth, o.IFM.C)
	w.set(ifmPrecision, o.IFM.precision(2)|int64(o.ScaleMode)<<8)
	w.set(ifmUpscale, int64(o.Window.Upscale))
	w.fm(ofmRegs, &o.OFM)
	w.size(ofmHeight, o.OFM.H)
	w.size(ofmWidth, o.OFM.W)
	w.size(ofmDepth, o.OFM.C)
	w.set(ofmPrecision, o.OFM.precision(1)|flag(!o.PerChannel, 8)|int64(o.Rounding)<<14)
	w.size(blockHeight, o.Block.H)
	w.size(blockWidth, o.Block.W)
	w.size(blockDepth, o.Block.C)
	function := o.Function
	if function == table {
		function += o.Table
	}
	w.set(activation, int64(function))
	w.set(activationMin, o.Low)
	w.set(activationMax, o.High)
	w.set(ifmEnd, int64(o.IBEnd))
	w.set(accStart, int64(o.ABStart))
	w.set(accFormat, int64(o.AccFormat))
	if !o.PerChannel {
		w.set(ofmScale, int64(o.Scale)|int64(o.Shift)<<32)
	}
	if o.Kind == Elementwise {
		w.elementwise(o)
	} else {
		w.window(&o.Window)
	}
	if o.weighted() {
		w.weights(o)
	}
	w.set(blockDepend, int64(o.Depend))
}

func (w *Writer) elementwise(o *Op) {
	if o.Mode == Add || o.Mode == Sub {
		w.set(opaScale, int64(o.A)|int64(o.AShift)<<32)
		w.set(opbScale, int64(o.B))
	}
	if unary(o.Mode) {
		return
	}
	w.set(ifm2Precision, o.IFM2.precision(2))
	spread := flag(o.Reversed, 6) | flag(o.Scalar, 7)
	for i, is := range o.Spread {
		spread |= flag(is, i)
	}
	w.set(ifm2Broadcast, spread)
	if o.Scalar {
		w.set(ifm2Zero, o.IFM2.Zero)
		w.set(ifm2Scalar, o.ScalarValue)
		return
	}
	w.fm(ifm2Regs, &o.IFM2)
	w.set(ifm2Start, int64(o.IB2))
}

func (w *Writer) window(k *Window) {
	x, y := int64(k.StrideX-1), int64(k.StrideY-1)
	w.set(kernelStride, x&1|y&1<<1|flag(k.PartFirst, 2)|int64(k.DilateX-1)<<3|int64(k.DilateY-1)<<4|
		flag(k.Split == 4, 5)|x&0xE<<5|y&0xE<<8)
	w.size(kernelHeight, (k.H-1)*k.DilateY+1)
	w.size(kernelWidth, (k.W-1)*k.DilateX+1)
	w.set(padTop, int64(k.Top))
	w.set(padLeft, int64(k.Left))
	w.set(padBottom, int64(k.Bottom))
	w.set(padRight, int64(k.Right))
}

func (w *Writer) weights(o *Op) {
	w.set(weightRegion, int64(o.Weights[0].Region))
	w.set(scaleRegion, int64(o.Scales[0].Region))
	at := [2][4]reg{{weightBase, weightLength, scaleBase, scaleLength},
		{weight1Base, weight1Length, scale1Base, scale1Length}}
	for i := range o.Cores {
		w.set(at[i][0], o.Weights[i].From)
		w.set(at[i][1], o.Weights[i].Bytes)
		w.set(at[i][2], o.Scales[i].From)
		w.set(at[i][3], o.Scales[i].Bytes)
	}
}

// Bytes ends the stream, as actions for the driver.
func (w *Writer) Bytes() []byte {
	w.command(doStop, 0xFFFF)
	c := w.cfg
	macs := uint32(mathbits.TrailingZeros(uint(c.MACs * c.Cores)))
	config := macs | uint32(c.Banks*c.Cores)<<8 | uint32(flag(c.U65, 28))
	n := uint32(len(w.words))
	words := []uint32{fourCC, actConfig | 1<<20, config, architecture, actNop, actNop, actNop,
		actCommands | n<<16 | n>>16&0xFF<<8}
	var out []byte
	for _, x := range append(words, w.words...) {
		out = binary.LittleEndian.AppendUint32(out, x)
	}
	return out
}
