// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
)

// FuncID identifies a function, and what a node calls; Domain is as in schema.
type FuncID struct{ Domain, Name, Overload string }

// FunctionID is the identity of a function.
func FunctionID(f *pb.FunctionProto) FuncID {
	return FuncID{schema.Domain(f.GetDomain()), f.GetName(), f.GetOverload()}
}

// CallID is what a node calls.
func CallID(n *pb.NodeProto) FuncID {
	return FuncID{schema.Domain(n.GetDomain()), n.GetOpType(), n.GetOverload()}
}

// LoadFunctions reads a library of functions: an ONNX model whose functions are
// taken, or functions in ONNX's text syntax. They are not checked.
func LoadFunctions(path string, lim Limits) ([]*pb.FunctionProto, error) {
	lim = lim.OrDefault()
	b, err := readFile(path, lim)
	if err != nil {
		return nil, err
	}
	fs, err := ParseFunctions(b, lim)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fs, nil
}

// ParseFunctions is LoadFunctions from memory.
func ParseFunctions(b []byte, lim Limits) ([]*pb.FunctionProto, error) {
	if isText(b) {
		if len(b) > maxText {
			return nil, fmt.Errorf("text of %d bytes, at most %d are read", len(b), maxText)
		}
		return functions.Parse(string(b))
	}
	m, err := Parse(b, lim)
	if err != nil {
		return nil, err
	}
	if len(m.Proto.GetFunctions()) == 0 {
		return nil, errors.New("the model holds no functions")
	}
	return m.Proto.GetFunctions(), nil
}

// isText tells ONNX's text syntax from a binary model, whose first byte is a
// field's tag and which has zero bytes or other control characters early on.
func isText(b []byte) bool {
	head := b[:min(len(b), 512)]
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == utf8.RuneError && n == 1 &&
			len(head)-i >= utf8.UTFMax {
			return false
		}
		i += n
	}
	return len(b) > 0
}
