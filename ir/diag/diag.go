// SPDX-License-Identifier: Apache-2.0

// Package diag is what nncc has to say about a model: errors, warnings and notes.
package diag

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Severity of a diagnostic.
type Severity int

// The severities. A note says what was done where nothing is wrong; a limit is
// an error in nncc's terms: the model is valid, and nncc cannot compile it as it
// is.
const (
	Error Severity = iota
	Warning
	Note
	Limit
)

func (s Severity) String() string { return [...]string{"error", "warning", "note", "limit"}[s] }

// MarshalJSON gives the name.
func (s Severity) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Diag is one thing that a user should know and can act on.
type Diag struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`           // stable short identifier, e.g. "shape-mismatch"
	Node     string   `json:"node,omitempty"` // ONNX node, tensor or flag that the message is about
	Stage    string   `json:"stage"`          // what said so: a stage of the table, or a part of the driver
	Msg      string   `json:"message"`        // what was found and, unless Want says so, what is wanted
	Want     string   `json:"want,omitempty"` // what is wanted, where that stands for itself
	Hint     string   `json:"hint,omitempty"` // what to do; may be empty
	// Name and Tensor are the bare ONNX names of the node and tensor concerned,
	// where Node says more than these.
	Name   string `json:"-"`
	Tensor string `json:"-"`
}

// Error is the text for people. An error's message begins with its node; warnings
// and notes are sentences that name what they are about themselves.
func (d *Diag) Error() string {
	if d.Severity == Warning || d.Severity == Note {
		return d.Reason()
	}
	return d.Full()
}

// Full is the text with the node in front, whatever the severity.
func (d *Diag) Full() string {
	if d.Node == "" {
		return d.Reason()
	}
	return d.Node + ": " + d.Reason()
}

// String is Full with the severity in front and the code behind.
func (d *Diag) String() string { return d.Severity.String() + ": " + d.Full() + " [" + d.Code + "]" }

// Reason is the text without the node.
func (d *Diag) Reason() string {
	s := d.Msg
	if d.Want != "" {
		s += "; want " + d.Want
	}
	if d.Hint != "" {
		s += " (" + d.Hint + ")"
	}
	return s
}

// Warnf is a warning about node, which may be empty.
func Warnf(code, node, format string, args ...any) *Diag {
	return &Diag{Severity: Warning, Code: code, Node: node, Msg: fmt.Sprintf(format, args...)}
}

// Notef is a note about node, which may be empty.
func Notef(code, node, format string, args ...any) *Diag {
	return &Diag{Severity: Note, Code: code, Node: node, Msg: fmt.Sprintf(format, args...)}
}

// List are diagnostics in the order in which they were found.
type List []*Diag

// Add adds diagnostics, each once.
func (l *List) Add(ds ...*Diag) {
	for _, d := range ds {
		same := func(x *Diag) bool { return x.Severity == d.Severity && x.Error() == d.Error() }
		if !slices.ContainsFunc(*l, same) {
			*l = append(*l, d)
		}
	}
}

// Count is how many are of a severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// From says what made those that do not say so yet.
func (l List) From(stage string) List {
	for _, d := range l {
		if d.Stage == "" {
			d.Stage = stage
		}
	}
	return l
}

// Texts are those of a severity, as people read them; never nil.
func (l List) Texts(s Severity) []string {
	out := []string{}
	for _, d := range l {
		if d.Severity == s {
			out = append(out, d.Error())
		}
	}
	return out
}

// In are the diagnostics that an error consists of or wraps.
func In(err error) List {
	switch e := err.(type) {
	case *Diag:
		return List{e}
	case interface{ Unwrap() error }:
		return In(e.Unwrap())
	case interface{ Unwrap() []error }:
		var l List
		for _, x := range e.Unwrap() {
			l = append(l, In(x)...)
		}
		return l
	}
	return nil
}
