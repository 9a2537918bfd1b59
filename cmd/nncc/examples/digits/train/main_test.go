// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/cmd/nncc/examples/digits"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/train/cnn"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
)

// The shipped model is what the training program exports, but for the weights.
func TestModelIsWhatTrainExports(t *testing.T) {
	model := filepath.Join("..", digits.ModelFile)
	m, err := onnx.Load(model, onnx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range onnx.Check(m) {
		t.Errorf("check: %s", f.String())
	}
	want := cnn.New(netSeed).Export()
	got := proto.Clone(m.Proto).(*pb.ModelProto)
	for _, p := range []*pb.ModelProto{got, want} {
		for _, x := range p.Graph.Initializer {
			n := int64(4)
			for _, d := range x.Dims {
				n *= d
			}
			if int64(len(x.RawData)) != n {
				t.Errorf("%s %v has %d bytes", x.GetName(), x.Dims, len(x.RawData))
			}
			x.RawData = nil
		}
	}
	if !proto.Equal(got, want) {
		t.Errorf("%s is not of the form that train writes: run train again", model)
	}
	if st, err := os.Stat(model); err != nil || st.Size() > 150_000 {
		t.Errorf("size %v, %v", st, err)
	}
}
