package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

const (
	// fewSamples is how many samples it takes for steps to be tried: with fewer,
	// nothing tells a gain from chance.
	fewSamples = 4
	// With fewer samples than rangesBelow the program is made anew from all of
	// them, once it is known how; with fewer than refitBelow where weights or biases
	// depend on them.
	rangesBelow, refitBelow = 8, 16
	// heldShare is one over the share of samples that is held out, mostHeld the
	// most of them.
	heldShare, mostHeld = 4, 8
	// leastLoss and clearLoss, in dB, are by how much a step is worse on samples
	// that it did not see where it is undone: the first if most of them agree, the
	// second in any case. Most steps gain on most networks; chance must not undo
	// them.
	leastLoss, clearLoss = 0.1, 1
	// rangesGain, in dB, is what ranges other than the whole ones must gain in the end, on
	// rangesSamples at least. They clip what lies outside, and a single sample beyond them
	// costs more than all others gain.
	rangesGain, rangesSamples = 0.3, 8
	// mostDB is where more signal over noise is no gain.
	mostDB = 60
)

// Trial says which steps may be undone: those that nobody asked for.
type Trial struct{ Method, Bias, Rounding bool }

// Tried is a step of calibration that was tried on samples that it did not see.
type Tried struct {
	What string `json:"what"`
	// without the step: the mean over outputs (what stands before a Softmax or Sigmoid) and the last layers
	Before float64 `json:"db_before"`
	After  float64 `json:"db_after"`
	Kept   bool    `json:"kept"`
}

// seen is what all candidates of one calibration share: the values of the float
// graph are the same for all.
type seen struct {
	all    *surveyedSamples
	in     func(part int) bool              // of all
	stats  map[int]*stats                   // by value
	rows   map[int]*rowStats                // by node
	ranges map[option.Method]map[int]affine // by method and first value of a group
	method map[int]option.Method            // by first value of a group, for option.PerLayer
	limits map[int]limit                    // by value
	means  map[int][][]float64              // of the output channels of layers, by node and sample
	mute   []bool                           // outputs that probes speak for
	held   [][]*tensor.Dense                // what probes see of the float graph on the samples that are held out
}

// surveyedSamples are samples in parts, and what one run on each of them tells.
type surveyedSamples struct {
	samples []Sample
	part    []int
	survey  *survey
}

// Calibrate is Insert on a copy of g with samples held out: what Options.Try
// names is kept unless it loses on them, and the report's figures are theirs.
// Where that costs little, every sample is held out once, and the program is made
// from all of them in the end. With one sample nothing is tried, and the figures
// are of it; synthetic samples and fixed-point formats are taken as they are.
func Calibrate(g *ir.Graph, opt Options) (*ir.Graph, *Report, error) {
	n := len(opt.Samples)
	plain := opt
	if opt.Try.Method {
		plain.Method = option.MinMax
	}
	plain.BiasCorrection = opt.BiasCorrection && !opt.Try.Bias
	if opt.Try.Rounding {
		plain.Rounding = option.Nearest
	}
	asTold := opt.Source == SyntheticSource || opt.FixedWeights != nil || opt.FixedActivations != nil
	if plain.Method == option.PerLayer && n < fewSamples {
		plain.Method = option.MinMax
	}
	if asTold || n < 2 {
		if !asTold {
			opt = plain
		}
		if opt.Method == option.PerLayer {
			opt.Method = option.MSE
		}
		out := g.Clone()
		r, err := Insert(out, opt)
		if err == nil {
			r.InSample = true
			r.judge(opt.oddData(g, nil))
		}
		return out, r, err
	}
	t := &trials{g: g}
	t.holdOut(opt)
	if plain.Method == option.PerLayer {
		if err := t.chooseMethods(plain); err != nil {
			return nil, nil, err
		}
	}
	best, err := t.try(plain)
	if err == nil && n >= fewSamples {
		best, err = t.steps(best, opt)
	}
	if err != nil {
		return nil, nil, err
	}
	odd, empty := opt.oddData(g, t.folds[0].seen.held)
	for _, f := range t.folds {
		f.seen.held, f.seen.means = nil, nil
	}
	first := best.parts[0]
	r, err := first.c.report(first.before)
	if err != nil {
		return nil, nil, err
	}
	out := first.g
	o := best.opt
	if len(t.folds) > 1 || n < rangesBelow || (n < refitBelow || n < 2*refitBelow && work(g, n) <= refitWork) &&
		o.Finish == nil && (o.BiasCorrection || o.Rounding == option.Adaptive) {
		o.Samples, o.seen = opt.Samples, t.whole
		c, before, err := insert(g.Clone(), o)
		if err != nil {
			return nil, nil, err
		}
		final, err := c.report(before)
		if err != nil {
			return nil, nil, err
		}
		final.figures(r) // of the program that did not see these samples
		r, out = final, c.g
		r.Refitted = true
	}
	r.Samples, r.Tried, r.SQNR, r.InSample = n, t.tried, best.worst, false
	for _, f := range t.folds {
		r.HeldOut += len(f.held)
	}
	r.judge(odd, empty)
	return out, r, nil
}

