// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
