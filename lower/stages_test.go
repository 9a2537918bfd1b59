// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// target is a way to compile random networks.
type target struct {
	name  string
	accel accel.Accelerator
	core  kernel.Core
	set   func(o *lower.Options)
}

func targets() []target {
	m55, m4 := kernel.Core{MVE: true, FPU: true}, kernel.Core{DSP: true, FPU: true}
	return []target{
		{name: "m55", core: m55},
		{name: "m0plus"},
		{name: "m4-size", core: m4, set: func(o *lower.Options) { o.Optimize = option.Size }},
		{name: "m4-int16", core: m4, set: func(o *lower.Options) { o.Precision = option.Int16x8 }},
		{name: "float32", core: m4, set: func(o *lower.Options) { o.Precision = option.Float32 }},
		{name: "accelerator", core: m55, accel: mla.New(mla.Defaults())},
		{name: "float-io", core: m55, set: func(o *lower.Options) { o.FloatIO, o.Align = true, option.AlignAlways }},
		{name: "m4-flash", core: m4, set: func(o *lower.Options) {
			o.Copying = boards.Copying{From: boards.Wait{States: 8, Line: 4}, PerByte: 0.75}
		}},
		{name: "small-arena", core: m55, set: func(o *lower.Options) { o.MaxRAM, o.MaxTries = 1, 2 }},
	}
}

func (t target) options(g *ir.Graph) lower.Options {
	o := lower.Options{Legalize: true, DeadChannels: true, Fuse: true, Align: option.AlignAuto, Accel: t.accel,
		Target: kernel.Options{Core: t.core}, Libraries: []string{"dsp", "cmsisnn", "refc"}}
	if t.core.MVE {
		o.Libraries[0] = "helium"
	}
	if t.set != nil {
		t.set(&o)
	}
	if !lower.Quantised(g) {
		o.Quant = quant.Options{Method: option.MinMax, Source: "inputs", Samples: quant.SyntheticSamples(g.In, 2, 1)}
		if o.Precision == option.Int16x8 {
			o.Quant.Layer = func(*ir.Node) quant.Layer { return quant.Int16x8 }
		}
	}
	return o
}

// samples are inputs of g by name.
func samples(g *ir.Graph, seed uint64) []map[string]*tensor.Dense {
	m := map[string]*tensor.Dense{}
	for i, d := range irtest.Inputs(g, seed) {
		m[g.In[i].Name] = d
	}
	return []map[string]*tensor.Dense{m}
}

// unsupportedHere reports that a random network has nodes without kernels.
func unsupportedHere(err error) bool {
	var un *lower.Unplaced
	return errors.As(err, &un)
}

// TestEveryStage interprets random networks before and after every stage, on
// every kind of target: no stage does more than its numerics allow, and every
// stage is there.
func TestEveryStage(t *testing.T) {
	n := uint64(12)
	if testing.Short() {
		n = 3
	}
	ran := map[string]int{}
	for _, target := range targets() {
		for seed := range n {
			g := irtest.GenFloat(seed)
			if seed%2 == 1 {
				g = irtest.GenQDQ(seed)
			}
			b := &lower.Bisector{Samples: samples(g, seed)}
			o := target.options(g)
			o.Observe = b.Observe
			_, err := lower.Run(g, o)
			testenv.Check(t, err == nil || unsupportedHere(err), "%s, seed %d: %v", target.name, seed, err)
			for _, c := range b.Stages {
				ran[c.Stage]++
			}
			c := b.Guilty()
			testenv.Check(t, c == nil, "%s, seed %d: guilty is %+v", target.name, seed, c)
		}
	}
	t.Log(ran)
}

// TestTableOrder: names are unique, what a stage requires is established before
// it, and constraints on the order hold.
func TestTableOrder(t *testing.T) {
	seen, established := map[string]bool{}, map[*lower.Invariant]bool{}
	for _, s := range lower.Table {
		testenv.Check(t, !seen[s.Name], "two stages are called %s", s.Name)
		for _, i := range s.Requires {
			testenv.Check(t, established[i], "%s requires %q, which no stage before it establishes", s.Name, i.Name)
		}
		for _, o := range s.After {
			testenv.Check(t, seen[o.Stage] && o.Why != "", "%s stands before %s: %s", s.Name, o.Stage, o.Why)
		}
		if s.Doc == "" || strings.HasSuffix(s.Doc, ".") || s.Numerics == pass.Lossy != (s.LeastSQNR > 0) {
			t.Errorf("%s: doc %q, %s with %g dB", s.Name, s.Doc, s.Numerics, s.LeastSQNR)
		}
		seen[s.Name] = true
		for _, i := range s.Establishes {
			established[i] = true
		}
	}
}

