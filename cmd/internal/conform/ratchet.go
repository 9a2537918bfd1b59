// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Ratchet is what every test of a set has reached: one line a test,
//
//	node/test_abs pass
//	node/test_topk pass, with k known at compile time
//	pytorch-operator/test_x pass, but not cortex-m0plus: too large: ...
//	node/test_y unsupported: the reason
//	node/test_z outside: why it is no test of numeric and bool tensors
//
// A test that passes may not fail again, one that is unsupported may not pass
// until its line goes: -update writes what is better than before.
type Ratchet map[string]*Entry

// notTried stands for targets that no run has included.
const notTried = "not tried"

// Entry is one line.
type Entry struct {
	Outside string
	Bound   []string
	// Failed has a reason for every target that is not passed.
	Failed map[string]string
}

// Passed reports whether the test passes on a target.
func (e *Entry) Passed(target string) bool { return e.Outside == "" && e.Failed[target] == "" }

// ReadRatchet reads a file; one that does not exist is empty.
func ReadRatchet(path string) (Ratchet, error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return Ratchet{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := Ratchet{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		line := s.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, rest, _ := strings.Cut(line, " ")
		e := &Entry{Failed: map[string]string{}}
		r[id] = e
		switch why, ok := strings.CutPrefix(rest, "outside: "); {
		case ok:
			e.Outside = why
			continue
		case strings.HasPrefix(rest, "unsupported: "):
			for _, t := range Targets {
				e.Failed[t] = strings.TrimPrefix(rest, "unsupported: ")
			}
			continue
		}
		rest, ok := strings.CutPrefix(rest, "pass")
		if !ok {
			return nil, fmt.Errorf("%s: %q is neither pass, unsupported nor outside", path, line)
		}
		rest, buts, _ := strings.Cut(rest, ", but not ")
		if names, ok := strings.CutPrefix(rest, ", with "); ok {
			e.Bound = strings.Split(strings.TrimSuffix(names, " known at compile time"), " and ")
		}
		for _, b := range strings.Split(buts, "; not ") {
			if target, why, ok := strings.Cut(b, ": "); ok {
				e.Failed[target] = why
			}
		}
	}
	return r, nil
}

// unknown is the entry of a test that no target has tried.
func unknown() *Entry {
	e := &Entry{Failed: map[string]string{}}
	for _, t := range Targets {
		e.Failed[t] = notTried
	}
	return e
}

func (e *Entry) String() string {
	switch {
	case e.Outside != "":
		return "outside: " + e.Outside
	case e.Failed[Interpreter] != "":
		return "unsupported: " + e.Failed[Interpreter]
	}
	s := "pass"
	if len(e.Bound) > 0 {
		s += ", with " + strings.Join(e.Bound, " and ") + " known at compile time"
	}
	sep := ", but not "
	for _, t := range Targets {
		if why := e.Failed[t]; why != "" {
			s += sep + t + ": " + why
			sep = "; not "
		}
	}
	return s
}

// Bytes is the file.
func (r Ratchet) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString("# What every test has reached; see ratchet.go. Written by: make conformance UPDATE=1\n")
	for _, id := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, "%s %s\n", id, r[id])
	}
	return b.Bytes()
}

// Check compares outcomes with the ratchet and tightens it. wrong are the
// tests that were better before, loose those that are better now.
func (r Ratchet) Check(outcomes []*Outcome) (wrong, loose []string) {
	for _, o := range outcomes {
		e := r[o.ID]
		if e == nil {
			e = unknown()
			e.Outside = o.Outside
			r[o.ID] = e
			loose = append(loose, o.ID+" is new")
		}
		switch {
		case o.Outside != "":
			if e.Outside == "" {
				wrong = append(wrong, fmt.Sprintf("%s is no longer in scope: %s", o.ID, o.Outside))
			}
			e.Outside = o.Outside
			continue
		case e.Outside != "":
			loose = append(loose, o.ID+" is in scope, but its line says outside: "+e.Outside)
			*e = *unknown()
		}
		if e.Passed(Interpreter) && len(e.Bound) > 0 && len(o.Bound) < len(e.Bound) {
			loose = append(loose, o.ID+" needs fewer inputs at compile time")
		}
		e.Bound = o.Bound
		for _, t := range o.Tried {
			now, before := o.Failed[t], e.Failed[t]
			switch {
			case before == notTried: // nothing is known yet
				if now == "" {
					delete(e.Failed, t)
				} else {
					e.Failed[t] = now
				}
			case now == "" && before != "":
				loose = append(loose, fmt.Sprintf("%s passes on %s, but its line says: %s", o.ID, t, before))
				delete(e.Failed, t)
			case now != "" && before == "":
				wrong = append(wrong, fmt.Sprintf("%s fails on %s: %s", o.ID, t, now))
			case now != "":
				e.Failed[t] = now
			}
		}
	}
	slices.Sort(wrong)
	return wrong, loose
}
