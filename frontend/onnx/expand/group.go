// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// groupQuery is causal attention of com.microsoft with a cache of keys and values. Inputs: query, or all three of them
// side by side; key, value, of kv_num_heads; past_key, past_value [N, kv heads, P, size]; seqlens_k, the place of each
// sample's last key; total_sequence_length T, the most of all; cos_cache, sin_cache; position_ids; attention_bias. A
// prompt, with T = S, begins at place 0; other queries stand at the end of their sample's keys.
func groupQuery(e *build.Node) []*ir.Value {
	e.Arity(1, 11, 1, 3)
	e.Need(5, -1)
	n, kv := e.Int("num_heads", 0), e.Int("kv_num_heads", 0)
	plain := e.Str("k_quant_type", "NONE") == "NONE" && e.Str("v_quant_type", "NONE") == "NONE"
	e.Want(plain && !e.Bool("smooth_softmax", false), "attr-value",
		"quantised caches and smooth_softmax are not supported; want neither of them")
	e.Take("kv_cache_bit_width")
	qkv := groupedHeads(e, n, kv)
	N, S := qkv[0].Type.Shape[0], qkv[0].Type.Shape[2]
	c := cacheOf(e, N, S)
	if e.Bool("do_rotary", false) {
		cos, sin, places := e.Need(7, 2), e.Need(8, 2), e.In[9]
		if places == nil {
			places = e.Do("Add", nil, e.Data(build.Count[int64](1, S)), e.Reshape(c.begin, N, 1))
		}
		attrs := ir.Attrs{"interleaved": ir.Int(e.Int("rotary_interleaved", 0)),
			"rotary_embedding_dim": ir.Int(2 * cos.Type.Shape[1])}
		inner := *e
		for i, x := range qkv[:2] {
			inner.In, inner.Attrs = []*ir.Value{x, cos, sin, places}, attrs.Clone()
			qkv[i] = rotary(&inner)[0]
		}
	}
	e.Take("rotary_interleaved")
	for i, p := range [2]*ir.Value{e.In[3], e.In[4]} {
		qkv[1+i] = c.with(e, p, qkv[1+i])
	}
	bias := c.hidden(e, qkv[0], e.Int("local_window_size", -1))
	if b := e.In[10]; b != nil {
		if more := c.total - b.Type.Shape[3]; more > 0 {
			b = e.Do("Pad", nil, b, e.Ints(0, more), e.Num(b, 0), e.Ints(-1))
		}
		bias = e.Do("Add", nil, bias, b)
	}
	end := e.Do("Add", nil, c.begin, e.Data(tensor.Scalar(int64(S))))
	e.In = []*ir.Value{qkv[0], qkv[1], qkv[2], bias, nil, nil, end}
	e.Attrs = ir.Attrs{"is_causal": ir.Int(1), "scale": ir.Float(float32(e.Float("scale", 0))),
		"softcap": ir.Float(float32(e.Float("softcap", 0)))}
	out := attention(e)
	s := out[0].Type.Shape
	out[0] = e.Reshape(e.Transpose(out[0], 0, 2, 1, 3), N, S, n*s[3])
	return out[:3]
}

// groupedHeads are query, key and value as [N, heads, S, size].
func groupedHeads(e *build.Node, n, kv int) (qkv [3]*ir.Value) {
	q := e.Need(0, 3)
	qkv = [3]*ir.Value{q, e.In[1], e.In[2]}
	if e.In[1] == nil {
		size := q.Type.Shape[2] / max(n+2*kv, 1)
		qkv = thirds(e, q, []int64{int64(n * size), int64(kv * size), int64(kv * size)})
	}
	for i, v := range qkv {
		e.Want(v != nil && v.Type.Rank() == 3, "shape", "query, key and value are not all of shape [N, S, heads*size]")
		qkv[i] = heads(e, v, []int{n, kv, kv}[i], []string{"query", "key", "value"}[i])
	}
	return qkv
}

// cache says where keys and values of a run stand among those before.
type cache struct {
	past, total int
	begin, end  *ir.Value // int64 [N]: place of the first of a run, and behind the last
	at, held    *ir.Value // int64, bool [N, 1, total, 1]: what a place has of the past and the run, and whether it has
}

func cacheOf(e *build.Node, N, S int) *cache {
	c := &cache{}
	if p := e.In[3]; p != nil {
		c.past = e.Need(3, 4).Type.Shape[2]
		e.Need(4, 4)
	}
	c.total = c.past
	if most := e.Need(6, -1); most.Const != nil || c.past == 0 {
		list := e.Known(6, "the total length")
		e.Want(len(list) == 1 && list[0] >= S && list[0] <= c.past+S, "shape",
			"total_sequence_length is %v, want one number from %d to %d", list, S, c.past+S)
		if c.total = max(c.past, list[0]); list[0] == S {
			c.begin = e.Data(tensor.New(tensor.I64, []int{N}))
		}
	}
	last := e.Cast(e.Reshape(e.In[5], N), tensor.I64)
	c.end = e.Do("Add", nil, last, e.Data(tensor.Scalar(int64(1))))
	if c.begin == nil {
		c.begin = within(e, e.Do("Sub", nil, last, e.Data(tensor.Scalar(int64(S-1)))), c.total-S)
	}
	place, begin := e.Data(build.Count[int64](1, 1, c.total, 1)), e.Reshape(c.begin, N, 1, 1, 1)
	after := e.Do("Sub", nil, place, begin)
	run := e.Do("Min", nil, e.Do("Add", nil, after, e.Data(tensor.Scalar(int64(c.past)))),
		e.Data(tensor.Scalar(int64(c.past+S-1))))
	c.at = e.Do("Where", nil, e.Do("Less", nil, place, begin), place, run)
	c.held = e.Do("Less", nil, after, e.Data(tensor.Scalar(int64(S))))
	return c
}

// with is what was before, nil for nothing, and x in its places; zeros behind.
func (c *cache) with(e *build.Node, before, x *ir.Value) *ir.Value {
	if before != nil {
		x = e.Concat(2, before, x)
	}
	s := x.Type.Shape
	if s[0] == 1 {
		x = e.Do("Gather", ir.Attrs{"axis": ir.Int(2)}, x, e.Reshape(c.at, c.total))
	} else {
		at := e.Do("Expand", nil, c.at, e.Ints(s[0], s[1], c.total, s[3]))
		x = e.Do("GatherElements", ir.Attrs{"axis": ir.Int(2)}, x, at)
	}
	return e.Do("Where", nil, c.held, x, e.Num(x, 0))
}

// hidden is minus infinity for the keys behind the end, and for those that are size and more in front of a query.
func (c *cache) hidden(e *build.Node, q *ir.Value, size int) *ir.Value {
	N, S, places := q.Type.Shape[0], q.Type.Shape[2], e.Data(build.Count[int64](c.total))
	hide := e.Do("GreaterOrEqual", nil, places, e.Reshape(c.end, N, 1, 1, 1))
	if size >= 0 {
		row := e.Do("Add", nil, e.Data(build.Count[int64](S, 1)), e.Reshape(c.begin, N, 1, 1, 1))
		first := e.Do("Sub", nil, row, e.Data(tensor.Scalar(int64(size-1))))
		hide = e.Do("Or", nil, hide, e.Do("Less", nil, places, first))
	}
	return e.Do("Where", nil, hide, e.Num(q, math.Inf(-1)), e.Num(q, 0))
}
