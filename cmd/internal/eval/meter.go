// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"math"

	"github.com/nncc/nncc/ir/tensor"
)

// The outputs that are compared: those of the float model, of the program.
const (
	float = iota
	program
	variants
)

// Meter adds up what a model and its program say of samples.
type Meter struct {
	Outputs []Output
	Labels  *Labels // nil: none
	Scores  *Scores
	Task    Task
	TopK    int

	samples int
	labels  int // of a sample
	outs    []pair
	right   [variants]int // labels that are the class with the highest score
	within  [variants]int // that are among the TopK highest
	off     [variants]sum // from values
	same    int           // labels for which both say the same
	seen    int           // labels
	counts  map[confused]int
	scores  []scored // of two classes
	lost    []Lost
	both    bool // there is a program
}

// confused is a label with what the float model and the program say.
type confused struct{ label, float, program int }

// scored is a label of two classes with the scores.
type scored struct {
	sample int
	label  int
	score  [variants]float64
}

// sum adds differences.
type sum struct {
	abs, square, most float64
	n                 int
}

func (s *sum) add(d float64) {
	s.abs += math.Abs(d)
	s.square += d * d
	s.most = max(s.most, math.Abs(d))
	s.n++
}

func (s *sum) merge(t sum) {
	s.abs, s.square, s.most, s.n = s.abs+t.abs, s.square+t.square, max(s.most, t.most), s.n+t.n
}

// pair compares an output of the program with the float model's.
type pair struct {
	signal, noise    float64
	dot, float, prog float64
	diff             sum
}

// NewMeter begins. Samples have as many labels each.
func NewMeter(outs []Output, l *Labels, s *Scores, t Task, perSample, topK int) *Meter {
	return &Meter{Outputs: outs, Labels: l, Scores: s, Task: t, TopK: topK, labels: perSample,
		outs: make([]pair, len(outs)), counts: map[confused]int{}}
}

// Again is a meter of the same outputs and labels that has seen nothing.
func (m *Meter) Again() *Meter {
	return NewMeter(m.Outputs, m.Labels, m.Scores, m.Task, m.labels, m.TopK)
}

// Sample is what was measured of one sample.
type Sample struct {
	index  int
	outs   []pair
	labels []labelled
	both   bool
}

// labelled is what both say of one label.
type labelled struct {
	class       int
	says        [variants]int
	rank        [variants]int
	score, away [variants]float64
}

// Measure compares the outputs of sample i; program may be nil. It may be called for
// several samples at once.
func (m *Meter) Measure(i int, floats, programs []*tensor.Dense) *Sample {
	s := &Sample{index: i, outs: make([]pair, len(m.Outputs)), both: programs != nil}
	if s.both {
		for k := range m.Outputs {
			s.outs[k].add(floats[k], programs[k])
		}
	}
	if m.Scores == nil {
		return s
	}
	for k := range m.labels {
		at := i*m.labels + k
		var x labelled
		for v, outs := range [variants][]*tensor.Dense{floats, programs} {
			if outs == nil {
				continue
			}
			d := outs[m.Scores.index]
			switch m.Task {
			case Regress:
				x.away[v] = d.Float(k) - m.Labels.Value[at]
			case Binary:
				x.class, x.score[v] = m.Labels.Class[at], d.Float(k)
			default:
				x.class = m.Labels.Class[at]
				c := m.Scores.of(d, k)
				x.says[v], x.rank[v] = best(c), rank(c, x.class)
			}
		}
		s.labels = append(s.labels, x)
	}
	return s
}

// add compares one output.
func (p *pair) add(want, got *tensor.Dense) {
	for i, n := 0, want.Len(); i < n; i++ {
		x, y := want.Float(i), got.Float(i)
		if x-x != 0 {
			continue // neither signal nor noise
		}
		p.signal += x * x
		p.noise += (x - y) * (x - y)
		p.dot += x * y
		p.float += x * x
		p.prog += y * y
		p.diff.add(x - y)
	}
}

// Add adds a sample: all of them in the same order, for the same sums.
func (m *Meter) Add(s *Sample) {
	m.samples++
	m.both = m.both || s.both
	for k, p := range s.outs {
		o := &m.outs[k]
		o.signal, o.noise, o.dot = o.signal+p.signal, o.noise+p.noise, o.dot+p.dot
		o.float, o.prog = o.float+p.float, o.prog+p.prog
		o.diff.merge(p.diff)
	}
	for _, x := range s.labels {
		m.seen++
		switch m.Task {
		case Regress:
			m.off[float].add(x.away[float])
			m.off[program].add(x.away[program])
		case Binary:
			m.scores = append(m.scores, scored{s.index, x.class, x.score})
		default:
			m.count(s.index, x)
		}
	}
}

// mostLost bounds the samples that are named.
const mostLost = 20

// count counts a label of several classes.
func (m *Meter) count(sample int, x labelled) {
	for v := range variants {
		if x.rank[v] == 0 {
			m.right[v]++
		}
		if x.rank[v] < m.TopK {
			m.within[v]++
		}
	}
	if x.says[float] == x.says[program] {
		m.same++
	}
	m.counts[confused{x.class, x.says[float], x.says[program]}]++
	if m.both && x.rank[float] == 0 && x.rank[program] > 0 && len(m.lost) < mostLost {
		m.lost = append(m.lost, Lost{Sample: sample, Label: x.class, Program: x.says[program]})
	}
}

// twoClasses counts single scores, once all are known: they are probabilities where all
// of the float model's lie between 0 and 1, with a threshold of 0.5, else it is 0.
func (m *Meter) twoClasses() (threshold float64) {
	threshold = 0.5
	for _, x := range m.scores {
		if x.score[float] < 0 || x.score[float] > 1 {
			threshold = 0
		}
	}
	for _, x := range m.scores {
		l := labelled{class: x.label}
		for v := range variants {
			if x.score[v] > threshold {
				l.says[v] = 1
			}
			if l.says[v] != x.label {
				l.rank[v] = 1
			}
		}
		m.count(x.sample, l)
	}
	m.scores = nil
	return threshold
}
