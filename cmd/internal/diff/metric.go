// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/lists"
)

// figure is a value with how it was found: only values that were found alike are
// compared.
type figure struct {
	value float64
	basis string
}

// metric is a figure of a model.
type metric struct {
	key, title, unit string
	more             bool // more is better
	// of are the figures of a model, the best basis first.
	of func(m *Model) []figure
	// layer is what a layer has of it; nil: layers have nothing of it.
	layer func(l *layer) *float64
	// least is the change by which a layer is no longer the same.
	least float64
	// want is what gives the figure where a report lacks it.
	want string
}

func one(v *float64) []figure {
	if v == nil {
		return nil
	}
	return []figure{{value: *v}}
}

// ram is the arena, with the state where that lies apart.
func (m *Model) ram() []figure {
	if m.Memory.Arena == nil {
		return nil
	}
	n := *m.Memory.Arena + m.Memory.State
	return one(&n)
}

// state is the memory that is kept from run to run; 0 without a report.
func (m *Model) state() float64 {
	if m == nil {
		return 0
	}
	return m.Memory.State
}

const verifyIt = "`nncc verify --out DIR` measures it"

// metrics in the order in which they are shown.
var metrics = []metric{
	{key: "ram", title: "arena", unit: "bytes", of: (*Model).ram,
		layer: func(l *layer) *float64 { return &l.live }},
	{key: "flash", title: "flash", unit: "bytes", of: (*Model).flash, want: verifyIt,
		layer: func(l *layer) *float64 { return &l.WeightBytes }},
	{key: "weights", title: "weights", unit: "bytes", of: func(m *Model) []figure { return one(m.Memory.Weights) },
		layer: func(l *layer) *float64 { return &l.WeightBytes }},
	{key: "stack", title: "stack", unit: "bytes", of: (*Model).stack, want: verifyIt},
	{key: "instructions", title: "instructions", want: verifyIt, of: func(m *Model) []figure {
		if m.Code == nil {
			return nil
		}
		return one(m.Code.Instructions)
	}, layer: func(l *layer) *float64 { return l.Instructions }},
	{key: "cycles", title: "estimated cycles", of: (*Model).cycles, want: "`nncc profile --out DIR` estimates them",
		layer: func(l *layer) *float64 { return l.Cycles }},
	{key: "macs", title: "MACs", of: (*Model).macs, layer: func(l *layer) *float64 { return &l.MACs }},
	{key: "sqnr", title: "SQNR", unit: "dB", more: true, of: (*Model).sqnr, least: 0.1,
		want:  "calibration data (--calib) and eval give it",
		layer: func(l *layer) *float64 { return l.sqnr }},
	{key: "top1", title: "top-1", more: true, of: (*Model).top1,
		want: "`nncc eval --json` gives it, as " + EvalFile + " beside the report"},
}

func find(key string) *metric {
	for i := range metrics {
		if metrics[i].key == key {
			return &metrics[i]
		}
	}
	return nil
}

func keys() []string {
	return lists.Map(metrics, func(m metric) string { return m.key })
}

// flash is code, constants and weights; of one of several models what is its own.
func (m *Model) flash() []figure {
	if c := m.Code; c != nil && c.Text != nil && c.ROData != nil && m.Memory.Weights != nil {
		return []figure{{*c.Text + *c.ROData + *m.Memory.Weights, "measured"}}
	}
	if m.shared && m.Memory.Weights != nil {
		return []figure{{*m.Memory.Weights, "weights alone"}}
	}
	f := figure{basis: "estimated, with the C library"}
	for _, r := range m.Memory.Regions {
		for _, i := range r.Items {
			if i.What == "code" || i.What == "rodata" || i.What == "weights" {
				f.value += float64(i.Bytes)
			}
		}
	}
	if f.value == 0 {
		return nil
	}
	return []figure{f}
}

func (m *Model) stack() []figure {
	var out []figure
	if c := m.Code; c != nil {
		if c.Bound != nil && *c.Bound > 0 {
			out = append(out, figure{*c.Bound, "bound"})
		}
		if c.Stack != nil && *c.Stack > 0 {
			out = append(out, figure{*c.Stack, "most that was used"})
		}
	}
	return out
}

func (m *Model) cycles() []figure {
	f := figure{}
	for _, l := range m.Layers {
		if l.Cycles == nil {
			return nil
		}
		f.value += *l.Cycles
	}
	if len(m.Layers) == 0 {
		return nil
	}
	return []figure{f}
}

func (m *Model) macs() []figure {
	f := figure{}
	for _, l := range m.Layers {
		f.value += l.MACs
	}
	return []figure{f}
}

func (m *Model) sqnr() []figure {
	var out []figure
	if e := m.Eval; e != nil {
		worst := math.Inf(1)
		for _, o := range e.Outputs {
			if o.SQNR != nil {
				worst = min(worst, *o.SQNR)
			}
		}
		if !math.IsInf(worst, 1) {
			out = append(out, figure{worst, "eval"})
		}
	}
	if c := m.Calibration; c != nil && !c.Unknown {
		basis := "samples held out"
		if c.InSample {
			basis = "calibration samples"
		}
		if c.Source == "synthetic" {
			basis = "synthetic inputs"
		}
		out = append(out, figure{c.SQNR, basis})
	}
	return out
}

func (m *Model) top1() []figure {
	if m.Eval == nil {
		return nil
	}
	basis := "eval of the program with " + m.Eval.Data
	if m.Eval.Program == nil {
		basis = "eval of the float model with " + m.Eval.Data
	}
	if a := cmp.Or(m.Eval.Program, m.Eval.Float); a != nil && a.Top1 != nil {
		return []figure{{*a.Top1, basis}}
	}
	return nil
}

// count is a whole number with commas between thousands.
func count(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', -1, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if v < 0 {
		return "-" + whole
	}
	return whole
}

// number is a figure as people read it.
func (m *metric) number(v float64) string {
	switch {
	case m.key == "sqnr":
		return fmt.Sprintf("%.1f dB", v)
	case m.key == "top1":
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return count(v)
}

// allowed is a growth that is allowed: of counts, the whole ones.
func (m *metric) allowed(v float64) string {
	switch {
	case m.key == "top1":
		return fmt.Sprintf("%.2f points", 100*v)
	case m.more:
		return m.number(v)
	}
	return count(math.Floor(v))
}

// signed is a change as people read it.
func (m *metric) signed(v float64) string {
	s := m.number(v)
	if m.key == "top1" {
		s = fmt.Sprintf("%.2f points", 100*v)
	}
	if v >= 0 {
		return "+" + s
	}
	return s
}

// change is the difference, with what it is of the old figure.
func (c *Change) change() string {
	switch {
	case c.Delta == nil:
		return c.Note
	case *c.Delta == 0:
		return "="
	case c.Percent == nil:
		return c.metric.signed(*c.Delta)
	}
	return fmt.Sprintf("%s, %+.1f %%", c.metric.signed(*c.Delta), *c.Percent)
}

// side is a figure of one side.
func (c *Change) side(v *float64) string {
	if v == nil {
		return "-"
	}
	return c.metric.number(*v)
}
