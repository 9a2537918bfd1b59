// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/bug"
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

// checker walks over the parameters and operands of one command.
type checker struct {
	s          *Segment
	c          *Command
	info       *OpInfo
	word       int
	accesses   []access
	cost, macs uint64
	err        error
}

// access is a range of bytes of the working memory.
type access struct {
	lo, hi uint64
	write  bool
}

// check reports what is wrong with a command, and counts its steps and MACs.
func (s *Segment) check(c *Command) (cost, macs uint64, err error) {
	info := InfoOf(c.Op)
	switch {
	case info == nil:
		return 0, 0, fmt.Errorf("opcode %d is unknown", uint16(c.Op))
	case len(c.Operands) != len(info.Operands):
		return 0, 0, fmt.Errorf("%d operands, want %d", len(c.Operands), len(info.Operands))
	case len(c.Params) != info.Words:
		return 0, 0, fmt.Errorf("%d parameter words, want %d", len(c.Params), info.Words)
	}
	for i, o := range c.Operands {
		what := info.Operands[i]
		if o.Tensor == None {
			if !what.Optional || o.Offset != 0 {
				return 0, 0, fmt.Errorf("operand %s is missing", what.Name)
			}
			continue
		}
		if o.Tensor < 0 || o.Tensor >= len(s.Tensors) {
			return 0, 0, fmt.Errorf("operand %s is tensor %d of %d", what.Name, o.Tensor, len(s.Tensors))
		}
		if isConst := s.Tensors[o.Tensor].Role == Const; what.Const && !isConst || what.Out && isConst {
			return 0, 0, fmt.Errorf("operand %s is a %s tensor", what.Name, s.Tensors[o.Tensor].Role)
		}
		if o.Offset < 0 || o.Offset >= s.Tensors[o.Tensor].Bytes() {
			return 0, 0, fmt.Errorf("operand %s begins at byte %d of %d", what.Name, o.Offset,
				s.Tensors[o.Tensor].Bytes())
		}
	}
	k := &checker{s: s, c: c, info: info}
	info.check(k)
	if k.err == nil && k.word != info.Words {
		panic(bug.Errorf("the check of %s reads another number of parameters than it has", info.Name))
	}
	k.overlaps()
	return k.cost, k.macs, k.err
}

// overlaps: a result may lie on an operand only exactly, and only where the
// operation reads an element before it writes that element.
func (k *checker) overlaps() {
	for i, a := range k.accesses {
		for j, b := range k.accesses {
			if i == j || !a.write || a.lo >= b.hi || b.lo >= a.hi {
				continue
			}
			k.want(k.info.InPlace && !b.write && a.lo == b.lo && a.hi == b.hi, "the result overlaps an operand")
		}
	}
}

// want records the first condition that does not hold.
func (k *checker) want(ok bool, format string, args ...any) {
	if !ok && k.err == nil {
		k.err = fmt.Errorf(format, args...)
	}
}

// i is the next parameter.
func (k *checker) i() int64 {
	v := k.c.Params[k.word]
	k.word++
	return int64(v)
}

// in is the next parameter, which must lie within bounds; otherwise the lower
// bound stands for it.
func (k *checker) in(name string, lo, hi int64) int64 {
	v := k.i()
	if v < lo || v > hi {
		k.want(false, "%s is %d, want %d to %d", name, v, lo, hi)
		return lo
	}
	return v
}

func (k *checker) dim(name string) int64  { return k.in(name, 1, maxDim) }
func (k *checker) byte8(name string)      { k.in(name, -128, 127) }
func (k *checker) flag(name string) int64 { return k.in(name, 0, 1) }

// offset is minus a zero point.
func (k *checker) offset(name string) { k.in(name, -256, 256) }

// clamp is act_min and act_max.
func (k *checker) clamp() {
	lo := k.in("act_min", -128, 127)
	k.in("act_max", lo, 127)
}

// f skips a number of type float64; any value is harmless.
func (k *checker) f() { k.word += Float64.Words() }

func (k *checker) list() (v [MaxDims]int64) {
	for i := range v {
		v[i] = k.i()
	}
	return v
}

// has reports that operand i is there.
func (k *checker) has(i int) bool { return k.c.Operands[i].Tensor != None }

