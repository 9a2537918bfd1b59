package quant

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// exactElems is how many elements of a value, over all samples, are kept as
// they are; of larger values a histogram is kept.
const exactElems = 1 << 14

// histBins is the number of bins of a histogram: 16 for a step of a range
// that is clipped to a half.
const histBins = 8192

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
	// hist counts elements in histBins equal bins over [lo, hi]; zeros are
	// counted apart, since any quantisation represents them.
	hist  []int64
	zeros int64
}

// observer collects stats over the samples. Results do not depend on the
// number of workers: samples are merged in their order.
type observer struct {
	g       *ir.Graph
	samples []Sample
	stats   map[*ir.Value]*stats
	rows    map[*ir.Node]*rowStats // of nodes that normalise rows
}

// elems and bins are what is kept of one value.
func (o *observer) elems() int { return min(exactElems, observedElems/max(len(o.stats), 1)) }
func (o *observer) bins() int  { return min(histBins, observedBins/max(len(o.stats), 1)) }

// forSamples calls f for every sample on all cores and returns the error of
// the first sample that has one.
func forSamples(n int, f func(worker, i int) error) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(w, i)
			}
		}()
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return &sampleError{i, err}
		}
	}
	return nil
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

// ranges fills lo, hi, count and exact of every watched value.
func (o *observer) ranges() error {
	type part struct {
		lo, hi         float64
		n              int64
		negInf, posInf bool
		data           []float32
	}
	watched := map[*ir.Value][]*ir.Node{}
	for n := range o.rows {
		watched[n.In[0]] = append(watched[n.In[0]], n)
	}
	rows := make([]map[*ir.Node][]row, len(o.samples))
	most := max(maxRows/len(o.samples), 16)
	parts := make([]map[*ir.Value]part, len(o.samples))
	kept := o.elems()
	err := forSamples(len(o.samples), func(_, i int) error {
		m := make(map[*ir.Value]part, len(o.stats))
		parts[i], rows[i] = m, map[*ir.Node][]row{}
		var bad error
		_, err := interp.Run(o.g, o.samples[i], func(v *ir.Value, d *tensor.Dense) {
			if o.stats[v] == nil {
				return
			}
			for _, n := range watched[v] {
				rows[i][n] = o.rows[n].collect(d, most)
			}
			x := tensor.As[float32](d)
			p := part{lo: math.Inf(1), hi: math.Inf(-1), n: int64(len(x))}
			for _, f := range x {
				e := float64(f)
				if e-e != 0 {
					if e != e && bad == nil {
						bad = notANumber(v)
					}
					p.negInf, p.posInf = p.negInf || e < 0, p.posInf || e > 0
					continue // infinities (masks) saturate
				}
				p.lo, p.hi = min(p.lo, e), max(p.hi, e)
			}
			if len(x)*len(o.samples) <= kept {
				p.data = x
			}
			m[v] = p
		})
		if err == nil {
			err = bad
		}
		return err
	})
	if err != nil {
		return err
	}
	for v, s := range o.stats {
		s.lo, s.hi = math.Inf(1), math.Inf(-1)
		for _, m := range parts {
			p := m[v]
			s.lo, s.hi = min(s.lo, p.lo), max(s.hi, p.hi)
			s.negInf, s.posInf = s.negInf || p.negInf, s.posInf || p.posInf
			s.count += p.n
			s.exact = append(s.exact, p.data...)
		}
		if s.lo > s.hi {
			s.lo, s.hi = 0, 0
		}
	}
	for n, s := range o.rows {
		s.rows = nil
		for _, m := range rows {
			s.rows = append(s.rows, m[n]...)
		}
	}
	return nil
}

// histograms fills hist of the values that have no exact elements.
func (o *observer) histograms() error {
	bins, need := o.bins(), false
	for _, s := range o.stats {
		if s.exact == nil && s.hi > s.lo {
			s.hist, need = make([]int64, bins), true
		}
	}
	if !need {
		return nil
	}
	// One value of one sample is counted at a time, and added: integer sums are the
	// same in any order.
	counts := make([][]int64, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	return forSamples(len(o.samples), func(w, i int) error {
		if counts[w] == nil {
			counts[w] = make([]int64, bins)
		}
		_, err := interp.Run(o.g, o.samples[i], func(v *ir.Value, d *tensor.Dense) {
			s := o.stats[v]
			if s == nil || s.hist == nil {
				return
			}
			zeros := s.bin(tensor.As[float32](d), counts[w])
			mu.Lock()
			defer mu.Unlock()
			s.zeros += zeros
			for b, n := range counts[w] {
				s.hist[b] += n
			}
		})
		return err
	})
}

// bin counts the elements of one sample in bins; zeros are given apart.
func (s *stats) bin(x []float32, bins []int64) (zeros int64) {
	clear(bins)
	k := float64(len(bins)) / (s.hi - s.lo)
	for _, f := range x {
		e := float64(f)
		switch {
		case e == 0:
			zeros++
		case e-e == 0:
			bins[min(max(int((e-s.lo)*k), 0), len(bins)-1)]++
		}
	}
	return zeros
}

// points are the elements as (value, weight) pairs with the sum of weights 1.
func (s *stats) points() (x, w []float64) {
	if s.count == 0 {
		return nil, nil
	}
	one := 1 / float64(s.count)
	if s.exact != nil {
		for _, f := range s.exact {
			if e := float64(f); e-e == 0 && e != 0 {
				x, w = append(x, min(max(e, s.lo), s.hi)), append(w, one)
			}
		}
		return x, w
	}
	width := (s.hi - s.lo) / float64(len(s.hist))
	for i, n := range s.hist {
		if n > 0 {
			x, w = append(x, s.lo+(float64(i)+0.5)*width), append(w, float64(n)*one)
		}
	}
	return x, w
}
