// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// heads splits the last dimension of [N, S, heads*size] and moves the heads
// forward: [N, heads, S, size].
func heads(e *build.Node, v *ir.Value, heads int, what string) *ir.Value {
	s := v.Type.Shape
	e.Want(heads > 0 && s[2]%heads == 0, "attr-value", "%s of shape %v does not divide into %d heads", what, s, heads)
	return e.Transpose(e.Reshape(v, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
}

// repeatHeads gives every head of [N, heads, S, size] to times query heads.
func repeatHeads(e *build.Node, v *ir.Value, times int) *ir.Value {
	if times == 1 {
		return v
	}
	s := v.Type.Shape
	w := e.Do("Expand", nil, e.Reshape(v, s[0], s[1], 1, s[2], s[3]), e.Ints(s[0], s[1], times, s[2], s[3]))
	return e.Reshape(w, s[0], s[1]*times, s[2], s[3])
}

// attention is scaled dot-product attention as ONNX's function computes it:
// softmax(softcap(Q K^T * scale) + bias) V, with grouped heads, past keys and
// values, masks and padding. Rows that are masked throughout give zeros.
func attention(e *build.Node) []*ir.Value {
	q, k, v := e.Need(0, -1), e.Need(1, -1), e.Need(2, -1)
	for i, x := range []*ir.Value{q, k, v} {
		e.Want(x.Type.Rank() == q.Type.Rank() && (x.Type.Rank() == 3 || x.Type.Rank() == 4), "rank",
			"input %d (%s) has shape %v, want [N, S, heads*size] or [N, heads, S, size], as all three", i, x,
			x.Type.Shape)
		e.Want(x.Type.DType.IsFloat(), "dtype", "input %d (%s) is of type %s, want a floating-point type", i, x,
			x.Type.DType)
	}
	flat := q.Type.Rank() == 3
	qHeads, kvHeads := e.Int("q_num_heads", 0), e.Int("kv_num_heads", 0)
	if flat {
		q, k, v = heads(e, q, qHeads, "Q"), heads(e, k, kvHeads, "K"), heads(e, v, kvHeads, "V")
	}
	qs, ks, vs := q.Type.Shape, k.Type.Shape, v.Type.Shape
	e.Want(qs[0] == ks[0] && ks[0] == vs[0] && qs[3] == ks[3] && ks[1] == vs[1] && ks[2] == vs[2] && ks[1] > 0 &&
		qs[1]%ks[1] == 0 && qs[3] > 0, "shape", "Q %v, K %v and V %v do not belong together: want [N, heads, S, "+
		"size], [N, kv heads, T, size] and [N, kv heads, T, size of values]", qs, ks, vs)
	scale := e.Float("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(qs[3]))
	}
	softcap, causal, mode := e.Float("softcap", 0), e.Bool("is_causal", false), e.Int("qk_matmul_output_mode", 0)
	e.Int("softmax_precision", 0) // every softmax is computed in float32 at least
	e.Want(mode >= 0 && mode <= 3, "attr-value", "qk_matmul_output_mode is %d, want 0 to 3", mode)
	e.Want(scale > 0, "attr-value", "scale is %v, want a positive number", scale)
	past := 0
	if pk, pv := e.Input(4), e.Input(5); pk != nil || pv != nil {
		pk, pv = e.Need(4, 4), e.Need(5, 4)
		past = pk.Type.Shape[2]
		k, v = e.Concat(2, pk, k), e.Concat(2, pv, v)
	}
	presentK, presentV := k, v
	S, T := qs[2], k.Type.Shape[2]
	k, v = repeatHeads(e, k, qs[1]/ks[1]), repeatHeads(e, v, qs[1]/ks[1])
	root := e.Num(q, math.Sqrt(scale))
	scores := e.Do("MatMul", nil, e.Do("Mul", nil, q, root), e.Do("Mul", nil, e.Transpose(k, 0, 1, 3, 2), root))
	stage := []*ir.Value{scores}
	if softcap != 0 {
		bound := e.Num(q, softcap)
		scores = e.Do("Mul", nil, e.Do("Tanh", nil, e.Do("Div", nil, scores, bound)), bound)
	}
	stage = append(stage, scores)
	bias := attentionBias(e, q.Type.DType, S, T, past, causal)
	if bias != nil {
		scores = e.Do("Add", nil, scores, bias)
	}
	stage = append(stage, scores)
	probs := e.Do("Softmax", ir.Attrs{"axis": ir.Int(-1)}, scores)
	if bias != nil {
		top := e.Do("ReduceMax", nil, bias, e.Ints(-1))
		masked := e.Do("Equal", nil, top, e.Num(q, math.Inf(-1)))
		probs = e.Do("Where", nil, masked, e.Num(q, 0), probs)
	}
	stage = append(stage, probs)
	y := e.Do("MatMul", nil, probs, e.Cast(v, q.Type.DType))
	if flat {
		y = e.Reshape(e.Transpose(y, 0, 2, 1, 3), qs[0], S, qs[1]*vs[3])
	}
	return []*ir.Value{y, presentK, presentV, stage[mode]}
}

// attentionBias is what is added to the scores [N, heads, S, T]: the mask,
// minus infinity behind the diagonal when causal and behind the keys that are
// no padding. nil: nothing.
func attentionBias(e *build.Node, d tensor.DType, S, T, past int, causal bool) *ir.Value {
	like := &ir.Value{Type: ir.T(d)}
	zero, inf := e.Num(like, 0), e.Num(like, math.Inf(-1))
	var bias *ir.Value
	plus := func(v *ir.Value) {
		if bias == nil {
			bias = v
		} else {
			bias = e.Do("Add", nil, bias, v)
		}
	}
	if mask := e.Input(3); mask != nil {
		e.Want(mask.Type.Rank() >= 1, "rank", "the mask (%s) is a scalar", mask)
		if mask.Type.DType == tensor.Bool {
			mask = e.Do("Where", nil, mask, zero, inf)
		}
		mask = e.Cast(mask, d)
		if have := mask.Type.Shape[mask.Type.Rank()-1]; have != T && have != 1 {
			e.Want(have < T, "shape", "the mask has %d columns for %d keys", have, T)
			mask = e.Do("Pad", nil, mask, e.Ints(0, T-have), inf, e.Ints(-1))
		}
		plus(mask)
	}
	valid := e.Input(6) // keys that are no padding, per sample
	if valid != nil {
		e.Want(valid.Type.Rank() == 1 && valid.Type.DType == tensor.I64, "shape",
			"nonpad_kv_seqlen (%s) is %s, want int64 of shape [N]", valid, valid.Type)
		valid = within(e, valid, T)
	}
	count := func(shape ...int) *ir.Value { return e.Data(build.Count[int64](shape...)) }
	if causal {
		row, col := count(S, 1), count(T)
		if valid != nil {
			offset := e.Do("Sub", nil, e.Reshape(valid, valid.Type.Shape[0], 1, 1, 1), e.Data(tensor.Scalar(int64(S))))
			row = e.Do("Add", nil, row, offset)
		} else {
			row = e.Do("Add", nil, row, e.Data(tensor.Scalar(int64(past))))
		}
		plus(e.Do("Where", nil, e.Do("Less", nil, row, col), inf, zero))
	}
	if valid != nil {
		padding := e.Do("Less", nil, count(T), e.Reshape(valid, valid.Type.Shape[0], 1, 1, 1))
		plus(e.Do("Where", nil, padding, zero, inf))
	}
	return bias
}

// linearAttention keeps a state S [N, kv heads, size, size of values] instead of
// keys and values: S = exp(decay) S + k u^T, y = scale q^T S, where u is the
// value, or beta times its difference from what the state holds for k. One
// step for every position, in float32, as ONNX's function scans them.
func linearAttention(e *build.Node) []*ir.Value {
	q, k, v := e.Need(0, 3), e.Need(1, 3), e.Need(2, 3)
	hq, hk := e.Int("q_num_heads", 0), e.Int("kv_num_heads", 0)
	rule := e.Str("update_rule", "gated_delta", "linear", "gated", "delta", "gated_delta")
	scale := e.Float("scale", 0)
	e.Int("chunk_size", 64) // how others divide the work
	n, steps := q.Type.Shape[0], q.Type.Shape[1]
	e.Want(hq > 0 && hk > 0 && hq%hk == 0, "attr-value",
		"q_num_heads is %d and kv_num_heads %d, want a multiple of a positive number", hq, hk)
	e.Want(steps >= 1 && steps <= e.Limits.Trips, "flow-trips", "%d positions, want 1 to %d, which are unrolled; %s",
		steps, e.Limits.Trips, model.Raise("trips"))
	dt := q.Type.DType
	part := func(x *ir.Value, heads int, what string) *ir.Value {
		s := x.Type.Shape
		e.Want(len(s) == 3 && s[0] == n && s[1] == steps && heads > 0 && s[2]%heads == 0, "shape",
			"%s (%s) has shape %v, want [%d, %d, a multiple of %d]", what, x, s, n, steps, heads)
		return e.Cast(e.Reshape(x, n, steps, heads, s[2]/heads), tensor.F32)
	}
	q, k, v = part(q, hq, "query"), part(k, hk, "key"), part(v, hk, "value")
	dk, dv := k.Type.Shape[3], v.Type.Shape[3]
	e.Want(q.Type.Shape[3] == dk && dk > 0, "shape", "queries have %d and keys %d elements a head, want the same",
		q.Type.Shape[3], dk)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	var decay, beta *ir.Value
	if rule == "gated" || rule == "gated_delta" {
		decay = part(e.Need(4, 3), hk, "decay")
	}
	if rule == "delta" || rule == "gated_delta" {
		b := e.Need(5, 3)
		beta = e.Cast(e.Reshape(b, n, steps, b.Type.Shape[2], 1), tensor.F32)
	}
	var state *ir.Value
	if s := e.Input(3); s != nil {
		e.Shaped(s, "past_state", n, hk, dk, dv)
		state = e.Cast(s, tensor.F32)
	} else {
		state = e.Data(tensor.New(tensor.F32, []int{n, hk, dk, dv}))
	}
	factor := e.Data(tensor.Scalar(float32(scale)))
	var y []*ir.Value
	for t := range steps {
		at := func(x *ir.Value, rows, cols int) *ir.Value {
			return e.Reshape(e.Cut(x, 1, t, t+1, 1), n, x.Type.Shape[2], rows, cols)
		}
		kt, vt := at(k, dk, 1), at(v, 1, dv)
		if decay != nil {
			state = e.Do("Mul", nil, state, e.Do("Exp", nil, at(decay, decay.Type.Shape[3], 1)))
		}
		if beta != nil {
			held := e.Do("MatMul", nil, e.Transpose(kt, 0, 1, 3, 2), state)
			vt = e.Do("Mul", nil, at(beta, 1, 1), e.Do("Sub", nil, vt, held))
		}
		state = e.Do("Add", nil, state, e.Do("MatMul", nil, kt, vt))
		read := e.Do("MatMul", nil, at(q, 1, dk), repeatHeads(e, state, hq/hk))
		y = append(y, e.Reshape(e.Do("Mul", nil, factor, read), n, 1, hq*dv))
	}
	out := y[0]
	if len(y) > 1 {
		out = e.Concat(1, y...)
	}
	return []*ir.Value{e.Cast(out, dt), e.Cast(state, dt)}
}

// causalConv is a depthwise convolution over [N, C, T] that sees the past only;
// the last samples before are its state.
func causalConv(e *build.Node) []*ir.Value {
	x, w := e.Need(0, 3), e.Need(1, 3)
	act := e.Str("activation", "none", "none", "silu", "swish")
	n, c, taps := x.Type.Shape[0], x.Type.Shape[1], w.Type.Shape[2]
	e.Want(taps >= 1, "shape", "the weights (%s) have shape %v, want at least one tap", w, w.Type.Shape)
	past := e.Input(3)
	if past == nil {
		past = e.Data(tensor.New(x.Type.DType, []int{n, c, taps - 1}))
	}
	e.Shaped(past, "past_state", n, c, taps-1)
	padded := x
	if taps > 1 {
		padded = e.Concat(2, past, x)
	}
	y := e.Do("Conv", ir.Attrs{"group": ir.Int(c)}, padded, w, e.Input(2))
	if act != "none" {
		y = e.Do("Swish", ir.Attrs{"alpha": ir.Float(1)}, y)
	}
	last := padded.Type.Shape[2]
	return []*ir.Value{y, e.Cut(padded, 2, last-(taps-1), last, 1)}
}

// rotaryMicrosoft has its operands in another order, and as positions one for each place or the first one.
func rotaryMicrosoft(e *build.Node) []*ir.Value {
	e.Arity(4, 4)
	x, pos, cos := e.Need(0, -1), e.Need(1, -1), e.Need(2, 2)
	for _, unread := range []string{"is_packed_batching", "scale"} { // as in ONNX Runtime
		e.Take(unread)
	}
	if shape := x.Type.Shape; len(shape) == 3 && e.Attrs["num_heads"].Int == 0 {
		e.Attrs["num_heads"] = ir.Int(shape[2] / max(2*cos.Type.Shape[1], 1))
	}
	if pos.Type.Elems() == 1 && pos.Type.Rank() < 2 {
		places := x.Type.Shape[x.Type.Rank()-2]
		pos = e.Reshape(e.Do("Add", nil, e.Cast(pos, tensor.I64), e.Data(build.Count[int64](places))), 1, places)
	}
	e.In = []*ir.Value{x, cos, e.In[3], pos}
	return rotary(e)
}

// rotary turns pairs of elements of every head by angles that depend on the
// position, given as cosines and sines.
func rotary(e *build.Node) []*ir.Value {
	x, cos, sin := e.Need(0, -1), e.Need(1, -1), e.Need(2, -1)
	interleaved, heads, dim := e.Bool("interleaved", false), e.Int("num_heads", 0), e.Int("rotary_embedding_dim", 0)
	shape := x.Type.Shape
	e.Want(len(shape) == 3 || len(shape) == 4, "rank",
		"input 0 (%s) has shape %v, want [N, S, heads*size] or [N, heads, S, size]", x, shape)
	if len(shape) == 4 {
		x = e.Transpose(x, 0, 2, 1, 3)
	} else {
		e.Want(heads > 0 && shape[2]%heads == 0, "attr-value", "num_heads is %d, which does not divide %d", heads,
			shape[2])
		x = e.Reshape(x, shape[0], shape[1], heads, shape[2]/heads)
	}
	s := x.Type.Shape // [N, S, heads, size]
	if dim == 0 {
		dim = s[3]
	}
	e.Want(dim > 0 && dim <= s[3] && dim%2 == 0, "attr-value",
		"rotary_embedding_dim is %d, want an even number up to %d", dim, s[3])
	angle := func(c *ir.Value, what string) *ir.Value {
		if pos := e.Input(3); pos != nil {
			e.Want(c.Type.Rank() == 2, "rank", "%s has shape %v, want [positions, half]", what, c.Type.Shape)
			c = e.Do("Gather", ir.Attrs{"axis": ir.Int(0)}, c, pos)
		}
		e.Want(c.Type.Rank() == 3 && c.Type.Shape[2] >= dim/2, "shape", "%s gives %v, want [N, S, %d]", what,
			c.Type.Shape, dim/2)
		c = e.Cut(c, 2, 0, dim/2, 1)
		return e.Reshape(c, c.Type.Shape[0], c.Type.Shape[1], 1, dim/2)
	}
	cos, sin = angle(cos, "cos_cache"), angle(sin, "sin_cache")
	turned := e.Cut(x, 3, 0, dim, 1)
	var a, b *ir.Value
	if interleaved {
		a, b = e.Cut(turned, 3, 0, dim, 2), e.Cut(turned, 3, 1, dim, 2)
	} else {
		a, b = e.Cut(turned, 3, 0, dim/2, 1), e.Cut(turned, 3, dim/2, dim, 1)
	}
	re := e.Do("Sub", nil, e.Do("Mul", nil, cos, a), e.Do("Mul", nil, sin, b))
	im := e.Do("Add", nil, e.Do("Mul", nil, sin, a), e.Do("Mul", nil, cos, b))
	var y *ir.Value
	if interleaved {
		pair := []int{s[0], s[1], s[2], dim / 2, 1}
		y = e.Reshape(e.Concat(4, e.Reshape(re, pair...), e.Reshape(im, pair...)), s[0], s[1], s[2], dim)
	} else {
		y = e.Concat(3, re, im)
	}
	if dim < s[3] {
		y = e.Concat(3, y, e.Cut(x, 3, dim, s[3], 1))
	}
	if len(shape) == 4 {
		return []*ir.Value{e.Transpose(y, 0, 2, 1, 3)}
	}
	return []*ir.Value{e.Reshape(y, shape...)}
}
