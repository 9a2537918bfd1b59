// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// fusedOps are the float operators that ONNX Runtime's optimiser puts together, beside
// those of functions/operators.
var fusedOps = map[string]build.Rule{
	"FusedConv":                        fused("Conv", false),
	"NhwcConv":                         fused("Conv", true),
	"NhwcFusedConv":                    fused("Conv", true),
	"NhwcMaxPool":                      fused("MaxPool", true),
	"FusedGemm":                        fused("Gemm", false),
	"FusedMatMul":                      fusedMatMul,
	"TransposeMatMul":                  fusedMatMul,
	"FusedMatMulActivation":            fusedMatMul,
	"FastGelu":                         fastGelu,
	"SkipLayerNormalization":           skipNorm,
	"SkipSimplifiedLayerNormalization": skipNorm,
}

func channelsFirst(e *build.Node, x *ir.Value) *ir.Value {
	r := x.Type.Rank()
	e.Want(r >= 3, "rank", "an operand has shape %v, want [N, spatial..., C]", x.Type.Shape)
	perm := append([]int{0, r - 1}, ir.Identity(r - 1)[1:]...)
	return e.Sub("Transpose", ".nchw", ir.Attrs{"perm": ir.Ints(perm...)}, x)
}

func channelsLast(e *build.Node, x *ir.Value) *ir.Value {
	return e.Sub("Transpose", ".nhwc", ir.Attrs{"perm": ir.Ints(ir.NHWC(x.Type.Rank())...)}, x)
}

// fused is Conv, Gemm or MaxPool with an activation and, for Conv, a tensor to
// add; with the channels last on request.
func fused(name string, nhwc bool) build.Rule {
	return func(e *build.Node) []*ir.Value {
		act := takeActivation(e)
		x := e.Need(0, -1)
		in := append([]*ir.Value{x}, e.In[1:]...)
		var sum *ir.Value
		if name == "Conv" && len(in) == 4 {
			in, sum = in[:3], in[3]
		}
		if nhwc {
			in[0] = channelsFirst(e, x)
		}
		y := e.Sub(name, ".base", e.Attrs, in...)
		if nhwc {
			y = channelsLast(e, y)
		}
		if sum != nil {
			y = e.Sub("Add", ".sum", nil, y, sum)
		}
		return act(y)
	}
}

// takeActivation reads the attributes of a fused activation and gives what ends
// the expansion: the activation under the node's own name.
func takeActivation(e *build.Node) func(y *ir.Value) []*ir.Value {
	act, params := e.Str("activation", ""), e.FloatList("activation_params") // alpha, beta, gamma; NaN where not given
	for i, k := range []string{"activation_alpha", "activation_beta", "activation_gamma"} {
		if a, ok := e.Take(k); ok {
			for len(params) <= i {
				params = append(params, float32(math.NaN()))
			}
			params[i] = a.Float
		}
	}
	axis, hasAxis := e.Take("activation_axis")
	at := func(i int, def float32) float32 {
		if i < len(params) && params[i] == params[i] {
			return params[i]
		}
		return def
	}
	return func(y *ir.Value) []*ir.Value {
		attrs := ir.Attrs{}
		switch act {
		case "":
			act = "Identity"
		case "Relu", "Tanh", "Sigmoid":
		case "LeakyRelu":
			attrs["alpha"] = ir.Float(at(0, 0.01))
		case "HardSigmoid":
			attrs["alpha"], attrs["beta"] = ir.Float(at(0, 0.2)), ir.Float(at(1, 0.5))
		case "Softmax":
			if hasAxis {
				attrs["axis"] = axis
			}
		case "Clip":
			bound := func(suffix string, v float32) *ir.Value {
				return e.Constant(suffix, build.FloatLike(y, float64(v)))
			}
			return e.Result(act, nil, y, bound(".min", at(0, -math.MaxFloat32)), bound(".max", at(1, math.MaxFloat32)))
		default:
			e.Want(false, "activation", "activation %s is not supported; "+
				"want Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid, Softmax or Clip", model.Quote(act))
		}
		return e.Result(act, attrs, y)
	}
}

