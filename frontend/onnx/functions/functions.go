// SPDX-License-Identifier: Apache-2.0

// Package functions gives operators their meaning by ONNX functions, which are expanded
// where a model calls them: operators outside ONNX (a library of its own, and others in
// ONNX's text syntax), and those inside that need no code.
package functions

import (
	"embed"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

//go:embed lib/*.txt operators/*.txt
var texts embed.FS

func parsed(dir string) []*pb.FunctionProto {
	files := bug.Must(texts.ReadDir(dir)) // sorted by name
	var all []*pb.FunctionProto
	for _, f := range files {
		text := bug.Must(texts.ReadFile(dir + "/" + f.Name()))
		fs, err := Parse(string(text))
		if err != nil {
			panic(bug.Errorf("%s: %v", f.Name(), err))
		}
		all = append(all, fs...)
	}
	return all
}

var shipped = sync.OnceValue(func() []*pb.FunctionProto { return parsed("lib") })

// Default is the shipped library: copies that the caller may change.
func Default() []*pb.FunctionProto {
	return lists.Map(shipped(), func(f *pb.FunctionProto) *pb.FunctionProto {
		return proto.Clone(f).(*pb.FunctionProto)
	})
}

var operators = sync.OnceValue(func() map[[2]string]*pb.FunctionProto {
	m := map[[2]string]*pb.FunctionProto{}
	for _, f := range parsed("operators") {
		m[[2]string{f.GetDomain(), f.GetName()}] = f
	}
	return m
})

// Operator defines an operator of a domain that the schema has and package ir/op lacks;
// nil where there is no such text. The caller must not change it.
func Operator(domain, name string) *pb.FunctionProto { return operators()[[2]string{domain, name}] }
