// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math/bits"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Functions of one integer in TensorFlow Lite Micro's audio front end.

var uint32Types = typeSet{"uint32", func(d tensor.DType) bool { return d == tensor.U32 }}
var uint64Types = typeSet{"uint64", func(d tensor.DType) bool { return d == tensor.U64 }}

// SignalRoot is the square root of a uint64, rounded; one of 32 bits is at most 65535.
// Source: Sqrt64.
var SignalRoot = unary(unarySpec{name: "SignalRoot", domain: "nncc", doc: "square root of uint64, rounded",
	types: uint64Types, quant: ir.QNone, finite: true, c: ir.CForm{U64: "nncc_root_u64(x)"},
	integer: fixedInt(func(v int64) int64 { return int64(signalRoot(uint64(v))) })})

func signalRoot(v uint64) uint64 {
	most := uint64(0xFFFF)
	if v>>32 != 0 {
		most = 0xFFFFFFFF
	}
	r := uint64(0)
	for bit := uint64(1) << 62; bit != 0; bit >>= 2 {
		switch {
		case bit > v && r == 0: // above the number
		case v >= r+bit:
			v -= r + bit
			r = r>>1 + bit
		default:
			r >>= 1
		}
	}
	if v > r && r != most {
		r++
	}
	return r
}

// SignalLogAttrs are the factor of the logarithm, and how far numbers are shifted to the
// left before.
type SignalLogAttrs struct {
	Scale int `attr:",required"`
	Bits  int `default:"0"`
}

// SignalLog is the natural logarithm of a uint32 by a table, 0 of 0 and 1, at most 32767.
// Source: FilterbankLog.
var SignalLog = unary(unarySpec{name: "SignalLog", domain: "nncc", doc: "logarithm of uint32 by a table",
	types: uint32Types, attrs: ir.Declare[SignalLogAttrs](), quant: ir.QNone, finite: true,
	check: func(n *ir.Node) error {
		if a := ir.AttrsOf[SignalLogAttrs](n); a.Bits < 0 || a.Bits > 31 {
			return ir.Errf(n, "attribute", "a shift by %d bits, want 0 to 31", a.Bits)
		}
		return nil
	},
	cBy: func(n *ir.Node) ir.CForm {
		a := ir.AttrsOf[SignalLogAttrs](n)
		f := fmt.Sprintf("nncc_log_u32((uint32_t)x, %du, %d)", uint32(a.Scale), a.Bits)
		return ir.CForm{I64: f, U64: f}
	},
	integer: func(n *ir.Node) func(int64) int64 {
		a := ir.AttrsOf[SignalLogAttrs](n)
		return func(v int64) int64 { return int64(signalLog(uint32(v)<<uint(a.Bits), uint32(a.Scale))) }
	}})

// logCurve is 65536*(log2(1+i/128) - i/128).
var logCurve = [130]uint16{
	0, 224, 442, 654, 861, 1063, 1259, 1450, 1636, 1817, 1992, 2163, 2329, 2490, 2646, 2797, 2944, 3087, 3224, 3358,
	3487, 3611, 3732, 3848, 3960, 4068, 4172, 4272, 4368, 4460, 4549, 4633, 4714, 4791, 4864, 4934, 5001, 5063, 5123,
	5178, 5231, 5280, 5326, 5368, 5408, 5444, 5477, 5507, 5533, 5557, 5578, 5595, 5610, 5622, 5631, 5637, 5640, 5641,
	5638, 5633, 5626, 5615, 5602, 5586, 5568, 5547, 5524, 5498, 5470, 5439, 5406, 5370, 5332, 5291, 5249, 5203, 5156,
	5106, 5054, 5000, 4944, 4885, 4825, 4762, 4697, 4630, 4561, 4490, 4416, 4341, 4264, 4184, 4103, 4020, 3935, 3848,
	3759, 3668, 3575, 3481, 3384, 3286, 3186, 3084, 2981, 2875, 2768, 2659, 2549, 2437, 2323, 2207, 2090, 1971, 1851,
	1729, 1605, 1480, 1353, 1224, 1094, 963, 830, 695, 559, 421, 282, 142, 0, 0}

func signalLog(v, scale uint32) uint32 {
	if v <= 1 {
		return 0
	}
	whole := uint32(bits.Len32(v)) - 1
	part := int32(v - 1<<whole)
	if whole < 16 {
		part <<= 16 - whole
	} else {
		part >>= whole - 16
	}
	at := part >> 9
	lo, hi := int32(logCurve[at]), int32(logCurve[at+1])
	log2 := whole<<16 + uint32(part+lo+(hi-lo)*(part-at<<9)>>16)
	log := uint32((uint64(45426)*uint64(log2) + 1<<15) >> 16) // ln 2 in 1/65536
	return min((scale*log+1<<15)>>16, 32767)
}
