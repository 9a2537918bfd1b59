// SPDX-License-Identifier: Apache-2.0

package option

// specs are what users know of the options, by their values 0.
var specs = map[any]Spec{
	Auto: {[]string{"auto", "int8", "int16x8", "float32", "model"},
		"auto: what a quantised model says, else int8, with bfloat16 on accelerators where int8 is not enough; " +
			"int16x8: int16 data, int8 weights; model: not quantised, float16, bfloat16 and double as they are"},
	Int8Weights: {[]string{"int8", "int4"}, "weights beside int8 data, per channel"},
	MSE: {[]string{"mse", "minmax", "percentile", "entropy", "auto"},
		"how calibration finds the range of an activation; auto: for each layer what leaves the least error on " +
			"samples that it did not see, minmax where nothing gains"},
	Nearest: {[]string{"nearest", "adaptive"},
		"adaptive: for the least error on the calibration data"},
	QuantizedIO: {[]string{"quantized", "float"}, "inputs and outputs of the firmware"},
	ONNXLayout: {[]string{"onnx", "native"},
		"memory order of rank-4 inputs and outputs; native: NHWC"},
	AllKernels: {[]string{"auto", "cmsis-nn", "nncc", "reference"},
		"which kernels may be chosen"},
	AlignNever: {[]string{"never", "auto", "always"},
		"pad channels to multiples that kernels like; auto: only where it pays"},
	Speed: {[]string{"speed", "balanced", "size"},
		"what kernels are chosen by: estimated cycles, bytes, or instructions and bytes"},
	OutputsByUse: {[]string{"", "native", "original"},
		"form on 4-D tensors; native: the accelerator's outputs, and FILE.json that says how the original ones " +
			"are rebuilt (the default). Without it, --only, --legalize off, a board without an accelerator " +
			"and quantised models keep the model's ranks and outputs"},
}

// Precision is what the program computes in.
type Precision uint8

// The precisions. Of a quantised model Auto and Int8 keep its own.
const (
	Auto    Precision = iota // int8, with bfloat16 on accelerators where int8 is not enough
	Int8                     // int8
	Int16x8                  // int16 data, int8 weights
	Float32                  // not quantised
	Model                    // not quantised, and float types stay those of the model
)

func (p Precision) String() string { return word(p) }

// Float reports a program on real numbers.
func (p Precision) Float() bool { return p == Float32 || p == Model }

// Weights are the weights beside int8 data.
type Weights uint8

// The weights, per channel.
const (
	Int8Weights Weights = iota
	Int4Weights
)

func (w Weights) String() string { return word(w) }

// Method is how calibration finds the range of an activation.
type Method uint8

// The methods.
const (
	MSE        Method = iota // the range of the least squared error, rounding and clipping
	MinMax                   // the whole range seen
	Percentile               // all but a fraction of the elements
	Entropy                  // the range of the least Kullback-Leibler divergence
	PerLayer                 // for every layer what leaves the least error on samples that it did not see
	FixedPoint               // no calibration: formats that the user gave
)

func (m Method) String() string {
	if m == FixedPoint {
		return "fixed-point"
	}
	return word(m)
}

// MarshalText gives the word.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Rounding is how weights are rounded.
type Rounding uint8

// The roundings.
const (
	Nearest  Rounding = iota // every weight by itself
	Adaptive                 // for the least error of the layer's results on the samples
)

func (r Rounding) String() string { return word(r) }

// MarshalText gives the word.
func (r Rounding) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// IO is what inputs and outputs of the program hold.
type IO uint8

// The inputs and outputs.
const (
	QuantizedIO IO = iota
	FloatIO
)

func (x IO) String() string { return word(x) }

// IOLayout is the memory order of inputs and outputs of rank 4.
type IOLayout uint8

// The memory orders.
const (
	ONNXLayout   IOLayout = iota // as the model has them
	NativeLayout                 // the kernels' own, channels last
)

func (l IOLayout) String() string { return word(l) }

// Kernels says which kernels may be chosen.
type Kernels uint8

// The choices.
const (
	AllKernels       Kernels = iota // the cheapest of all
	CMSISNN                         // CMSIS-NN's, reference kernels where it has none
	OwnKernels                      // nncc's
	ReferenceKernels                // plain C alone
)

func (k Kernels) String() string { return word(k) }

// Align says which channel counts are padded.
type Align uint8

// The modes.
const (
	AlignNever  Align = iota
	AlignAuto         // pad where it pays
	AlignAlways       // pad whatever can be padded
)

func (a Align) String() string { return word(a) }

// Optimize weighs cycles or instructions against bytes.
type Optimize uint8

// The aims.
const (
	Speed    Optimize = iota // fewest estimated cycles on the board, or instructions where it has no table of cycles
	Balanced                 // bytes that are one percent have to save half a percent of the instructions
	Size                     // one percent
)

func (o Optimize) String() string { return word(o) }

// Outputs is the form of a model on 4-D tensors that legalize writes.
type Outputs uint8

// The forms.
const (
	OutputsByUse    Outputs = iota // of what the model is for
	NativeOutputs                  // an accelerator's own
	OriginalOutputs                // with the nodes that rebuild the model's
)

func (o Outputs) String() string { return word(o) }
