// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// The element types of the templates' classes.
var (
	floats   = []string{"f32", "f64", "f16", "bf16"}
	integers = []string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
	numbers  = slices.Concat(floats, integers)
	all      = slices.Concat(numbers, []string{"bool", "i4", "u4"})
)

// Template is nodes with holes: T is the element type, one of Class; A, B, C,
// ... are sizes, equal letters equal sizes. "x T[A,B]" is an input, "c T[A] =
// ..." a constant, "-" an input that is left out; what follows the operands are
// the element types of the results and operators that take them so.
type Template struct {
	Class []string
	Text  string
}

// Parts are the operands, the types of the results, and the operators.
func (t Template) Parts() (operands, results, operators []string) {
	text := strings.Join(strings.Fields(t.Text), " ")
	i := strings.Index(text, ": ")
	j := strings.LastIndex(text[:i], "; ")
	for _, s := range strings.Split(text[:max(j, 0)], "; ") {
		operands = append(operands, strings.TrimSpace(s))
	}
	return operands, strings.Split(strings.TrimSpace(text[j+1:i]), ","), split(text[i+2:])
}

// functions are the operators that are functions of one real number, those of
// which the C form is as wanted.
func functions(want func(ir.CForm) bool) string {
	var names []string
	for _, d := range op.All() {
		if d.C != nil && d.Scalar != nil && d.Quant == ir.QFloat && want(d.C(&ir.Node{Op: d})) {
			names = append(names, strings.TrimPrefix(d.Domain+"."+d.Name, "."))
		}
	}
	return strings.Join(names, " ")
}

