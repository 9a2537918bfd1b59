// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
)

// LeastDB is the signal-to-noise ratio below which a program has lost too much.
const LeastDB = 15

// costliest is how many layers a report names as those that lose most, leastCost what
// they take at least, in dB.
const costliest, leastCost = 3, 1

// Loss is a layer with the signal-to-noise ratios before and behind it, in dB, on the
// calibration data.
type Loss struct {
	Layer  string  `json:"layer"`
	Before float64 `json:"before_db"` // of the worst value that it reads
	After  float64 `json:"after_db"`  // of its result, as its worst reader sees that
}

// added is the noise that the layer adds, as a part of the signal.
func (l Loss) added() float64 { return math.Pow(10, -l.After/10) - math.Pow(10, -l.Before/10) }

// losses are the layers that add most noise, those that add most first. A layer is what
// lies between quantised values; db is the ratio of a pair as a node that reads it sees that, nil for the whole.
func losses(pairs []floatPair, db func(k int, n *ir.Node) float64) []Loss {
	at := make(map[*ir.Value]int, len(pairs))
	for k, p := range pairs {
		at[p.v] = k
	}
	var out []Loss
	for k, p := range pairs {
		l := Loss{Before: math.Inf(1), After: math.Inf(1)}
		for _, u := range p.v.Uses() {
			l.After = min(l.After, db(k, u.Node))
		}
		if len(p.v.Uses()) == 0 {
			l.After = db(k, nil)
		}
		var names []string
		seen := map[*ir.Node]bool{}
		var visit func(v *ir.Value, by *ir.Node) (quantised bool)
		visit = func(v *ir.Value, by *ir.Node) (quantised bool) {
			if k, ok := at[v]; ok {
				l.Before = min(l.Before, db(k, by))
				return true
			}
			n := v.Def
			if n == nil || seen[n] {
				return false
			}
			seen[n] = true
			at := len(names)
			for _, x := range n.In {
				quantised = x != nil && visit(x, n) || quantised
			}
			if quantised {
				names = slices.Insert(names, at, n.String())
			}
			return quantised
		}
		visit(p.float, nil)
		l.Layer = strings.Join(names[:min(len(names), 4)], ", ")
		if !math.IsInf(l.Before, 1) && l.Before-l.After >= leastCost {
			out = append(out, l)
		}
	}
	lists.Sort(out, func(a, b Loss) int { return cmp.Compare(b.added(), a.added()) })
	return out[:min(len(out), costliest)]
}

// Lost says that an output has db of signal-to-noise ratio where least is wanted, and in
// which layers most went.
func Lost(output string, db, least float64, where []Loss) string {
	s := fmt.Sprintf("output %s has an SQNR of %.1f dB, want %g", output, db, least)
	most := lists.Map(where, func(l Loss) string {
		return fmt.Sprintf("%s (%.1f dB before it, %.1f behind)", l.Layer, l.Before, l.After)
	})
	if len(most) > 0 {
		s += "; most is lost in " + strings.Join(most, ", ")
	}
	return s + fmt.Sprintf("; --precision int16x8 has finer activations, --sensitivity --propose FILE --min-sqnr %g "+
		"finds the layers that need them, --layers-config FILE takes them", least)
}

// Lost is Lost of the worst output, with the samples that say so.
func (r *Report) Lost(least float64) string {
	on := "samples that calibration did not see"
	switch {
	case r.Source == SyntheticSource:
		on = "synthetic samples"
	case r.InSample:
		on = "the samples of calibration"
	}
	return "on " + on + ", " + Lost(r.worst, r.SQNR, least, r.Costs)
}

// Warned reports that Diagnostics have said of an output that too little is left of it.
func (r *Report) Warned(output string) bool { return r.worst == output && r.low() != nil }

// low warns where too little of the worst output is left on samples that were given.
func (r *Report) low() diag.List {
	if r.Source == SyntheticSource || r.Unknown || r.Nothing() || r.SQNR >= LeastDB {
		return nil
	}
	return diag.List{diag.Warnf("accuracy", "", "%s", r.Lost(LeastDB))}
}
