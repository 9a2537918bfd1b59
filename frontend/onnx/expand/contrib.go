// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// transformer are ONNX Runtime's operators of transformers, in terms of ONNX's own.
var transformer = map[string]build.Rule{
	"Attention": packedAttention, "MultiHeadAttention": multiHead, "EmbedLayerNormalization": embedNorm,
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
// Inputs: input, weights, bias, mask_index [N, T] (0: no such key), past [2, N, heads, P, size], attention_bias.
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
	return []*ir.Value{out[0], e.Concat(0, present(out[1]), present(out[2]))}
}

// multiHead is attention of query, key and value, to which a bias, the three of them in one, is added. Inputs: query,
// key, value, bias, key_padding_mask [N, T], attention_bias, past_key, past_value.
func multiHead(e *build.Node) []*ir.Value {
	e.Arity(3, 8)
	qkv := [3]*ir.Value{e.Need(0, 3), e.Need(1, -1), e.Need(2, -1)}
	if bias := e.In[3]; bias != nil {
		sizes := make([]int64, 3)
		for i, v := range qkv {
			e.Want(v.Type.Rank() == 3, "rank", "input %d (%s) has shape %v, want [N, S, heads*size] beside a bias",
				i, v, v.Type.Shape)
			sizes[i] = int64(v.Type.Shape[2])
		}
		for i, b := range thirds(e, bias, sizes) {
			qkv[i] = e.Do("Add", nil, qkv[i], b)
		}
	} else if e.In[1].Type.Rank() == 4 { // [N, heads, T, size], as attention has all three
		qkv[0] = heads(e, qkv[0], int(e.Attrs["num_heads"].Int), "query")
	}
	out := sharedHeads(e, qkv, e.In[4], e.In[5], [2]*ir.Value{e.In[6], e.In[7]})
	if s := out[0].Type.Shape; len(s) == 4 {
		out[0] = e.Reshape(e.Transpose(out[0], 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
	}
	return out
}

// sharedHeads is ONNX's attention with as many heads of keys as of queries. keys [N, T] are 0 where there is no key:
// mask_filter_value is added there, and so is bias.
func sharedHeads(e *build.Node, qkv [3]*ir.Value, keys, bias *ir.Value, past [2]*ir.Value) []*ir.Value {
	filter := e.Float("mask_filter_value", -10000)
	if keys != nil {
		s := keys.Type.Shape
		e.Want(len(s) == 2, "shape", "the mask %s has shape %v, want [N, keys] with 0 where there is no key", keys, s)
		off := e.Do("Sub", nil, e.Num(qkv[0], 1), e.Cast(keys, qkv[0].Type.DType))
		mask := e.Reshape(e.Do("Mul", nil, off, e.Num(qkv[0], filter)), s[0], 1, 1, s[1])
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
