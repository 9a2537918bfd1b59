// SPDX-License-Identifier: Apache-2.0

// Package junittest reads JUnit XML as the strictest of its readers do: by
// Jenkins' schema, with nothing that it does not know, and with counts that are true.
package junittest

import (
	"encoding/xml"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Case is a testcase that was read.
type Case struct {
	Suite, Class, Name string
	Problem            string // error or failure; "": passed
	Type, Message      string
	Text               string
}

// The elements of the schema.
type (
	suites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		counts
		Suites []suite `xml:"testsuite"`
		unknown
	}
	suite struct {
		Name string `xml:"name,attr"`
		counts
		Skipped    *int        `xml:"skipped,attr"`
		Properties *properties `xml:"properties"`
		Cases      []testcase  `xml:"testcase"`
		unknown
	}
	properties struct {
		List []property `xml:"property"`
		unknown
	}
	property struct {
		Name  *string `xml:"name,attr"`
		Value *string `xml:"value,attr"`
		unknown
	}
	testcase struct {
		Class   *string  `xml:"classname,attr"`
		Name    *string  `xml:"name,attr"`
		Error   *problem `xml:"error"`
		Failure *problem `xml:"failure"`
		unknown
	}
	problem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// counts are of the cases below an element.
type counts struct {
	Tests    *int `xml:"tests,attr"`
	Failures *int `xml:"failures,attr"`
	Errors   *int `xml:"errors,attr"`
}

// unknown is what the schema does not have in an element.
type unknown struct {
	Attrs    []xml.Attr                   `xml:",any,attr"`
	Elements []struct{ XMLName xml.Name } `xml:",any"`
	Text     string                       `xml:",chardata"`
}

// Parse gives the cases of a file, or what is wrong with it.
func Parse(b []byte) (all []Case, err error) {
	defer fail.Catch(&err)
	var root suites
	fail.Check(xml.Unmarshal(b, &root))
	root.check("testsuites", true)
	for _, s := range root.Suites {
		mine := s.cases()
		s.agrees("testsuite "+s.Name, mine)
		all = append(all, mine...)
	}
	root.agrees("testsuites", all)
	return all, nil
}

func (s *suite) cases() []Case {
	s.check("testsuite", s.Skipped != nil)
	if s.Properties != nil {
		s.Properties.check("properties", true)
		for _, p := range s.Properties.List {
			p.check("property", p.Name != nil && p.Value != nil)
		}
	}
	return lists.Map(s.Cases, func(c testcase) Case {
		c.check("testcase", c.Name != nil && c.Class != nil && (c.Error == nil || c.Failure == nil))
		x := Case{Suite: s.Name, Class: *c.Class, Name: *c.Name}
		for name, p := range map[string]*problem{"error": c.Error, "failure": c.Failure} {
			if p != nil {
				x.Problem, x.Type, x.Message, x.Text = name, p.Type, p.Message, p.Text
			}
		}
		return x
	})
}

func (u *unknown) check(element string, whole bool) {
	fail.If(!whole || len(u.Attrs)+len(u.Elements) > 0 || strings.TrimSpace(u.Text) != "",
		"%s lacks something, or holds %v, %v, %q", element, u.Attrs, u.Elements, u.Text)
}

func (n *counts) agrees(element string, cases []Case) {
	count := func(problem string) int {
		return len(lists.Filter(cases, func(c Case) bool { return problem == "" || c.Problem == problem }))
	}
	for problem, says := range map[string]*int{"": n.Tests, "failure": n.Failures, "error": n.Errors} {
		fail.If(says == nil || *says != count(problem), "%s: there are %d, not so many %s", element, count(problem),
			problem)
	}
}
