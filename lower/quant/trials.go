// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"errors"
	"maps"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

const (
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
	// rangesPromise, in dB, is what they must gain by the errors of each layer alone to be tried,
	// and before weights and biases are refined for that to be done with both, where trials cost
	// much: what is less is seldom kept in the end.
	rangesPromise = 1
	// mostDB is where more signal over noise is no gain.
	mostDB = 60
)

// trials are candidates for the quantisation of one graph.
type trials struct {
	g     *ir.Graph
	folds []*fold
	whole *findings // by calibration on all samples
	tried []Tried
	// promised, in dB, is by how much the errors of all layers are less with the method of each.
	promised float64
}

// fold is one way of holding samples out.
type fold struct {
	fit, held []Sample
	at        []int // of held, among all
	found     *findings
}

// holdOut makes the folds: where it costs little each of four parts of the samples
// is held out once, else one, of at most mostHeld samples.
func (t *trials) holdOut(opt Options) {
	n := len(opt.Samples)
	part := make([]int, n)
	parts, first := min(n, heldShare), 0
	if work(t.g, n) <= cheapWork {
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
	for k := first; k < parts; k++ {
		f := &fold{}
		for i, s := range opt.Samples {
			if part[i] == k {
				f.held, f.at = append(f.held, s), append(f.at, i)
			} else {
				f.fit = append(f.fit, s)
			}
		}
		t.folds = append(t.folds, f)
	}
	refined, unseen := keysOf(nil), func(p int) bool { return p >= first }
	if t.mayRefit(n) {
		refined, unseen = keysOf(lockstepInputs(opt.Samples)), nil
	}
	for _, f := range t.folds {
		maps.Copy(refined, keysOf(lockstepInputs(f.fit)))
	}
	fresh := func() *survey { // not run yet
		return &survey{samples: opt.Samples, part: part, counts: true, heldFrom: first, meansOf: refined,
			unseen: unseen}
	}
	all := fresh()
	use := func(in func(p int) bool) *findings {
		if opt.Equalize { // each has a graph of its own
			all = fresh()
		}
		return &findings{all: all, in: in, average: opt.BiasCorrection, ranges: map[option.Method]map[int]affine{}}
	}
	t.whole = use(every)
	for k, f := range t.folds {
		f.found = use(func(p int) bool { return p != first+k })
	}
	t.folds[0].found.reported = true
}

// candidate is a way of quantising with what it loses on the samples held out.
type candidate struct {
	opt   Options
	parts []*calibrator // one for every fold
	worst float64       // dB, of the worst output
	mean  float64       // dB, over what is heard: probes, and outputs that these do not speak for
	heard []int
	each  [][]float64 // dB of every sample, and output or probe
}

// try quantises with o in every fold and measures.
func (t *trials) try(o Options) *candidate {
	k := &candidate{opt: o, worst: maxDB}
	var sums []noise
	for _, f := range t.folds {
		o.Samples, o.Held, o.found = f.fit, f.held, f.found
		c := insert(t.g.Clone(), o)
		k.parts = append(k.parts, c)
		var outs [][]noise
		f.named(func() { outs = c.measure() })
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
			if t.folds[0].found.mute[i] {
				continue
			}
		}
		k.heard = append(k.heard, i)
		k.mean += min(db, mostDB)
		heard++
	}
	k.mean /= heard
	return k
}

