package qref

import "github.com/nncc/nncc/ir/fixp"

// FCParams describes an int8 fully connected layer, as
// arm_fully_connected_wrapper_s8 takes it.
type FCParams struct {
	Rows           int // batches
	Depth          int // accumulation depth
	Cols           int // outputs per row
	InputOffset    int32
	FilterOffset   int32 // minus the filter zero point
	OutputOffset   int32
	ActMin, ActMax int32
	Mult, Shift    []int32       // one element, or Cols of them for per-channel quantisation
	Rounding       fixp.Rounding // of the library: twice unless it was built otherwise
}

// FullyConnected computes out[r][j] from in [Rows][Depth], filter [Cols][Depth]
// and bias [Cols] (nil for none). Source: arm_fully_connected_s8 and
// arm_fully_connected_per_channel_s8.
func FullyConnected(p *FCParams, in, filter []int8, bias []int32, out []int8) error {
	if err := checkFC("FullyConnected", p, len(in), len(filter), len(bias), len(out)); err != nil {
		return err
	}
	matMul(p, in, filter, bias, out)
	return nil
}

func checkFC(name string, p *FCParams, in, filter, bias, out int) error {
	if p.Rows < 1 || p.Depth < 1 || p.Cols < 1 {
		return badArgs(name, "rows %d, depth %d and outputs %d must be positive", p.Rows, p.Depth, p.Cols)
	}
	if len(p.Mult) != len(p.Shift) || len(p.Mult) != 1 && len(p.Mult) != p.Cols {
		return badArgs(name, "%d multipliers and %d shifts, want 1 or %d of each", len(p.Mult), len(p.Shift), p.Cols)
	}
	return firstErr(checkLen(name, "input", in, p.Rows*p.Depth), checkLen(name, "filter", filter, p.Cols*p.Depth),
		checkOptional(name, "bias", bias, p.Cols), checkLen(name, "output", out, p.Rows*p.Cols))
}

// matMul is FullyConnected on checked arguments.
func matMul(p *FCParams, in, filter []int8, bias []int32, out []int8) {
	if len(bias) == 0 {
		bias = nil
	}
	step := 1
	if len(p.Mult) == 1 {
		step = 0
	}
	parallel(p.Rows, p.Rows*p.Cols*p.Depth, func(from, to int) {
		x := make([]int32, p.Depth)
		var folded []int32
		for r := from; r < to; r++ {
			widen(x, in[r*p.Depth:], p.InputOffset)
			b := bias
			if p.FilterOffset != 0 {
				// sum x*(w+o) = sum x*w + o*sum x, modulo 2^32 in either order
				var sum int32
				for _, v := range x {
					sum += v
				}
				if folded == nil {
					folded = make([]int32, p.Cols)
				}
				clear(folded)
				copy(folded, bias)
				for j := range folded {
					folded[j] += sum * p.FilterOffset
				}
				b = folded
			}
			matRow(p.Rounding, x, filter, b, p.Mult, p.Shift, step, p.OutputOffset, p.ActMin, p.ActMax,
				out[r*p.Cols:(r+1)*p.Cols])
		}
	})
}

// BatchMatMulParams describes an int8 product of two activations, as
// arm_batch_matmul_s8 takes it: Left {N, H, rows, depth}, Right transposed
// {N, H, columns, depth}; N and H of 1 broadcast.
type BatchMatMulParams struct {
	Left, Right    Dims
	LeftOffset     int32
	RightOffset    int32
	OutputOffset   int32
	ActMin, ActMax int32
	Mult, Shift    int32
	Rounding       fixp.Rounding // of the library: twice unless it was built otherwise
}

// OutDims are the dimensions of the product: {N, H, rows, columns}.
func (p *BatchMatMulParams) OutDims() Dims {
	return Dims{max(p.Left.N, p.Right.N), max(p.Left.H, p.Right.H), p.Left.W, p.Right.W}
}

// BatchMatMul multiplies two batches of matrices. Source: arm_batch_matmul_s8.
func BatchMatMul(p *BatchMatMulParams, left, right, out []int8) error {
	if err := p.check("BatchMatMul", len(left), len(right), len(out)); err != nil {
		return err
	}
	fc := FCParams{Rows: p.Left.W, Depth: p.Left.C, Cols: p.Right.W, InputOffset: p.LeftOffset,
		FilterOffset: p.RightOffset,
		OutputOffset: p.OutputOffset, ActMin: p.ActMin, ActMax: p.ActMax, Mult: []int32{p.Mult},
		Shift: []int32{p.Shift}, Rounding: p.Rounding}
	return p.each(func(l, r, o int) error {
		matMul(&fc, left[l:][:fc.Rows*fc.Depth], right[r:][:fc.Cols*fc.Depth], nil, out[o:][:fc.Rows*fc.Cols])
		return nil
	})
}

func (p *BatchMatMulParams) check(name string, left, right, out int) error {
	if err := firstErr(checkDims(name, "left input", p.Left), checkDims(name, "right input", p.Right)); err != nil {
		return err
	}
	o := p.OutDims()
	if p.Left.C != p.Right.C || !broadcasts(p.Left.N, o.N) || !broadcasts(p.Left.H, o.H) ||
		!broadcasts(p.Right.N, o.N) || !broadcasts(p.Right.H, o.H) {
		return badArgs(name, "left %v and transposed right %v do not fit", p.Left, p.Right)
	}
	return firstErr(checkLen(name, "left input", left, p.Left.Size()), checkLen(name, "right input", right,
		p.Right.Size()),
		checkLen(name, "output", out, o.Size()))
}

// each calls f with the offsets of the matrices of every product.
func (p *BatchMatMulParams) each(f func(left, right, out int) error) error {
	o := p.OutDims()
	ls, rs := p.Left.W*p.Left.C, p.Right.W*p.Right.C
	at := 0
	for n := range o.N {
		for h := range o.H {
			if err := f((n%p.Left.N*p.Left.H+h%p.Left.H)*ls, (n%p.Right.N*p.Right.H+h%p.Right.H)*rs, at); err != nil {
				return err
			}
			at += o.W * o.C
		}
	}
	return nil
}

func broadcasts(d, out int) bool { return d == out || d == 1 }

// KernelSums are the values that the MVE build of CMSIS-NN wants in the context
// buffer of a fully connected layer: for each of "cols" filter rows, the row's
// sum (with the filter offset) times the input offset, plus the bias. They are
// constants of the model. Source: arm_vector_sum_s8.
func KernelSums(cols, depth int, filter []int8, inputOffset, filterOffset int32, bias []int32) []int32 {
	sums := make([]int32, cols)
	copy(sums, bias)
	for j := range sums {
		s := int32(depth) * filterOffset
		for _, v := range filter[j*depth:][:depth] {
			s += int32(v)
		}
		sums[j] += s * inputOffset
	}
	return sums
}
