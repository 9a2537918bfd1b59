// SPDX-License-Identifier: Apache-2.0

// Package qref is the reference arithmetic of quantised operators: exact integer
// kernels, those of CMSIS-NN bit for bit and our own.
package qref

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
	// tanh(x) = 2 sigmoid(2x) - 1: half the step, twice the scale.
	stepBits := uint(9)
	if kind == Tanh {
		stepBits = 8
	}
	x := int32(v) * mult
	if right > 0 {
		x = (x + 1<<uint(right-1)) >> uint(right)
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
