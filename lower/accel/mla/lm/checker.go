// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// The checks of this file and of check_ops.go are those of the driver
// (runtime_c/src/mla): every size, step and index of a command is held against
// the tensors it names, so that no command can read or write outside of them,
// overflow an int32, or run for ever. Both are tested against each other.

const (
	maxDim   = 1 << 24 // of a size, a pad, a count
	maxReach = 1 << 29 // of a position in a feature map
	maxStep  = 1 << 30 // of a stride times its dimension, in elements
	maxArea  = 1 << 22 // of elements that are summed in 32 bits
)

// checker looks at the parameters and operands of one command.
type checker struct {
	s          *Segment
	c          *Command
	info       *OpInfo
	at         map[string]int   // where parameters begin
	values     map[string]int64 // of one word, within their ranges
	accesses   []access
	cost, macs uint64
}

// access is a range of bytes of the working memory.
type access struct {
	lo, hi uint64
	write  bool
}

// check reports what is wrong with a command, and counts its steps and MACs.
func (s *Segment) check(c *Command) (cost, macs uint64, err error) {
	defer fail.Catch(&err)
	info := InfoOf(c.Op)
	want(info != nil, "opcode %d is unknown", uint16(c.Op))
	want(len(c.Operands) == len(info.Operands), "%d operands, want %d", len(c.Operands), len(info.Operands))
	want(len(c.Params) == info.Words, "%d parameter words, want %d", len(c.Params), info.Words)
	for i, o := range c.Operands {
		what := info.Operands[i]
		if o.Tensor == None {
			want(what.Optional && o.Offset == 0, "operand %s is missing", what.Name)
			continue
		}
		want(o.Tensor >= 0 && o.Tensor < len(s.Tensors), "operand %s is tensor %d of %d", what.Name, o.Tensor,
			len(s.Tensors))
		t := &s.Tensors[o.Tensor]
		isConst := t.Role == Const
		want((isConst || !what.Const) && !(isConst && what.Out), "operand %s is a %s tensor", what.Name, t.Role)
		want(o.Offset >= 0 && o.Offset < t.Bytes(), "operand %s begins at byte %d of %d", what.Name, o.Offset,
			t.Bytes())
	}
	k := &checker{s: s, c: c, info: info, at: map[string]int{}, values: map[string]int64{}}
	k.params()
	for i, o := range info.Operands {
		if o.count != "" {
			n := k.of(o.count)
			if k.all(i, n, k.of(o.size)); o.Out {
				k.cost = n
			}
		}
	}
	if info.check != nil {
		info.check(k)
	}
	k.overlaps()
	return k.cost, k.macs, nil
}

// overlaps: a result may lie on an operand only exactly, and only where the
// operation reads an element before it writes that element.
func (k *checker) overlaps() {
	for i, a := range k.accesses {
		for j, b := range k.accesses {
			if i == j || !a.write || a.lo >= b.hi || b.lo >= a.hi {
				continue
			}
			want(k.info.InPlace && !b.write && a.lo == b.lo && a.hi == b.hi, "the result overlaps an operand")
		}
	}
}

// dim, byte8 (a zero point), offset (minus one), flag, shift (of a requantisation) and other are
// ranges that several parameters have.
var (
	dim    = [2]int64{1, maxDim}
	byte8  = [2]int64{-128, 127}
	offset = [2]int64{-256, 256}
	flag   = [2]int64{0, 1}
	shift  = [2]int64{-62, 31}
	other  = [2]int64{math.MinInt32, math.MaxInt32}
	step   = [2]int64{0, maxStep}
)

