package onnx

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// heads splits the last dimension of [N, S, heads*size] and brings the heads
// forward: [N, heads, S, size].
func (e *composer) heads(v *ir.Value, heads int, what string) *ir.Value {
	s := v.Type.Shape
	e.want(heads > 0 && s[2]%heads == 0, "attr-value", "%s of shape %v does not divide into %d heads", what, s, heads)
	return e.transpose(e.reshape(v, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
}

// repeatHeads gives every head of [N, heads, S, size] to times query heads.
func (e *composer) repeatHeads(v *ir.Value, times int) *ir.Value {
	if times == 1 {
		return v
	}
	s := v.Type.Shape
	w := e.do("Expand", nil, e.reshape(v, s[0], s[1], 1, s[2], s[3]), e.ints(s[0], s[1], times, s[2], s[3]))
	return e.reshape(w, s[0], s[1]*times, s[2], s[3])
}

// attention is scaled dot-product attention as ONNX's function computes it:
// softmax(softcap(Q K^T * scale) + bias) V, with grouped heads, past keys and
// values, masks and padding. Rows that are masked throughout give zeros.
func attention(e *composer) []*ir.Value {
	q, k, v := e.need(0, -1), e.need(1, -1), e.need(2, -1)
	for i, x := range []*ir.Value{q, k, v} {
		e.want(x.Type.Rank() == q.Type.Rank() && (x.Type.Rank() == 3 || x.Type.Rank() == 4), "rank", "input %d (%s) has shape %v, want [N, S, heads*size] or [N, heads, S, size], as all three", i, x, x.Type.Shape)
		e.want(x.Type.DType.IsFloat(), "dtype", "input %d (%s) is of type %s, want a floating-point type", i, x, x.Type.DType)
	}
	flat := q.Type.Rank() == 3
	qHeads, kvHeads := e.int("q_num_heads", 0), e.int("kv_num_heads", 0)
	if flat {
		q, k, v = e.heads(q, qHeads, "Q"), e.heads(k, kvHeads, "K"), e.heads(v, kvHeads, "V")
	}
	qs, ks, vs := q.Type.Shape, k.Type.Shape, v.Type.Shape
	e.want(qs[0] == ks[0] && ks[0] == vs[0] && qs[3] == ks[3] && ks[1] == vs[1] && ks[2] == vs[2] && ks[1] > 0 && qs[1]%ks[1] == 0 && qs[3] > 0, "shape",
		"Q %v, K %v and V %v do not belong together: want [N, heads, S, size], [N, kv heads, T, size] and [N, kv heads, T, size of values]", qs, ks, vs)
	scale := e.float("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(qs[3]))
	}
	softcap, causal, mode := e.float("softcap", 0), e.int("is_causal", 0) != 0, e.int("qk_matmul_output_mode", 0)
	e.int("softmax_precision", 0) // every softmax is computed in float32 at least
	e.want(mode >= 0 && mode <= 3, "attr-value", "qk_matmul_output_mode is %d, want 0 to 3", mode)
	e.want(scale > 0, "attr-value", "scale is %v, want a positive number", scale)
	past := 0
	if pk, pv := e.input(4), e.input(5); pk != nil || pv != nil {
		pk, pv = e.need(4, 4), e.need(5, 4)
		past = pk.Type.Shape[2]
		k, v = e.concat(2, pk, k), e.concat(2, pv, v)
	}
	presentK, presentV := k, v
	S, T := qs[2], k.Type.Shape[2]
	k, v = e.repeatHeads(k, qs[1]/ks[1]), e.repeatHeads(v, qs[1]/ks[1])
	root := e.num(q, math.Sqrt(scale))
	scores := e.do("MatMul", nil, e.do("Mul", nil, q, root), e.do("Mul", nil, e.transpose(k, 0, 1, 3, 2), root))
	stage := []*ir.Value{scores}
	if softcap != 0 {
		cap := e.num(q, softcap)
		scores = e.do("Mul", nil, e.do("Tanh", nil, e.do("Div", nil, scores, cap)), cap)
	}
	stage = append(stage, scores)
	bias := e.attentionBias(q.Type.DType, S, T, past, causal)
	if bias != nil {
		scores = e.do("Add", nil, scores, bias)
	}
	stage = append(stage, scores)
	probs := e.do("Softmax", ir.Attrs{"axis": ir.Int(-1)}, scores)
	if bias != nil {
		top := e.do("ReduceMax", nil, bias, e.ints(-1))
		masked := e.do("Equal", nil, top, e.num(q, math.Inf(-1)))
		probs = e.do("Where", nil, masked, e.num(q, 0), probs)
	}
	stage = append(stage, probs)
	y := e.do("MatMul", nil, probs, e.cast(v, q.Type.DType))
	if flat {
		y = e.reshape(e.transpose(y, 0, 2, 1, 3), qs[0], S, qs[1]*vs[3])
	}
	return []*ir.Value{y, presentK, presentV, stage[mode]}
}

// attentionBias is what is added to the scores [N, heads, S, T]: the mask,
// minus infinity behind the diagonal when causal and behind the keys that are
// no padding. nil: nothing.
func (e *composer) attentionBias(d tensor.DType, S, T, past int, causal bool) *ir.Value {
	like := &ir.Value{Type: ir.T(d)}
	zero, inf := e.num(like, 0), e.num(like, math.Inf(-1))
	var bias *ir.Value
	plus := func(v *ir.Value) {
		if bias == nil {
			bias = v
		} else {
			bias = e.do("Add", nil, bias, v)
		}
	}
	if mask := e.input(3); mask != nil {
		e.want(mask.Type.Rank() >= 1, "rank", "the mask (%s) is a scalar", mask)
		if mask.Type.DType == tensor.Bool {
			mask = e.do("Where", nil, mask, zero, inf)
		}
		mask = e.cast(mask, d)
		if have := mask.Type.Shape[mask.Type.Rank()-1]; have != T && have != 1 {
			e.want(have < T, "shape", "the mask has %d columns for %d keys", have, T)
			mask = e.do("Pad", nil, mask, e.ints(0, T-have), inf, e.ints(-1))
		}
		plus(mask)
	}
	valid := e.input(6) // keys that are no padding, per sample
	if valid != nil {
		e.want(valid.Type.Rank() == 1 && valid.Type.DType == tensor.I64, "shape", "nonpad_kv_seqlen (%s) is %s, want int64 of shape [N]", valid, valid.Type)
	}
	count := func(n int, shape ...int) *ir.Value {
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(i)
		}
		return e.data(tensor.Of(shape, v))
	}
	if causal {
		row, col := count(S, S, 1), count(T, T)
		if valid != nil {
			offset := e.do("Sub", nil, e.reshape(valid, valid.Type.Shape[0], 1, 1, 1), e.data(tensor.Scalar(int64(S))))
			row = e.do("Add", nil, row, offset)
		} else {
			row = e.do("Add", nil, row, e.data(tensor.Scalar(int64(past))))
		}
		plus(e.do("Where", nil, e.do("Less", nil, row, col), inf, zero))
	}
	if valid != nil {
		padding := e.do("Less", nil, count(T, T), e.reshape(valid, valid.Type.Shape[0], 1, 1, 1))
		plus(e.do("Where", nil, padding, zero, inf))
	}
	return bias
}

// linearAttention keeps a state S [N, kv heads, size, size of values] instead of
// keys and values: S = exp(decay) S + k u^T, y = scale q^T S, where u is the
// value, or beta times its difference from what the state holds for k. One
// step for every position, in float32, as ONNX's function scans them.
func linearAttention(e *composer) []*ir.Value {
	q, k, v := e.need(0, 3), e.need(1, 3), e.need(2, 3)
	hq, hk := e.int("q_num_heads", 0), e.int("kv_num_heads", 0)
	rule := e.str("update_rule", "gated_delta", "linear", "gated", "delta", "gated_delta")
	scale := e.float("scale", 0)
	e.int("chunk_size", 64) // how others divide the work
	n, steps := q.Type.Shape[0], q.Type.Shape[1]
	e.want(hq > 0 && hk > 0 && hq%hk == 0, "attr-value", "q_num_heads is %d and kv_num_heads %d, want a multiple of a positive number", hq, hk)
	e.want(steps >= 1 && steps <= e.im.lim.Trips, "flow-trips", "%d positions, want 1 to %d, which are unrolled; %s", steps, e.im.lim.Trips, raise("trips"))
	dt := q.Type.DType
	part := func(x *ir.Value, heads int, what string) *ir.Value {
		s := x.Type.Shape
		e.want(len(s) == 3 && s[0] == n && s[1] == steps && heads > 0 && s[2]%heads == 0, "shape", "%s (%s) has shape %v, want [%d, %d, a multiple of %d]", what, x, s, n, steps, heads)
		return e.cast(e.reshape(x, n, steps, heads, s[2]/heads), tensor.F32)
	}
	q, k, v = part(q, hq, "query"), part(k, hk, "key"), part(v, hk, "value")
	dk, dv := k.Type.Shape[3], v.Type.Shape[3]
	e.want(q.Type.Shape[3] == dk && dk > 0, "shape", "queries have %d and keys %d elements a head, want the same", q.Type.Shape[3], dk)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	var decay, beta *ir.Value
	if rule == "gated" || rule == "gated_delta" {
		decay = part(e.need(4, 3), hk, "decay")
	}
	if rule == "delta" || rule == "gated_delta" {
		b := e.need(5, 3)
		beta = e.cast(e.reshape(b, n, steps, b.Type.Shape[2], 1), tensor.F32)
	}
	var state *ir.Value
	if s := e.input(3); s != nil {
		e.shaped(s, "past_state", n, hk, dk, dv)
		state = e.cast(s, tensor.F32)
	} else {
		state = e.data(tensor.New(tensor.F32, []int{n, hk, dk, dv}))
	}
	factor := e.data(tensor.Scalar(float32(scale)))
	var y []*ir.Value
	for t := range steps {
		at := func(x *ir.Value, rows, cols int) *ir.Value {
			return e.reshape(e.cut(x, 1, t, t+1, 1), n, x.Type.Shape[2], rows, cols)
		}
		kt, vt := at(k, dk, 1), at(v, 1, dv)
		if decay != nil {
			state = e.do("Mul", nil, state, e.do("Exp", nil, at(decay, decay.Type.Shape[3], 1)))
		}
		if beta != nil {
			held := e.do("MatMul", nil, e.transpose(kt, 0, 1, 3, 2), state)
			vt = e.do("Mul", nil, at(beta, 1, 1), e.do("Sub", nil, vt, held))
		}
		state = e.do("Add", nil, state, e.do("MatMul", nil, kt, vt))
		read := e.do("MatMul", nil, at(q, 1, dk), e.repeatHeads(state, hq/hk))
		y = append(y, e.reshape(e.do("Mul", nil, factor, read), n, 1, hq*dv))
	}
	out := y[0]
	if len(y) > 1 {
		out = e.concat(1, y...)
	}
	return []*ir.Value{e.cast(out, dt), e.cast(state, dt)}
}

// causalConv is a depthwise convolution over [N, C, T] that sees the past only;
// the last samples before are its state.
func causalConv(e *composer) []*ir.Value {
	x, w := e.need(0, 3), e.need(1, 3)
	act := e.str("activation", "none", "none", "silu", "swish")
	n, c, taps := x.Type.Shape[0], x.Type.Shape[1], w.Type.Shape[2]
	e.want(taps >= 1, "shape", "the weights (%s) have shape %v, want at least one tap", w, w.Type.Shape)
	past := e.input(3)
	if past == nil {
		past = e.data(tensor.New(x.Type.DType, []int{n, c, taps - 1}))
	}
	e.shaped(past, "past_state", n, c, taps-1)
	padded := x
	if taps > 1 {
		padded = e.concat(2, past, x)
	}
	y := e.do("Conv", ir.Attrs{"group": ir.Int(c)}, padded, w, e.input(2))
	if act != "none" {
		y = e.do("Swish", ir.Attrs{"alpha": ir.Float(1)}, y)
	}
	last := padded.Type.Shape[2]
	return []*ir.Value{y, e.cut(padded, 2, last-(taps-1), last, 1)}
}

// rotary turns pairs of elements of every head by angles that depend on the
// position, given as cosines and sines.
func rotary(e *composer) []*ir.Value {
	x, cos, sin := e.need(0, -1), e.need(1, -1), e.need(2, -1)
	interleaved, heads, dim := e.int("interleaved", 0) != 0, e.int("num_heads", 0), e.int("rotary_embedding_dim", 0)
	shape := x.Type.Shape
	e.want(len(shape) == 3 || len(shape) == 4, "rank", "input 0 (%s) has shape %v, want [N, S, heads*size] or [N, heads, S, size]", x, shape)
	if len(shape) == 4 {
		x = e.transpose(x, 0, 2, 1, 3)
	} else {
		e.want(heads > 0 && shape[2]%heads == 0, "attr-value", "num_heads is %d, which does not divide %d", heads, shape[2])
		x = e.reshape(x, shape[0], shape[1], heads, shape[2]/heads)
	}
	s := x.Type.Shape // [N, S, heads, size]
	if dim == 0 {
		dim = s[3]
	}
	e.want(dim > 0 && dim <= s[3] && dim%2 == 0, "attr-value", "rotary_embedding_dim is %d, want an even number up to %d", dim, s[3])
	angle := func(c *ir.Value, what string) *ir.Value {
		if pos := e.input(3); pos != nil {
			e.want(c.Type.Rank() == 2, "rank", "%s has shape %v, want [positions, half]", what, c.Type.Shape)
			c = e.do("Gather", ir.Attrs{"axis": ir.Int(0)}, c, pos)
		}
		e.want(c.Type.Rank() == 3 && c.Type.Shape[2] >= dim/2, "shape", "%s gives %v, want [N, S, %d]", what, c.Type.Shape, dim/2)
		c = e.cut(c, 2, 0, dim/2, 1)
		return e.reshape(c, c.Type.Shape[0], c.Type.Shape[1], 1, dim/2)
	}
	cos, sin = angle(cos, "cos_cache"), angle(sin, "sin_cache")
	turned := e.cut(x, 3, 0, dim, 1)
	var a, b *ir.Value
	if interleaved {
		a, b = e.cut(turned, 3, 0, dim, 2), e.cut(turned, 3, 1, dim, 2)
	} else {
		a, b = e.cut(turned, 3, 0, dim/2, 1), e.cut(turned, 3, dim/2, dim, 1)
	}
	re := e.do("Sub", nil, e.do("Mul", nil, cos, a), e.do("Mul", nil, sin, b))
	im := e.do("Add", nil, e.do("Mul", nil, sin, a), e.do("Mul", nil, cos, b))
	var y *ir.Value
	if interleaved {
		pair := []int{s[0], s[1], s[2], dim / 2, 1}
		y = e.reshape(e.concat(4, e.reshape(re, pair...), e.reshape(im, pair...)), s[0], s[1], s[2], dim)
	} else {
		y = e.concat(3, re, im)
	}
	if dim < s[3] {
		y = e.concat(3, y, e.cut(x, 3, dim, s[3], 1))
	}
	if len(shape) == 4 {
		return []*ir.Value{e.transpose(y, 0, 2, 1, 3)}
	}
	return []*ir.Value{e.reshape(y, shape...)}
}

// swiglu is Swish(a) * b.
func swiglu(e *composer) []*ir.Value {
	a := e.do("Swish", ir.Attrs{"alpha": ir.Float(float32(e.float("alpha", 1)))}, e.need(0, -1))
	return []*ir.Value{e.do("Mul", nil, a, e.need(1, -1))}
}
