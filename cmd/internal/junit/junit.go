// SPDX-License-Identifier: Apache-2.0

// Package junit writes results of checks as JUnit XML, which CI services show.
// The format is that of Jenkins' schema without times: the same results give the
// same bytes.
package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/verify"
)

// Suite is what was checked of one model. What it counts is set by XML.
type Suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Properties []Property `xml:"properties>property"`
	Cases      []Case     `xml:"testcase"`
}

// Property is a figure of a suite, such as the instructions of an inference.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one check. It passed where Failure and Error are nil.
type Case struct {
	Class   string   `xml:"classname,attr"` // what it belongs to, with dots
	Name    string   `xml:"name,attr"`
	Error   *Problem `xml:"error"`   // there was no check
	Failure *Problem `xml:"failure"` // the check says no
}

// Check is a case that fails with a problem of a kind; why "": it passed.
func Check(class, name, kind, why string) Case {
	c := Case{Class: class, Name: name}
	if why != "" {
		c.Failure = &Problem{kind, why, why}
	}
	return c
}

// Problem says why a check did not pass.
type Problem struct {
	Type    string `xml:"type,attr"`    // one word
	Message string `xml:"message,attr"` // one line
	Text    string `xml:",chardata"`    // all there is to say
}

// Passed reports suites without failures and errors.
func Passed(list []Suite) bool {
	for _, s := range list {
		for _, c := range s.Cases {
			if c.Failure != nil || c.Error != nil {
				return false
			}
		}
	}
	return true
}

// longest bounds the names and messages: a model's names can be long.
const longest = 800

func line(s string) string { return text.Line(text.Short(s, longest)) }

func problem(p *Problem) *Problem {
	if p == nil {
		return nil
	}
	return &Problem{line(p.Type), line(p.Message), text.Visible(p.Text)}
}

// XML is the file. Characters that XML does not have come out as escapes.
func XML(list []Suite) []byte {
	all := struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []Suite  `xml:"testsuite"`
	}{Name: "nncc"}
	for _, s := range list {
		x := Suite{Name: line(s.Name), Tests: len(s.Cases)}
		for _, p := range s.Properties {
			x.Properties = append(x.Properties, Property{line(p.Name), line(p.Value)})
		}
		for _, c := range s.Cases {
			if c.Error != nil {
				x.Errors++
			} else if c.Failure != nil {
				x.Failures++
			}
			x.Cases = append(x.Cases, Case{line(c.Class), line(c.Name), problem(c.Error), problem(c.Failure)})
		}
		all.Tests, all.Failures, all.Errors = all.Tests+x.Tests, all.Failures+x.Failures, all.Errors+x.Errors
		all.Suites = append(all.Suites, x)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		panic(bug.Errorf("junit: %w", err))
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// Write puts the file in place, whole or not at all. It is none of the files in
// keep, which the command reads.
func Write(path string, list []Suite, keep []string) error {
	return files.ReplaceFile(path, XML(list), nil, keep...)
}

// OfVerdict is a verification: a case for the run, for every output against the
// program, stored outputs and the model, and, where layers were compared, for
// every layer.
func OfVerdict(name string, v *report.Verdict) Suite {
	s := Suite{Name: name, Properties: []Property{{"board", v.Board}, {"cases", fmt.Sprint(v.Cases)},
		{"instructions", fmt.Sprint(v.Instructions)}, {"arena_bytes", fmt.Sprint(v.RAM["arena_bytes"])},
		{"stack_bytes", fmt.Sprint(v.StackBytes)}}}
	if v.Bound != nil {
		s.Properties = append(s.Properties, Property{"stack_bound_bytes", fmt.Sprint(*v.Bound)})
	}
	s.Cases = append(s.Cases, Check(name+".run", v.Board, "run", v.Failure))
	for _, o := range v.Outputs {
		s.Cases = append(s.Cases, output(name+".output", o, "the reference interpreter"))
	}
	for _, o := range v.Golden {
		s.Cases = append(s.Cases, output(name+".golden", o, "the stored output"))
	}
	s.Cases = append(s.Cases, lists.Map(v.Fidelity, func(f verify.Fidelity) Case { return model(name+".model", f) })...)
	if v.LayerCases > 0 {
		for _, l := range v.Layers {
			s.Cases = append(s.Cases, layer(name+".layer", l, v.FirstWrong))
		}
	}
	return s
}

func output(class string, o verify.Output, from string) Case {
	why := ""
	if o.Mismatches > 0 {
		why = fmt.Sprintf("%d of %d elements differ from %s, by up to %.4g", o.Mismatches, o.Elements, from,
			o.MaxAbsDiff)
	}
	return Check(class, o.Name, "mismatch", why)
}

// model is the program against the model itself.
func model(class string, f verify.Fidelity) Case {
	c := Case{Class: class, Name: f.Output}
	if len(f.Differs) > 0 {
		all := lists.Map(f.Differs, verify.Difference.Text)
		c.Failure = &Problem{"fidelity", "not what the model says: " + all[0], strings.Join(all, "\n")}
	}
	return c
}

func layer(class string, l report.LayerVerdict, first *verify.LayerDifference) Case {
	c := Case{Class: class, Name: l.Name}
	if l.Mismatches == 0 {
		return c
	}
	m := fmt.Sprintf("%d elements differ from the reference interpreter", l.Mismatches)
	more := m + "\nkernel " + l.Kernel
	if first != nil && first.Name == l.Name {
		more += fmt.Sprintf("\nthe first layer that differs: value %s, case %d: %d elements, largest difference %.4g",
			first.Value, first.Case, first.Mismatches, first.MaxAbsDiff)
	}
	c.Failure = &Problem{"mismatch", m, more}
	return c
}
