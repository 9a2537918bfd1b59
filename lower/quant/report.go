// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
	"github.com/nncc/nncc/lower/option"
)

// Report is what calibration found and what it cost.
type Report struct {
	Source  string        `json:"source"` // files, or "synthetic"
	Method  option.Method `json:"method"`
	Samples int           `json:"samples"`
	// Rounding of weights, and the layers in which it differs from the nearest.
	Rounding option.Rounding `json:"weight_rounding"`
	Adapted  int             `json:"adapted_layers"`
	// Bias says that biases were corrected.
	Bias bool `json:"bias_correction"`
	// SQNR is that of the worst output, on HeldOut samples that calibration did
	// not see, or on its own where InSample says so.
	SQNR    float64 `json:"sqnr_db"`
	HeldOut int     `json:"held_out"`
	// Unknown: the samples say nothing (all equal, or no effect), and SQNR is 0.
	Unknown  bool `json:"sqnr_unknown,omitempty"`
	InSample bool `json:"in_sample"`
	// Refitted: ranges and weights were made anew from all samples afterwards.
	Refitted bool `json:"refitted,omitempty"`
	// Tried are the steps that were tried on the samples held out.
	Tried []Tried `json:"tried,omitempty"`
	// Warnings are about the samples; JSON has their texts.
	Warnings Warnings `json:"warnings,omitempty"`
	// BF16 are the nodes that run in bfloat16, since int8 alone would give
	// Int8SQNR.
	BF16     []string      `json:"bf16_nodes,omitempty"`
	Int8SQNR float64       `json:"int8_sqnr_db,omitempty"`
	Layers   []LayerReport `json:"per_layer"`
	// Costs are the layers that lose most of the signal.
	Costs []Loss `json:"costs,omitempty"`

	worst string // the output that SQNR is of
	fit   []Sample
	fixed bool // weights or activations have a fixed-point format
}

// Fit are the samples that the quantised graph was made from: not those held out, unless
// it was made anew from all.
func (r *Report) Fit() []Sample { return r.fit }

// Warnings are diagnostics of which JSON has the texts.
type Warnings diag.List

// MarshalJSON gives the texts.
func (w Warnings) MarshalJSON() ([]byte, error) {
	return json.Marshal(diag.List(w).Texts(diag.Warning))
}

// LayerReport is one quantised value.
type LayerReport struct {
	Name  string    `json:"name"`  // the ONNX value
	Layer string    `json:"layer"` // the ONNX node that makes it; empty for inputs
	Op    string    `json:"op"`
	Range []float64 `json:"range"` // reals that the lowest and highest integer stand for
	Scale float64   `json:"scale"`
	Zero  int       `json:"zero_point"`
	// Method found the range; empty where the operator prescribes it.
	Method string `json:"method,omitempty"`
	// SQNR is the signal-to-noise ratio against the float model, with the
	// errors of all layers before, in dB.
	SQNR float64 `json:"sqnr_db"`
	// Histogram is of what the calibration samples gave; nil where only their range was
	// taken.
	Histogram *Histogram `json:"histogram,omitempty"`
}

// maxDB stands for no error at all.
const maxDB = 120

// reportSamples bounds how many samples the ratios are measured on.
const reportSamples = 8

// noise sums signal and error energy, of finite elements: infinite ones
// saturate, and have no ratio.
type noise struct{ signal, err float64 }

func (n *noise) add(want, got *tensor.Dense) { n.within(want, got, unlimited) }

// within is add for a value of which readers see the part within a limit.
func (n *noise) within(want, got *tensor.Dense, l interval) {
	w, ok := want.Data.([]float32)
	if g, both := got.Data.([]float32); ok && both && l.none() {
		signal, err := vec.Noise(w, g)
		n.signal, n.err = n.signal+signal, n.err+err
		return
	}
	for i, k := 0, want.Len(); i < k; i++ {
		v := want.Float(i)
		if v-v != 0 {
			continue
		}
		v = l.clip(v)
		e := v - l.clip(got.Float(i))
		n.signal += float64(v * v)
		n.err += float64(e * e)
	}
}

// noise is that of a value as the layer sees it: by the weights of its channels.
func (r *channelReader) noise(want, got *tensor.Dense, l interval) (n noise) {
	for i, k := 0, want.Len(); i < k; i++ {
		v := l.clip(want.Float(i))
		if e := v - l.clip(got.Float(i)); v-v == 0 {
			power := r.power[i/r.inner%len(r.power)]
			n.signal += float64(power * v * v)
			n.err += float64(power * e * e)
		}
	}
	return n
}

