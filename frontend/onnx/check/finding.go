package check

import (
	"strings"
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
