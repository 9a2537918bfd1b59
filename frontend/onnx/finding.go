package onnx

import (
	"errors"
	"strings"

	"github.com/nncc/nncc/ir"
)

// Severity says what a finding means for the model.
type Severity uint8

// Error: the model is invalid. Warning: it is suspicious, or something could not
// be checked. Limit: it is valid, and nncc cannot compile it as it stands.
const (
	Error Severity = iota
	Warning
	Limit
)

var severities = [...]string{Error: "error", Warning: "warning", Limit: "limit"}

func (s Severity) String() string { return severities[s] }

// MarshalText is how a severity stands in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// limitCodes are the codes of import errors about what ONNX allows and nncc does
// not: sizes and counts known only at run time, operators and types that
// it does not have, bounds on untrusted models.
var limitCodes = map[string]bool{
	"dim-dynamic": true, "no-shape": true, "dynamic": true, "flow-dynamic": true, "flow-types": true, "flow-trips": true, "flow-empty": true,
	"scale-dynamic": true, "trans-batch": true, "training": true, "nesting": true, "too-large": true, "too-many-nodes": true,
	"op-unsupported": true, "op-custom": true, "dtype-unsupported": true, "sparse": true, "sequence": true,
}

// ImportFindings are the errors of Import as findings; nil where err is none of
// those.
func ImportFindings(err error) []Finding {
	errs, _ := err.(ImportErrors)
	var fs []Finding
	for _, err := range errs {
		f := Finding{Code: "import", Found: err.Error()}
		if d := new(ir.Diag); errors.As(err, &d) {
			f = Finding{Code: d.Code, Where: d.Node, Found: d.Msg, Do: d.Hint}
			if limitCodes[d.Code] {
				f.Severity = Limit
			}
		}
		fs = append(fs, f)
	}
	return fs
}

// Finding is one problem in a model.
type Finding struct {
	Severity Severity `json:"severity"`
	// Code is a stable short name of the kind of problem, as in "input-missing".
	Code string `json:"code"`
	// Where is the node, tensor, function or part of the model concerned, ready to
	// print; Node and Tensor are the bare names behind it, where there are any.
	Where  string `json:"where"`
	Node   string `json:"node,omitempty"`
	Tensor string `json:"tensor,omitempty"`
	Found  string `json:"found"`          // what stands there
	Want   string `json:"want,omitempty"` // what should
	Do     string `json:"do,omitempty"`   // how to get there
}

// Error makes a Finding usable as an error: "where: found; want … (do)".
func (f *Finding) Error() string {
	var b strings.Builder
	if f.Where != "" {
		b.WriteString(f.Where)
		b.WriteString(": ")
	}
	b.WriteString(f.Found)
	if f.Want != "" {
		b.WriteString("; want ")
		b.WriteString(f.Want)
	}
	if f.Do != "" {
		b.WriteString(" (" + f.Do + ")")
	}
	return b.String()
}

// String is Error with the severity in front and the code behind.
func (f *Finding) String() string {
	return f.Severity.String() + ": " + f.Error() + " [" + f.Code + "]"
}

// Count is how many findings are of a severity.
func Count(fs []Finding, s Severity) int {
	n := 0
	for i := range fs {
		if fs[i].Severity == s {
			n++
		}
	}
	return n
}