// ranges are those of parameters of one word, of an operation where its name stands in
// front; all others are sizes.
var ranges = map[string][2]int64{
	"pad_top": {-maxDim, maxDim}, "pad_left": {-maxDim, maxDim}, "pad_bottom": {0, maxDim}, "pad_right": {0, maxDim},
	"AVG_POOL pad_top": {0, maxDim}, "AVG_POOL pad_left": {0, maxDim}, "MAX_POOL pad_top": {0, maxDim},
	"MAX_POOL pad_left": {0, maxDim}, "MAX_POOL_BF16 pad_top": {0, maxDim}, "MAX_POOL_BF16 pad_left": {0, maxDim},
	"transposed": flag, "per_column": flag, "count_include_pad": flag, "rescale": flag, "select_last": flag,
	"LAYER_NORM center": flag, "center": byte8, "zero": byte8, "in_zero": byte8, "a_zero": byte8, "b_zero": byte8,
	"out_zero": byte8, "out_offset": byte8, "outside": byte8, "act_min": byte8, "act_max": byte8,
	"in_offset": offset, "a_offset": offset, "b_offset": offset, "offset1": offset, "offset2": offset,
	"a_batch0": step, "a_batch1": step, "a_m": step, "a_k": step, "b_batch0": step, "b_batch1": step, "b_k": step,
	"b_n": step, "y_batch0": step, "y_batch1": step, "y_m": step, "y_n": step,
	"mult": other, "mult1": other, "mult2": other, "out_mult": other, "SOFTMAX mult": {0, math.MaxInt32},
	"shift": shift, "shift1": shift, "shift2": shift, "out_shift": shift, "left_shift": {0, 22},
	"SOFTMAX shift": {0, 31}, "SUM shift": {0, 31}, "LAYER_NORM shift": {1, 24}, "GROUP_NORM shift": {1, 24},
	"diff_min": {-(1 << 30), 0}, "eps": {0, math.MaxInt32}, "eps_shift": {0, 31}, "up": {-62, 62}, "root": {-62, 124},
	"len": {1, maxArea}, "count": {1, MaxBytes}, "GATHER count": dim, "block": {1, MaxBytes}, "x_pitch": {0, MaxBytes},
	"y_pitch": {0, MaxBytes}, "x_offset": {0, maxReach}, "y_offset": {0, maxReach}, "den": {1, maxReach},
	"rank": {1, MaxDims}, "mode": {0, 3}, "BINARY op": {0, 6}, "op": {0, 2}, "elem": {1, 8}, "index_bytes": other,
}

// params holds the parameters against their ranges. Any number of type float64 is harmless.
func (k *checker) params() {
	at := 0
	for _, f := range k.info.Fields {
		k.at[f.Name] = at
		if f.Kind == Int {
			r, ok := ranges[k.info.Name+" "+f.Name]
			if !ok {
				if r, ok = ranges[f.Name]; !ok {
					r = dim
				}
			}
			v := int64(k.c.Params[at])
			want(v >= r[0] && v <= r[1], "%s is %d, want %d to %d", f.Name, v, r[0], r[1])
			k.values[f.Name] = v
		}
		at += f.Kind.Words()
	}
	want(k.values["act_min"] <= k.values["act_max"], "act_min is %d, act_max %d", k.values["act_min"],
		k.values["act_max"])
	e := k.values["elem"]
	want(e&(e-1) == 0, "elem is %d, want 1, 2, 4 or 8", e)
}

// v is a parameter of one word.
func (k *checker) v(name string) int64 {
	v, ok := k.values[name]
	bug.If(!ok, "%s has no parameter %s", k.info.Name, name)
	return v
}

// of is the product of parameters and numbers.
func (k *checker) of(names string) uint64 {
	p := uint64(1)
	for _, name := range strings.Fields(names) {
		n, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			n = uint64(k.v(name))
		}
		p = mul(p, n)
	}
	return p
}

func (k *checker) list(name string) (v [MaxDims]int64) {
	for i := range v {
		v[i] = int64(k.c.Params[k.at[name]+i])
	}
	return v
}

func (k *checker) has(i int) bool { return k.c.Operands[i].Tensor != None }

