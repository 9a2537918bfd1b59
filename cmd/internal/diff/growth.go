// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// Limit is how much a figure may grow (or fall, where more is better).
type Limit struct {
	Text    string // as the user wrote it
	percent bool
	most    float64
	metric  *metric
}

// Gate is a limit with what it says of a model.
type Gate struct {
	Model    string  `json:"model"`
	Board    string  `json:"board"`
	Limit    string  `json:"limit"`
	Metric   string  `json:"metric"`
	Old      float64 `json:"old"`
	New      float64 `json:"new"`
	Allowed  float64 `json:"allowed"` // of the change
	Exceeded bool    `json:"exceeded"`
	Reason   string  `json:"reason,omitempty"` // by how much, and because of which layers
}

// ParseLimits reads instructions=1%,ram=0,flash=2K,sqnr=0.5.
func ParseLimits(list []string) ([]Limit, error) {
	var out []Limit
	for _, s := range list {
		for _, part := range strings.Split(s, ",") {
			l, err := parseLimit(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			out = append(out, l)
		}
	}
	return out, nil
}

func parseLimit(s string) (Limit, error) {
	key, value, ok := strings.Cut(s, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" || value == "" {
		return Limit{}, text.Errorf("%q: want FIGURE=GROWTH such as instructions=1%% or ram=0; figures: %s", s,
			strings.Join(keys(), ", "))
	}
	if key == "arena" {
		key = "ram"
	}
	m := find(key)
	if m == nil {
		return Limit{}, text.Errorf("%s: there is no figure %s%s; figures: %s", s, key, text.Meant(key, keys()),
			strings.Join(keys(), ", "))
	}
	l := Limit{Text: key + "=" + value, metric: m}
	var err error
	if l.most, l.percent, err = m.parse(value); err != nil {
		return Limit{}, text.Errorf("%s: %w", s, err)
	}
	return l, nil
}

// parse reads a growth: percent, or a number in the metric's unit.
func (m *metric) parse(v string) (most float64, percent bool, err error) {
	number, percent := strings.CutSuffix(v, "%")
	scale := 1.0
	if err := m.unitless(number, percent); err != nil {
		return 0, false, err
	}
	switch {
	case m.key == "sqnr":
		number = strings.TrimSuffix(number, "dB")
	case m.key == "top1" && percent: // points of a hundred, not parts of the old share
		scale, percent = 0.01, false
	case m.unit == "bytes" && strings.HasSuffix(number, "K"):
		number, scale = number[:len(number)-1], 1<<10
	case m.unit == "bytes" && strings.HasSuffix(number, "M"):
		number, scale = number[:len(number)-1], 1<<20
	}
	most, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(most >= 0) || math.IsInf(most, 0) || strings.ContainsAny(number, "xXpP_") {
		return 0, false, errors.New("want a growth of 0 or more, such as 0, 512 or 1%")
	}
	if most *= scale; most > m.absurd(percent) {
		return 0, false, text.Errorf("so much holds for everything: want at most %s",
			m.text(m.absurd(percent), percent))
	}
	return most, percent, nil
}

// unitless refuses a number that has the wrong unit.
func (m *metric) unitless(number string, percent bool) error {
	switch {
	case m.key == "sqnr" && percent:
		return errors.New("decibels have no percentage: want sqnr=0.5, the most that it may fall")
	case m.key == "top1" && !percent && !strings.ContainsAny(number, ".e") && strings.Trim(number, "01") != "":
		return text.Errorf("a share of labels is at most 1: want top1=%s%%, points of a hundred, or top1=0.02, the "+
			"same as 2%%", number)
	}
	return nil
}

// absurd is a growth that no gate means: in percent, or in the metric's unit.
func (m *metric) absurd(percent bool) float64 {
	switch {
	case m.key == "top1":
		return 1
	case m.key == "sqnr":
		return 200
	case percent:
		return 10_000
	}
	return math.MaxFloat64
}

func (m *metric) text(v float64, percent bool) string {
	if percent {
		return fmt.Sprintf("%g%%", v)
	}
	return m.number(v)
}

// Check judges the limits for every model; Diff.Gates has them. A figure that cannot be
// compared, or a model that only one side has, is an error: a gate never passes unseen.
func (d *Diff) Check(limits []Limit) error {
	var missing []string
	both := slices.ContainsFunc(d.Models, func(r Row) bool { return r.old != nil && r.now != nil })
	for _, r := range d.Models {
		if why := r.apart(); why != "" {
			if both && len(limits) > 0 {
				missing = append(missing, "--max-growth: "+r.Name+" "+why)
			}
			continue
		}
		for _, l := range limits {
			i := slices.IndexFunc(r.Metrics, func(c Change) bool { return c.Metric == l.metric.key })
			if i < 0 || r.Metrics[i].Delta == nil {
				missing = append(missing, fmt.Sprintf("--max-growth %s: %s: %s cannot be compared: %s", l.Text, r.Name,
					l.metric.title, r.incomparable(i, l.metric)))
				continue
			}
			d.Gates = append(d.Gates, r.gate(l, &r.Metrics[i]))
		}
	}
	if !both && len(limits) > 0 {
		missing = append(missing, "--max-growth: no model is in both reports")
	}
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, "\n"))
	}
	return nil
}