func fusedMatMul(e *build.Node) []*ir.Value {
	e.Arity(2, 2)
	act := takeActivation(e)
	for i, k := range []string{"A", "B"} {
		r := e.In[i].Type.Rank()
		perm := ir.Identity(r)
		if e.Bool("transBatch"+k, false) && r > 2 { // the first dimension is that of rows, in front of it stand batches
			perm = append(append(ir.Identity(r)[1:r-1], 0), r-1)
		}
		if e.Bool("trans"+k, false) && r >= 2 {
			perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
		}
		if !slices.IsSorted(perm) {
			e.In[i] = e.Sub("Transpose", ".trans"+k, ir.Attrs{"perm": ir.Ints(perm...)}, e.In[i])
		}
	}
	y := e.Sub("MatMul", ".matmul", nil, e.In...)
	if alpha := e.Float("alpha", 1); alpha != 1 {
		y = e.Sub("Mul", ".scaled", nil, y, e.Constant(".alpha", build.FloatLike(y, alpha)))
	}
	return act(y)
}

// fastGelu is Gelu(A + B) by its approximation with tanh; the bias B is optional.
func fastGelu(e *build.Node) []*ir.Value {
	e.Arity(1, 2)
	x := e.In[0]
	if e.In[1] != nil {
		x = e.Sub("Add", ".biased", nil, x, e.In[1])
	}
	return e.Result("Gelu", ir.Attrs{"approximate": ir.Str("tanh")}, x)
}

// skipNorm is LayerNormalization(input + skip [+ bias]), or RMSNormalization
// in the simplified form; output 3 is the sum.
func skipNorm(e *build.Node) []*ir.Value {
	e.Arity(3, 5)
	gamma, beta, bias, norm := e.In[2], e.In[3], e.In[4], "LayerNormalization"
	if e.Op == "SkipSimplifiedLayerNormalization" {
		beta, bias, norm = nil, e.In[3], "RMSNormalization"
	}
	sum := e.Sub("Add", ".skip", nil, e.In[0], e.In[1])
	if bias != nil {
		sum = e.Sub("Add", ".biased", nil, sum, bias)
	}
	attrs := ir.Attrs{"axis": ir.Int(-1), "epsilon": ir.Float(float32(e.Float("epsilon", 1e-12)))}
	o := op.Get("", norm)
	y := append(e.Results(o, attrs, min(len(e.Out), o.MaxOut, 3), sum, gamma, beta), nil, nil)[:3]
	return append(y, sum)
}

var transformer = map[string]build.Rule{
	"Attention": packedAttention, "MultiHeadAttention": multiHead, "EmbedLayerNormalization": embedNorm,
	"RotaryEmbedding": rotaryMicrosoft, "GroupQueryAttention": groupQuery,
}

// thirds cuts x along its last axis: three equal pieces, or pieces of the given sizes.
func thirds(e *build.Node, x *ir.Value, sizes []int64) [3]*ir.Value {
	last := x.Type.Rank() - 1
	n := x.Type.Shape[last]
	if sizes == nil {
		sizes = []int64{int64(n / 3), int64(n / 3), int64(n / 3)}
	}
	e.Want(len(sizes) == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0 && sizes[0]+sizes[1]+sizes[2] == int64(n),
		"attr-value", "%s of shape %v does not divide into Q, K and V of sizes %v", x, x.Type.Shape, sizes)
	var out [3]*ir.Value
	from := 0
	for i, k := range sizes {
		out[i] = e.Do("Slice", nil, x, e.Ints(from), e.Ints(from+int(k)), e.Ints(last))
		from += int(k)
	}
	return out
}

