package quant

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// parallelEach calls f(0) ... f(n-1) on all cores.
func parallelEach(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		}()
	}
	wg.Wait()
}

// through is the error of a group as its only readers see it: behind a
// Softmax or an element-wise function, where an error of a saturated element
// does not matter. nil where the values have other readers.
func (c *calibrator) through(k *group) cost {
	var reader *ir.Node
	var at *ir.Value
	for _, v := range k.members {
		if c.g.IsOutput(v) {
			return nil
		}
		for _, u := range v.Uses() {
			r, ok := c.rules[u.Node]
			switch {
			case !ok:
				return nil
			case r.passive && slices.Contains(k.members, u.Node.Out[0]):
				continue
			case reader != nil && reader != u.Node:
				return nil
			}
			reader, at = u.Node, v
		}
	}
	if reader == nil {
		return nil
	}
	s := c.obs.stats[at]
	switch {
	case reader.Op == op.Softmax && s.exact != nil:
		return c.softmaxError(reader, s)
	case reader.Op.Scalar != nil && reader.Op.Quant == ir.QFloat && reader.Op != op.Requantize:
		x, w := s.points()
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = reader.Op.Scalar(reader, v)
			if y[i]-y[i] != 0 {
				return nil
			}
		}
		var out affine
		if f := scalarOut[reader.Op]; f != nil {
			out = affineFrom(f)
		} else {
			out = affineOf(minMax(y))
		}
		_ = out
		return func(a affine) float64 {
			var table [256]float64
			for q := range table {
				table[q] = reader.Op.Scalar(reader, (float64(q-128)-a.zero)*a.scale)
			}
			sum := 0.0
			for i, v := range x {
				q := min(max(math.RoundToEven(v/a.scale)+a.zero, -128), 127)
				e := table[int(q)+128] - y[i]
				if e != e {
					return math.Inf(1)
				}
				sum += w[i] * e * e
			}
			return sum
		}
	}
	return nil
}

func minMax(y []float64) (lo, hi float64) {
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// softmaxError is the squared error of a Softmax's outputs.
func (c *calibrator) softmaxError(n *ir.Node, s *stats) cost {
	shape := n.In[0].Type.Shape
	axis := n.Int("axis")
	if axis < 0 {
		axis += len(shape)
	}
	inner := 1
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	size, dim := n.In[0].Type.Elems(), shape[axis]
	softmax := func(x, y []float64) {
		m, sum := math.Inf(-1), 0.0
		for _, v := range x {
			m = max(m, v)
		}
		for i, v := range x {
			y[i] = math.Exp(v - m)
			sum += y[i]
		}
		for i := range y {
			y[i] /= sum
		}
	}
	var x, want []float64 // lane after lane
	for at := 0; at < len(s.exact); at += size {
		for o := 0; o < size; o += dim * inner {
			for k := range inner {
				lane := make([]float64, dim)
				for j := range lane {
					lane[j] = float64(s.exact[at+o+j*inner+k])
				}
				x = append(x, lane...)
				y := make([]float64, dim)
				softmax(lane, y)
				want = append(want, y...)
			}
		}
	}
	return func(a affine) float64 {
		q, y := make([]float64, dim), make([]float64, dim)
		sum := 0.0
		for at := 0; at < len(x); at += dim {
			for j := range q {
				q[j] = a.apply(x[at+j])
			}
			softmax(q, y)
			for j, v := range y {
				e := v - want[at+j]
				sum += e * e
			}
		}
		return sum
	}
}