// Templates are what the rows of lower/kernel/loops compute, which is every
// operator in some element type.
var Templates = []Template{
	{floats, "x T[A,B]; T: " + functions(func(c ir.CForm) bool { return c.I64 == "" })},
	{numbers, `x T[A,B,C]; T: Sign Identity`},
	{[]string{"f64", "f16", "bf16", "i8", "i16", "i32", "i64"}, `x T[A,B]; T: Abs Neg Relu`},
	{floats, `x T[A,B]; bool: IsNaN IsInf`},
	{numbers, `x T[A,B,C]; x T[B,1]; T: Add Sub Mul Min Max`},
	{integers, `x T[A,B]; c T[B] = fill 3; T: Div Mod`},
	{floats, `x T[A,1,C]; x T[B,C]; T: Div`},
	{numbers, `x T[A,B]; x T[A,1]; bool: Equal Less LessOrEqual Greater GreaterOrEqual`},
	{floats, `x T[A,B]; x T[B]; x T[A,1]; T: Sum`},
	{integers, `x T[A,B]; x T[B]; T: Add{act_min=0.0} Sub{act_min=0.0, act_max=6.0} Sub{act_min=0.0}`},
	{floats, `x T[A,B]; x T[B]; T: Mean`},
	{floats, `x T[A,B]; c f32[] = {2}; T: Pow`},
	{[]string{"i32", "i64"}, `x T[A,B]; c i64[B] = fill 3; T: Pow`},
	{[]string{"i8", "i32", "i64", "u64"}, `x T[A,B]; c f32[] = {0.5}; T: Pow`}, // not a number for some
	{[]string{"i8", "i32", "i64", "u64"}, `x T[A,B]; c f32[] = {43}; T: Pow`},  // beyond the type for most
	{[]string{"f32", "f16", "bf16", "f64", "i32", "i64"}, `x T[A,B,C]; x T[B,1]; T: PRelu`},
	{[]string{"bool"}, `x T[A,B]; T: Not`},
	{integers, `x T[A,B]; T: BitwiseNot`},
	{numbers, `x i32[A,B]; c T[1] = {0}; T: CastLike`},
	{[]string{"bool"}, `x T[A,B]; x T[B]; bool: And Or Xor`},
	{integers, `x T[A,B]; x T[B]; T: BitwiseAnd BitwiseOr BitwiseXor`},
	{[]string{"u8", "u16", "u32", "u64"},
		`x T[A,B]; c T[B] = fill 2; T: BitShift{direction="RIGHT"} BitShift{direction="LEFT"}`},
	{[]string{"i32"}, `x T[A,B]; T: nncc.Rescale{mult=1610612736, shift=-3} nncc.Rescale{mult=2147483648, shift=2}`},
	{[]string{"i32"}, `x T[A,B]; x T[B]; T: nncc.Quotient{mult=1610612736, shift=2}`},
	{all, `x bool[A,1]; x T[A,B]; x T[B]; T: Where`},
	{numbers, `x T[A,B]; f32: Cast{to=1}`},
	{all, `x T[A,B]; i64: Cast{to=7}`},
	{[]string{"f32", "i64", "u8", "bool"}, `x T[A,B]; f16: Cast{to=10}`},
	{numbers,
		`x T[A,B,C]; c i64[1] = {1}; T: ReduceSum{keepdims=0} ReduceMax ReduceMin ReduceProd{keepdims=0} ReduceSumSquare
			ReduceL1`},
	{floats, `x T[A,B,C]; c i64[2] = {0,2}; T: ReduceMean ReduceL2{keepdims=0} ReduceLogSumExp ReduceLogSum`},
	{numbers, `x T[A,B,C]; i64: ArgMax{axis=1} ArgMin{axis=2, select_last_index=1, keepdims=0}`},
	{[]string{"f32", "f64", "i32", "i64"}, `x T[A,B]; c i64[] = {1}; T: CumSum CumSum{exclusive=1, reverse=1} CumProd`},
	{numbers, `x T[A,5]; c i64[1] = {2}; T,i64: TopK TopK{largest=0}`},
	{floats,
		`x T[A,B,C]; T: Softmax{axis=1} LogSoftmax Hardmax{axis=0} LpNormalization{axis=1} LpNormalization{p=1}
			MeanVarianceNormalization{axes=[0,2]}`},
	{floats, `x T[A,B,C]; x T[C]; x T[C]; T: LayerNormalization`},
	{floats, `x T[A,B,C]; x T[C]; T: RMSNormalization`},
	{floats, `x T[A,4,C]; x T[4]; x T[4]; T: GroupNormalization{num_groups=2}`},
	{floats, `x T[A,3,C]; x T[3]; x T[3]; x T[3]; c T[3] = {1,2,3}; T: BatchNormalization`},
	{floats, `x T[A,B,C]; x T[B]; x T[B]; T: InstanceNormalization`},
	{floats, `x T[A,B,C,D]; T: LRN{size=3} GlobalAveragePool GlobalMaxPool GlobalLpPool`},
	{[]string{"f32", "f64", "f16", "bf16", "i32", "i64", "u32", "u64"}, `x T[A,B,C]; x T[C,D]; T: MatMul`},
	{[]string{"f32", "f64", "f16", "bf16", "i32", "u64"}, `x T[A,B]; x T[C,B]; x T[C]; T: Gemm{transB=1}`},
	{[]string{"i8", "u8"}, `x T[A,B]; x T[B,C]; x T[]; x T[C]; i32: MatMulInteger`},
	{[]string{"i8", "u8"}, `x T[A,2,5]; x T[3,2,2]; x T[]; i32: ConvInteger{pads=[1,0]}`},
	{floats, `x T[A,3,3]; T: Det`},
	{floats, `x T[1,2,5,5]; x T[3,2,2,2]; x T[1,8,4,4]; x T[3]; T: DeformConv{kernel_shape=[2,2]}`},
	{numbers, `x T[A,12,4]; c i64[2] = {3,3}; c i64[2] = {2,2}; T: Col2Im`},
	{all, `x T[1,A,2,2]; x i64[1,A,2,2]; T: MaxUnpool{kernel_shape=[2,2], strides=[2,2]}`},
	{floats,
		`x T[1,2,6,6]; x T[A,4]; c i64[A] = fill 0; T: RoiAlign{output_height=2, output_width=3, sampling_ratio=2}
			RoiAlign{mode="max"}`},
	{floats, `x T[3,2,6,6]; x T[A,4]; x i64[A]; T: RoiAlign{output_height=2, output_width=3} RoiAlign{mode="max"}`},
	{floats, `x T[A,4,7]; x T[6,2,3]; x T[6]; T: Conv{group=2, strides=[2], pads=[1,2]}`},
	{floats, `x T[A,2,6,5]; x T[3,2,2,3]; T: Conv{dilations=[2,1], pads=[0,1,1,1]}`},
	{floats, `x T[A,2,3,4]; x T[2,3,2,3]; T: ConvTranspose{strides=[2,1], pads=[0,1,1,1]}`},
	{floats,
		`x T[A,B,6,5]; T: AveragePool{kernel_shape=[2,3], pads=[1,1,0,1]} LpPool{kernel_shape=[2,2], p=2}
			LpPool{kernel_shape=[3,2], p=3} LpPool{kernel_shape=[3,3], p=1, pads=[1,1,1,0], strides=[2,2]}`},
	{floats, `x T[A,B,7]; T: LpPool{kernel_shape=[3], strides=[2], ceil_mode=1}`},
	{[]string{"f32", "f64", "f16", "i8", "u8"},
		`x T[A,B,6,5]; T: MaxPool{kernel_shape=[2,3], strides=[2,1], pads=[1,1,0,1]}`},
	{all, `x T[5,C]; c i64[1] = {4}; c i64[1] = {-6}; c i64[1] = {0}; c i64[1] = {-2}; T: Slice`},
	{all, `x T[A,B]; x T[A,C]; T: Concat{axis=1}`},
	{all, `x T[4,B]; x i64[C]; T: Gather`},
	{all, `x T[4,B]; x i64[1,B]; x T[1,B]; T: ScatterElements`},
	{numbers, `x T[4,B]; x i64[2,B]; x T[2,B]; T: ScatterElements{reduction="add"} ScatterElements{reduction="max"}`},
	{numbers, `x T[4,B]; x i64[3,1]; x T[3,B]; T: ScatterND{reduction="add"} ScatterND{reduction="min"}`},
	{numbers, `x i64[A,B]; c i64[] = {3}; c T[2] = {0,1}; T: OneHot{axis=1}`},
	{all, `x T[A,B,C]; T: Trilu Trilu{upper=0}`},
	{floats,
		`x T[1,A,4,5]; c f32[0] = {}; c f32[4] = {1,1,1.7,0.6}; T: Resize{mode="linear"} Resize{mode="cubic"}
			Resize{mode="nearest"}`},
	{floats,
		`x T[1,A,4,5]; x T[1,3,2,2]; T: GridSample GridSample{mode="cubic", padding_mode="border"}
		GridSample{mode="nearest",
			padding_mode="reflection"}`},
	{all, `x T[4,B,C]; c i64[B] = fill 3; T: ReverseSequence`},
	{all, `x T[4,B,C]; x i64[B]; T: ReverseSequence`},
	{[]string{"i32", "i64"}, `x T[A,B]; T: nncc.Within{most=4}`},
	{all, `x T[5,B]; c i64[2] = {2,3}; T,T: Split`},
	{[]string{"f32", "f64", "f16", "i8", "i64"}, `x T[A,5]; T,i64,i64,i64: Unique{axis=1} Unique{axis=1, sorted=0}`},
	{[]string{"f32"}, `x T[1,5,4]; x T[1,2,5]; c i64[1] = {3}; c f32[1] = {0.4}; i64: NonMaxSuppression`},
	{[]string{"f32"}, `x T[1,9,4]; x T[1,9,3]; x T[9,4]; T,T,T,T:
		nncc.Detections{max_detections=4, classes=2, iou_threshold=0.4, scale=[10.0,10.0,5.0,5.0]}
		nncc.Detections{max_detections=3, classes=3, max_classes=2, iou_threshold=0.9, scale=[1.0,1.0,1.0,1.0]}
		nncc.Detections{max_detections=5, classes=3, per_class=2, iou_threshold=0.5, scale=[1.0,1.0,1.0,1.0]}`},
	{[]string{"i32", "i64"},
		`x T[A,5]; f32: TfIdfVectorizer{mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1,
		ngram_counts=[0,2],
			ngram_indexes=[0,1,2], pool_int64s=[0,1,0,1]}`},
	{[]string{"f32", "f16", "bf16"}, `x T[A,B]; c T[A] = fill 0.05; c i8[A] = fill 3; i8: QuantizeLinear{axis=0}
		QuantizeLinear{axis=0, round_away=1}`},
	{[]string{"i8", "u8", "i16", "i32"}, `x T[A,B]; x f32[A]; f32: DequantizeLinear{axis=0}`},
	{[]string{"f32"}, `x T[A,B]; u8,f32,u8: DynamicQuantizeLinear`},
	{numbers, `x T[A,B]; c T[] = {1}; c T[] = {3}; T: Clip`},
	{floats, `x T[A,B,C]; x T[A,D,C]; T: Einsum{equation="bij,bkj->bik"}`},
	{floats,
		`x T[4,B,3]; x T[2,8,3]; x T[2,8,2]; x T[2,16]; c i32[B] = fill 3; x T[2,B,2]; x T[2,B,2]; x T[2,6]; T,T,T:
			LSTM{direction="bidirectional", clip=1.5} LSTM{direction="bidirectional", input_forget=1}
			LSTM{direction="bidirectional", cell_clip=0.3}`},
	{floats, `x T[4,B,3]; x T[2,8,3]; x T[2,8,2]; x T[2,16]; x i32[B]; T,T,T: LSTM{direction="bidirectional"}`},
	{floats, `x T[4,B,3]; x T[1,6,3]; x T[1,6,2]; x T[1,12]; x i32[B]; T,T: GRU GRU{direction="reverse"}`},
	{floats, `x T[B,4,3]; x T[1,2,3]; x T[1,2,2]; x T[1,4]; x i32[B]; T,T: RNN{direction="reverse", layout=1}`},
	{floats,
		`x T[A,B,3]; x T[1,6,3]; x T[1,6,2]; x T[1,12]; T,T: GRU{linear_before_reset=1} GRU{direction="reverse",
			activations=["HardSigmoid","Softsign"]}`},
	{floats,
		`x T[B,A,3]; x T[1,2,3]; x T[1,2,2]; T,T: RNN{layout=1} RNN{activations=["ScaledTanh"], activation_alpha=[0.7],
			activation_beta=[0.5], layout=1}`},
	{[]string{"f32", "f16", "f64"},
		`x T[A,3]; T: ai.onnx.ml.TreeEnsemble{leaf_targetids=[0,1,0], leaf_weights=f32[3] {1,-2,0.5}, n_targets=2,
			nodes_falseleafs=[1,1], nodes_falsenodeids=[0,2], nodes_featureids=[2,0], nodes_modes=u8[2] {0,3},
			nodes_splits=f32[2] {0.1,-0.2}, nodes_trueleafs=[0,1], nodes_truenodeids=[1,1], tree_roots=[0],
			leaf_follows=[1,0,0]}`},
	{floats, `x T[A,6]; T: nncc.PairCoupling{classes=4}`},
}