// packedAttention is attention of one input [N, S, size] times weights [size, Q, K and V side by side], plus a bias.
// Inputs: input, weights, bias, mask_index (keyMask), past [2, N, heads, P, size], attention_bias.
func packedAttention(e *build.Node) []*ir.Value {
	e.Arity(2, 7)
	x, w, bias := e.Need(0, 3), e.Need(1, 2), e.In[2]
	y := e.Do("MatMul", nil, x, w)
	if bias != nil {
		y = e.Do("Add", nil, y, bias)
	}
	qkv := thirds(e, y, e.IntList("qkv_hidden_sizes"))
	var past [2]*ir.Value
	if p := e.In[4]; p != nil {
		e.Want(p.Type.Rank() == 5 && p.Type.Shape[0] == 2, "shape", "past has shape %v, want [2, N, heads, P, size]",
			p.Type.Shape)
		for i := range past {
			past[i] = e.Do("Gather", nil, p, e.Data(tensor.Scalar(int64(i))))
		}
	}
	e.Want(e.In[6] == nil, "past", "past_sequence_length is not supported; want past as long as it is")
	e.Want(!e.Bool("do_rotary", false), "attr-value", "do_rotary is not supported; want RotaryEmbedding before it")
	out := sharedHeads(e, qkv, e.In[3], e.In[5], past)
	present := func(v *ir.Value) *ir.Value { return e.Reshape(v, append([]int{1}, v.Type.Shape...)...) }
	if !slices.Equal(out[1].Type.Shape, out[2].Type.Shape) { // nothing holds keys and values of two sizes
		return out[:1]
	}
	return []*ir.Value{out[0], e.Concat(0, present(out[1]), present(out[2]))}
}

