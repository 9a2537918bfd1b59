// SPDX-License-Identifier: Apache-2.0

package fb

import (
	"fmt"
	"slices"
	"strings"
)

// Custom is the code of operators that have a name of their own.
const Custom = 32

// operators are the builtin operators by their codes, as in the format's schema.
var operators = strings.Fields(`
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION
LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH
CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE
TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK
LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD
RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N
GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D - - - HASHTABLE HASHTABLE_FIND
HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE
BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1
UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT
`)

// OperatorName is the name of a builtin operator.
func OperatorName(code int32) string {
	if code < 0 || int(code) >= len(operators) || operators[code] == "-" {
		return fmt.Sprintf("operator code %d", code)
	}
	return operators[code]
}

// CodeOf is the code of a builtin operator by its name, -1 for other names.
func CodeOf(name string) int32 { return int32(slices.Index(operators, name)) }

// optionKinds are the format's numbers of the options that nncc reads, by their tables in schema.fbs.
var optionKinds = map[string][]byte{
	"ActivationOptions": {11, 12, 21, 28, 29}, "BatchMatMulOptions": {101}, "BlockOptions": {19, 94},
	"CallOnceOptions": {103}, "ConcatenationOptions": {10}, "Conv2DOptions": {1}, "CumsumOptions": {102},
	"DepthwiseConv2DOptions": {2}, "FullyConnectedOptions": {8}, "GatherOptions": {23}, "IfOptions": {92},
	"LeakyReluOptions": {75}, "MirrorPadOptions": {77}, "PackOptions": {59}, "Pool2DOptions": {5},
	"ReducerOptions": {27}, "ResizeBilinearOptions": {15}, "ResizeNearestNeighborOptions": {74},
	"SVDFOptions": {6}, "SoftmaxOptions": {9}, "StridedSliceOptions": {32}, "TransposeConvOptions": {49},
	"UnidirectionalSequenceLSTMOptions": {71}, "UnpackOptions": {64}, "VarHandleOptions": {111}, "WhileOptions": {93},
}

// OptionsAre reports that options of a kind are a table of that name; 0 leaves the kind open.
func OptionsAre(kind byte, name string) bool {
	return kind == 0 || slices.Contains(optionKinds[name], kind)
}
