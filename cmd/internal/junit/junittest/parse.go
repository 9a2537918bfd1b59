// SPDX-License-Identifier: Apache-2.0

// Package junittest reads JUnit XML as the strictest of its readers do: by
// Jenkins' schema, with nothing that it does not know, and with counts that are true.
package junittest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

// element is what the schema says of one.
type element struct{ required, optional, children []string }

var schema = map[string]element{
	"testsuites": {[]string{"tests", "failures", "errors"}, []string{"name"}, []string{"testsuite"}},
	"testsuite": {[]string{"name", "tests", "failures", "errors", "skipped"}, nil,
		[]string{"properties", "testcase"}},
	"properties": {nil, nil, []string{"property"}},
	"property":   {[]string{"name", "value"}, nil, nil},
	"testcase":   {[]string{"name", "classname"}, nil, []string{"error", "failure"}},
	"error":      {nil, []string{"type", "message"}, nil},
	"failure":    {nil, []string{"type", "message"}, nil},
}

// Case is a testcase that was read.
type Case struct {
	Suite, Class, Name string
	Problem            string // error or failure; "": passed
	Type, Message      string
	Text               string
}

type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

// Parse gives the cases of a file, or what is wrong with it.
func Parse(b []byte) (_ []Case, err error) {
	defer fail.Catch(&err)
	root := tree(b)
	if root.name != "testsuites" {
		return nil, fmt.Errorf("the root is %s", root.name)
	}
	var all []Case
	for _, s := range root.children {
		var mine []Case
		for _, c := range s.children {
			if c.name != "testcase" {
				continue
			}
			x := Case{Suite: s.attrs["name"], Class: c.attrs["classname"], Name: c.attrs["name"]}
			for _, p := range c.children {
				x.Problem, x.Type, x.Message, x.Text = p.name, p.attrs["type"], p.attrs["message"], p.text
			}
			mine = append(mine, x)
		}
		fail.Check(counts(s, mine))
		all = append(all, mine...)
	}
	return all, counts(root, all)
}

func counts(n *node, cases []Case) error {
	for attr, problem := range map[string]string{"tests": "", "failures": "failure", "errors": "error"} {
		is := 0
		for _, c := range cases {
			if problem == "" || c.Problem == problem {
				is++
			}
		}
		if n.attrs[attr] != strconv.Itoa(is) {
			return fmt.Errorf("%s: %s is %s, there are %d", n.name, attr, n.attrs[attr], is)
		}
	}
	return nil
}

func tree(b []byte) *node {
	d := xml.NewDecoder(bytes.NewReader(b))
	var stack []*node
	var root *node
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fail.Check(err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			n := fail.Must(open(t))
			if len(stack) == 0 {
				if root != nil {
					fail.Check(errors.New("two roots"))
				}
				root = n
			} else {
				in := stack[len(stack)-1]
				if !slices.Contains(schema[in.name].children, n.name) {
					fail.Errorf("%s in %s", n.name, in.name)
				}
				in.children = append(in.children, n)
			}
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			text(stack, string(t))
		}
	}
	if root == nil {
		fail.Check(errors.New("no root"))
	}
	return root
}

// text is taken in problems only.
func text(stack []*node, s string) {
	if len(stack) == 0 {
		return
	}
	n := stack[len(stack)-1]
	if n.text += s; strings.TrimSpace(s) != "" && n.name != "error" && n.name != "failure" {
		fail.Errorf("text in %s", n.name)
	}
}

func open(t xml.StartElement) (*node, error) {
	e, ok := schema[t.Name.Local]
	if !ok {
		return nil, fmt.Errorf("unknown element %s", t.Name.Local)
	}
	n := &node{name: t.Name.Local, attrs: map[string]string{}}
	for _, a := range t.Attr {
		if _, twice := n.attrs[a.Name.Local]; twice || !slices.Contains(slices.Concat(e.required, e.optional),
			a.Name.Local) {
			return nil, fmt.Errorf("attribute %s of %s", a.Name.Local, n.name)
		}
		n.attrs[a.Name.Local] = a.Value
	}
	for _, a := range e.required {
		if _, ok := n.attrs[a]; !ok {
			return nil, fmt.Errorf("%s without %s", n.name, a)
		}
	}
	return n, nil
}
