package onnx

import "strings"

// Severity says whether a finding makes a model invalid.
type Severity uint8

// Error: the model is invalid or asks for what nncc refuses. Warning: it is
// suspicious, or something could not be checked.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Finding is one problem in a model.
type Finding struct {
	Severity Severity
	// Code is a stable short name of the kind of problem, as in "input-missing".
	Code string
	// Where is the node, tensor, function or part of the model concerned, ready to
	// print; Node and Tensor are the bare names behind it, where there are any.
	Where        string
	Node, Tensor string
	Found        string // what stands there
	Want         string // what should; may be empty
}

// Error makes a Finding usable as an error: "where: found; want …".
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
	return b.String()
}

// String is Error with the severity in front and the code behind.
func (f *Finding) String() string {
	return f.Severity.String() + ": " + f.Error() + " [" + f.Code + "]"
}

// Errors counts the findings that are errors.
func Errors(fs []Finding) int {
	n := 0
	for i := range fs {
		if fs[i].Severity == Error {
			n++
		}
	}
	return n
}
