// SPDX-License-Identifier: Apache-2.0

package digits

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/frontend/npz"
)

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
