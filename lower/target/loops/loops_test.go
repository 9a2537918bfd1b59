package loops_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/kerneltest"
	"github.com/nncc/nncc/lower/target/loops"
)

// The element types of the templates' classes.
var (
	floats   = []string{"f32", "f64", "f16", "bf16"}
	integers = []string{"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
	numbers  = slices.Concat(floats, integers)
	all      = slices.Concat(numbers, []string{"bool", "i4", "u4"})
)

// templates are nodes with holes: T is the type, chosen from the class that
// stands in front; A, B, C, ... are sizes, equal letters equal sizes. "x T[A,B]"
// is an input, "c T[A] = ..." a constant.
var templates = []struct {
	class []string
	text  string
}{
	{floats, `x T[A,B]; T: Exp Sin Cos Tanh Sigmoid Erf Sqrt Log Softplus Softsign Mish HardSwish Reciprocal Gelu Elu Selu Celu HardSigmoid ThresholdedRelu Shrink Atan Asinh Acos Acosh Asin Atanh Cosh Sinh Tan Swish LeakyRelu Ceil Floor Round`},
	{numbers, `x T[A,B,C]; T: Sign Identity`},
	{[]string{"f64", "f16", "bf16", "i8", "i16", "i32", "i64"}, `x T[A,B]; T: Abs Neg Relu`},
	{floats, `x T[A,B]; bool: IsNaN IsInf`},
	{numbers, `x T[A,B,C]; x T[B,1]; T: Add Sub Mul Min Max`},
	{integers, `x T[A,B]; c T[B] = fill 3; T: Div Mod`},
	{floats, `x T[A,1,C]; x T[B,C]; T: Div`},
	{numbers, `x T[A,B]; x T[A,1]; bool: Equal Less LessOrEqual Greater GreaterOrEqual`},
	{floats, `x T[A,B]; x T[B]; x T[A,1]; T: Sum`},
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
	{[]string{"u8", "u16", "u32", "u64"}, `x T[A,B]; c T[B] = fill 2; T: BitShift{direction="RIGHT"} BitShift{direction="LEFT"}`},
	{all, `x bool[A,1]; x T[A,B]; x T[B]; T: Where`},
	{numbers, `x T[A,B]; f32: Cast{to=1}`},
	{all, `x T[A,B]; i64: Cast{to=7}`},
	{[]string{"f32", "i64", "u8", "bool"}, `x T[A,B]; f16: Cast{to=10}`},
	{numbers, `x T[A,B,C]; c i64[1] = {1}; T: ReduceSum{keepdims=0} ReduceMax ReduceMin ReduceProd{keepdims=0} ReduceSumSquare ReduceL1`},
	{floats, `x T[A,B,C]; c i64[2] = {0,2}; T: ReduceMean ReduceL2{keepdims=0} ReduceLogSumExp ReduceLogSum`},
	{numbers, `x T[A,B,C]; i64: ArgMax{axis=1} ArgMin{axis=2, select_last_index=1, keepdims=0}`},
	{[]string{"f32", "f64", "i32", "i64"}, `x T[A,B]; c i64[] = {1}; T: CumSum CumSum{exclusive=1, reverse=1} CumProd`},
	{numbers, `x T[A,5]; c i64[1] = {2}; T,i64: TopK TopK{largest=0}`},
	{floats, `x T[A,B,C]; T: Softmax{axis=1} LogSoftmax Hardmax{axis=0} LpNormalization{axis=1} LpNormalization{p=1} MeanVarianceNormalization{axes=[0,2]}`},
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
	{floats, `x T[1,2,6,6]; x T[A,4]; c i64[A] = fill 0; T: RoiAlign{output_height=2, output_width=3, sampling_ratio=2} RoiAlign{mode="max"}`},
	{floats, `x T[A,4,7]; x T[6,2,3]; x T[6]; T: Conv{group=2, strides=[2], pads=[1,2]}`},
	{floats, `x T[A,2,6,5]; x T[3,2,2,3]; T: Conv{dilations=[2,1], pads=[0,1,1,1]}`},
	{floats, `x T[A,2,3,4]; x T[2,3,2,3]; T: ConvTranspose{strides=[2,1], pads=[0,1,1,1]}`},
	{floats, `x T[A,B,6,5]; T: AveragePool{kernel_shape=[2,3], pads=[1,1,0,1]} LpPool{kernel_shape=[2,2], p=2} LpPool{kernel_shape=[3,2], p=3}`},
	{[]string{"f32", "f64", "f16", "i8", "u8"}, `x T[A,B,6,5]; T: MaxPool{kernel_shape=[2,3], strides=[2,1], pads=[1,1,0,1]}`},
	{all, `x T[5,C]; c i64[1] = {4}; c i64[1] = {-6}; c i64[1] = {0}; c i64[1] = {-2}; T: Slice`},
	{all, `x T[A,B]; x T[A,C]; T: Concat{axis=1}`},
	{all, `x T[4,B]; x i64[C]; T: Gather`},
	{all, `x T[4,B]; x i64[1,B]; x T[1,B]; T: ScatterElements`},
	{numbers, `x T[4,B]; x i64[2,B]; x T[2,B]; T: ScatterElements{reduction="add"} ScatterElements{reduction="max"}`},
	{numbers, `x T[4,B]; x i64[3,1]; x T[3,B]; T: ScatterND{reduction="add"} ScatterND{reduction="min"}`},
	{numbers, `x i64[A,B]; c i64[] = {3}; c T[2] = {0,1}; T: OneHot{axis=1}`},
	{all, `x T[A,B,C]; T: Trilu Trilu{upper=0}`},
	{floats, `x T[1,A,4,5]; c f32[0] = {}; c f32[4] = {1,1,1.7,0.6}; T: Resize{mode="linear"} Resize{mode="cubic"} Resize{mode="nearest"}`},
	{floats, `x T[1,A,4,5]; x T[1,3,2,2]; T: GridSample GridSample{mode="cubic", padding_mode="border"} GridSample{mode="nearest", padding_mode="reflection"}`},
	{all, `x T[4,B,C]; c i64[B] = fill 3; T: ReverseSequence`},
	{all, `x T[5,B]; c i64[2] = {2,3}; T,T: Split`},
	{[]string{"f32", "f64", "f16", "i8", "i64"}, `x T[A,5]; T,i64,i64,i64: Unique{axis=1} Unique{axis=1, sorted=0}`},
	{[]string{"f32"}, `x T[1,5,4]; x T[1,2,5]; c i64[1] = {3}; c f32[1] = {0.4}; i64: NonMaxSuppression`},
	{[]string{"i32", "i64"}, `x T[A,5]; f32: TfIdfVectorizer{mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0,2], ngram_indexes=[0,1,2], pool_int64s=[0,1,0,1]}`},
	{[]string{"f32", "f16", "bf16"}, `x T[A,B]; c T[A] = fill 0.05; c i8[A] = fill 3; i8: QuantizeLinear{axis=0}`},
	{[]string{"i8", "u8", "i16", "i32"}, `x T[A,B]; x f32[A]; f32: DequantizeLinear{axis=0}`},
	{[]string{"f32"}, `x T[A,B]; u8,f32,u8: DynamicQuantizeLinear`},
	{numbers, `x T[A,B]; c T[] = {1}; c T[] = {3}; T: Clip`},
	{floats, `x T[A,B,C]; x T[A,D,C]; T: Einsum{equation="bij,bkj->bik"}`},
	{floats, `x T[4,B,3]; x T[2,8,3]; x T[2,8,2]; x T[2,16]; c i32[B] = fill 3; x T[2,B,2]; x T[2,B,2]; x T[2,6]; T,T,T: LSTM{direction="bidirectional", clip=1.5} LSTM{direction="bidirectional", input_forget=1}`},
	{floats, `x T[A,B,3]; x T[1,6,3]; x T[1,6,2]; x T[1,12]; T,T: GRU{linear_before_reset=1} GRU{direction="reverse", activations=["HardSigmoid","Softsign"]}`},
	{floats, `x T[B,A,3]; x T[1,2,3]; x T[1,2,2]; T,T: RNN{layout=1} RNN{activations=["ScaledTanh"], activation_alpha=[0.7], activation_beta=[0.5], layout=1}`},
	{[]string{"f32", "f16", "f64"}, `x T[A,3]; T: ai.onnx.ml.TreeEnsemble{leaf_targetids=[0,1,0], leaf_weights=f32[3] {1,-2,0.5}, n_targets=2, nodes_falseleafs=[1,1], nodes_falsenodeids=[0,2], nodes_featureids=[2,0], nodes_modes=u8[2] {0,3}, nodes_splits=f32[2] {0.1,-0.2}, nodes_trueleafs=[0,1], nodes_truenodeids=[1,1], tree_roots=[0], leaf_follows=[1,0,0]}`},
	{floats, `x T[A,6]; T: nncc.PairCoupling{classes=4}`},
}

// layers are the templates with random sizes as the text of one graph: every
// operator in every type of its class, or one type each when quick.
func layers(r *rand.Rand, quick bool) (string, int) {
	var b strings.Builder
	b.WriteString("graph \"layers\" {\n")
	count, values := 0, 0
	var outs []string
	for _, x := range templates {
		body, heads, _ := cutLast(x.text)
		types, ops, _ := strings.Cut(heads, ": ")
		class := x.class
		if quick {
			class = []string{class[r.IntN(len(class))]}
		}
		for _, dt := range class {
			for _, o := range split(ops) {
				sizes := map[byte]int{}
				for c := byte('A'); c <= 'D'; c++ {
					sizes[c] = 1 + r.IntN(4)
				}
				fill := func(s string) string {
					s = strings.ReplaceAll(s, "T", dt)
					i := strings.IndexByte(s, '[')
					if i < 0 {
						return s
					}
					j := strings.IndexByte(s, ']')
					dims := []byte{}
					for k := i; k < j; k++ {
						if n := sizes[s[k]]; n > 0 {
							dims = append(dims, strconv.Itoa(n)...)
						} else {
							dims = append(dims, s[k])
						}
					}
					return s[:i] + string(dims) + s[j:]
				}
				var args []string
				for _, p := range strings.Split(body, "; ") {
					if p == "" {
						continue
					}
					values++
					kind, decl, _ := strings.Cut(p, " ")
					decl, data, _ := strings.Cut(decl, " = ")
					if n, ok := strings.CutPrefix(data, "fill "); ok {
						data = "splat " + n
					}
					name := fmt.Sprintf("%%v%d", values)
					if kind == "x" {
						fmt.Fprintf(&b, "in %s : %s\n", name, fill(decl))
					} else {
						fmt.Fprintf(&b, "const %s : %s = %s\n", name, fill(decl), data)
					}
					args = append(args, name)
				}
				name, attrs, _ := strings.Cut(o, "{")
				if attrs != "" {
					attrs = " {" + attrs
				}
				if name == "Resize" && sizes['A'] > 0 {
					args[1] = "-"
				}
				var results []string
				for range strings.Split(types, ",") {
					values++
					results = append(results, fmt.Sprintf("%%v%d", values))
					outs = append(outs, fmt.Sprintf("v%d", values))
				}
				fmt.Fprintf(&b, "%s = %s(%s)%s\n", strings.Join(results, ", "), name, strings.Join(args, ", "), attrs)
				count++
			}
		}
	}
	for _, o := range outs {
		fmt.Fprintf(&b, "out %q = %%%s\n", o, o)
	}
	return b.String() + "}\n", count
}

// cutLast parts the operands from types and operators.
func cutLast(s string) (body, heads string, ok bool) {
	i := strings.Index(s, ": ")
	j := strings.LastIndex(s[:i], "; ")
	return s[:j], s[j+2:], true
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

// elsewhere are operators with rows that have their tests in other places:
// bodies of several nodes, and what needs a condition known at compile time.
var elsewhere = []string{"Fused", "Compress"}

// Every operator with a row has a template.
func TestTemplates(t *testing.T) {
	used := map[string]bool{}
	for _, x := range templates {
		_, heads, _ := cutLast(x.text)
		_, ops, _ := strings.Cut(heads, ": ")
		for _, o := range split(ops) {
			name, _, _ := strings.Cut(o, "{")
			used[name[strings.LastIndexByte(name, '.')+1:]] = true
		}
	}
	for _, k := range loops.Kernels {
		for _, o := range k.Ops {
			if !used[o.Name] && !slices.Contains(elsewhere, o.Name) {
				t.Errorf("%s, of row %s, has no template", o.Name, k.Name)
			}
		}
	}
}

// Functions that are written for single nodes, against the interpreter: random
// sizes, every element type, under the sanitizers and between guards. One type
// of every class in a plain go test, with NNCC_LOOPS=all all of them, five
// times with other sizes.
func TestAgainstInterpreter(t *testing.T) {
	rounds, quick := 1, true
	if os.Getenv("NNCC_LOOPS") == "all" {
		rounds, quick = 5, false
	}
	for seed := range uint64(rounds) {
		text, count := layers(rand.New(rand.NewPCG(seed, 5)), quick)
		g, err := ir.Parse(text, op.Get)
		if err != nil {
			t.Fatalf("%v", err)
		}
		m := kerneltest.Guard(t, g, target.NewTable(loops.Kernels), target.Options{Kernels: "auto"}, seed)
		m.Near = true
		m.RunHost(t)
		t.Logf("seed %d: %d functions of %d rows", seed, count, len(m.Rows))
	}
}
