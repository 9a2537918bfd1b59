// Package functions gives operators outside ONNX their meaning: ONNX functions
// that are expanded where a model calls them. It ships a library of its own and
// reads others in ONNX's text syntax.
package functions

import (
	"embed"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

//go:embed lib/*.txt
var lib embed.FS

var shipped = sync.OnceValue(func() []*pb.FunctionProto {
	files, err := lib.ReadDir("lib") // sorted by name
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var all []*pb.FunctionProto
	for _, f := range files {
		text, err := lib.ReadFile("lib/" + f.Name())
		if err != nil {
			panic("BUG: " + err.Error())
		}
		fs, err := Parse(string(text))
		if err != nil {
			panic(fmt.Sprintf("BUG: %s: %v", f.Name(), err))
		}
		all = append(all, fs...)
	}
	return all
})

// Default is the shipped library: copies that the caller may change.
func Default() []*pb.FunctionProto {
	var out []*pb.FunctionProto
	for _, f := range shipped() {
		out = append(out, proto.Clone(f).(*pb.FunctionProto))
	}
	return out
}