// split parts operators at blanks outside of braces.
func split(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range s + " " {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ' ' && depth == 0:
			if i > from {
				out = append(out, s[from:i])
			}
			from = i + 1
		}
	}
	return out
}

// resizes are Resize in every mode with each of some ways to place results.
func resizes(places ...string) string {
	var ops []string
	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, p := range places {
			ops = append(ops, fmt.Sprintf(`Resize{mode="%s", coordinate_transformation_mode="%s"}`, mode, p))
		}
	}
	return strings.Join(ops, " ")
}

// Forms are what the rows of the libraries compute, in any precision: shapes
// and attributes that some of them take and others refuse.
var Forms = []Template{
	{nil, "x T[A,B,C,D]; T: Identity Dropout " + functions(func(ir.CForm) bool { return true })},
	{nil, `x T[A,B]; T: LeakyRelu{alpha=-0.4} Elu{alpha=0.7} Celu{alpha=2.0} HardSigmoid{alpha=0.3, beta=0.4}
		Selu{alpha=1.2, gamma=0.9} ThresholdedRelu{alpha=0.4} Shrink{lambd=0.7, bias=0.2} Gelu{approximate="tanh"}
		Swish{alpha=0.6} HardSigmoid{alpha=-0.2, beta=1.0}`},
	{nil, `x T[A,B,C]; bool: IsNaN IsInf IsInf{detect_negative=0}`},
	{nil, `x T[A,B,C,D]; c f32[] = {-0.7}; c f32[] = {1.2}; T: Clip`},
	{nil, `x T[A,B,C]; c f32[] = {0}; c f32[] = {6}; T: Clip`},
	{nil, `x T[A,B]; -; c f32[] = {0.5}; T: Clip`},
	{nil, `x T[A,B]; c f32[] = {-0.25}; T: Clip`},
	{nil, `x T[A,B]; c f32[] = {1.2}; c f32[] = {-0.7}; T: Clip`},
	{nil, `x T[A,B]; c f32[] = {nan}; c f32[] = {1}; T: Clip`},
	{nil, `x T[A,B]; c f32[] = {inf}; T: Clip`},
	{nil, `x T[A,B]; c f32[] = {-inf}; c f32[] = {nan}; T: Clip`},
	{nil, `x T[A,B]; c T[] = rand; c T[] = rand; T: Clip`},
	{nil, `x T[A,B]; x T[]; x T[]; T: Clip`},
	{nil, `x T[A,B]; x f32[]; -; T: Clip`},
	{nil,
		`x T[A,B,C,D]; x T[A,B,C,D]; T: Add Sub Mul Div Min Max PRelu Pow Mod Sum Mean Add{act_min=0.0} Sub{act_min=0.0}
		Mul{act_min=0.0, act_max=6.0} Div{act_min=0.0}`},
	{nil, `x T[A,B,C,D]; x T[B,1,1]; T: Add Sub Mul Div Min Max PRelu Pow Mod`},
	{nil, `x T[A,1,C,D]; x T[B,1,D]; T: Add Sub Mul Div Min Max Pow Mod`},
	{nil, `x T[A,B,C,D]; c T[B,1,1] = rand; T: Add Sub Mul Div Min Max PRelu Pow Mod`},
	{nil, `x T[1,B,C,D]; c f32[B,1,1] = rand; T: Add Sub Mul Div Min Max PRelu Pow Mod`},
	{nil, `x T[1,300,A]; c f32[300,1] = rand; T: Add Mul PRelu`},
	{nil, `c T[A,B] = rand; x T[A,B]; T: Add Sub Mul Div Min Max PRelu Pow`},
	{nil, `x T[A,B]; c T[] = rand; T: Add Sub Mul Div Min Max PRelu Pow Mod Sum Mean`},
	{nil, `c T[] = rand; x T[A,B]; T: Add Sub Mul Div Min Max Pow Mod`},
	{nil, `x T[A,B]; c f32[] = {2}; T: Pow`},
	{nil, `x T[A,B]; c f32[] = {0.5}; T: Pow PRelu Mul`},
	{nil, `x T[A,B,33,33]; x T[A,B,33,33]; T: Add Mul Add{act_min=0.0}`},
	{nil, `x T[A,B]; x T[A,B]; x T[B]; T: Sum Mean Min Max`},
	{nil, `x T[A,B]; T: Sum Mean Max`},
	{nil, `x T[A,B,C]; x T[B,1]; bool: Equal Less LessOrEqual Greater GreaterOrEqual`},
	{nil, `x T[A,B,C]; c T[] = rand; bool: Equal Less LessOrEqual Greater GreaterOrEqual`},
	{nil, `x bool[A,B]; x bool[B]; bool: And Or Xor`},
	{nil, `x bool[A,B]; c bool[] = {true}; bool: And Or Xor`},
	{nil, `x bool[A,B]; bool: Not`},
	{nil, `x bool[A,B,C,D]; x T[A,B,C,D]; x T[A,B,C,D]; T: Where`},
	{nil, `x bool[B,C]; x T[A,1,C]; c T[] = rand; T: Where`},
	{nil, `x bool[A,1]; x T[A,19]; x T[1]; T: Where`},
	{nil, `x bool[1]; x T[1]; x T[A,40]; T: Where`},
	{nil, `x u8[A,B]; c u8[] = {3}; u8: BitwiseAnd BitwiseOr BitwiseXor`},
	{nil, `x u8[A,B]; u8: BitwiseNot BitwiseNot Cast{to=2} Cast{to=3} BitCast{to=3} BitCast{to=9}`},
	{nil, `x T[A,B]; f32: Cast{to=1}`},
	{nil, `x T[A,B]; T: BitCast{to=6} BitCast{to=2} BitCast{to=5} Cast{to=6} Cast{to=9} Cast{to=2}`},
	{nil, `x T[A,B]; x f32[1]; f32: CastLike`},
	{nil, `x T[2,A,B]; c i64[3] = {0,2,-1}; T: Reshape`},
	{nil, `x T[A,6,B]; c i64[4] = {0,2,3,-1}; T: Reshape`},
	{nil, `x T[A,B,1,C]; T: Flatten Flatten{axis=0} Flatten{axis=3} Squeeze`},
	{nil, `x T[A,1,B]; c i64[1] = {1}; T: Squeeze Unsqueeze`},
	{nil, `x T[A,B,C,D]; T: Transpose{perm=[0,2,3,1]} Transpose{perm=[0,3,1,2]} Transpose{perm=[3,1,0,2]} Transpose`},
	{nil, `x T[A,B,C,D]; x T[A,3,C,D]; T: Concat{axis=1}`},
	{nil, `x T[A,B,C]; x T[A,B,2]; c T[A,B,1] = rand; T: Concat{axis=2} Concat{axis=-1}`},
	{nil, `x T[A,B]; x T[C,B]; T: Concat{axis=0}`},
	{nil, `x T[A,4,C]; c i64[2] = {1,3}; T,T: Split{axis=1}`},
	{nil, `x T[A,B,6]; T,T,T: Split{axis=2, num_outputs=3}`},
	{nil, `x T[A,B,5,C]; c i64[1] = {1}; c i64[1] = {4}; c i64[1] = {2}; c i64[1] = {2}; T: Slice`},
	{nil, `x T[5,4,C]; c i64[2] = {4,0}; c i64[2] = {-6,3}; c i64[2] = {0,1}; c i64[2] = {-2,1}; T: Slice`},
	{nil, `x T[A,B,C,D]; c i64[8] = {0,0,1,1,0,0,2,0}; T: Pad`},
	{nil, `x T[A,B,C,D]; c i64[8] = {0,1,0,1,1,2,0,0}; c T[] = rand; T: Pad`},
	{nil, `x T[A,B]; c i64[4] = {0,1,1,0}; x T[]; T: Pad`},
	{nil, `x T[A,3,4]; c i64[6] = {0,1,2,0,0,1}; T: Pad{mode="reflect"} Pad{mode="edge"} Pad{mode="wrap"}`},
	{nil, `x T[A,4,4]; c i64[6] = {0,-1,2,0,0,-1}; T: Pad`},
	{nil, `x T[A,B,3,4]; c i64[4] = {1,1,0,2}; x T[]; c i64[2] = {-2,3}; T: Pad`},
	{nil, `x T[5,B]; c i64[2,2] = {0,4,-1,2}; T: Gather`},
	{nil, `x T[A,4,B]; x i64[C]; T: Gather{axis=1}`},
	{nil, `x T[A,4,B]; c i64[1] = {-1}; T: Gather{axis=1}`},
	{nil, `c T[5,B] = rand; x i32[C]; T: Gather`},
	{nil, `x T[3,B]; x i64[2,B]; T: GatherElements`},
	{nil, `x T[3,2,B]; x i64[A,2]; T: GatherND`},
	{nil, `x T[2,3,4,B]; x i32[2,A,2]; T: GatherND{batch_dims=1}`},
	{nil, `x T[2,3,B]; c i64[3,2] = {1,2,0,-1,1,0}; T: GatherND`},
	{nil,
		`x T[4,B]; x i64[1,B]; x T[1,B]; T: ScatterElements ScatterElements{reduction="add"}
			ScatterElements{reduction="max"}`},
	{nil, `x T[4,B]; c i64[2,1] = {1,3}; x T[2,B]; T: ScatterND ScatterND{reduction="add"} ScatterND{reduction="mul"}`},
	{nil, `x T[4,3,B]; x i32[A,2]; x T[A,B]; T: ScatterND ScatterND{reduction="add"}`},
	{nil, `x T[A,B,C]; c i64[] = {1}; T: Trilu Trilu{upper=0}`},
	{nil, `x T[A,B,C]; T: Trilu Trilu{upper=0}`},
	{nil, `x T[A,1,C]; c i64[4] = {2,1,3,1}; T: Expand`},
	{nil, `x T[A,B]; c i64[2] = {2,3}; T: Tile`},
	{nil, `x T[A,8,B,C]; T: DepthToSpace{blocksize=2} DepthToSpace{blocksize=2, mode="CRD"}`},
	{nil, `x T[A,B,4,2]; T: SpaceToDepth{blocksize=2} SpaceToDepth{blocksize=2, mode="CRD"}`},
	{nil, `x T[4,B,C]; c i64[B] = splat 3; T: ReverseSequence`},
	{nil, `x T[B,4]; x i64[B]; T: ReverseSequence{batch_axis=0, time_axis=1}`},
	{nil, `x T[A,5,6]; c i64[2] = {3,8}; T: CenterCropPad{axes=[1,2]}`},
	{nil, `x T[4,B]; c bool[4] = {true,false,true,true}; T: Compress{axis=0}`},
	{nil, `x i64[A,B]; c i64[] = {3}; c T[2] = rand; T: OneHot OneHot{axis=0}`},
	{nil, `x T[A,5]; c i64[1] = {2}; T,i64: TopK TopK{largest=0}`},
	{nil,
		`x T[A,B,C,D]; c i64[2] = {2,3}; T: ReduceMean ReduceSum ReduceMax ReduceMin ReduceMean{keepdims=0}
			ReduceSum{keepdims=0}`},
	{nil,
		`x T[A,B,C]; c i64[1] = {1}; T: ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2
		ReduceSumSquare
		ReduceLogSum ReduceLogSumExp`},
	{nil, `x T[A,B,C,D]; c i64[2] = {1,3}; T: ReduceMean ReduceSum ReduceMax ReduceSum{noop_with_empty_axes=1}`},
	{nil, `x T[A,B]; T: ReduceSum{noop_with_empty_axes=1}`},
	{nil, `x T[A,B,C]; T: ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd{keepdims=0} ReduceL1`},
	{nil,
		`x T[A,1,C]; c i64[1] = {1}; T: ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2
			ReduceSumSquare`},
	{nil, `x T[A,B,C]; i64: ArgMax{axis=1} ArgMin{axis=2, select_last_index=1, keepdims=0} ArgMax{axis=0}`},
	{nil, `x T[A,B]; c i64[] = {1}; T: CumSum CumSum{exclusive=1, reverse=1} CumProd`},
	{nil, `x T[A,B,C]; T: Softmax Softmax{axis=1} Softmax{axis=0} LogSoftmax LogSoftmax{axis=1} Hardmax
		LpNormalization{axis=1} LpNormalization{p=1} MeanVarianceNormalization{axes=[0,2]}`},
	{nil, `x T[A,3,C,D]; T: MeanVarianceNormalization MeanVarianceNormalization{axes=[-1]} LRN{size=3, alpha=0.1}`},
	{nil, `x T[A,40]; T: Softmax LogSoftmax`},
	{nil, `x T[3,8,40]; T: Softmax Softmax{axis=1}`},
	{nil,
		`x T[A,B,C,D]; T: Softmax{axis=1} LogSoftmax{axis=1} LRN{size=3} GlobalAveragePool GlobalMaxPool GlobalLpPool`},
	{nil, `x T[A,B,C]; c f32[C] = rand; c f32[C] = rand; T: LayerNormalization`},
	{nil, `x T[A,B,C]; c f32[C] = rand; T: LayerNormalization RMSNormalization`},
	{nil, `x T[A,B,C]; c f32[B,C] = rand; T: LayerNormalization{axis=1}`},
	{nil, `x T[A,100]; c f32[100] = rand; T: LayerNormalization{epsilon=0.001} RMSNormalization{epsilon=0.0}`},
	{nil, `x T[A,12,C,30]; c f32[12] = rand; c f32[12] = rand; T: GroupNormalization{num_groups=4, epsilon=100.0}
		InstanceNormalization{epsilon=0.001}`},
	{nil, `x T[A,4,C,D]; c f32[4] = rand; c f32[4] = rand; T: GroupNormalization{num_groups=2} InstanceNormalization`},
	{nil, `x T[A,3,C,D]; c f32[3] = rand; c f32[3] = rand; c f32[3] = rand; c f32[3] = {1,2,3}; T: BatchNormalization`},
	{nil, `x T[A,B]; c f32[B] = rand; c f32[B] = rand; c f32[B] = rand; c f32[B] = splat 2; T: BatchNormalization`},
	{nil, `x T[1,A,4,5]; -; c f32[4] = {1,1,2,2}; T: Resize Resize{mode="linear"} Resize{mode="cubic"}
		Resize{mode="linear", coordinate_transformation_mode="align_corners"}`},
	{nil, `x T[2,3,4,5]; -; c f32[4] = {1,1,0.6,1.7}; T: ` + resizes("half_pixel", "align_corners", "asymmetric",
		"pytorch_half_pixel")},
	{nil, `x T[1,A,4,5]; c f32[4] = {0.2,-0.1,1.3,0.8}; -; c i64[2] = {5,6}; T: ` +
		resizes(`tf_crop_and_resize", axes=[2,3], extrapolation_value=9.5, keep_aspect_ratio_policy="stretch`)},
	{nil, `x T[1,A,9,8]; -; -; c i64[2] = {4,5}; T: ` +
		resizes(`half_pixel", axes=[2,3], antialias=1, nearest_mode="floor`)},
	{nil, `x T[1,20,A,5]; -; c f32[4] = {1,1,2,4}; T: Resize{mode="linear"} Resize{mode="linear",
		coordinate_transformation_mode="pytorch_half_pixel"}
		Resize{mode="linear", coordinate_transformation_mode="asymmetric"}`},
	{nil,
		`x T[A,B,5]; -; -; c i64[3] = {A,B,7}; T: Resize
		Resize{mode="linear", coordinate_transformation_mode="asymmetric"}`},
	{nil, `x T[A,B,C]; c f32[] = {0.05}; c i8[] = {3}; i8: QuantizeLinear QuantizeLinear{round_away=1}`},
	{nil, `x T[A,B]; c f32[] = {0.001}; c i16[] = {0}; i16: QuantizeLinear QuantizeLinear{round_away=1}`},
	{nil, `x T[A,B]; c f32[] = {0.02}; c u8[] = {130}; u8: QuantizeLinear QuantizeLinear{round_away=1}`},
	{nil, `x T[A,3,B]; c f32[3] = {0.013,0.5,0.02}; c i8[3] = {3,0,7}; i8: QuantizeLinear`},
	{nil, `x i16[A,3,B]; c f32[3] = {0.013,0.5,0.02}; f32: DequantizeLinear`},
	{nil, `x T[A,B]; c f32[] = {0.05}; f32: DequantizeLinear`},
	{nil, `x i8[A,B]; c f32[] = {0.05}; c i8[] = {3}; f32: DequantizeLinear`},
	{nil, `x u8[A,B]; c f32[] = {0.05}; c u8[] = {3}; f32: DequantizeLinear`},
	{nil, `x i16[A,B]; c f32[] = {0.05}; c i16[] = {0}; f32: DequantizeLinear`},
	{nil, `x i32[A,B]; c f32[] = {0.05}; f32: DequantizeLinear`},
	{nil, `x T[A,B,C]; T: nncc.Requantize nncc.Requantize nncc.Requantize`},
	{nil, `x T[A,B]; c i8[256] = rand; T: nncc.Lookup`},
	{nil, `x T[A,B]; c i16[513] = rand; T: nncc.InterpolatedLUT`},
	{nil, `x T[A,16]; c f32[16,4] = {` + strings.Repeat("0,", 20) + "1.5,-2," + strings.Repeat("0,", 41) +
		"0.5}; T: MatMul"},
	{nil, `x T[A]; x T[A]; T: MatMul`},
	{nil, `x T[A]; c T[A,B] = rand; T: MatMul`},
	{nil, `x T[A,B]; c T[B] = rand; T: MatMul`},
	{nil, `c T[A,B] = rand; x T[B,C]; T: MatMul`},
	{nil, `x T[A,B]; c T[2,B,C] = rand; T: MatMul`},
	{nil, `x T[2,1,A,B]; x T[C,B,D]; T: MatMul`},
	{nil, `x T[B,A]; x T[C,B]; x T[A,C]; T: Gemm{transA=1, transB=1, alpha=2.0, beta=0.5, act_max=1.0}`},
	{nil, `x T[A,B]; c T[C,B] = rand; c T[A,1] = rand; T: Gemm{transB=1, alpha=0.5, beta=2.0}`},
	{nil, `x T[A,B]; c T[C,B] = rand; c T[1,C] = rand; T: Gemm{transB=1, alpha=0.25, beta=2.0, act_min=0.0}`},
	{nil, `x T[A,40]; c f32[16] = rand; f32: nncc.Spectrum{length=16, frames=4, bins=9, step=8}
		nncc.Spectrum{length=16, frames=5, bins=16, step=9, pad=8, mode="reflect", power=1}
		nncc.Spectrum{length=16, frames=4, bins=9, step=8, fixed=1}
		nncc.Spectrum{length=16, frames=3, bins=5, step=20, pad=1, mode="edge"}`},
	{nil, `x T[A,48]; c f32[13] = rand; f32: nncc.Spectrum{length=15, frames=4, bins=8, step=8, lead=2}
		nncc.Spectrum{length=40, frames=3, bins=21, step=15, lead=5, pad=3, power=1}
		nncc.Spectrum{length=48, frames=2, bins=25, step=11}`},
	{nil, `x T[A,B,5,C]; c i64[2] = {1,0}; c i64[2] = {4,1}; c i64[2] = {2,3}; T: nncc.Crop`},
	{nil, `x T[A,B,C,D]; T: nncc.Turn`},
	{nil, `x T[1,3,48,D]; T: nncc.Turn`},
	{nil,
		`x f32[A,B,3]; c f32[1,8,3] = rand; c f32[1,8,2] = rand; c f32[1,16] = rand; f32,f32,f32: LSTM
			LSTM{direction="reverse"}`},
	{nil, `x f32[A,B,3]; c f32[1,6,3] = rand; c f32[1,6,2] = rand; f32,f32: GRU GRU{linear_before_reset=1}`},
	{nil, `x f32[A,B,3]; c f32[1,2,3] = rand; c f32[1,2,2] = rand; f32,f32: RNN`},
	{nil,
		`x f32[4,B,3]; c f32[1,8,3] = rand; c f32[1,8,2] = rand; c f32[1,16] = rand; x i32[B]; f32,f32,f32: LSTM
			LSTM{direction="reverse"}`},
	{nil,
		`x f32[4,B,3]; c f32[2,6,3] = rand; c f32[2,6,2] = rand; -; x i32[B]; f32,f32: GRU{direction="bidirectional"}`},
	{nil,
		`x f32[B,4,3]; c f32[2,2,3] = rand; c f32[2,2,2] = rand; -; x i32[B]; f32,f32: RNN{direction="bidirectional",
			layout=1}`},
	{nil, `x f32[B,5,3]; c f32[2,8,3] = rand; c f32[2,8,2] = rand; -; -; x f32[B,2,2]; x f32[B,2,2]; f32,f32,f32:
		LSTM{direction="bidirectional", layout=1}
		LSTM{direction="bidirectional", layout=1, activation_alpha=[0.3,0.1,0.7],
			activations=["HardSigmoid","LeakyRelu","ScaledTanh","Elu","Relu","Softplus"], activation_beta=[0.4,0.9]}`},
	{nil, `x f32[B,5,3]; c f32[2,6,3] = rand; c f32[2,6,2] = rand; -; -; x f32[B,2,2]; f32,f32:
		GRU{direction="bidirectional", layout=1} GRU{direction="bidirectional", layout=1, clip=0.5}`},
	{nil, `x f32[A,B]; x f32[A,B]; f32: Mod{fmod=1}`},
	{nil, `x i4[A,B]; T: BitCast{to=21}`},
	{nil, `x T[A,B]; i64: Shape Size`},
	{nil, `c i64[2] = {2,3}; f32: ConstantOfShape`},
	{nil, `c i64[2] = {2,0}; f32: ConstantOfShape`},
	{nil, `x T[3,4]; T: EyeLike EyeLike{k=1}`},
	{nil, `c i64[] = {0}; c i64[] = {5}; c i64[] = {2}; i64: Range`},
	{nil, `c f32[2,2] = {1,0,0,2}; i64: NonZero`},
}