// measure gives the noise of every sample held out, of outputs and probes.
func (c *calibrator) measure() [][]noise {
	g, o := c.g, &c.opt
	if o.Finish != nil {
		g = g.Clone()
		fail.Check(o.Finish(g))
	}
	names, mute := probes(c.before)
	c.mute = mute
	if c.held == nil {
		c.hold(nil)
	}
	outs, quantised := make([][]noise, len(o.Held)), newEvaluator(g, keptBy(names), o.memory)
	one := func(i int) []*tensor.Dense { return look(quantised, names, o.Held[i]) }
	if c.reported && (o.BiasCorrection || o.Rounding == option.Adaptive) && o.Finish == nil &&
		len(o.Held) <= reportSamples { // it will hardly be measured in vain
		pairs := c.pairs()
		float := newEvaluator(c.before, comparedIn(pairs), o.memory)
		c.beside = make([]sideBySide, len(o.Held))
		one = func(i int) (got []*tensor.Dense) {
			c.beside[i], got = compare(float, quantised, pairs, names, o.Held[i])
			return got
		}
	}
	forSamples(len(outs), g.Nodes, func(_, i int) {
		want, got := c.held[i], one(i)
		outs[i] = make([]noise, len(got))
		for k := range got {
			if got[k] != nil && want[k] != nil {
				outs[i][k].add(want[k], got[k])
			}
		}
		quantised.release(got)
	})
	return outs
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

// steps adds the steps that opt asks for, each unless it loses. Ranges other than
// the whole ones are taken if they gain, and if they are no worse in the end either.
func (t *trials) steps(plain *candidate, opt Options) *candidate {
	if !opt.Try.Method || opt.Method == option.MinMax || len(plain.each) < rangesSamples {
		return t.refined(plain, opt)
	}
	o := plain.opt
	o.Method = opt.Method
	what, least := "ranges by "+opt.Method.String(), 0.0
	if len(t.folds) == 1 {
		least = rangesPromise
	}
	if opt.Method == option.PerLayer {
		what = "ranges by the method that suits each layer"
		if t.promised == 0 || t.promised < least {
			return t.refined(plain, opt)
		}
	}
	ranged := t.try(o)
	mean, spread := ranged.against(plain)
	kept := mean > 2*spread && ranged.mean > plain.mean+max(least, rangesGain)
	t.tried = append(t.tried, Tried{what, plain.mean, ranged.mean, kept})
	if !kept {
		return t.refined(plain, opt)
	}
	ranged = t.refined(ranged, opt)
	tried := t.tried
	t.tried = nil
	plain = t.refined(plain, opt)
	if ranged.gains(plain) && ranged.mean > plain.mean+rangesGain && ranged.worst >= plain.worst {
		t.tried = tried
		return ranged
	}
	t.tried = append([]Tried{{what, plain.mean, ranged.mean, false}}, t.tried...)
	return plain
}

// triesMethods reports that each layer's own method will be tried.
func (t *trials) triesMethods(opt Options) bool {
	held := lists.Sum(t.folds, func(f *fold) int { return len(f.held) })
	return opt.Try.Method && opt.Method == option.PerLayer && held >= rangesSamples
}

// named runs do on the samples held out; an error of one has its place among all.
func (f *fold) named(do func()) {
	err := fail.Caught(do)
	var s *sampleError
	if errors.As(err, &s) {
		s.sample = f.at[s.sample]
	}
	fail.Check(err)
}

// refined adds the steps that change weights and biases, each unless it loses. They
// are tried together first, which one walk through the graph does.
func (t *trials) refined(best *candidate, opt Options) *candidate {
	start, last, first := best, best, len(t.tried)
	step := func(wanted bool, what string, change func(o *Options)) {
		if !wanted {
			return
		}
		o := best.opt
		change(&o)
		c := t.try(o)
		last = c
		kept := !c.loses(best)
		t.tried = append(t.tried, Tried{what, best.mean, c.mean, kept})
		if kept {
			best = c
		}
	}
	bias := func(o *Options) { o.BiasCorrection = true }
	rounding := func(o *Options) { o.Rounding = option.Adaptive }
	const biasText, roundingText = "bias correction", "adaptive weight rounding"
	b, r := opt.Try.Bias && opt.BiasCorrection, opt.Try.Rounding && opt.Rounding == option.Adaptive
	step(b && r, biasText+" and "+roundingText, func(o *Options) { bias(o); rounding(o) })
	together := last
	step(b && best == start, biasText, bias)
	// Where it made things worse together with the biases, it does so alone.
	step(r && best == start && !(b && together.mean < last.mean), roundingText, rounding)
	if best.loses(start) { // a little with every step
		for i := range t.tried[first:] {
			t.tried[first+i].Kept = false
		}
		return start
	}
	return best
}

// chooseMethods chooses the method of every group of values, in each fold by the
// errors in the others, where there are some.
func (t *trials) chooseMethods(o Options) {
	errs := make([]localErrors, len(t.folds))
	all := localErrors{}
	for i, f := range t.folds {
		errs[i] = t.localErrors(f, o)
		all.add(errs[i])
	}
	t.whole.method, t.promised = all.methods(), all.gain()
	for i, f := range t.folds {
		others := localErrors{}
		for j, e := range errs {
			if j != i || len(errs) == 1 {
				others.add(e)
			}
		}
		f.found.method = others.methods()
	}
}

// findings are what all candidates of one calibration share: the values of the float
// graph are the same for all.
type findings struct {
	all     *survey
	in      func(part int) bool              // of all
	average bool                             // biases will be corrected
	stats   map[int]*stats                   // by value
	rows    map[int]*rowStats                // by node that normalises rows
	limits  map[int]interval                 // by value, of those that have one
	ranges  map[option.Method]map[int]affine // by method and first value of a group
	method  map[int]option.Method            // by first value of a group, for option.PerLayer
	mute    []bool                           // outputs that probes speak for
	// reported: the report has figures of the samples that are held out.
	reported bool
	held     [][]*tensor.Dense // what probes see of the float graph on the samples that are held out
}

// key tells samples apart, in whatever lists they are; those without inputs are all the same.
func (s Sample) key() **tensor.Dense {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

// keysOf are those of some samples.
func keysOf(samples []Sample) map[**tensor.Dense]bool {
	keys := map[**tensor.Dense]bool{}
	for _, s := range samples {
		keys[s.key()] = true
	}
	return keys
}

// hold runs the float graph on samples that are held out, unless the survey did, for what
// probes see of them. see, which may be nil, gives an observer of the values of a sample.
func (c *calibrator) hold(see func(i int) interp.Observer) {
	names, _ := probes(c.before)
	held := c.opt.Held
	e, looks := newEvaluator(c.before, keptBy(names), c.opt.memory), make([][]*tensor.Dense, len(held))
	forSamples(len(held), c.before.Nodes, func(_, i int) {
		if n := c.all.noted[held[i].key()]; n != nil {
			looks[i] = n.look
		}
		if looks[i] != nil && see == nil {
			return
		}
		also := func(*ir.Value, *tensor.Dense) {}
		if see != nil {
			also = see(i)
		}
		found := newLook(names)
		out := e.run(held[i], func(v *ir.Value, d *tensor.Dense) {
			if found.see(v.Name, d); c.stats[v.ID] != nil {
				wantNumbers(v, rangeOf(tensor.As[float32](d)))
			}
			also(v, d)
		})
		looks[i] = append(out, found.values...)
	})
	c.findings.held = looks
}
