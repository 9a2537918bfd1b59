// SPDX-License-Identifier: Apache-2.0

// Command gotest runs go test with its arguments and prints what go test
// prints: before every package how many are done, and every half a minute what
// runs. In the end comes a line for every reason for which tests were skipped: a
// comparison that did not take place must not look like one that passed.
//
//	gotest [arguments of go test, ./packages last]
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/ir/lists"
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
	show(out, newPrinter(os.Stdout, len(tested(tool, os.Args[1:]))), time.Tick(every))
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
}

// test is a test, or one of its parts, of a package.
type test struct{ pkg, name string }

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// printer holds what is not yet printed, and how far the tests have come.
type printer struct {
	to             io.Writer
	packages, done int
	now            func() time.Time
	running        map[test]time.Time // since when
	said           map[test][]string
	skipped        map[string][]string // by reason
}

func newPrinter(to io.Writer, packages int) *printer {
	return &printer{to: to, packages: packages, now: time.Now, running: map[test]time.Time{},
		said: map[test][]string{}, skipped: map[string][]string{}}
}

// show prints events as go test does without -v: the output of tests that fail,
// what packages say, and the reasons of skipped tests behind everything; where
// tick fires, what runs.
func show(from io.Reader, s *printer, tick <-chan time.Time) {
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
	for {
		select {
		case <-tick:
			fmt.Fprintln(s.to, s.far(), s.runs())
		case line, ok := <-lines:
			if !ok {
				s.reasons()
				return
			}
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				s.to.Write(line) // of the go command, not of a test
				continue
			}
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
	case "run":
		s.running[k] = s.now()
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
	if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
		delete(s.said, k)
		delete(s.running, k)
	}
}

func (s *printer) whole(e *event) {
	switch {
	case e.Action == "output" && (strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "FAIL\t")):
		s.done++
		maps.DeleteFunc(s.running, func(k test, _ time.Time) bool { return k.pkg == e.Package })
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
	for _, r := range slices.Sorted(maps.Keys(s.skipped)) {
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

// far is how many packages are done, of how many.
func (s *printer) far() string { return fmt.Sprintf("[%d/%d]", s.done, s.packages) }

// runs is what runs, and since when, the oldest test first.
func (s *printer) runs() string {
	if len(s.running) == 0 {
		return "building"
	}
	list := slices.SortedFunc(maps.Keys(s.running),
		func(a, b test) int { return s.running[a].Compare(s.running[b]) })
	names := lists.Map(list[:min(len(list), 4)], func(k test) string {
		return fmt.Sprintf("%s %s (%v)", path.Base(k.pkg), k.name, s.now().Sub(s.running[k]).Round(time.Second))
	})
	return "running " + strings.Join(names, ", ")
}
