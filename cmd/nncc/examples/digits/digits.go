// SPDX-License-Identifier: Apache-2.0

// Package digits is the model that nncc's demo compiles: which images it was
// trained on, how, and which ones measure it. The folder holds the results,
// digits.onnx with calibration data and golden cases; the module train makes them again.
package digits

import (
	"fmt"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// What the shipped model was made from and is measured with. Training and test
// images come from different seeds, so none is in both sets.
const (
	TrainSeed   = 1
	TrainImages = 8000
	TestSeed    = 2
	TestImages  = 1000
	CalibImages = 64 // the first of the training images
	GoldenCases = 3  // the first of the test images
)

// Names of the model's input and of the files beside this package.
const (
	InputName  = "input"
	ModelFile  = "digits.onnx"
	CalibFile  = "digits_calib.npz"
	GoldenDir  = "golden"
	GoldenCase = "case_%d" // below GoldenDir, with input_0.npy and output_0.npy
)

// Calibration is the content of CalibFile: [64, 1, 28, 28] under the name of
// the model's input.
func Calibration() ([]npz.Entry, error) {
	images, _ := draw.Set(TrainSeed, CalibImages)
	var data []float32
	for i := range images {
		data = append(data, images[i].Float32s()...)
	}
	a, err := npz.New([]int{CalibImages, 1, draw.Size, draw.Size}, data)
	if err != nil {
		return nil, err
	}
	return []npz.Entry{{Name: InputName, Array: a}}, nil
}

// Input is an image as the model's input, [1, 1, 28, 28].
func Input(m *draw.Image) *tensor.Dense {
	d := tensor.New(tensor.F32, []int{1, 1, draw.Size, draw.Size})
	copy(tensor.As[float32](d), m.Float32s())
	return d
}

// Classifier gives the scores of the classes for an image, in any unit.
type Classifier func(*draw.Image) ([]float64, error)

// Float is the reference interpreter on an imported model.
func Float(g *ir.Graph) Classifier {
	return func(m *draw.Image) ([]float64, error) {
		out, err := interp.Run(g, []*tensor.Dense{Input(m)}, nil)
		if err != nil {
			return nil, err
		}
		return out[0].Floats(), nil
	}
}

// Load imports a model file.
func Load(path string) (*ir.Graph, error) {
	m, err := onnx.Load(path, onnx.Limits{})
	if err != nil {
		return nil, err
	}
	return onnx.Import(m, onnx.ImportOptions{})
}

// Classes asks a classifier for the most likely numeral of each image.
func Classes(c Classifier, images []draw.Image) ([]int, error) {
	out := make([]int, len(images))
	for i := range images {
		scores, err := c(&images[i])
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		for k, s := range scores {
			if s > scores[out[i]] {
				out[i] = k
			}
		}
	}
	return out, nil
}

// Same counts equal elements.
func Same(a, b []int) int {
	n := 0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}
