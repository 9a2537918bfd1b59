// SPDX-License-Identifier: Apache-2.0

// Package junit writes results of checks as JUnit XML, which CI services show.
// The format is that of Jenkins' schema without times: the same results give the
// same bytes.
package junit

import (
	"bytes"
	"encoding/xml"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
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

// line is a name or message as an attribute has it.
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