// judge adds what is odd about the samples; figures of data without any content
// are none.
func (r *Report) judge(warnings diag.List, empty bool) {
	r.Warnings = append(r.Warnings, warnings...)
	if empty {
		r.Unknown, r.SQNR = true, 0
	}
}

// cheapWork and refitWork are multiplications: what calibrating several times may
// cost, and doing so twice with a few more samples.
const cheapWork, refitWork = 1 << 26, 3 << 26

// cheap reports that calibrating g several times costs little.
func cheap(g *ir.Graph, n int) bool { return work(g, n) <= cheapWork }

// work is about how many multiplications it takes to calibrate g on n samples.
func work(g *ir.Graph, n int) float64 {
	work := 0.0
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			work += float64(x.Op.MACs(x)) * float64(n)
		}
		if p := productOf(x); p != nil && p.depth <= maxDepth {
			d := float64(p.depth)
			work += float64(p.groups) * d * d * (d + max(minRows, rowsPerWeight*d)) / 4
		}
	}
	return work
}

// steps adds the steps that opt asks for, each unless it loses. Ranges other than
// the whole ones are taken if they gain, and if they are no worse in the end either.
func (t *trials) steps(plain *candidate, opt Options) (*candidate, error) {
	if !opt.Try.Method || opt.Method == option.MinMax || len(plain.each) < rangesSamples {
		return t.refined(plain, opt)
	}
	o := plain.opt
	o.Method = opt.Method
	what := "ranges by " + opt.Method.String()
	if opt.Method == option.PerLayer {
		what = "ranges by the method that suits each layer"
		if err := t.chooseMethods(o); err != nil {
			return nil, err
		}
	}
	ranged, err := t.try(o)
	if err != nil {
		return nil, err
	}
	kept := ranged.gains(plain)
	t.tried = append(t.tried, Tried{what, plain.mean, ranged.mean, kept})
	if !kept {
		return t.refined(plain, opt)
	}
	if ranged, err = t.refined(ranged, opt); err != nil {
		return nil, err
	}
	tried := t.tried
	t.tried = nil
	if plain, err = t.refined(plain, opt); err != nil {
		return nil, err
	}
	if ranged.gains(plain) && ranged.mean > plain.mean+rangesGain && ranged.worst >= plain.worst {
		t.tried = tried
		return ranged, nil
	}
	t.tried = append([]Tried{{what, plain.mean, ranged.mean, false}}, t.tried...)
	return plain, nil
}

// refined adds the steps that change weights and biases, each unless it loses. They
// are tried together first, which one walk through the graph does.
func (t *trials) refined(best *candidate, opt Options) (*candidate, error) {
	start, last, first := best, best, len(t.tried)
	step := func(what string, change func(o *Options)) error {
		o := best.opt
		change(&o)
		c, err := t.try(o)
		if err != nil {
			return err
		}
		last = c
		kept := !c.loses(best)
		t.tried = append(t.tried, Tried{what, best.mean, c.mean, kept})
		if kept {
			best = c
		}
		return nil
	}
	bias := func(o *Options) { o.BiasCorrection = true }
	rounding := func(o *Options) { o.Rounding = option.Adaptive }
	const biasText, roundingText = "bias correction", "adaptive weight rounding"
	b, r := opt.Try.Bias && opt.BiasCorrection, opt.Try.Rounding && opt.Rounding == option.Adaptive
	before := best
	if b && r {
		if err := step(biasText+" and "+roundingText, func(o *Options) { bias(o); rounding(o) }); err != nil {
			return nil, err
		}
	}
	together := last
	if b && best == before {
		if err := step(biasText, bias); err != nil {
			return nil, err
		}
	}
	alone := last
	// Where it made things worse together with the biases, it does so alone.
	if r && best == before && !(b && together.mean < alone.mean) {
		if err := step(roundingText, rounding); err != nil {
			return nil, err
		}
	}
	if best.loses(start) { // a little with every step
		for i := range t.tried[first:] {
			t.tried[first+i].Kept = false
		}
		return start, nil
	}
	return best, nil
}

