// SPDX-License-Identifier: Apache-2.0

// Command gotest runs go test with its arguments and prints what go test
// prints, and in the end a line for every reason for which tests were skipped:
// a comparison that did not take place must not look like one that passed.
//
//	gotest [arguments of go test]
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
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	if g := os.Getenv("GO"); g != "" {
		cmd.Path, cmd.Err = exec.LookPath(g)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	show(out, os.Stdout)
	if cmd.Wait() != nil {
		os.Exit(1)
	}
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// show prints events as go test does without -v: the output of tests that fail,
// what packages say, and the reasons of skipped tests behind everything.
func show(from io.Reader, to io.Writer) {
	type test struct{ pkg, name string }
	said := map[test][]string{}
	skipped := map[string][]string{} // by reason
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				to.Write(line) // of the go command, not of a test
			}
			k := test{e.Package, e.Test}
			switch {
			case e.Action == "build-output":
				fmt.Fprint(to, e.Output)
			case e.Action == "output" && e.Test == "":
				if e.Output != "PASS\n" {
					fmt.Fprint(to, e.Output)
				}
			case e.Action == "output":
				said[k] = append(said[k], e.Output)
			case e.Action == "fail" && e.Test != "":
				for _, s := range said[k] {
					if !strings.HasPrefix(s, "===") {
						fmt.Fprint(to, s)
					}
				}
				delete(said, k)
			case e.Action == "skip" && e.Test != "":
				why := reason(said[k])
				skipped[why] = append(skipped[why], e.Test)
				delete(said, k)
			case e.Action == "pass":
				delete(said, k)
			case e.Action == "fail":
				// A package that ends in the middle of a test: its output says why.
				for other, lines := range said {
					if other.pkg == e.Package {
						fmt.Fprint(to, strings.Join(lines, ""))
						delete(said, other)
					}
				}
			}
		}
		if err != nil {
			break
		}
	}
	var reasons []string
	for r := range skipped {
		reasons = append(reasons, r)
	}
	slices.Sort(reasons)
	for _, r := range reasons {
		names := skipped[r]
		slices.Sort(names)
		more := ""
		if len(names) > 3 {
			more = fmt.Sprintf(" and %d more", len(names)-3)
		}
		fmt.Fprintf(to, "skipped: %s: %s%s\n", r, strings.Join(names[:min(3, len(names))], ", "), more)
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