// multiHead is attention of query, key and value, to which a bias, the three of them in one, is added. Inputs: query,
// key, value, bias, key_padding_mask (keyMask), attention_bias, past_key, past_value. Keys and values that come as
// [N, heads, T, size] have their bias.
func multiHead(e *build.Node) []*ir.Value {
	e.Arity(3, 8)
	qkv := [3]*ir.Value{e.Need(0, 3), e.Need(1, -1), e.Need(2, -1)}
	if bias := e.In[3]; bias != nil {
		sizes := make([]int64, 3)
		for i, v := range qkv {
			s := v.Type.Shape
			e.Want(len(s) == 3 || len(s) == 4, "rank", "input %d (%s) has shape %v, want [N, S, heads*size] or "+
				"[N, heads, S, size]", i, v, s)
			sizes[i] = int64(s[len(s)-1])
			if len(s) == 4 {
				sizes[i] *= int64(s[1])
			}
		}
		for i, b := range thirds(e, bias, sizes) {
			if qkv[i].Type.Rank() == 3 {
				qkv[i] = e.Do("Add", nil, qkv[i], b)
			}
		}
	}
	if e.In[1].Type.Rank() == 4 { // [N, heads, T, size], as attention has all three
		qkv[0] = heads(e, qkv[0], int(e.Attrs["num_heads"].Int), "query")
	}
	out := sharedHeads(e, qkv, e.In[4], e.In[5], [2]*ir.Value{e.In[6], e.In[7]})
	if s := out[0].Type.Shape; len(s) == 4 {
		out[0] = e.Reshape(e.Transpose(out[0], 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
	}
	return out
}

// sharedHeads is ONNX's attention with as many heads of keys as of queries. mask_filter_value is added where keys, a
// keyMask, says so, and so is bias.
func sharedHeads(e *build.Node, qkv [3]*ir.Value, keys, bias *ir.Value, past [2]*ir.Value) []*ir.Value {
	filter := e.Float("mask_filter_value", -10000)
	if keys != nil {
		q, k := qkv[0].Type.Shape, qkv[1].Type.Shape
		total := k[len(k)-2]
		if past[0] != nil {
			total += past[0].Type.Shape[2]
		}
		mask := e.Do("Where", nil, keyMask(e, keys, q[0], q[len(q)-2], total), e.Num(qkv[0], 0), e.Num(qkv[0], filter))
		if bias == nil {
			bias = mask
		} else {
			bias = e.Do("Add", nil, bias, mask)
		}
	}
	n := ir.Int(e.Int("num_heads", 0))
	attrs := ir.Attrs{"q_num_heads": n, "kv_num_heads": n, "is_causal": ir.Int(e.Int("unidirectional", 0)),
		"scale": ir.Float(float32(e.Float("scale", 0)))}
	e.Attrs, e.In = attrs, []*ir.Value{qkv[0], qkv[1], qkv[2], bias, past[0], past[1]}
	return attention(e)[:3]
}

// keyMask is where each of S queries sees each of T keys, of n samples: from a number above 0 for every key, or for
// every
// query and key, as [n, T], [n, S, T] or [n, 1, M, M] with M the most; or from the end of each sample's keys, as [n],
// with their begin behind, as [2n].
func keyMask(e *build.Node, keys *ir.Value, n, S, T int) *ir.Value {
	s := keys.Type.Shape
	bad := func(ok bool) {
		e.Want(ok, "shape", "the mask %s has shape %v, want [%d, %d], [%d, %d, %d], [%d, 1, M, M], [%d] or [%d]", keys,
			s,
			n, T, n, S, T, n, n, 2*n)
	}
	bad(len(s) > 0 && s[0] == n || len(s) == 1 && s[0] == 2*n)
	place := func(from int) *ir.Value { return e.Reshape(e.Cut(keys, 0, from, from+n, 1), n, 1, 1, 1) }
	seen := func(v *ir.Value) *ir.Value { return e.Do("Greater", nil, v, e.Num(v, 0)) }
	switch len(s) {
	case 1:
		at := e.Cast(e.Data(build.Count[int32](T)), keys.Type.DType)
		mask := e.Do("Less", nil, at, place(0))
		if s[0] == 2*n {
			mask = e.Do("And", nil, mask, e.Do("GreaterOrEqual", nil, at, place(n)))
		}
		return mask
	case 2:
		bad(s[1] == T)
		return e.Reshape(seen(keys), n, 1, 1, T)
	case 3:
		bad(s[1] == S && s[2] == T)
		return e.Reshape(seen(keys), n, 1, S, T)
	}
	bad(len(s) == 4 && s[1] == 1 && s[2] == s[3] && s[3] >= T)
	return seen(e.Cut(e.Cut(keys, 2, T-S, T, 1), 3, 0, T, 1))
}

// embedNorm is LayerNormalization of the sum of the embeddings of words, positions and segments. Inputs: input_ids
// [N, S], segment_ids, the three tables, gamma, beta, mask [N, S], position_ids; output 1 has the keys of a sample.
func embedNorm(e *build.Node) []*ir.Value {
	e.Arity(7, 9, 1, 4)
	ids, segments, places := e.Need(0, 2), e.In[1], e.In[8]
	s := ids.Type.Shape
	if places == nil {
		places = e.Data(build.Count[int64](1, s[1]))
	}
	sum := e.Do("Add", nil, e.Do("Gather", nil, e.Need(2, 2), ids), e.Do("Gather", nil, e.Need(3, 2), places))
	if segments != nil {
		sum = e.Do("Add", nil, sum, e.Do("Gather", nil, e.Need(4, 2), segments))
	}
	count := e.Data(tensor.New(tensor.I32, []int{s[0]}))
	if mask := e.In[7]; mask != nil {
		count = e.Do("ReduceSum", ir.Attrs{"keepdims": ir.Int(0)}, e.Cast(mask, tensor.I32), e.Ints(1))
	}
	attrs := ir.Attrs{"axis": ir.Int(-1), "epsilon": ir.Float(float32(e.Float("epsilon", 1e-12)))}
	e.Int("mask_index_type", 0)
	return []*ir.Value{e.Result("LayerNormalization", attrs, sum, e.Need(5, 1), e.Need(6, 1))[0], count, sum}
}