// chooseMethods chooses the method of every group of values, in each fold by the
// errors in the others, where there are some.
func (t *trials) chooseMethods(o Options) error {
	errs := make([]localErrors, len(t.folds))
	all := localErrors{}
	for i, f := range t.folds {
		var err error
		if errs[i], err = t.localErrors(f, o); err != nil {
			return err
		}
		all.add(errs[i])
	}
	t.whole.method = all.methods()
	for i, f := range t.folds {
		others := localErrors{}
		for j, e := range errs {
			if j != i || len(errs) == 1 {
				others.add(e)
			}
		}
		f.seen.method = others.methods()
	}
	return nil
}

// figures takes the signal-to-noise ratios of another report of the same values.
func (r *Report) figures(of *Report) {
	db := map[string]float64{}
	for _, l := range of.Layers {
		db[l.Name] = l.SQNR
	}
	for i, l := range r.Layers {
		if x, ok := db[l.Name]; ok {
			r.Layers[i].SQNR = x
		}
	}
}

// trials are candidates for the quantisation of one graph.
type trials struct {
	g     *ir.Graph
	folds []*fold
	whole *seen // by calibration on all samples
	tried []Tried
}

// fold is one way of holding samples out.
type fold struct {
	fit, held []Sample
	seen      *seen
}

// holdOut makes the folds: where it costs little each of four parts of the samples
// is held out once, else one, of at most mostHeld samples.
func (t *trials) holdOut(opt Options) {
	n := len(opt.Samples)
	part := make([]int, n)
	parts, first := min(n, heldShare), 0
	if cheap(t.g, n) {
		for i := range part {
			part[i] = i % parts
		}
	} else {
		h := min(max(n/heldShare, 1), mostHeld)
		for i := range h {
			part[(2*i+1)*n/(2*h)] = 1
		}
		parts, first = 2, 1
	}
	all := &surveyedSamples{samples: opt.Samples, part: part}
	use := func(in func(p int) bool) *seen {
		s := &seen{all: all, in: in, ranges: map[option.Method]map[int]affine{}}
		if opt.Equalize { // each has a graph of its own
			s.all = &surveyedSamples{samples: opt.Samples, part: part}
		}
		return s
	}
	t.whole = use(func(int) bool { return true })
	for k := first; k < parts; k++ {
		f := &fold{seen: use(func(p int) bool { return p != k })}
		for i, s := range opt.Samples {
			if part[i] == k {
				f.held = append(f.held, s)
			} else {
				f.fit = append(f.fit, s)
			}
		}
		t.folds = append(t.folds, f)
	}
}

// candidate is a way of quantising with what it loses on the samples held out.
type candidate struct {
	opt   Options
	parts []*attempt // one for every fold
	worst float64    // dB, of the worst output
	mean  float64    // dB, over what is heard: probes, and outputs that these do not speak for
	heard []int
	each  [][]float64 // dB of every sample, and output or probe
}

// attempt is a candidate in one fold.
type attempt struct {
	g, before *ir.Graph
	c         *calibrator
}

// try quantises with o in every fold and measures.
func (t *trials) try(o Options) (*candidate, error) {
	k := &candidate{opt: o, worst: maxDB}
	var sums []noise
	for _, f := range t.folds {
		o.Samples, o.Held, o.seen = f.fit, f.held, f.seen
		p := &attempt{g: t.g.Clone()}
		var err error
		if p.c, p.before, err = insert(p.g, o); err != nil {
			return nil, err
		}
		k.parts = append(k.parts, p)
		outs, err := p.measure(o)
		if err != nil {
			return nil, err
		}
		for _, list := range outs {
			if sums == nil {
				sums = make([]noise, len(list))
			}
			dbs := make([]float64, len(list))
			for i, x := range list {
				sums[i].signal += x.signal
				sums[i].err += x.err
				dbs[i] = min(x.db(), mostDB)
			}
			k.each = append(k.each, dbs)
		}
	}
	heard := 0.0
	for i, x := range sums {
		db := x.db()
		if i < len(t.g.Out) {
			k.worst = min(k.worst, db)
			if t.folds[0].seen.mute[i] {
				continue
			}
		}
		k.heard = append(k.heard, i)
		k.mean += min(db, mostDB)
		heard++
	}
	k.mean /= heard
	return k, nil
}

