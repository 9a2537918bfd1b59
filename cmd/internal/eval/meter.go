// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"cmp"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
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

// Schema is the version of Result as JSON; fields are only added.
const Schema = 1

// Result is what eval found. Rates are between 0 and 1, ratios in dB.
type Result struct {
	Schema    int    `json:"schema"`
	Model     string `json:"model"`
	SHA256    string `json:"sha256,omitempty"`
	Board     string `json:"board,omitempty"`
	Precision string `json:"precision,omitempty"` // of the program's layers
	Data      string `json:"data"`
	Samples   int    `json:"samples"`
	Labels    int    `json:"labels"` // of all samples together
	Task      Task   `json:"task"`
	// Scores is the output that labels speak of; null without labels.
	Scores    *Scores  `json:"scores"`
	Threshold *float64 `json:"threshold,omitempty"` // of two classes by one score
	TopK      int      `json:"top_k,omitempty"`
	// Float is the model, Program what the firmware computes; null without a board.
	Float   *Accuracy `json:"float"`
	Program *Accuracy `json:"program"`
	// Agreement is the share of labels for which both say the same class.
	Agreement *float64    `json:"agreement,omitempty"`
	Outputs   []OutputRow `json:"outputs"`
	Confusion *Confusion  `json:"confusion,omitempty"`
	// Detection is how well boxes are found, where --labels names a folder of them.
	Detection *Detection `json:"detection,omitempty"`
	// Answers are what --postprocess makes of samples with classes as labels.
	Answers *Answered `json:"answers,omitempty"`
	// Lost are samples that the float model gets right and the program wrong, the
	// first 20 of them.
	Lost []Lost `json:"lost,omitempty"`
	// Qemu is what the firmware said on the board's machine.
	Qemu *Qemu `json:"qemu,omitempty"`
	// Proposal is a mix of precisions that reaches the gates, where one was asked for.
	Proposal *lower.Proposal `json:"proposal,omitempty"`
	// Gates are those that were exceeded.
	Gates    []string `json:"gates,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Accuracy is how often a model is right, or how far off.
type Accuracy struct {
	Top1    *float64 `json:"top1,omitempty"`
	TopK    *float64 `json:"topk,omitempty"`
	Correct *int     `json:"correct,omitempty"`
	// MAE and RMSE are the mean absolute error and the root of the mean squared error.
	MAE  *float64 `json:"mae,omitempty"`
	RMSE *float64 `json:"rmse,omitempty"`
	Max  *float64 `json:"max_error,omitempty"`
}

// OutputRow compares an output of the program with the float model's.
type OutputRow struct {
	Name string `json:"name"`
	// SQNR is null where there is no signal.
	SQNR    *float64 `json:"sqnr_db"`
	Cosine  *float64 `json:"cosine"`
	MeanAbs float64  `json:"mean_abs_diff"`
	MaxAbs  float64  `json:"max_abs_diff"`
}

// Confusion counts labels by what was said of them.
type Confusion struct {
	Classes []string `json:"classes"`
	// Rows are the labels, columns what was said.
	Float   [][]int `json:"float"`
	Program [][]int `json:"program,omitempty"`
}

// Lost is a sample that the program gets wrong and the float model right.
type Lost struct {
	Sample  int    `json:"sample"`
	Name    string `json:"name,omitempty"`
	Label   int    `json:"label"`
	Program int    `json:"program"`
}

// Qemu is what the firmware said of some of the samples.
type Qemu struct {
	Samples int `json:"samples"`
	// Mismatches are elements that differ from the interpreter's.
	Mismatches   int       `json:"mismatches"`
	Instructions uint64    `json:"instructions"` // of the largest case
	Firmware     *Accuracy `json:"firmware,omitempty"`
	Program      *Accuracy `json:"program,omitempty"` // on the same samples
}

// maxDB stands for no error at all.
const maxDB = 120

// mostConfused bounds the classes of a matrix of confusion.
const mostConfused = 1000

// Result is what the meter found; names are the samples', as far as they have some.
func (m *Meter) Result(names []string) *Result {
	r := &Result{Schema: Schema, Samples: m.samples, Labels: m.seen, Task: m.Task, Scores: m.Scores,
		Outputs: []OutputRow{}}
	if m.both {
		for k := range m.outs {
			r.Outputs = append(r.Outputs, m.outs[k].row(m.Outputs[k].Name))
		}
	}
	if m.Task == Binary {
		t := m.twoClasses()
		r.Threshold = &t
	}
	r.Float = m.accuracy(float)
	if m.both {
		r.Program = m.accuracy(program)
	}
	if m.Task == Classify || m.Task == Binary {
		if m.both && m.seen > 0 {
			a := float64(m.same) / float64(m.seen)
			r.Agreement = &a
		}
		if m.Task == Classify {
			r.TopK = min(m.TopK, m.Scores.Classes)
		}
		r.Confusion = m.confusion()
		for _, l := range m.lost {
			if l.Sample < len(names) {
				l.Name = names[l.Sample]
			}
			r.Lost = append(r.Lost, l)
		}
	}
	return r
}

// Both are the accuracies of both that were measured; nil without labels.
func (m *Meter) Both() (first, second *Accuracy) {
	if m.Task == Binary {
		m.twoClasses()
	}
	return m.accuracy(float), m.accuracy(program)
}

// accuracy is that of one of both; nil without labels.
func (m *Meter) accuracy(v int) *Accuracy {
	n := float64(m.seen)
	switch {
	case m.seen == 0:
		return nil
	case m.Task == Regress:
		mae, rmse, most := m.off[v].abs/n, math.Sqrt(m.off[v].square/n), m.off[v].most
		return &Accuracy{MAE: &mae, RMSE: &rmse, Max: &most}
	}
	one, correct := float64(m.right[v])/n, m.right[v]
	a := &Accuracy{Top1: &one, Correct: &correct}
	if m.Task == Classify && m.TopK > 1 {
		k := float64(m.within[v]) / n
		a.TopK = &k
	}
	return a
}

func (p *pair) row(name string) OutputRow {
	o := OutputRow{Name: name, MaxAbs: finite(p.diff.most), MeanAbs: finite(p.diff.abs / float64(max(p.diff.n, 1)))}
	if p.signal > 0 {
		db := float64(maxDB)
		if p.noise > 0 || p.noise != p.noise {
			db = min(max(10*math.Log10(p.signal/p.noise), -maxDB), maxDB)
		}
		if db != db {
			db = -maxDB
		}
		o.SQNR = &db
		if c := p.dot / math.Sqrt(p.float*p.prog); c == c {
			o.Cosine = &c
		}
	}
	return o
}

// finite is a number that JSON has.
func finite(x float64) float64 {
	if x != x {
		return math.MaxFloat64
	}
	return min(x, math.MaxFloat64)
}

// confusion is the matrix; nil where there are too many classes for one.
func (m *Meter) confusion() *Confusion {
	n := m.Scores.Classes
	if n > mostConfused {
		return nil
	}
	c := &Confusion{}
	for k := range n {
		name := fmt.Sprint(k)
		if k < len(m.Labels.Classes) {
			name = m.Labels.Classes[k]
		}
		c.Classes = append(c.Classes, name)
		c.Float = append(c.Float, make([]int, n))
		c.Program = append(c.Program, make([]int, n))
	}
	for x, k := range m.counts {
		c.Float[x.label][x.float] += k
		c.Program[x.label][x.program] += k
	}
	if !m.both {
		c.Program = nil
	}
	return c
}

// Order is the order of the classes in which the float model would be right most often, class by class, where it is
// right in at least a fifth more of the labels then; nil: there is none.
func (c *Confusion) Order() (names []string, share float64) {
	if c == nil {
		return nil, 0
	}
	names = make([]string, len(c.Classes))
	all, right, better := 0, 0, 0
	taken := map[int]bool{}
	for label, row := range c.Float {
		most := 0
		for said, n := range row {
			all += n
			if n > row[most] {
				most = said
			}
		}
		if taken[most] || row[most] == 0 {
			return nil, 0
		}
		taken[most], names[most] = true, c.Classes[label]
		right, better = right+row[label], better+row[most]
	}
	if 5*(better-right) < all {
		return nil, 0
	}
	return names, float64(better) / float64(max(all, 1))
}

// mistake is a label that was taken for another class.
type mistake struct{ label, said, n int }

// mistakes are the most frequent ones of a matrix, the first the most.
func mistakes(counts [][]int) []mistake {
	var out []mistake
	for i, row := range counts {
		for k, n := range row {
			if k != i && n > 0 {
				out = append(out, mistake{i, k, n})
			}
		}
	}
	lists.Sort(out, func(a, b mistake) int { return cmp.Compare(b.n, a.n) })
	return out
}

// Worst is the lowest signal-to-noise ratio of the outputs; false: there is none.
func (r *Result) Worst() (float64, bool) {
	worst, ok := math.Inf(1), false
	for _, o := range r.Outputs {
		if o.SQNR != nil {
			worst, ok = min(worst, *o.SQNR), true
		}
	}
	return worst, ok
}

// Best is the accuracy that gates look at: the program's, or without one the model's.
func (r *Result) Best() *Accuracy { return cmp.Or(r.Program, r.Float) }