// TestFloatPassesAreStages: every pass of lower/legal is a row of the table, in
// the order in which `nncc legalize` runs them.
func TestFloatPassesAreStages(t *testing.T) {
	var want, rows []string
	for _, p := range legal.Passes {
		want = append(want, p.Name)
	}
	for _, s := range lower.Table {
		if s.Name == "4d" {
			break // behind it, passes run again
		}
		if s.Pass != "" {
			rows = append(rows, s.Pass)
		}
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the float rows of lower/pipeline.go have passes\n%v, legal.Passes has\n%v: a pass needs a line in "+
			"both (lower/legal/README.md)", rows, want)
	}
}

// TestBisectNamesTheStage: a wrong rewrite in any stage that edits a graph is
// found under its name.
func TestBisectNamesTheStage(t *testing.T) {
	for _, name := range []string{"transpose", "absorb", "integer", "dead-channels", "fuse-kernels", "layout"} {
		t.Run(name, func(t *testing.T) {
			row := testenv.Must(lower.Find(name))(t)
			right := row.Run
			defer func() { row.Run = right }()
			row.Run = func(s *lower.State) {
				right(s)
				negateWeights(s.Graph)
			}
			g := irtest.Gen(5, tensor.F32) // one whose result is no constant in integers
			b := &lower.Bisector{Samples: samples(g, 3)}
			o := targets()[0].options(g)
			o.Observe = b.Observe
			if _, err := lower.Run(g, o); err != nil {
				t.Log(err) // a wrong graph may have no kernels
			}
			c := b.Guilty()
			testenv.Check(t, c != nil && c.Stage == name, "found %+v, want %s", c, name)
		})
	}
}

// negateWeights is a wrong rewrite.
func negateWeights(g *ir.Graph) {
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if i == 1 && v != nil && v.Const != nil && n.Op.MACs != nil {
				d := v.Const.Clone()
				for k := range d.Len() {
					if d.DType.IsFloat() {
						d.SetFloat(k, -d.Float(k))
					} else {
						d.SetInt(k, max(-d.Int(k), -127))
					}
				}
				w := g.AddConst(v.Name+".wrong", d)
				w.Type = v.Type
				g.SetInput(n, i, w)
			}
		}
	}
}

// TestOff: stages that may be off are, required ones are refused with the
// reason, and what stops runs no further.
func TestOff(t *testing.T) {
	for _, s := range lower.Table {
		g := irtest.GenFloat(1)
		o := targets()[0].options(g)
		o.Off = map[string]bool{s.Name: true}
		o.Observe = func(st lower.Step) error {
			testenv.Check(t, st.Stage.Name != s.Name, "%s ran", s.Name)
			return nil
		}
		_, err := lower.Run(g, o)
		refused := err != nil && strings.Contains(err.Error(), "cannot be switched off")
		testenv.Equal(t, refused, s.Required != "", "%s off: %v", s.Name, err)
	}
	g := irtest.GenFloat(1)
	o := targets()[0].options(g)
	last := ""
	o.StopAfter, o.Observe = "integer", func(st lower.Step) error { last = st.Stage.Name; return nil }
	r, err := lower.Run(g, o)
	testenv.Check(t, err == nil && last == "integer" && r.Program == nil, "stopped after %s: %v", last, err)
	o.StopAfter = "4d"
	testenv.Refused(t, testenv.Err(lower.Run(irtest.GenFloat(1), o)), "it runs with: ")
}

// TestSearches: every search has a slice of the table, and runs where its
// options ask for it: the stages of the slice are shown once for each program
// that goes on.
func TestSearches(t *testing.T) {
	at := func(name string) int {
		return slices.IndexFunc(lower.Table, func(s *lower.Stage) bool { return s.Name == name })
	}
	for _, x := range lower.Searches() {
		if from, until := at(x.From), at(x.Until); from < 0 || until < from || x.Doc == "" {
			t.Errorf("%s: rows %s to %s, doc %q", x.Name, x.From, x.Until, x.Doc)
		}
	}
	for name, set := range map[string]func(o *lower.Options){
		"arena":     func(*lower.Options) {},
		"precision": func(o *lower.Options) { l := mla.Defaults(); l.BF16 = 1; o.Accel = mla.New(l) },
		"selection": func(o *lower.Options) { o.Optimize = option.Balanced },
	} {
		g := irtest.GenFloat(1)
		o := targets()[0].options(g)
		set(&o)
		times := map[string]int{}
		o.Observe = func(s lower.Step) error { times[s.Stage.Name]++; return nil }
		if _, err := lower.Run(g, o); err != nil && !unsupportedHere(err) {
			t.Fatal(name, err)
		}
		for _, x := range lower.Searches() {
			if f := (&lower.Facts{Options: o}); x.Applies(f) != (x.Name == name) {
				t.Errorf("with options for %q the search %s runs: %v", name, x.Name, x.Applies(f))
			}
		}
		testenv.Check(t, times["calibrate"] == 1 && (name == "arena" || times["lowering"] <= 1),
			"with options for %q stages were shown %v", name, times)
	}
}
