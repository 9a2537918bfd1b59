// SPDX-License-Identifier: Apache-2.0

// Package qref is the reference arithmetic of quantised operators: exact integer
// kernels, those of CMSIS-NN bit for bit and our own.
package qref

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir/fixp"
)

// The cmsis_*.go files compute, in Go and byte for byte, what the CMSIS-NN
// functions of revision 99f736a6 compute on every core (plain C, DSP and MVE
// builds agree). Convolutions, products and pools are exact sums: package op has
// them in any layout. Arguments fit together: what a node's types say is checked
// there.

// PackS4 is the memory image of int4 weights: two a byte, the first one in the
// low half, without gaps; elements are in [-8, 7]. Kernels with int4 filters
// compute what the int8 ones do on the unpacked weights.
func PackS4(w []int8) []byte {
	b := make([]byte, (len(w)+1)/2)
	for i, v := range w {
		b[i/2] |= byte(v&15) << (i % 2 * 4)
	}
	return b
}

// KernelSums are the values that the MVE build of CMSIS-NN wants in the context
// buffer of a fully connected layer: for each of "cols" filter rows, the row's
// sum (with the filter offset) times the input offset, plus the bias. They are
// constants of the model. Source: arm_vector_sum_s8.
func KernelSums(cols, depth int, filter []int8, inputOffset, filterOffset int32, bias []int32) []int32 {
	sums := make([]int32, cols)
	copy(sums, bias)
	for j := range sums {
		s := int32(depth) * filterOffset
		for _, v := range filter[j*depth:][:depth] {
			s += int32(v)
		}
		sums[j] += s * inputOffset
	}
	return sums
}

// AddParams describes an addition, as arm_elementwise_add_s8 and
// arm_elementwise_add_s16 take it.
type AddParams struct {
	Offset1, Offset2 int32 // minus the input zero points
	OutputOffset     int32
	Scales           fixp.AddScales // see fixp.NewAddScales
	ActMin, ActMax   int32
	Rounding         fixp.Rounding // of the library: twice unless it was built otherwise
}

// Add adds two tensors of the same shape element by element: both inputs are
// shifted left, brought to a common scale, added and scaled down.
// Source: arm_elementwise_add_s8, arm_elementwise_add_s16.
func Add[T int8 | int16](p *AddParams, a, b, out []T) { sum(p, a, b, out, 1) }

// Sub is Add with the second term subtracted. Source: TensorFlow Lite's
// subtraction of int16; CMSIS-NN has none.
func Sub[T int8 | int16](p *AddParams, a, b, out []T) { sum(p, a, b, out, -1) }

func sum[T int8 | int16](p *AddParams, a, b, out []T, sign int32) {
	s := &p.Scales
	for i, v := range a {
		x := p.Rounding.Requantize((int32(v)+p.Offset1)<<uint(s.LeftShift), s.Mult1, s.Shift1)
		y := p.Rounding.Requantize((int32(b[i])+p.Offset2)<<uint(s.LeftShift), s.Mult2, s.Shift2)
		z := p.Rounding.Requantize(x+sign*y, s.OutMult, s.OutShift)
		out[i] = T(fixp.Clamp(z+p.OutputOffset, p.ActMin, p.ActMax))
	}
}

// MulParams describes a multiplication, as arm_elementwise_mul_s8 and
// arm_elementwise_mul_s16 take it.
type MulParams struct {
	Offset1, Offset2 int32
	OutputOffset     int32
	Mult, Shift      int32 // of scale1*scale2/outputScale
	ActMin, ActMax   int32
	Rounding         fixp.Rounding // of the library: twice unless it was built otherwise
}

// Mul multiplies two tensors of the same shape element by element.
// Source: arm_elementwise_mul_s8, arm_elementwise_mul_s16.
func Mul[T int8 | int16](p *MulParams, a, b, out []T) {
	for i, v := range a {
		product := (int32(v) + p.Offset1) * (int32(b[i]) + p.Offset2)
		out[i] = T(fixp.Clamp(p.Rounding.Requantize(product, p.Mult, p.Shift)+p.OutputOffset, p.ActMin, p.ActMax))
	}
}

