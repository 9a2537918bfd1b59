// SPDX-License-Identifier: Apache-2.0

package digits

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/cnn"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
)

// The shipped model is what the training program exports, but for the weights.
func TestModelIsWhatTrainExports(t *testing.T) {
	m, err := onnx.Load(ModelFile, onnx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range onnx.Check(m) {
		t.Errorf("check: %s", f.String())
	}
	want := cnn.New(NetSeed).Export()
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
		t.Errorf("%s is not of the form that train writes: run train again", ModelFile)
	}
	if st, err := os.Stat(ModelFile); err != nil || st.Size() > 150_000 {
		t.Errorf("size %v, %v", st, err)
	}
}

func TestFloatAccuracy(t *testing.T) {
	g, err := Load(ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	const n = 100
	images, labels := draw.Set(TestSeed, n)
	got, err := Classes(Float(g), images)
	if err != nil {
		t.Fatal(err)
	}
	if k := Same(got, labels); k < 95 {
		t.Errorf("%d of %d test images are recognised, want 95", k, n)
	}
}

// Calibration data and golden inputs are drawings that can be made again.
func TestDataIsWhatTrainWrites(t *testing.T) {
	want, err := Calibration()
	if err != nil {
		t.Fatal(err)
	}
	got, err := npz.ReadNpzFile(CalibFile, npz.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != want[0].Name {
		t.Fatalf("%s holds %d arrays", CalibFile, len(got))
	}
	same(t, CalibFile, got[0].Array, want[0].Array.Shape, want[0].Array.Data.([]float32), 0)

	g, err := Load(ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	images, _ := draw.Set(TestSeed, GoldenCases)
	for i := range images {
		dir := filepath.Join(GoldenDir, fmt.Sprintf(GoldenCase, i))
		in, out := read(t, filepath.Join(dir, "input_0.npy")), read(t, filepath.Join(dir, "output_0.npy"))
		same(t, dir+" input", in, []int{1, 1, draw.Size, draw.Size}, images[i].Float32s(), 0)
		p, err := Float(g)(&images[i])
		if err != nil {
			t.Fatal(err)
		}
		var f []float32
		for _, v := range p {
			f = append(f, float32(v))
		}
		same(t, dir+" output", out, []int{1, draw.Classes}, f, 1e-6)
	}
}

func read(t *testing.T, path string) *npz.Array {
	t.Helper()
	a, err := npz.ReadNpyFile(path, npz.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func same(t *testing.T, what string, a *npz.Array, shape []int, want []float32, tol float64) {
	t.Helper()
	got, err := a.Float32s()
	if err != nil || !slices.Equal(a.Shape, shape) || len(got) != len(want) {
		t.Fatalf("%s: %v, shape %v, want %v", what, err, a.Shape, shape)
	}
	for i := range want {
		if math.Abs(float64(got[i])-float64(want[i])) > tol {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}