func (n *noise) db() float64 {
	switch {
	case !(n.err > 0):
		return maxDB
	case n.signal == 0:
		return -maxDB
	}
	return min(max(10*math.Log10(n.signal/n.err), -maxDB), maxDB)
}

// report describes the quantised graph, and measures it against the float one unless that
// was done when it was tried.
func (c *calibrator) report() *Report {
	r := c.described()
	samples := c.opt.Held
	if len(samples) == 0 {
		samples, r.InSample = c.opt.Samples, true
	}
	results := c.beside
	if n := min(len(samples), reportSamples); results == nil {
		results = make([]sideBySide, n)
		pairs := c.pairs()
		reference := newEvaluator(c.before, comparedIn(pairs), c.opt.memory)
		quantised := newEvaluator(c.g, keepsNone, c.opt.memory)
		forSamples(n, c.g.Nodes, func(_, i int) {
			results[i], _ = compare(reference, quantised, pairs, nil, samples[i*len(samples)/n])
		})
	}
	sum := func(get func(r sideBySide) noise) float64 {
		var t noise
		for _, x := range results {
			v := get(x)
			t.signal += v.signal
			t.err += v.err
		}
		return t.db()
	}
	for k := range r.Layers {
		r.Layers[k].SQNR = sum(func(x sideBySide) noise { return x.layers[k] })
	}
	pairs := c.pairs()
	r.SQNR, r.Costs = maxDB, losses(pairs, func(k int, n *ir.Node) float64 {
		j := slices.IndexFunc(pairs[k].readers, func(r channelReader) bool { return r.n == n })
		if j >= 0 && len(results[0].seen[k]) > j {
			return sum(func(x sideBySide) noise { return x.seen[k][j] })
		}
		return r.Layers[k].SQNR
	})
	for k, name := range c.g.OutNames {
		if db := sum(func(x sideBySide) noise { return x.outs[k] }); db < r.SQNR || k == 0 {
			r.SQNR, r.worst = db, name
		}
	}
	return r
}

// described is a report without figures.
func (c *calibrator) described() *Report {
	r := &Report{Source: c.opt.Source, Method: c.opt.Method, Samples: len(c.opt.Samples), Rounding: c.opt.Rounding,
		Adapted: c.adapted, Bias: c.opt.BiasCorrection, Layers: []LayerReport{},
		fixed: c.opt.FixedWeights != nil || c.opt.FixedActivations != nil}
	for _, p := range c.pairs() {
		n, x := p.v.Def, p.float
		_, q, _ := params(n)
		lo, hi := n.In[0].Type.DType.IntRange()
		l := LayerReport{Name: x.Name, Op: "Input", Scale: float64(q.Scale[0]), Zero: int(q.Zero[0]),
			Range: []float64{float64(int32(lo)-q.Zero[0]) * float64(q.Scale[0]),
				float64(int32(hi)-q.Zero[0]) * float64(q.Scale[0])}}
		if m, ok := c.methods[x]; ok {
			l.Method = m.String()
		}
		if x.Def != nil {
			l.Layer, l.Op = x.Def.Label(), x.Def.Op.Name
		}
		if s := c.stats[x.ID]; s != nil {
			l.Histogram = s.drawn(l.Range[0], l.Range[1])
		}
		r.Layers = append(r.Layers, l)
	}
	return r
}

