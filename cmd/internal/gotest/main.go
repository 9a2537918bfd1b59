// SPDX-License-Identifier: Apache-2.0

// Command gotest runs go test with its arguments and prints what go test
// prints, with how far it has come: before every package, and every half a
// minute, how many packages are done, how long the rest takes, what runs. In the
// end comes a line for every reason for which tests were skipped: a comparison
// that did not take place must not look like one that passed.
//
//	gotest [arguments of go test, ./packages last]
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// every is how long nothing is printed while tests run.
const every = 30 * time.Second

func main() {
	tool := os.Getenv("GO")
	if tool == "" {
		tool = "go"
	}
	cmd := exec.Command(tool, append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	p := newProgress(tested(tool, os.Args[1:]), time.Now)
	show(out, os.Stdout, p, time.Tick(every))
	if cmd.Wait() != nil {
		os.Exit(1)
	}
}

// tested are the packages among the arguments of go test that have tests, as far
// as go list knows.
func tested(tool string, args []string) []string {
	first := len(args)
	for first > 0 && strings.HasPrefix(args[first-1], "./") {
		first--
	}
	list := exec.Command(tool, append([]string{"list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, args[first:]...)...)
	out, _ := list.Output()
	return strings.Fields(string(out))
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// ends reports the end of a test or a package.
func (e *event) ends() bool { return e.Action == "pass" || e.Action == "fail" || e.Action == "skip" }

// verdict reports the line about a package that go test prints.
func (e *event) verdict() bool {
	return e.Action == "output" && (strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "FAIL\t"))
}

// test is a test, or one of its parts, of a package.
type test struct{ pkg, name string }

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// printer holds what is not yet printed.
type printer struct {
	to      io.Writer
	said    map[test][]string
	skipped map[string][]string // by reason
	*progress
}

// show prints events as go test does without -v: the output of tests that fail,
// what packages say, and the reasons of skipped tests behind everything; where
// tick fires and nothing was printed since, how far the tests have come.
func show(from io.Reader, to io.Writer, p *progress, tick <-chan time.Time) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		in := bufio.NewReader(from)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	s := &printer{to: to, said: map[test][]string{}, skipped: map[string][]string{}, progress: p}
	for {
		select {
		case <-tick:
			fmt.Fprintf(to, "%s %s\n", p.far(), p.runs())
		case line, ok := <-lines:
			if !ok {
				s.reasons()
				return
			}
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				to.Write(line) // of the go command, not of a test
				continue
			}
			p.note(&e)
			s.event(&e)
		}
	}
}

func (s *printer) event(e *event) {
	if e.Action == "build-output" || e.Test == "" {
		s.whole(e)
		return
	}
	k := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		s.said[k] = append(s.said[k], e.Output)
	case "fail":
		for _, l := range s.said[k] {
			if !strings.HasPrefix(l, "===") {
				fmt.Fprint(s.to, l)
			}
		}
	case "skip":
		why := reason(s.said[k])
		s.skipped[why] = append(s.skipped[why], e.Test)
	}
	if e.ends() {
		delete(s.said, k)
	}
}

func (s *printer) whole(e *event) {
	switch {
	case e.verdict():
		fmt.Fprint(s.to, s.far(), " ", e.Output)
	case e.Output == "PASS\n" || strings.HasSuffix(e.Output, "[no test files]\n"):
	case e.Action == "output" || e.Action == "build-output":
		fmt.Fprint(s.to, e.Output)
	case e.Action == "fail":
		// A package that ends in the middle of a test: its output says why.
		for other, lines := range s.said {
			if other.pkg == e.Package {
				fmt.Fprint(s.to, strings.Join(lines, ""))
				delete(s.said, other)
			}
		}
	}
}

func (s *printer) reasons() {
	var reasons []string
	for r := range s.skipped {
		reasons = append(reasons, r)
	}
	slices.Sort(reasons)
	for _, r := range reasons {
		names := s.skipped[r]
		slices.Sort(names)
		more := ""
		if len(names) > 3 {
			more = fmt.Sprintf(" and %d more", len(names)-3)
		}
		fmt.Fprintf(s.to, "skipped: %s: %s%s\n", r, strings.Join(names[:min(3, len(names))], ", "), more)
	}
}

// reason is the last thing that a skipped test said, on one line.
func reason(said []string) string {
	for i := len(said) - 1; i >= 0; i-- {
		s := said[i]
		if loc := place.FindStringIndex(s); loc != nil {
			why := s[loc[1]:]
			for _, more := range said[i+1:] {
				if strings.HasPrefix(more, "        ") {
					why += " " + strings.TrimSpace(more)
				}
			}
			why = strings.Join(strings.Fields(why), " ")
			if len(why) > 200 {
				why = why[:200] + "..."
			}
			return why
		}
	}
	return "no reason given"
}

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
