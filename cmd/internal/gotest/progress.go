// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seconds.csv says how long packages took once, on two cores; those without a
// line are done in a moment. It steers the estimate of the time left and nothing
// else, so a figure may be old.
//
//go:embed seconds.csv
var seconds string

// progress is how far tests have come.
type progress struct {
	now      func() time.Time
	began    time.Time                       // of the first test, zero before
	weights  map[string]float64              // seconds of the packages to test
	packages int                             // of these
	started  map[string]time.Time            // packages whose tests run or ran
	ended    map[string]bool                 // packages that are done
	running  map[string]map[string]time.Time // tests that run, and since when, by package
	tests    int                             // that are done
}

// newProgress is that before the first of the packages.
func newProgress(packages []string, now func() time.Time) *progress {
	p := &progress{now: now, weights: map[string]float64{}, packages: len(packages), ended: map[string]bool{},
		started: map[string]time.Time{}, running: map[string]map[string]time.Time{}}
	for _, name := range packages {
		p.weights[name] = 1
	}
	for line := range strings.Lines(seconds) {
		name, s, _ := strings.Cut(strings.TrimSpace(line), ",")
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			for _, pkg := range packages {
				if strings.HasSuffix(pkg, "/"+name) {
					p.weights[pkg] = n
				}
			}
		}
	}
	return p
}

// note counts an event.
func (p *progress) note(e *event) {
	switch {
	case e.Test == "":
		p.whole(e)
	case strings.Contains(e.Test, "/"): // a part of a test
	case e.Action == "run" && p.running[e.Package] != nil:
		p.running[e.Package][e.Test] = p.now()
	case e.ends():
		delete(p.running[e.Package], e.Test)
		p.tests++
	}
}

// whole counts an event of a package.
func (p *progress) whole(e *event) {
	switch {
	case e.Action == "start":
		if p.began.IsZero() {
			p.began = p.now()
		}
		p.started[e.Package] = p.now()
		p.running[e.Package] = map[string]time.Time{}
	case e.verdict() || e.ends():
		if strings.HasSuffix(e.Output, "(cached)\n") {
			p.weights[e.Package] = 0 // says nothing about the others
		}
		delete(p.running, e.Package)
		if _, tested := p.weights[e.Package]; tested {
			p.ended[e.Package] = true
		}
	}
}

// far is how much is done, of how much, and how long the rest takes.
func (p *progress) far() string {
	var all, done float64
	for pkg, s := range p.weights {
		all += s
		if p.ended[pkg] {
			done += s
		} else if t, ok := p.started[pkg]; ok {
			done += min(p.now().Sub(t).Seconds(), s*0.9)
		}
	}
	if p.began.IsZero() {
		return fmt.Sprintf("[%d/%d]", len(p.ended), p.packages)
	}
	// Two packages run at once at first; then what was seen counts.
	rate := (p.now().Sub(p.began).Seconds() + 15) / (done + 30)
	left := time.Duration((all - done) * rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("[%d/%d packages, %d tests, %v left]", len(p.ended), p.packages, p.tests, left)
}

// runs is what runs, and since when: the oldest test of every package.
func (p *progress) runs() string {
	var out []string
	for _, pkg := range slices.Sorted(maps.Keys(p.running)) {
		name, since := "", p.now()
		for n, t := range p.running[pkg] {
			if name == "" || t.Before(since) || t.Equal(since) && n < name {
				name, since = n, t
			}
		}
		if name != "" {
			out = append(out, fmt.Sprintf("%s %s (%v)", path.Base(pkg), name, p.now().Sub(since).Round(time.Second)))
		}
	}
	if out == nil {
		return "building"
	}
	return "running " + strings.Join(out, ", ")
}
