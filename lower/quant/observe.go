// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"
	"runtime"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
)

// exactElems is how many elements of a value, over all samples, are kept as
// they are; of larger values a histogram is kept.
const exactElems = 1 << 12

// observedElems bounds the elements that are kept of all values together, and
// observedBins the bins of all histograms: of a thousand values and more, each
// has fewer.
const (
	observedElems = 1 << 24
	observedBins  = 1 << 23
)

// stats is what calibration knows about one float value.
type stats struct {
	lo, hi         float64 // of all finite elements
	count          int64
	negInf, posInf bool // there are infinite elements
	cutLo, cutHi   bool // lo and hi are limits, which elements may lie beyond
	// exact holds the elements in sample order, nil when there are too many.
	exact []float32
	// hist counts elements; zeros are counted apart, since any quantisation
	// represents them.
	hist  tally
	zeros int64
}

// largeElems is the size of a value from which on samples take turns: operators use
// all cores for it, and the values of one sample are enough in memory.
const largeElems = 1 << 18

// forSamples calls f, which evaluates nodes, for every sample, on all cores, and ends by
// the error of the first sample that has one.
func forSamples(n int, nodes []*ir.Node, f func(worker, i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	for _, x := range nodes {
		for _, v := range x.Out {
			if v.Type.Elems() >= largeElems {
				workers = min(workers, 1)
			}
		}
	}
	for i, err := range parallel(workers, n, f) {
		if err != nil {
			fail.Check(&sampleError{i, err})
		}
	}
}

// sampleError is an error of one calibration sample.
type sampleError struct {
	sample int
	err    error
}

func (e *sampleError) Error() string {
	return fmt.Sprintf("calibration sample %d: %v", e.sample, e.err)
}
func (e *sampleError) Unwrap() error { return e.err }

// nanCode is the code of an error about a value that is not a number.
const nanCode = "calibration-nan"

// wantNumbers ends by an error about a value with elements that are no numbers.
func wantNumbers(v *ir.Value, s oneRange) {
	if s.nan {
		fail.Check(notANumber(v))
	}
}

// notANumber says what is behind a value with elements that are no numbers.
func notANumber(v *ir.Value) error {
	d := &ir.Diag{Code: nanCode, Node: "input " + v.Name, Msg: "value " + v.Name + " is not a number (NaN)",
		Hint: "check the calibration data and the float model"}
	if v.Def == nil {
		return d
	}
	d.Node = v.Def.String()
	for i, x := range v.Def.In {
		if x == nil || x.Const == nil || !x.Const.DType.IsFloat() {
			continue
		}
		for k := range x.Const.Len() {
			if f := x.Const.Float(k); f-f != 0 {
				d.Code = "constant-nan" // no other sample helps
				d.Hint = fmt.Sprintf("its constant %s (input %d) has %v at element %d; want finite numbers", x.Name, i,
					f, k)
				return d
			}
		}
	}
	return d
}

// points are the elements as (value, weight) pairs with the sum of weights 1.
func (s *stats) points() (x, w []float64) {
	if s.count == 0 {
		return nil, nil
	}
	one := 1 / float64(s.count)
	if s.exact != nil {
		x, w = make([]float64, 0, len(s.exact)), make([]float64, 0, len(s.exact))
		for _, f := range s.exact {
			if e := float64(f); e-e == 0 && e != 0 {
				x, w = append(x, min(max(e, s.lo), s.hi)), append(w, one)
			}
		}
		return x, w
	}
	x, w = make([]float64, 0, len(s.hist.n)), make([]float64, 0, len(s.hist.n))
	width := math.Ldexp(1, s.hist.exp)
	for i, n := range s.hist.n {
		if n > 0 {
			middle := (float64(s.hist.first+i) + 0.5) * width
			x, w = append(x, min(max(middle, s.lo), s.hi)), append(w, float64(n)*one)
		}
	}
	return x, w
}
