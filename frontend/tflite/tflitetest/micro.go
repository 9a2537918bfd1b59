// SPDX-License-Identifier: Apache-2.0

package tflitetest

import "strings"

// Micro are the operators that TensorFlow Lite Micro has.
var Micro = strings.Fields(`
ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_ARGS BROADCAST_TO
CALL_ONCE CAST CEIL CIRCULAR_BUFFER CONCATENATION CONV_2D COS CUMSUM DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE DIV
DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER
GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND
LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2
PRELU QUANTIZE READ_VARIABLE REDUCE_ALL REDUCE_MAX REDUCE_MIN RELU RELU6 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR
REVERSE_V2 ROUND RSQRT SELECT_V2 SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE
SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM SVDF SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank
SignalFilterBankLog SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot SignalFramer SignalIrfft
SignalOverlapAdd SignalPCAN SignalRfft SignalStacker SignalWindow TANH TFLM_DECODE TFLite_Detection_PostProcess
TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK VAR_HANDLE WHILE ZEROS_LIKE ethos-u
`)

// Elsewhere are operators that make no layer of their own, with what tests them.
var Elsewhere = map[string]string{
	"ASSIGN_VARIABLE":              "state; the public models",
	"CALL_ONCE":                    "state; the public models",
	"LOG":                          "f32; TestLayers of `cmd/internal/tflm`",
	"READ_VARIABLE":                "state; the public models",
	"RSQRT":                        "f32, i8; TestLayers of `cmd/internal/tflm`",
	"SQRT":                         "f32; TestLayers of `cmd/internal/tflm`",
	"SVDF":                         "f32, i8 with states of i8 and i16; TestLayers of `cmd/internal/tflm`",
	"UNIDIRECTIONAL_SEQUENCE_LSTM": "i8, f32; the public models",
	"VAR_HANDLE":                   "state; the public models",
}

// Alone is a model of an operator with an input and a result, for what is refused
// whatever its operands are.
func Alone(op string) *Layer {
	l := newLayer(op, "f32")
	l.do(options{}, in(1), out(1))
	return l
}