// measure gives the noise of every sample held out, of outputs and probes.
func (p *attempt) measure(o Options) ([][]noise, error) {
	g := p.g
	if o.Finish != nil {
		g = g.Clone()
		if err := o.Finish(g); err != nil {
			return nil, err
		}
	}
	names, mute := probes(p.before)
	o.seen.mute = mute
	if o.seen.held == nil {
		held := make([][]*tensor.Dense, len(o.Held))
		if err := forSamples(len(held), g.Nodes, func(_, i int) (err error) {
			held[i], err = look(p.before, names, o.Held[i])
			return err
		}); err != nil {
			return nil, err
		}
		o.seen.held = held
	}
	outs := make([][]noise, len(o.Held))
	return outs, forSamples(len(outs), g.Nodes, func(_, i int) error {
		want := o.seen.held[i]
		got, err := look(g, names, o.Held[i])
		if err != nil {
			return err
		}
		outs[i] = make([]noise, len(got))
		for k := range got {
			if got[k] != nil && want[k] != nil {
				outs[i][k].add(want[k], got[k])
			}
		}
		return nil
	})
}

// loses reports that k is worse than another candidate, by more than chance
// makes of so few samples.
func (k *candidate) loses(than *candidate) bool {
	mean, spread := k.against(than)
	all := k.mean - than.mean
	return all < -leastLoss && mean < -spread/2 || all < -clearLoss && mean < 0
}

// gains reports that k is better, by more than chance makes.
func (k *candidate) gains(than *candidate) bool {
	mean, spread := k.against(than)
	return k.mean > than.mean && mean > spread
}

// against is by how many dB k is better than another candidate on a sample, and
// how uncertain that is.
func (k *candidate) against(than *candidate) (mean, spread float64) {
	var gains []float64
	for i := range k.each {
		g := 0.0
		for _, j := range k.heard {
			g += (k.each[i][j] - than.each[i][j]) / float64(len(k.heard))
		}
		gains = append(gains, g)
		mean += g / float64(len(k.each))
	}
	n := float64(len(gains))
	for _, g := range gains {
		spread += (g - mean) * (g - mean)
	}
	if n > 1 {
		spread = math.Sqrt(spread / (n * (n - 1))) // of the mean
	}
	return mean, spread
}

// maxProbes bounds the values that are looked at beside outputs, probeDepth how
// many multiply-accumulate layers back they are.
const maxProbes, probeDepth = 12, 2

// probes names values of the float graph that tell more than outputs do, and
// which outputs tell nothing beside them: a Softmax or Sigmoid gives 0 or 1 for
// most samples, its argument always says something; the few numbers of an output
// say less than the features that the last layers make them from.
func probes(g *ir.Graph) (names []string, mute []bool) {
	seen := map[*ir.Value]bool{}
	add := func(v *ir.Value) {
		if v.Const == nil && v.Type.DType.IsFloat() && !seen[v] && len(names) < maxProbes {
			names = append(names, v.Name)
		}
		seen[v] = true
	}
	var back func(v *ir.Value, depth int)
	back = func(v *ir.Value, depth int) {
		for v.Def != nil && !seen[v] && depth > 0 {
			n := v.Def
			if weightAxis(n) >= 0 {
				add(v)
				v, depth = n.In[0], depth-1
				if depth == 0 {
					add(v)
				}
				continue
			}
			seen[v] = true
			for _, x := range n.In[1:] {
				if x != nil && x.Const == nil && x.Type.DType.IsFloat() {
					back(x, depth)
				}
			}
			if v = n.In[0]; v == nil {
				return
			}
		}
	}
	for _, v := range g.Out {
		quiet := false
		for v.Def != nil && len(v.Def.In) > 0 && v.Def.In[0] != nil && v.Def.In[0].Const == nil &&
			v.Def.In[0].Type.DType.IsFloat() &&
			(v.Def.Op.Quant == ir.QMove || v.Def.Op.OutQuant != nil) {
			levels := v.Def.Op.OutQuant != nil
			if v = v.Def.In[0]; levels {
				add(v)
				quiet = true
			}
		}
		mute = append(mute, quiet)
		delete(seen, v)
		back(v, probeDepth)
	}
	return names, mute
}