// incomparable says why a figure, metric i of the row or none, is not compared.
func (r *Row) incomparable(i int, m *metric) string {
	why := "neither report has it"
	switch {
	case i < 0:
	case r.Metrics[i].Old == nil:
		why = "the old report lacks it"
	case r.Metrics[i].New == nil:
		why = "the new report lacks it"
	default:
		why = "they were found differently (" + r.Metrics[i].Note + ")"
	}
	if m.want != "" {
		why += "; " + m.want
	}
	return why
}

// apart says why the sides of a model cannot be judged; "": they can.
func (r *Row) apart() string {
	const hint = ": want reports about the same models, or no --max-growth"
	switch {
	case r.old == nil:
		return "on " + r.Board + " is in the new report alone" + hint
	case r.now == nil:
		return "on " + r.Board + " is in the old report alone" + hint
	case r.old.Board != r.now.Board:
		return "is compiled for " + r.old.Board + " and for " + r.now.Board + ": want one board"
	}
	return ""
}

// Exceeded are the gates that are.
func (d *Diff) Exceeded() []Gate {
	return slices.DeleteFunc(slices.Clone(d.Gates), func(g Gate) bool { return !g.Exceeded })
}

func (r *Row) gate(l Limit, c *Change) Gate {
	g := Gate{Model: r.Name, Board: r.Board, Limit: l.Text, Metric: c.Metric, Old: *c.Old, New: *c.New, Allowed: l.most}
	if l.percent {
		g.Allowed = math.Abs(*c.Old) * l.most / 100
	}
	growth := *c.Delta
	if l.metric.more {
		growth = -growth
	}
	// sums of decimals are not exact
	if g.Exceeded = growth > g.Allowed+1e-9*math.Max(1, g.Allowed); !g.Exceeded {
		return g
	}
	by := "grew"
	if l.metric.more {
		by = "fell"
	}
	g.Reason = fmt.Sprintf("%s: %s %s from %s to %s (%s), at most %s is allowed%s", r.Name, r.title(l.metric), by,
		l.metric.number(*c.Old), l.metric.number(*c.New), c.change(), l.metric.allowed(g.Allowed), r.because(c))
	return g
}

// namedLayers bounds the layers that a gate names.
const namedLayers = 5

// because names the layers by which a figure grew.
func (r *Row) because(c *Change) string {
	m := c.metric
	switch {
	case m.key == "ram":
		return r.peak()
	case m.key == "stack":
		if r.now.Code != nil && len(r.now.Code.Path) > 0 {
			return "; the deepest way: " + strings.Join(r.now.Code.Path, " > ")
		}
		return ""
	case m.layer == nil:
		return ""
	}
	var names []string
	parts := r.grown(m)
	for i, p := range parts {
		if i == namedLayers {
			names = append(names, fmt.Sprintf("and %d more", len(parts)-i))
			break
		}
		names = append(names, p.text)
	}
	switch {
	case len(names) > 0:
		return "; most in " + strings.Join(names, ", ")
	case m.key == "flash":
		return "; no layer's weights grew: it is code and constants"
	}
	return ""
}

// part is a layer by which a figure grew (or fell, where more is better).
type part struct {
	grew float64
	text string
}

// grown are the layers by which a figure grew, the most first.
func (r *Row) grown(m *metric) []part {
	var parts []part
	for _, p := range r.pairs {
		old, now := p.figure(m)
		if p.old == nil && !m.more {
			old = new(float64) // a new layer had none
		}
		if old == nil || now == nil {
			continue
		}
		grew := *now - *old
		if m.more {
			grew = -grew
		}
		if grew > 0 {
			parts = append(parts, part{grew, fmt.Sprintf("%s %s%s", p.now.Name, m.signed(*now-*old), p.why())})
		}
	}
	lists.Sort(parts, func(a, b part) int { return cmp.Compare(b.grew, a.grew) })
	return parts
}

// why says what is different about a layer.
func (p pair) why() string {
	switch {
	case p.old == nil:
		return " (new layer, " + p.now.inner() + ")"
	case p.old.inner() != p.now.inner():
		return " (" + p.old.inner() + " -> " + p.now.inner() + ")"
	case p.old.Name != p.now.Name:
		return " (was " + p.old.Name + ")"
	}
	return ""
}

// peak names the layer that decides the arena now.
func (r *Row) peak() string {
	var most pair
	for _, p := range r.pairs {
		if p.now != nil && (most.now == nil || p.now.live > most.now.live) {
			most = p
		}
	}
	if most.now == nil || most.now.live == 0 {
		return ""
	}
	s := fmt.Sprintf("; the largest step is %s with %s live", most.now.Name, count(most.now.live))
	if most.old != nil {
		return s + ", before " + count(most.old.live)
	}
	return s + ", which is new"
}