// Activation is the non-linearity of an LSTM gate.
type Activation uint8

// The activations of arm_nn_activation_s16.
const (
	Sigmoid Activation = iota
	Tanh
)

func activate(v int16, leftShift int32, kind Activation) int16 {
	// A table step is 1/24: three times the Q3.12 value, shifted right by 9.
	if leftShift >= 0 {
		return ActivateScaled(v, int32(3<<uint(leftShift)), 0, kind)
	}
	return ActivateScaled(v, 3, -leftShift, kind)
}

// ActivateScaled is the function of v*mult, shifted right with rounding, in units of
// 1/12288. Source: TensorFlow Lite, reference_integer_ops::Logistic and Tanh of int16.
func ActivateScaled(v int16, mult, right int32, kind Activation) int16 {
	x := int32(v) * mult
	if right > 0 {
		x = (x + 1<<uint(right-1)) >> uint(right)
	}
	return ActivateAt(x, kind)
}

// ActivateAt is the function of x in units of 1/12288.
func ActivateAt(x int32, kind Activation) int16 {
	// tanh(x) = 2 sigmoid(2x) - 1: half the step, twice the scale.
	stepBits := uint(9)
	if kind == Tanh {
		stepBits = 8
	}
	magnitude := uint32(x)
	if x < 0 {
		magnitude = -magnitude
	}
	var r uint32
	switch at := magnitude >> stepBits; {
	case at < 255:
		lo, hi := uint32(sigmoidTable[at]), uint32(sigmoidTable[at+1])
		r = lo<<stepBits + magnitude&(1<<stepBits-1)*(hi-lo)
	case kind == Sigmoid:
		r = 0x7FFF << 10
	default:
		r = 0xFFFF << 8
	}
	switch {
	case kind == Sigmoid && x >= 0:
		r = (r + 1<<9) >> 10
	case kind == Sigmoid:
		r = (1<<25 - r + 1<<9 - 1) >> 10
	case x >= 0:
		r = (r - 1<<23 + 1<<7) >> 8
	default:
		r = (1<<23 - r + 1<<7 - 1) >> 8
	}
	return int16(r)
}

// sigmoidTable is about 65536*sigmoid(i/24), lifted a little where the curve
// bends so that interpolation errs to both sides. The values are those of
// CMSIS-NN and TFLite (sigmoid_table_uint16); the kernels' bytes depend on them.
var sigmoidTable = [256]uint16{
	32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513, 38180, 38841, 39498, 40149, 40794, 41432, 42064, 42688,
	43304, 43912, 44511, 45102, 45683, 46255, 46817, 47369, 47911, 48443, 48964, 49475, 49975, 50464, 50942, 51409,
	51865, 52311, 52745, 53169, 53581, 53983, 54374, 54755, 55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433,
	57724, 58007, 58280, 58544, 58800, 59048, 59288, 59519, 59743, 59959, 60168, 60370, 60565, 60753, 60935, 61110,
	61279, 61441, 61599, 61750, 61896, 62036, 62172, 62302, 62428, 62549, 62666, 62778, 62886, 62990, 63090, 63186,
	63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835, 63903, 63968, 64030, 64090, 64148, 64204, 64257, 64308,
	64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652, 64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900,
	64926, 64950, 64974, 64997, 65019, 65039, 65060, 65079, 65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208,
	65221, 65234, 65246, 65258, 65269, 65280, 65291, 65301, 65310, 65319, 65328, 65337, 65345, 65352, 65360, 65367,
	65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415, 65420, 65425, 65429, 65433, 65438, 65442, 65445, 65449,
	65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474, 65476, 65479, 65481, 65483, 65485, 65488, 65489, 65491,
	65493, 65495, 65497, 65498, 65500, 65501, 65503, 65504, 65505, 65507, 65508, 65509, 65510, 65511, 65512, 65513,
	65514, 65515, 65516, 65517, 65517, 65518, 65519, 65520, 65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524,
	65525, 65525, 65526, 65526, 65526, 65527, 65527, 65528, 65528, 65528, 65529, 65529, 65529, 65529, 65530, 65530,
	65530, 65530, 65531, 65531, 65531, 65531, 65531, 65532, 65532, 65532, 65532, 65532, 65532, 65533, 65533, 65533,
	65533, 65533, 65533, 65533, 65533, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535,
}

