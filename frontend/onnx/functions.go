package onnx

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/pb"
)

// LoadFunctions reads a library of functions for ImportOptions.Functions: an
// ONNX model whose functions are taken, or functions in ONNX's text syntax. The
// error is an ImportErrors where the file could be read but its functions have
// faults.
func LoadFunctions(path string, lim Limits) ([]*pb.FunctionProto, error) {
	lim = lim.orDefault()
	b, err := readFile(path, lim)
	if err != nil {
		return nil, err
	}
	fs, err := parseFunctions(b, lim)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fs, nil
}

func parseFunctions(b []byte, lim Limits) ([]*pb.FunctionProto, error) {
	var fs []*pb.FunctionProto
	if isText(b) {
		if len(b) > maxText {
			return nil, fmt.Errorf("text of %d bytes, at most %d are read", len(b), maxText)
		}
		var err error
		if fs, err = functions.Parse(string(b)); err != nil {
			return nil, err
		}
	} else {
		m, err := Parse(b, lim)
		if err != nil {
			return nil, err
		}
		if fs = m.Proto.GetFunctions(); len(fs) == 0 {
			return nil, fmt.Errorf("the model holds no functions")
		}
	}
	var errs ImportErrors
	for _, f := range CheckFunctions(fs, lim) {
		if f.Severity == Error {
			errs = append(errs, &f)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return fs, nil
}

// isText tells ONNX's text syntax from a binary model, whose first byte is a
// field's tag and which has zero bytes or other control characters early on.
func isText(b []byte) bool {
	head := b[:min(len(b), 512)]
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == utf8.RuneError && n == 1 && len(head)-i >= utf8.UTFMax {
			return false
		}
		i += n
	}
	return len(b) > 0
}

// CheckFunctions reports what is wrong with functions by themselves, as Check
// does for those of a model.
func CheckFunctions(fs []*pb.FunctionProto, lim Limits) []Finding {
	m := &Model{Proto: &pb.ModelProto{IrVersion: proto.Int64(10), Functions: fs}, Limits: lim}
	c := &checker{m: m, lim: m.Limits.orDefault(), ir: 10, unknown: map[string]bool{}, opsets: map[string]int64{}}
	c.functions(functions.Default())
	c.functionBodies()
	c.expansion(&pb.GraphProto{})
	return c.out
}
