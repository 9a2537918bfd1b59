// SPDX-License-Identifier: Apache-2.0

package option

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

// Spec is that of --precision.
func (Precision) Spec() Spec {
	return Spec{[]string{"auto", "int8", "int16x8", "float32", "model"},
		"auto: what a quantised model says, else int8, with bfloat16 on accelerators where int8 is not enough; " +
			"int16x8: int16 data, int8 weights; model: not quantised, float16, bfloat16 and double as they are"}
}

func (p Precision) String() string { return p.Spec().Words[p] }

// Float reports a program on real numbers.
func (p Precision) Float() bool { return p == Float32 || p == Model }

// Weights are the weights beside int8 data.
type Weights uint8

// The weights, per channel.
const (
	Int8Weights Weights = iota
	Int4Weights
)

// Spec is that of --weights.
func (Weights) Spec() Spec {
	return Spec{[]string{"int8", "int4"}, "weights beside int8 data, per channel"}
}

func (w Weights) String() string { return w.Spec().Words[w] }

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

// Spec is that of --calib-method.
func (Method) Spec() Spec {
	return Spec{[]string{"mse", "minmax", "percentile", "entropy", "auto"},
		"how calibration finds the range of an activation; auto: for each layer what leaves the least error on " +
			"samples that it did not see, minmax where nothing gains"}
}

func (m Method) String() string {
	if m == FixedPoint {
		return "fixed-point"
	}
	return m.Spec().Words[m]
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

// Spec is that of --weight-rounding.
func (Rounding) Spec() Spec {
	return Spec{[]string{"nearest", "adaptive"},
		"adaptive: for the least error on the calibration data"}
}

func (r Rounding) String() string { return r.Spec().Words[r] }

// MarshalText gives the word.
func (r Rounding) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// IO is what inputs and outputs of the program hold.
type IO uint8

// The inputs and outputs.
const (
	QuantizedIO IO = iota
	FloatIO
)

// Spec is that of --io.
func (IO) Spec() Spec {
	return Spec{[]string{"quantized", "float"}, "inputs and outputs of the firmware"}
}

func (x IO) String() string { return x.Spec().Words[x] }

// IOLayout is the memory order of inputs and outputs of rank 4.
type IOLayout uint8

// The memory orders.
const (
	ONNXLayout   IOLayout = iota // as the model has them
	NativeLayout                 // the kernels' own, channels last
)

// Spec is that of --io-layout.
func (IOLayout) Spec() Spec {
	return Spec{[]string{"onnx", "native"},
		"memory order of rank-4 inputs and outputs; native: NHWC"}
}

func (l IOLayout) String() string { return l.Spec().Words[l] }

// Kernels says which kernels may be chosen.
type Kernels uint8

// The choices.
const (
	AllKernels       Kernels = iota // the cheapest of all
	CMSISNN                         // CMSIS-NN's, reference kernels where it has none
	OwnKernels                      // nncc's
	ReferenceKernels                // plain C alone
)

// Spec is that of --kernels.
func (Kernels) Spec() Spec {
	return Spec{[]string{"auto", "cmsis-nn", "nncc", "reference"},
		"which kernels may be chosen"}
}

func (k Kernels) String() string { return k.Spec().Words[k] }

// Align says which channel counts are padded.
type Align uint8

// The modes.
const (
	AlignNever  Align = iota
	AlignAuto         // pad where it pays
	AlignAlways       // pad whatever can be padded
)

// Spec is that of --align.
func (Align) Spec() Spec {
	return Spec{[]string{"never", "auto", "always"},
		"pad channels to multiples that kernels like; auto: only where it pays"}
}

func (a Align) String() string { return a.Spec().Words[a] }

// Optimize weighs cycles or instructions against bytes.
type Optimize uint8

// The aims.
const (
	Speed    Optimize = iota // fewest estimated cycles on the board, or instructions where it has no table of cycles
	Balanced                 // bytes that are one percent have to save half a percent of the instructions
	Size                     // one percent
)

// Spec is that of --optimize.
func (Optimize) Spec() Spec {
	return Spec{[]string{"speed", "balanced", "size"},
		"what kernels are chosen by: estimated cycles, bytes, or instructions and bytes"}
}

func (o Optimize) String() string { return o.Spec().Words[o] }

// Outputs is the form of a model on 4-D tensors that legalize writes.
type Outputs uint8

// The forms.
const (
	OutputsByUse    Outputs = iota // of what the model is for
	NativeOutputs                  // an accelerator's own
	OriginalOutputs                // with the nodes that rebuild the model's
)

// Spec is that of --outputs.
func (Outputs) Spec() Spec {
	return Spec{[]string{"", "native", "original"},
		"form on 4-D tensors; native: the accelerator's outputs, and FILE.json that says how the original ones " +
			"are rebuilt (the default). Without it, --only, --legalize off, a board without an accelerator " +
			"and quantised models keep the model's ranks and outputs"}
}

func (o Outputs) String() string { return o.Spec().Words[o] }