// look runs g and gives its outputs and, behind them, the values of the given
// names, nil where there is none. In a quantised graph these are the quantised
// values.
func look(g *ir.Graph, names []string, in Sample) ([]*tensor.Dense, error) {
	at := make(map[string]int, len(names))
	for k, n := range names {
		at[n] = k
	}
	found := make([]*tensor.Dense, len(names))
	out, err := interp.Run(g, in, func(v *ir.Value, d *tensor.Dense) {
		k, ok := at[v.Name]
		if v.Def != nil && v.Def.Op == op.DequantizeLinear && v.Def.In[0].Def != nil &&
			v.Def.In[0].Def.Op == op.QuantizeLinear {
			k, ok = at[v.Def.In[0].Def.In[0].Name]
		}
		if ok {
			found[k] = d
		}
	})
	return append(out, found...), err
}

// oddData says what is odd about calibration data: figures of it would mislead.
// outs are the outputs of the float model on some samples. empty: the data say
// nothing about accuracy.
func (o *Options) oddData(g *ir.Graph, outs [][]*tensor.Dense) (w diag.List, empty bool) {
	if o.Source == SyntheticSource {
		return nil, false
	}
	warn := func(format string, args ...any) {
		w.Add(diag.Warnf("calibration", "", "calibration data: "+format, args...))
	}
	n := len(o.Samples)
	if n < fewSamples {
		warn("%d sample%s: ranges and accuracy of other inputs are uncertain; give at least %d, better 100", n,
			plural(n), fewSamples)
	}
	same := n > 1
	for i, v := range g.In {
		if !v.Type.DType.IsFloat() {
			for k := 1; k < n && same; k++ {
				same = tensor.Equal(o.Samples[k][i], o.Samples[0][i])
			}
			continue
		}
		constant, varies := true, false
		first := o.Samples[0][i]
		for k := range n {
			d := o.Samples[k][i]
			varies = varies || !tensor.Equal(d, first)
			for e := 0; e < d.Len() && constant; e++ {
				constant = d.Float(e) == first.Float(0)
			}
		}
		same = same && !varies
		if constant && v.Type.Elems()*n > 1 {
			warn("input %s is %g everywhere, in every sample: nothing is known about its range", v.Name, first.Float(0))
			empty = empty || len(g.In) == 1
		}
	}
	if same {
		warn("all %d samples are equal", n)
	}
	if same || len(outs) < 2 {
		return w, empty || same
	}
	for k := range g.Out {
		if g.Out[k].Def == nil || !g.Out[k].Type.DType.IsFloat() || g.Out[k].Type.Elems() == 0 {
			continue
		}
		var away, size float64
		for _, x := range outs {
			for e := range x[k].Len() {
				d := x[k].Float(e) - outs[0][k].Float(e)
				away, size = max(away, d, -d), max(size, x[k].Float(e), -x[k].Float(e))
			}
		}
		if away <= 1e-6*size {
			empty = true
			warn("output %s of the float model is the same for all samples: are they scaled and normalised as in "+
				"training (0 to 1, or 0 to 255)?", g.OutNames[k])
		}
	}
	return w, empty
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// keepSeen remembers statistics, ranges and limits for other candidates.
func (c *calibrator) keepSeen() {
	s := c.opt.seen
	if s == nil {
		return
	}
	s.stats, s.rows, s.limits = map[int]*stats{}, map[int]*rowStats{}, map[int]limit{}
	for v, x := range c.obs.stats {
		y := *x
		s.stats[v.ID] = &y
	}
	for n, r := range c.obs.rows {
		s.rows[n.ID] = r
	}
	for v, l := range c.limits {
		s.limits[v.ID] = l
	}
}

// takeSeen takes what an earlier candidate saw; false where there was none.
func (c *calibrator) takeSeen() bool {
	s := c.opt.seen
	if s == nil || s.stats == nil {
		return false
	}
	for v := range c.obs.stats {
		x := *s.stats[v.ID]
		c.obs.stats[v] = &x
	}
	for n := range c.obs.rows {
		c.obs.rows[n] = s.rows[n.ID]
	}
	c.limits = map[*ir.Value]limit{}
	limits := func(list []*ir.Value) {
		for _, v := range list {
			if l, ok := s.limits[v.ID]; ok {
				c.limits[v] = l
			}
		}
	}
	limits(c.g.In)
	for _, n := range c.g.Nodes {
		limits(n.Out)
	}
	return true
}
