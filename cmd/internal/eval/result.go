// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/lower"
)

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
	slices.SortStableFunc(out, func(a, b mistake) int { return cmp.Compare(b.n, a.n) })
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
