// SPDX-License-Identifier: Apache-2.0

package qref

// Concat joins tensors along one axis. outer is the product of the dimensions
// before the axis, inner[i] the product of input i's dimensions from the axis
// on. Source: arm_concatenation_s8_w/x/y/z.
func Concat(outer int, inner []int, ins [][]int8, out []int8) error {
	const name = "Concat"
	total := 0
	if outer < 0 || len(inner) != len(ins) {
		return badArgs(name, "%d sizes for %d inputs", len(inner), len(ins))
	}
	for i, n := range inner {
		if n < 0 {
			return badArgs(name, "input %d has %d elements a piece", i, n)
		}
		if err := checkLen(name, "an input", len(ins[i]), outer*n); err != nil {
			return err
		}
		total += n
	}
	if err := checkLen(name, "output", len(out), outer*total); err != nil {
		return err
	}
	for o := range outer {
		at := o * total
		for i, n := range inner {
			copy(out[at:at+n], ins[i][o*n:])
			at += n
		}
	}
	return nil
}

// Pad surrounds an NHWC tensor with a constant: before elements in front of
// each axis, after behind it. Source: arm_pad_s8.
func Pad(d, before, after Dims, value int8, in, out []int8) error {
	const name = "Pad"
	o := Dims{before.N + d.N + after.N, before.H + d.H + after.H, before.W + d.W + after.W, before.C + d.C + after.C}
	for _, v := range []int{before.N, before.H, before.W, before.C, after.N, after.H, after.W, after.C} {
		if v < 0 {
			return badArgs(name, "pads %v and %v must not be negative", before, after)
		}
	}
	if err := firstErr(checkDims(name, "input", d), checkLen(name, "input", len(in), d.Size()),
		checkLen(name, "output", len(out), o.Size())); err != nil {
		return err
	}
	for i := range out {
		out[i] = value
	}
	for n := range d.N {
		for h := range d.H {
			for w := range d.W {
				to := (((before.N+n)*o.H+before.H+h)*o.W+before.W+w)*o.C + before.C
				copy(out[to:to+d.C], in[((n*d.H+h)*d.W+w)*d.C:])
			}
		}
	}
	return nil
}

// Transpose permutes the axes of a tensor of any rank: output axis i is input
// axis perm[i]. Source: arm_transpose_s8 (which takes up to four axes).
func Transpose(shape, perm []int, in, out []int8) error {
	const name = "Transpose"
	if len(perm) != len(shape) {
		return badArgs(name, "permutation %v does not fit shape %v", perm, shape)
	}
	size := 1
	stride := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] < 1 {
			return badArgs(name, "shape %v has an empty axis", shape)
		}
		stride[i] = size
		size *= shape[i]
	}
	seen := make([]bool, len(shape))
	ext, step := make([]int, len(shape)), make([]int, len(shape))
	for i, a := range perm {
		if a < 0 || a >= len(shape) || seen[a] {
			return badArgs(name, "%v is no permutation of %d axes", perm, len(shape))
		}
		seen[a] = true
		ext[i], step[i] = shape[a], stride[a]
	}
	if err := firstErr(checkLen(name, "input", len(in), size), checkLen(name, "output", len(out), size)); err != nil {
		return err
	}
	at := make([]int, len(shape)) // odometer over the output
	from := 0
	for i := range out {
		out[i] = in[from]
		for a := len(at) - 1; a >= 0; a-- {
			at[a]++
			from += step[a]
			if at[a] < ext[a] {
				break
			}
			from -= step[a] * ext[a]
			at[a] = 0
		}
	}
	return nil
}