// pairs are the quantised values with the float ones that they stand for.
func (c *calibrator) pairs() []floatPair {
	var pairs []floatPair
	for _, n := range c.g.Nodes {
		if n.Op != op.DequantizeLinear || n.In[0].Def == nil || n.In[0].Def.Op != op.QuantizeLinear {
			continue
		}
		x := n.In[0].Def.In[0]
		_, _, ok := params(n)
		if !ok || x.Def != nil && x.Def.Op == op.DequantizeLinear { // a change of precision
			continue
		}
		p := floatPair{n.Out[0], x, x.Name, unlimited, channelReaders(n.Out[0])}
		if l, ok := c.limits[x.ID]; ok {
			p.limit = l
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// floatPair is a value of the quantised graph, the float value that it stands for with its
// name, and what readers see of it.
type floatPair struct {
	v     *ir.Value
	float *ir.Value // in the quantised graph, which has it, too
	name  string
	limit interval
	// readers see channels apart: one that is lost may be what counts.
	readers []channelReader
}

// channelReader is a layer with constant weights and the energy of those that see each channel of its input.
type channelReader struct {
	n     *ir.Node
	power []float64
	inner int // elements of a channel, one behind the other
}

func channelReaders(v *ir.Value) (list []channelReader) {
	for _, u := range v.Uses() {
		n := u.Node
		if u.Index != 0 || weightAxis(n) < 0 {
			continue
		}
		w := constData(n.In[1])
		if w == nil || n.Op != op.Conv && n.Op != op.ConvTranspose && len(w.Shape) != 2 {
			continue
		}
		shape := v.Type.Shape
		r := channelReader{n: n, inner: 1}
		channels := shape[len(shape)-1]
		if n.Op == op.Conv || n.Op == op.ConvTranspose {
			channels, r.inner = shape[1], tensor.Count(shape[2:])
		}
		r.power = make([]float64, channels)
		in, _ := op.WeightChannels(n, w.Shape)
		for i := range w.Len() {
			r.power[in(i)] += w.Float(i) * w.Float(i)
		}
		list = append(list, r)
	}
	return list
}

// comparedIn says which float values are compared.
func comparedIn(pairs []floatPair) func(v *ir.Value) bool {
	names := lists.Set(lists.Map(pairs, func(p floatPair) string { return p.name }))
	return func(v *ir.Value) bool { return names[v.Name] }
}

// sideBySide is the noise of pairs and outputs on one sample.
type sideBySide struct {
	layers, outs []noise
	seen         [][]noise // of pairs, by their readers
}

// compare runs the float graph beside the quantised one: a float value is dropped
// once it has been compared. looked are the outputs and, behind them, the quantised values of
// the given names.
func compare(float, quantised *evaluator, pairs []floatPair, names []string, in Sample) (res sideBySide,
	looked []*tensor.Dense) {
	found := newLook(names)
	res = sideBySide{make([]noise, len(pairs)), make([]noise, len(float.g.Out)), make([][]noise, len(pairs))}
	left, want := map[string]int{}, map[string]*tensor.Dense{}
	at := make(map[*ir.Value]int, len(pairs))
	for k, p := range pairs {
		left[p.name]++
		at[p.v] = k
	}
	ref := float.start(in, func(v *ir.Value, d *tensor.Dense) {
		if left[v.Name] > 0 {
			want[v.Name] = d
		}
	})
	until := func(done func() bool) {
		for ref.Left() > 0 && !done() {
			ref.step()
		}
	}
	got := quantised.run(in, func(v *ir.Value, d *tensor.Dense) {
		found.see(lookedName(v), d)
		k, ok := at[v]
		if !ok {
			return
		}
		p := pairs[k]
		until(func() bool { return want[p.name] != nil })
		if w := want[p.name]; w != nil {
			res.layers[k].within(w, d, p.limit)
			for _, r := range p.readers {
				res.seen[k] = append(res.seen[k], r.noise(w, d, p.limit))
			}
		}
		if left[p.name]--; left[p.name] == 0 {
			delete(want, p.name)
		}
	})
	until(func() bool { return false })
	wanted := ref.Outputs()
	for k, w := range wanted {
		res.outs[k].add(w, got[k])
	}
	float.memory.put(ref.memory)
	float.release(wanted)
	return res, append(got, found.values...)
}

// Nothing says that no value was quantised: the model has integers only, or what
// stays float.
func (r *Report) Nothing() bool { return len(r.Layers) == 0 && !r.fixed }

// Diagnostics are the warnings, and notes about the steps that would have cost
// much.
func (r *Report) Diagnostics() diag.List {
	var out diag.List
	if r.Source == SyntheticSource && !r.Nothing() {
		out = append(out, diag.Warnf("synthetic-calibration", "--calib",
			"no --calib data: quantised with seeded synthetic inputs, so accuracy is unknown"))
	}
	out = append(append(out, r.Warnings...), r.low()...)
	for _, t := range r.Tried {
		if !t.Kept && t.After < t.Before-clearLoss {
			out = append(out, diag.Notef("calibration-step", "", "calibration: %s is left out: %.1f dB with it, %.1f "+
				"dB without, on %d samples that calibration did not see", t.What, t.After, t.Before, r.HeldOut))
		}
	}
	return out
}

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