// softmaxAccumBits makes room for the sum of exponentials.
const softmaxAccumBits = 12

// Softmax computes an int8 softmax of a row, by SoftmaxTerms, with output scale 1/256
// and zero point -128. Source: arm_softmax_s8 (gemmlowp's fixed-point exponential and
// reciprocal).
func Softmax(terms *[256]int32, row, out []int8) {
	top := int32(slices.Max(row))
	var sum int32
	for _, v := range row {
		sum += fixp.DivideByPowerOfTwo(terms[255+int32(v)-top], softmaxAccumBits)
	}
	headroom := fixp.LeadingZeros(sum)
	var norm int32
	if sum > 0 {
		norm = sum << uint(headroom)
	}
	scale := fixp.OneOverOnePlusX(norm + math.MinInt32)
	shift := softmaxAccumBits - headroom + 23
	for i, v := range row {
		r := fixp.DivideByPowerOfTwo(fixp.DoublingHighMult(scale, terms[255+int32(v)-top]), shift)
		out[i] = int8(fixp.Clamp(r+math.MinInt8, math.MinInt8, math.MaxInt8))
	}
}

// SoftmaxTerms are the exponentials (Q0.31) of all values that may lie below
// the largest one of their row, the largest difference first; 0 beyond diffMin.
// The parameters are those of fixp.SoftmaxScale.
func SoftmaxTerms(mult, shift, diffMin int32) (terms [256]int32) {
	for d := range int32(256) {
		if -d >= diffMin {
			terms[255-d] = fixp.ExpOnNegativeValues(fixp.DoublingHighMult(-d<<uint(shift), mult))
		}
	}
	return terms
}

// The tables of arm_softmax_s16, as TensorFlow Lite fills them: exp(x) for x in [-10, 0],
// and 1/(1+x) for x in [0, 1], both with results in Q0.15.
var (
	SoftmaxExp16 = fixp.InterpolatedLUT16Of(10./65535, math.MaxInt16, 2./65535, 0,
		func(x float32) float32 { return float32(math.Exp(float64(x))) })
	SoftmaxReciprocal16 = fixp.InterpolatedLUT16Of(1./65535, math.MinInt16, 2./65535, 0,
		func(x float32) float32 { return 1 / (1 + x) })
)

// Softmax16Params describes an int16 softmax of a row. Mult and Shift bring
// differences to steps of 10/65535, see fixp.Softmax16Scale.
type Softmax16Params struct {
	Mult, Shift int32
	Rounding    fixp.Rounding // of the library: twice unless it was built otherwise
}

// Softmax computes an int16 softmax with output scale 1/32768 and zero point
// 0. Source: arm_softmax_s16, with the two tables above.
func (p *Softmax16Params) Softmax(row, out []int16) {
	top := int32(slices.Max(row))
	var sum int32
	for i, v := range row {
		d := p.Rounding.Requantize(int32(v)-top, p.Mult, p.Shift) + math.MaxInt16
		out[i] = SoftmaxExp16.At(fixp.SatS16(d))
		sum += int32(out[i])
	}
	headroom := fixp.LeadingZeros(sum)
	// sum scaled to [1, 2) in Q16, less 1.5: the table's argument
	x := (sum<<uint(headroom-1)+1<<13)>>14 - 98304
	scale := int32(SoftmaxReciprocal16.At(int16(x)))
	for i, v := range out {
		out[i] = int16((int32(v)*scale>>uint(30-headroom) + 1) >> 1)
	}
}
