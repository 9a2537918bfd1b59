// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
)

// Opcode names an operation. Numbers are part of the format: new ones go to
// the end, none is ever used again.
type Opcode uint16

// The opcodes; Ops has their operands and parameters.
const (
	Conv2D Opcode = iota + 1
	Depthwise
	MatMul
	Add
	Mul
	AvgPool
	MaxPool
	Softmax
	LayerNorm
	GroupNorm
	Table256
	Table2
	Xor80
	ScaleShift
	PRelu
	Sum
	Div
	Binary
	CopyND
	CopyRows
	Fill
	Pad
	ResizeNearest
	Resize
	Gather
	ReduceSum
	ReduceMax
	ReduceMin
	ArgMax
	ArgMin
	Where
	Conv2DBF16
	MaxPoolBF16
	BinaryBF16
	TableBF16
	ToBF16
	FromBF16
	Quantize
	Dequantize
)

func (o Opcode) String() string {
	if x := InfoOf(o); x != nil {
		return x.Name
	}
	return fmt.Sprintf("op(%d)", uint16(o))
}

// OperandInfo describes an operand of an opcode.
type OperandInfo struct {
	Name     string
	Out      bool // written; others are read
	Const    bool // in the weights
	Optional bool
	// count are the parameters, and numbers, whose product its elements are, size those of the
	// bytes of one; empty where the check of the opcode claims it.
	count, size string
}

// Kind of a parameter.
type Kind uint8

// Int is one word, Float64 two, List MaxDims words.
const (
	Int Kind = iota
	Float64
	List
)

// Words is the number of parameter words that the kind takes.
func (k Kind) Words() int { return [...]int{1, 2, MaxDims}[k] }

// FieldInfo describes a parameter.
type FieldInfo struct {
	Name string
	Kind Kind
}

// OpInfo is the row of an opcode.
type OpInfo struct {
	Op       Opcode
	Name     string
	Doc      string
	Operands []OperandInfo
	Fields   []FieldInfo
	Words    int  // of all parameters
	InPlace  bool // the output may be where an input is, exactly
	check    func(k *checker)
}

// InfoOf is the row of an opcode, or nil.
func InfoOf(o Opcode) *OpInfo {
	if o < 1 || int(o) > len(table) {
		return nil
	}
	return &table[o-1]
}

// Ops are all opcodes in the order of their numbers.
func Ops() []OpInfo { return append([]OpInfo(nil), table...) }

// Parameters that several opcodes share. bcast is the iteration space of two
// operands: rank, sizes, and for each operand the step in elements (0 repeats).
const (
	bcastFields = "rank dims:8 a_stride:8 b_stride:8"
	clampFields = "act_min act_max"
	poolFields  = "in_scale:d out_scale:d batch in_h in_w in_c out_h out_w kernel_h kernel_w stride_h stride_w " +
		"dilation_h dilation_w " +
		"pad_top pad_left pad_bottom pad_right count_include_pad center out_zero rescale " + clampFields
	axisFields  = "outer axis inner"
	normFields  = "eps eps_shift up root shift"
	boundFields = "act_min:d act_max:d "

	poolOperands   = "x=batch*in_h*in_w*in_c >y=batch*out_h*out_w*in_c"
	reduceOperands = "x=outer*axis*inner >y=outer*inner"
)

// table is filled by init: the checks refer to it through their segment.
var table []OpInfo

