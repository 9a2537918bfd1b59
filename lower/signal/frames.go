// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"

	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// framing says which samples of a signal [batch, samples] the rows of a matrix are.
type framing struct {
	batch, samples, frames int
	step, pad              int
	mode                   string
	factor                 []float64 // of every sample of a frame
}

// frame finds the framing of the rows of o, [rows, k], of a signal of the given shape.
func frame(o origin, rows, k int, shape []int) (*framing, bool) {
	f := &framing{samples: 1}
	for i := len(shape) - 1; i >= 0 && f.samples == 1; i-- {
		f.samples = shape[i]
	}
	f.batch = tensor.Count(shape) / max(f.samples, 1)
	if f.batch == 0 || rows%f.batch != 0 || k == 0 {
		return nil, false
	}
	f.frames = rows / f.batch
	at, factor := tensor.As[int64](o.at), tensor.As[float32](o.factor)
	if !f.factors(at, factor, k) || !f.steps(at, k) {
		return nil, false
	}
	for _, f.mode = range []string{"constant", "reflect", "edge"} {
		if f.explains(at, k) {
			return f, true
		}
	}
	return nil, false
}

// factors finds the factor of every column: the same in all rows, where there is one.
func (f *framing) factors(at []int64, factor []float32, k int) bool {
	f.factor = make([]float64, k)
	seen := make([]bool, k)
	for i, a := range at {
		j := i % k
		switch v := float64(factor[i]); {
		case a == 0: // a zero in front of the signal, or behind it
		case !seen[j]:
			f.factor[j], seen[j] = v, true
		case f.factor[j] != v:
			return false
		}
	}
	return true
}

// steps finds where the first frame begins, and the distance to the next, by rows that
// lie wholly within the signal: there samples follow one another.
func (f *framing) steps(at []int64, k int) bool {
	first, last := -1, -1
	for r := range f.frames {
		row := at[r*k : (r+1)*k]
		if row[0] == 0 || k > 1 && row[k-1] != row[0]+int64(k-1) ||
			!slices.IsSorted(row) {
			continue
		}
		if first < 0 {
			first = r
		}
		last = r
	}
	if first < 0 {
		return false
	}
	begin := func(r int) int { return int(at[r*k]) - 1 }
	f.step = f.samples // of a single frame
	if last > first {
		f.step = (begin(last) - begin(first)) / (last - first)
	}
	f.pad = first*f.step - begin(first)
	return f.step >= 1
}

// explains reports whether every sample is where the framing says.
func (f *framing) explains(at []int64, k int) bool {
	end := (f.frames-1)*f.step + k - f.pad - f.samples
	if f.mode == "reflect" && max(f.pad, end) >= f.samples {
		return false
	}
	a := op.SpectrumAttrs{Mode: f.mode}
	for b := range f.batch {
		for r := range f.frames {
			row := at[(b*f.frames+r)*k:][:k]
			for j, have := range row {
				i := r*f.step - f.pad + j
				if i < 0 || i >= f.samples {
					i = a.Outside(i, f.samples)
				}
				want := int64(0)
				if i >= 0 {
					want = int64(b*f.samples+i) + 1
				}
				if have != want {
					return false
				}
			}
		}
	}
	return true
}