// use is operand i, of which elements lo to hi (both included) of size bytes
// are read or, for an output, written.
func (k *checker) use(i int, lo, hi int64, size uint64) {
	o, what := k.c.Operands[i], k.info.Operands[i]
	if o.Tensor == None {
		want(what.Optional, "operand %s is missing", what.Name)
		return
	}
	t := &k.s.Tensors[o.Tensor]
	bytes := uint64(t.Bytes() - o.Offset)
	want(lo >= 0 && uint64(hi) < bytes/size && bytes >= size,
		"operand %s: elements %d to %d of %d bytes, the tensor has %d bytes from there", what.Name, lo, hi, size, bytes)
	want(uint64(t.Offset+o.Offset)%min(size, 8) == 0, "operand %s is not aligned to %d bytes", what.Name,
		min(size, 8))
	if t.Role != Const {
		at := uint64(t.Offset + o.Offset)
		k.accesses = append(k.accesses, access{at + uint64(lo)*size, at + uint64(hi+1)*size, what.Out})
	}
}

// all is use of the first n elements.
func (k *checker) all(i int, n, size uint64) {
	want(n != 0, "operand %s has no elements", k.info.Operands[i].Name)
	want(n <= MaxBytes, "operand %s has too many elements", k.info.Operands[i].Name)
	k.use(i, 0, int64(n)-1, size)
}

// data are the first n elements of size bytes of a constant operand, nil when
// it is absent.
func (k *checker) data(i int, n, size uint64) []byte {
	k.all(i, n, size)
	o := k.c.Operands[i]
	if o.Tensor == None {
		return nil
	}
	return k.s.Tensors[o.Tensor].Data[o.Offset:][:n*size]
}

// words applies a check to the int32 elements of a constant operand.
func (k *checker) words(i int, n uint64, what string, ok func(v int64) bool) {
	d := k.data(i, n, 4)
	for ; len(d) >= 4; d = d[4:] {
		v := int64(int32(binary.LittleEndian.Uint32(d)))
		want(ok(v), "operand %s: %s %d is out of range", k.info.Operands[i].Name, what, v)
	}
}

// shifts are the exponents of requantisation.
func (k *checker) shifts(i int, n uint64) {
	k.words(i, n, "shift", func(v int64) bool { return v >= -62 && v <= 31 })
}

// axis checks the positions out*stride - pad + tap*dilation of a window.
func (k *checker) axis(out, stride, pad, kernel, dilation string) {
	reach := u(k.v(out)-1, k.v(stride)) + u(k.v(kernel)-1, k.v(dilation)) + uint64(max(k.v(pad), -k.v(pad)))
	want(reach <= maxReach, "a window reaches %d positions far", reach)
}

// space is an iteration space: rank dimensions with steps for some operands.
type space struct {
	rank  int
	dims  [MaxDims]int64
	count uint64
}

// sizes are those of rank dimensions in a list.
func (k *checker) sizes(name string) space {
	s := space{rank: int(k.v("rank")), dims: k.list(name), count: 1}
	for d := range s.rank {
		want(s.dims[d] >= 1 && s.dims[d] <= maxDim, "dimension %d is %d, want 1 to %d", d, s.dims[d], maxDim)
		s.count = mul(s.count, uint64(s.dims[d]))
	}
	return s
}

// reach claims what steps over s reach in operand i, of elements of size bytes, from
// element base on.
func (k *checker) reach(i int, s space, step [MaxDims]int64, base int64, size uint64) {
	lo, hi := base, base
	for d := range s.rank {
		v := step[d]
		want(max(v, -v) <= maxStep/s.dims[d], "step %d over dimension %d is too large", v, d)
		if v > 0 {
			hi += v * (s.dims[d] - 1)
		} else {
			lo += v * (s.dims[d] - 1)
		}
	}
	want(lo >= 0 && hi < MaxBytes, "operand %s: elements %d to %d", k.info.Operands[i].Name, lo, hi)
	k.use(i, lo, hi, size)
}

// mul is a product that stays at its largest value instead of wrapping.
func mul(v ...uint64) uint64 {
	p := uint64(1)
	for _, x := range v {
		if x != 0 && p > math.MaxInt64/x {
			return math.MaxInt64
		}
		p *= x
	}
	return p
}

// u are the arguments as unsigned numbers; the checks have seen to it that they
// are not negative.
func u(v ...int64) uint64 {
	p := lists.Each(v, func(x int64) uint64 { return uint64(x) })
	return mul(p...)
}
