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
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
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

// event prints what an event lets be seen.
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

// whole prints an event of a package.
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

// reasons prints why tests were skipped.
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