// use is operand i, of which elements lo to hi (both included) of size bytes
// are read or, for an output, written.
func (k *checker) use(i int, lo, hi int64, size uint64) {
	o, what := k.c.Operands[i], k.info.Operands[i]
	if o.Tensor == None {
		k.want(what.Optional, "operand %s is missing", what.Name)
		return
	}
	t := &k.s.Tensors[o.Tensor]
	bytes := uint64(t.Bytes() - o.Offset)
	if lo < 0 || uint64(hi) >= bytes/size || bytes < size {
		k.want(false, "operand %s: elements %d to %d of %d bytes, the tensor has %d bytes from there", what.Name, lo,
			hi, size, bytes)
		return
	}
	k.want(uint64(t.Offset+o.Offset)%min(size, 8) == 0, "operand %s is not aligned to %d bytes", what.Name,
		min(size, 8))
	if t.Role != Const {
		at := uint64(t.Offset + o.Offset)
		k.accesses = append(k.accesses, access{at + uint64(lo)*size, at + uint64(hi+1)*size, what.Out})
	}
}

// all is use of the first n elements.
func (k *checker) all(i int, n, size uint64) {
	if n == 0 || n > MaxBytes {
		k.want(n != 0, "operand %s has no elements", k.info.Operands[i].Name)
		k.want(n <= MaxBytes, "operand %s has too many elements", k.info.Operands[i].Name)
		return
	}
	k.use(i, 0, int64(n)-1, size)
}

// data are the first n elements of size bytes of a constant operand, nil when
// it is absent or too short.
func (k *checker) data(i int, n, size uint64) []byte {
	k.all(i, n, size)
	o := k.c.Operands[i]
	if k.err != nil || o.Tensor == None {
		return nil
	}
	return k.s.Tensors[o.Tensor].Data[o.Offset:][:n*size]
}

// words applies a check to the int32 elements of a constant operand.
func (k *checker) words(i int, n uint64, what string, ok func(v int64) bool) {
	d := k.data(i, n, 4)
	for ; len(d) >= 4; d = d[4:] {
		if v := int64(int32(binary.LittleEndian.Uint32(d))); !ok(v) {
			k.want(false, "operand %s: %s %d is out of range", k.info.Operands[i].Name, what, v)
			return
		}
	}
}

// shifts are the exponents of requantisation.
func (k *checker) shifts(i int, n uint64) {
	k.words(i, n, "shift", func(v int64) bool { return v >= -62 && v <= 31 })
}

// axis checks the positions out*stride - pad + tap*dilation of a window.
func (k *checker) axis(out, stride, pad, kernel, dilation int64) {
	reach := mul(uint64(out-1), uint64(stride)) + mul(uint64(kernel-1), uint64(dilation)) + uint64(max(pad, -pad))
	k.want(reach <= maxReach, "a window reaches %d positions far", reach)
}

// space is an iteration space: rank dimensions with steps for some operands.
type space struct {
	rank  int
	dims  [MaxDims]int64
	count uint64
}

// rank is the next parameter, a number of dimensions.
func (k *checker) rank() int { return int(k.in("rank", 1, MaxDims)) }

// space reads rank and sizes.
func (k *checker) space() space { return k.sizes(k.rank()) }

// sizes reads the sizes of rank dimensions.
func (k *checker) sizes(rank int) space {
	s := space{rank: rank, dims: k.list(), count: 1}
	for d := range s.rank {
		if s.dims[d] < 1 || s.dims[d] > maxDim {
			k.want(false, "dimension %d is %d, want 1 to %d", d, s.dims[d], maxDim)
			s.dims[d] = 1
		}
		s.count = mul(s.count, uint64(s.dims[d]))
	}
	return s
}

// steps reads the steps of operand i over s and claims what they reach from
// element base on. An operand of elements of size bytes.
func (k *checker) steps(i int, s space, base int64, size uint64) {
	k.reach(i, s, k.list(), base, size)
}

func (k *checker) reach(i int, s space, step [MaxDims]int64, base int64, size uint64) {
	lo, hi := base, base
	for d := range s.rank {
		v := step[d]
		if a := max(v, -v); a > maxStep/s.dims[d] {
			k.want(false, "step %d over dimension %d is too large", v, d)
			return
		}
		if v > 0 {
			hi += v * (s.dims[d] - 1)
		} else {
			lo += v * (s.dims[d] - 1)
		}
	}
	if lo < 0 || hi >= MaxBytes {
		k.want(false, "operand %s: elements %d to %d", k.info.Operands[i].Name, lo, hi)
		return
	}
	k.use(i, lo, hi, size)
}

// elem is an element size of data movement.
func (k *checker) elem() uint64 {
	e := k.i()
	if e != 1 && e != 2 && e != 4 && e != 8 {
		k.want(false, "elem is %d, want 1, 2, 4 or 8", e)
		return 1
	}
	return uint64(e)
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
	p := make([]uint64, len(v))
	for i, x := range v {
		p[i] = uint64(x)
	}
	return mul(p...)
}
