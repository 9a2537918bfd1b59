// SPDX-License-Identifier: Apache-2.0

package qref

// AxisParams are the three dimensions of an operator along the middle one,
// nncc_axis_s8_params.
type AxisParams struct{ Outer, Axis, Inner int32 }

func (p *AxisParams) size() int { return int(p.Outer) * int(p.Axis) * int(p.Inner) }

func (p *AxisParams) check(name string, x, y, want int) error {
	if min(p.Outer, p.Axis, p.Inner) < 1 {
		return badArgs(name, "dimensions %d, %d, %d, want at least 1 each", p.Outer, p.Axis, p.Inner)
	}
	return firstErr(checkLen(name, "input", x, p.size()), checkLen(name, "output", y, want))
}

// each calls f for every line along the axis, in output order, with the
// position of its first element; elements are Inner apart.
func (p *AxisParams) each(f func(line, at int)) {
	for o := range int(p.Outer) {
		for i := range int(p.Inner) {
			f(o*int(p.Inner)+i, o*int(p.Axis)*int(p.Inner)+i)
		}
	}
}

// ReduceParams is nncc_reduce_s8_params. Divisor is 1 for a sum and the number
// of elements for a mean.
type ReduceParams struct {
	InScale, OutScale        float64
	Bias                     int64
	Outer, Axis, Inner       int32
	Divisor                  int32
	InZero, OutZero, Rescale int32
	ActMin, ActMax           int32
	Mult, Shift              int32 // another way to the same results in C
}

// SetQuant sets the scales and zero points.
func (p *ReduceParams) SetQuant(in, out QP) {
	p.InScale, p.OutScale, p.Rescale = float64(in.Scale), float64(out.Scale), boolInt(in.Scale != out.Scale)
	p.InZero, p.OutZero = in.Zero, out.Zero
}

// ReduceSum is nncc_reduce_sum_s8: sums and means along an axis.
func ReduceSum(p *ReduceParams, x, y []int8) error {
	a := &AxisParams{p.Outer, p.Axis, p.Inner}
	if err := firstErr(checkClamp("ReduceSum", p.ActMin, p.ActMax), a.check("ReduceSum", len(x), len(y),
		int(p.Outer*p.Inner))); err != nil {
		return err
	}
	if p.Divisor < 1 {
		return badArgs("ReduceSum", "divisor %d, want at least 1", p.Divisor)
	}
	a.each(func(line, at int) {
		var acc int32
		for k := range int(p.Axis) {
			acc += int32(x[at+k*int(p.Inner)]) - p.InZero
		}
		if p.Rescale != 0 {
			y[line] = meanScaledS8(acc, p.InScale, p.Divisor, p.OutScale, p.OutZero, p.ActMin, p.ActMax)
		} else {
			y[line] = meanS8(acc, p.Divisor, p.OutZero, p.ActMin, p.ActMax)
		}
	})
	return nil
}

// ReduceSum16 is nncc_reduce_sum_s16: sums and means of int16 values along an
// axis of at most 8192.
func ReduceSum16(p *ReduceParams, x, y []int16) error {
	const name = "ReduceSum16"
	a := &AxisParams{p.Outer, p.Axis, p.Inner}
	if err := a.check(name, len(x), len(y), int(p.Outer*p.Inner)); err != nil {
		return err
	}
	if p.Divisor < 1 || p.Axis > MaxReduce16 {
		return badArgs(name, "divisor %d, axis %d, want at least 1 and at most %d", p.Divisor, p.Axis, MaxReduce16)
	}
	a.each(func(line, at int) {
		var acc int32
		for k := range int(p.Axis) {
			acc += int32(x[at+k*int(p.Inner)]) - p.InZero
		}
		v := float64(acc) * p.InScale
		v /= float64(p.Divisor)
		y[line] = int16(roundAway(v/p.OutScale, p.OutZero, p.ActMin, p.ActMax))
	})
	return nil
}

// ReduceMax is nncc_reduce_max_s8; input and output have one quantisation.
func ReduceMax(p *AxisParams, x, y []int8) error {
	return reduceOrder("ReduceMax", p, x, y, func(a, b int8) int8 { return max(a, b) })
}

// ReduceMin is nncc_reduce_min_s8; input and output have one quantisation.
func ReduceMin(p *AxisParams, x, y []int8) error {
	return reduceOrder("ReduceMin", p, x, y, func(a, b int8) int8 { return min(a, b) })
}

func reduceOrder(name string, p *AxisParams, x, y []int8, pick func(a, b int8) int8) error {
	if err := p.check(name, len(x), len(y), int(p.Outer*p.Inner)); err != nil {
		return err
	}
	p.each(func(line, at int) {
		best := x[at]
		for k := range int(p.Axis) {
			best = pick(best, x[at+k*int(p.Inner)])
		}
		y[line] = best
	})
	return nil
}

// ArgParams is nncc_arg_s8_params.
type ArgParams struct{ Outer, Axis, Inner, SelectLast int32 }

// ArgMax is nncc_argmax_s8: positions of the largest elements along an axis.
func ArgMax(p *ArgParams, x []int8, y []int64) error {
	return arg("ArgMax", p, x, y, func(v, best int8) bool { return v > best })
}

// ArgMin is nncc_argmin_s8: positions of the smallest elements along an axis.
func ArgMin(p *ArgParams, x []int8, y []int64) error {
	return arg("ArgMin", p, x, y, func(v, best int8) bool { return v < best })
}

func arg(name string, p *ArgParams, x []int8, y []int64, better func(v, best int8) bool) error {
	a := &AxisParams{p.Outer, p.Axis, p.Inner}
	if err := a.check(name, len(x), len(y), int(p.Outer*p.Inner)); err != nil {
		return err
	}
	a.each(func(line, at int) {
		best := x[at]
		y[line] = 0
		for k := 1; k < int(p.Axis); k++ {
			if v := x[at+k*int(p.Inner)]; better(v, best) || v == best && p.SelectLast != 0 {
				best, y[line] = v, int64(k)
			}
		}
	})
	return nil
}

// SoftmaxAxisParams is nncc_softmax_s8_params; the last three come from
// fixp.SoftmaxScale.
type SoftmaxAxisParams struct {
	Outer, Axis, Inner   int32
	Mult, Shift, DiffMin int32
}

// SoftmaxAxis is nncc_softmax_s8: Softmax along any axis.
func SoftmaxAxis(p *SoftmaxAxisParams, x, y []int8) error {
	a := &AxisParams{p.Outer, p.Axis, p.Inner}
	if err := a.check("SoftmaxAxis", len(x), len(y), a.size()); err != nil {
		return err
	}
	row, out := make([]int8, p.Axis), make([]int8, p.Axis)
	q := &SoftmaxParams{Rows: 1, Size: int(p.Axis), Mult: p.Mult, Shift: p.Shift, DiffMin: p.DiffMin}
	var err error
	a.each(func(_, at int) {
		for k := range row {
			row[k] = x[at+k*int(p.Inner)]
		}
		err = firstErr(err, Softmax(q, row, out))
		for k, v := range out {
			y[at+k*int(p.Inner)] = v
		}
	})
	return err
}
