// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// toleranceArgs are shared by the comparisons.
type toleranceArgs struct {
	Equal bool
	ATol  *float64
	RTol  *float64
	Cases int
	Seed  uint64
	Data  []string
}

// tolerance is how results are compared with those of a reference.
func (s *session) tolerance(a *toleranceArgs, ref *Model) CompareOptions {
	o := CompareOptions{Equal: a.Equal, Count: s.count(a.Cases), Seed: a.Seed, Cases: s.casesFor(ref)}
	s.want(!a.Equal || a.ATol == nil && a.RTol == nil, "equal: true leaves no room for atol and rtol")
	s.want(a.Cases >= 0 && a.Cases <= 10_000, "cases: %d; want 1 to 10000", a.Cases)
	if a.ATol == nil && a.RTol == nil && !a.Equal {
		o.RTol = defaultRTol
	}
	for _, t := range []struct{ from, to *float64 }{{a.ATol, &o.ATol}, {a.RTol, &o.RTol}} {
		if t.from != nil {
			s.want(*t.from >= 0 && *t.from < 1e30, "tolerance %g; want 0 or more", *t.from)
			*t.to = *t.from
		}
	}
	if len(a.Data) > 0 {
		c := readCase(a.Data, ref.InputNames(), s.script.Dir)
		o.Cases = append([]map[string]*tensor.Dense{c}, o.Cases...)
	}
	return o
}

// compared keeps a comparison; one that found a difference ends the step.
func (s *session) compared(against string, c *Comparison) string {
	s.res.Verified = append(s.res.Verified, Verified{s.path, against, c})
	if !c.OK() {
		fail.Check(&DifferError{c})
	}
	return fmt.Sprintf("against %s: %s", against, c.text())
}

// readCase reads inputs: NAME=FILE.npy, or a .npz with arrays of these names.
func readCase(data, names []string, dir string) map[string]*tensor.Dense {
	in := map[string]*tensor.Dense{}
	for _, d := range data {
		if name, file, ok := strings.Cut(d, "="); ok {
			x, err := npz.ReadNpyFile(inDir(dir, file), npz.Limits{})
			if err == nil {
				in[name], err = npz.ToTensor(x)
			}
			fail.If(err != nil, "data %s: %w", quote(d), err)
			continue
		}
		es, err := npz.ReadNpzFile(inDir(dir, d), npz.Limits{})
		fail.If(err != nil, "data %s: %w", quote(d), err)
		for _, e := range es {
			if slices.Contains(names, e.Name) {
				if in[e.Name], err = npz.ToTensor(e.Array); err != nil {
					fail.Errorf("data %s: %w", quote(d), err)
				}
			}
		}
	}
	for _, n := range names {
		fail.If(in[n] == nil, "data: nothing for input %s; want %s", quote(n), quoted(names))
	}
	return in
}

// text is a comparison in one line.
func (c *Comparison) text() string {
	s := lists.Map(c.Outputs, func(d OutputDiff) string {
		return fmt.Sprintf("%s: min %.3g, max %.3g, relative %.3g", d.Name, d.Min, d.Max, d.Relative)
	})
	return fmt.Sprintf("%d cases, %s: %s", c.Cases, c.Wanted, strings.Join(s, "; "))
}

func verifyStep() *stepDef {
	type verify struct {
		Against       string
		toleranceArgs `yaml:",inline"`
		Inputs        map[string]string
		Outputs       map[string]string
		Reshape       bool
		Partial       bool
		Restore       []yaml.Node
	}
	d := reading(def("verify", func(s *session, a *verify) string {
		e := s.cur()
		ref, refName := e.ref, e.refName
		if a.Against == mainName {
			ref, refName = s.original, mainName
		} else if a.Against != "" {
			ref, refName = s.model(a.Against).m, a.Against
		}
		opt, got := s.tolerance(&a.toleranceArgs, ref), e.m
		opt.Inputs, opt.Outputs, opt.Reshape, opt.Partial = a.Inputs, a.Outputs, a.Reshape, a.Partial
		if len(a.Restore) > 0 {
			got = s.restored(a.Restore)
		}
		c := Compare(got, ref, opt)
		text := s.compared(refName, c)
		e.edited = false
		return text
	}))
	keys := d.check
	d.check = func(n *yaml.Node, depth int) {
		keys(n, depth)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value != "restore" {
				continue
			}
			refuseAt(depth >= maxLoops, n, "restore within restore, more than %d deep", maxLoops)
			fail.Under("restore", func() { checkSteps(n.Content[i+1].Content, depth+1) })
		}
	}
	return d
}

// restored is a copy of the current model after further steps.
func (s *session) restored(steps []yaml.Node) *Model {
	e := s.cur()
	inner := &session{script: s.script, opt: s.opt, models: map[string]*entry{mainName: {m: e.m.Clone(), ref: e.ref,
		refName: e.refName}}, at: mainName,
		original: s.original, res: &Result{}, executed: s.executed}
	inner.opt.Note = nil
	inner.steps(pointers(steps), s.vars, s.path+".restore.")
	s.executed = inner.executed
	m := inner.cur().m
	fail.Under("restore", func() { m.InferShapes() })
	m.Prune()
	return m
}

func verifySplitStep() *stepDef {
	type verifySplit struct {
		Parts         []string
		Whole         string
		toleranceArgs `yaml:",inline"`
	}
	return reading(def("verify_split", func(s *session, a *verifySplit) string {
		whole, name := s.original, mainName
		if a.Whole != "" && a.Whole != mainName {
			whole, name = s.model(a.Whole).m, a.Whole
		}
		s.want(len(a.Parts) > 0, "no parts are named")
		parts := lists.Map(a.Parts, func(p string) *Model { return s.model(p).m })
		c := Cascade(whole, parts, a.Parts, s.tolerance(&a.toleranceArgs, whole))
		return s.compared(name, c)
	}))
}
