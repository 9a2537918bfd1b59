// SPDX-License-Identifier: Apache-2.0

package npu

import "fmt"

// mostElems of a feature map: more than any memory of such a device.
const mostElems = 1 << 27

// check is what the operation must have apart from memory.
func (o *Op) check() error {
	maps := map[string]*FeatureMap{"the input": &o.IFM, "the result": &o.OFM}
	if o.TwoMaps() {
		maps["the second input"] = &o.IFM2
	}
	for what, f := range maps {
		if err := f.check(what); err != nil {
			return err
		}
	}
	if o.Low > o.High {
		return fmt.Errorf("ACTIVATION_MIN %d is above ACTIVATION_MAX %d", o.Low, o.High)
	}
	if (o.Function == tanh || o.Function == sigmoid) && (o.OFM.Bits != 16 || !o.OFM.Signed) {
		return fmt.Errorf("a curve gives %d bits, want int16", o.OFM.Bits)
	}
	if o.Function == table && o.Table*256+256*o.OFM.Bits/8 > lutBytes {
		return fmt.Errorf("table %d of %d bits ends behind the tables", o.Table, o.OFM.Bits)
	}
	if o.ScaleMode > 2 || o.AccFormat > 1 {
		return fmt.Errorf("scale mode %d or accumulators of format %d, of which there is none", o.ScaleMode,
			o.AccFormat)
	}
	return o.shapes()
}

func (f *FeatureMap) check(what string) error {
	unit, strides := f.bytes(), []int64{f.StrideY, f.StrideX}
	if f.Brick {
		unit, strides = 16, []int64{f.StrideY, f.StrideC}
	}
	for _, n := range append(strides, f.Base[:]...) {
		if n%unit != 0 {
			return fmt.Errorf("%s has address or stride %d, want a multiple of %d", what, n, unit)
		}
	}
	if n := int64(f.H) * int64(f.W) * int64(f.C); n > mostElems {
		return fmt.Errorf("%s has %d elements, want at most %d", what, n, mostElems)
	}
	return nil
}

// shapes checks depths and types against each other.
func (o *Op) shapes() error {
	in, out := o.IFM.C, o.OFM.C
	switch {
	case o.Kind == Sum && [3]int{out, o.IFM.H, o.IFM.W} != [3]int{1, o.OFM.H, o.OFM.W}:
		return fmt.Errorf("sums over channels of %d×%d places are %d×%d×%d, want one for each", o.IFM.H, o.IFM.W,
			o.OFM.H, o.OFM.W, out)
	case o.Kind != Conv && o.Kind != Sum && in != out:
		return fmt.Errorf("%d channels in, %d out, want as many", in, out)
	case o.Kind != Elementwise && o.Kind != Sum && o.IFM.Bits == 32:
		return fmt.Errorf("it reads 32 bits, want 8 or 16")
	case o.weighted() && o.IFM.Bits == 16 && !o.IFM.Signed:
		return fmt.Errorf("it multiplies uint16, want int16 or 8 bits")
	}
	return nil
}