func init() {
	rows := []struct {
		op        Opcode
		name, doc string
		operands  string // ">": written, "!": constant, "?": optional, "=": count, "/": size
		fields    string
		inPlace   bool
		check     func(k *checker) // nil: the operands say it all
	}{
		{Conv2D, "CONV2D", "int8 convolution with groups, dilation, and input elements spread apart (transposed " +
			"convolution)", "x=batch*in_h*in_w*in_c w! bias!?=out_c/4 mult!=out_c/4 shift! >y=batch*out_h*out_w*out_c",
			"batch in_h in_w in_c out_h out_w out_c kernel_h kernel_w stride_h stride_w dilation_h dilation_w " +
				"pad_top pad_left spread_h spread_w transposed groups in_offset out_offset " + clampFields, false,
			checkConv2D},
		{Depthwise, "DEPTHWISE", "int8 depthwise convolution with channel multiplier", "x=batch*in_h*in_w*in_c " +
			"w!=in_c*mult_c*kernel_h*kernel_w bias!?=in_c*mult_c/4 mult!=in_c*mult_c/4 shift! " +
			">y=batch*out_h*out_w*in_c*mult_c",
			"batch in_h in_w in_c out_h out_w mult_c kernel_h kernel_w stride_h stride_w dilation_h dilation_w " +
				"pad_top pad_left in_offset out_offset " + clampFields, false, checkDepthwise},
		{MatMul, "MATMUL", "int8 matrix products of strided operands", "a b bias!?=n/4 mult! shift! >y",
			"batch0 batch1 m k n a_batch0 a_batch1 a_m a_k b_batch0 b_batch1 b_k b_n y_batch0 y_batch1 y_m y_n " +
				"per_column a_offset b_offset out_offset " + clampFields, false, checkMatMul},
		{Add, "ADD", "int8 sum of two tensors with scales of their own", "a b >y",
			bcastFields + " offset1 mult1 shift1 offset2 mult2 shift2 left_shift out_offset out_mult out_shift " +
				clampFields, true, checkPair},
		{Mul, "MUL", "int8 product of two tensors", "a b >y",
			bcastFields + " offset1 offset2 out_offset mult shift " + clampFields, true, checkPair},
		{AvgPool, "AVG_POOL", "int8 mean over a window", poolOperands, poolFields, false, checkPool},
		{MaxPool, "MAX_POOL", "int8 maximum over a window", poolOperands, poolFields, false, checkPool},
		{Softmax, "SOFTMAX", "int8 softmax along one dimension", "x=outer*axis*inner >y=outer*axis*inner",
			axisFields + " mult shift diff_min", true, checkSoftmax},
		{LayerNorm, "LAYER_NORM", "int8 normalisation of rows", "x=rows*len terms! >y=rows*len",
			normFields + " rows len center zero", true, checkLayerNorm},
		{GroupNorm, "GROUP_NORM", "int8 normalisation of groups of channels",
			"x=batch*spatial*channels terms!=channels*2/4 >y=batch*spatial*channels",
			normFields + " batch spatial channels groups", true, checkGroupNorm},
		{Table256, "TABLE256", "any function of an 8-bit tensor", "x=count table!=256 >y=count", "count", true, nil},
		{Table2, "TABLE2", "any function of two 8-bit tensors", "a b row_of! rows! >y", bcastFields, true, checkTable2},
		{Xor80, "XOR80", "int8 to uint8 and back", "x=count >y=count", "count", true, nil},
		{ScaleShift, "SCALE_SHIFT", "a linear function per channel", "x=rows*channels affine! >y=rows*channels",
			"rows channels " + clampFields, true, func(k *checker) { k.affine(1, k.of("channels")) }},
		{PRelu, "PRELU", "two linear functions, the second per channel",
			"x=rows*channels positive! negative! >y=rows*channels", "rows channels in_zero " + clampFields, true,
			checkPRelu},
		{Sum, "SUM", "a function of the sum of two tables", "a b table_a! table_b! >y", bcastFields + " shift " +
			clampFields, true, checkSum},
		{Div, "DIV", "int8 quotient by reciprocals", "a b reciprocal! >y", bcastFields + " a_zero out_zero " +
			clampFields, true, checkDiv},
		{Binary, "BINARY", "int8 arithmetic by its definition in double", "a b >y",
			"a_scale:d b_scale:d out_scale:d a_zero b_zero out_zero " + clampFields + " op " + bcastFields, true,
			checkPair},
		{CopyND, "COPY_ND", "strided copy of a box", "x >y",
			"elem rank x_offset y_offset dims:8 x_stride:8 y_stride:8", false, checkCopyND},
		{CopyRows, "COPY_ROWS", "copy of blocks of bytes", "x >y", "rows block x_pitch y_pitch", false, checkCopyRows},
		{Fill, "FILL", "repetition of one element", "value=1/elem >y=count/elem", "elem count", false, nil},
		{Pad, "PAD", "padding and cropping", "x value?=1/elem >y",
			"elem rank mode in_dims:8 out_dims:8 before:8", false, checkPad},
		{ResizeNearest, "RESIZE_NEAREST", "pixels picked by index",
			"x=batch*in_h*in_w*pixel index_h! index_w! outside!?=pixel >y=batch*out_h*out_w*pixel",
			"batch in_h in_w out_h out_w pixel", false, checkResizeNearest},
		{Resize, "RESIZE", "int8 resampling with integer weights",
			"x=batch*in_h*in_w*channels index_h! weight_h! index_w! weight_w! >y=batch*out_h*out_w*channels",
			"in_scale:d out_scale:d batch in_h in_w channels out_h out_w taps_h taps_w den in_zero out_zero rescale " +
				"outside", false, checkResize},
		{Gather, "GATHER", "blocks picked by index", "x=outer*axis*block indices >y=outer*count*block",
			"outer axis block count index_bytes", false, checkGather},
		{ReduceSum, "REDUCE_SUM", "int8 sum or mean along one dimension", reduceOperands,
			"in_scale:d out_scale:d outer axis inner divisor in_zero out_zero rescale " + clampFields, false,
			checkReduceSum},
		{ReduceMax, "REDUCE_MAX", "int8 maximum along one dimension", reduceOperands, axisFields, false,
			(*checker).reduce},
		{ReduceMin, "REDUCE_MIN", "int8 minimum along one dimension", reduceOperands, axisFields, false,
			(*checker).reduce},
		{ArgMax, "ARG_MAX", "position of the int8 maximum, as int64", reduceOperands + "/8",
			axisFields + " select_last", false, (*checker).reduce},
		{ArgMin, "ARG_MIN", "position of the int8 minimum, as int64", reduceOperands + "/8",
			axisFields + " select_last", false, (*checker).reduce},
		{Where, "WHERE", "choice between two tensors", "c a b >y",
			"elem rank dims:8 c_stride:8 a_stride:8 b_stride:8", false, checkWhere},
		{Conv2DBF16, "CONV2D_BF16", "bfloat16 convolution, like CONV2D",
			"x=batch*in_h*in_w*in_c/2 w! bias!?=out_c/4 >y=batch*out_h*out_w*out_c/2",
			boundFields + "batch in_h in_w in_c out_h out_w out_c kernel_h kernel_w stride_h stride_w dilation_h " +
				"dilation_w pad_top pad_left spread_h spread_w transposed groups", false,
			func(k *checker) { k.convolution(2) }},
		{MaxPoolBF16, "MAX_POOL_BF16", "bfloat16 maximum over a window",
			"x=batch*in_h*in_w*in_c/2 >y=batch*out_h*out_w*in_c/2",
			boundFields + "batch in_h in_w in_c out_h out_w kernel_h kernel_w stride_h stride_w dilation_h " +
				"dilation_w pad_top pad_left", false, (*checker).pool},
		{BinaryBF16, "BINARY_BF16", "bfloat16 sum, difference or product", "a b >y", boundFields + "op " +
			bcastFields, true, func(k *checker) { k.pair(2, 2, 2) }},
		{TableBF16, "TABLE_BF16", "any function of a bfloat16 tensor", "x=count/2 table!=65536/2 >y=count/2", "count",
			true, nil},
		{ToBF16, "TO_BF16", "float32 to bfloat16", "x=count/4 >y=count/2", "count", false, nil},
		{FromBF16, "FROM_BF16", "bfloat16 to float32", "x=count/2 >y=count/4", "count", false, nil},
		{Quantize, "QUANTIZE", "float32 to int8",
			"x=outer*axis*inner/4 scale!=axis/4 zero! >y=outer*axis*inner", axisFields, false, checkBorder},
		{Dequantize, "DEQUANTIZE", "int8 to float32",
			"x=outer*axis*inner scale!=axis/4 zero! >y=outer*axis*inner/4", axisFields, false, checkBorder},
	}
	for i, r := range rows {
		bug.If(int(r.op) != i+1, "opcode %s stands at the wrong place", r.name)
		x := OpInfo{Op: r.op, Name: r.name, Doc: r.doc, InPlace: r.inPlace, check: r.check}
		for _, s := range strings.Fields(r.operands) {
			s, elems, _ := strings.Cut(s, "=")
			count, size, _ := strings.Cut(strings.ReplaceAll(elems, "*", " "), "/")
			x.Operands = append(x.Operands, OperandInfo{strings.Trim(s, ">!?"), strings.Contains(s, ">"),
				strings.Contains(s, "!"), strings.Contains(s, "?"), count, size})
		}
		for _, s := range strings.Fields(r.fields) {
			name, kind, _ := strings.Cut(s, ":")
			f := FieldInfo{Name: name}
			switch kind {
			case "d":
				f.Kind = Float64
			case strconv.Itoa(MaxDims):
				f.Kind = List
			}
			x.Fields = append(x.Fields, f)
			x.Words += f.Kind.Words()
		}
		table = append(table, x)
	}
}
