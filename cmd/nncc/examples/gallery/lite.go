// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// layer is a layer as Keras has it. TensorFlow is no part of these examples: the weights come from train.py.
type layer struct {
	op     string
	stride int  // of a convolution along the samples
	relu   int8 // 1: behind it
}

// networks are those that are TensorFlow Lite files.
var networks = map[string][]layer{
	"keyword": {{"CONV_2D", 20, 1}, {"CONV_2D", 2, 1}, {op: "MEAN"}, {op: "FULLY_CONNECTED"}},
	"sensor":  {{op: "SUB"}, {op: "MUL"}, {op: "FULLY_CONNECTED", relu: 1}, {op: "FULLY_CONNECTED"}},
}

var inputs = map[string][]int32{"keyword": {1, 1, 2000, 1}, "sensor": {1, 5}}

// kinds are the format's numbers of options.
var kinds = map[string]byte{"CONV_2D": 1, "FULLY_CONNECTED": 8, "MUL": 21, "MEAN": 27, "SUB": 28}

// file is a model that is being written.
type file struct {
	tflitetest.Graph
	weights map[string][]float32
	shapes  map[string][]int
	used    int
}

func (f *file) tensor(t tflitetest.Tensor) int32 {
	f.Tensors = append(f.Tensors, t)
	return int32(len(f.Tensors) - 1)
}

// weight is the next one; those of convolutions lose their order of PyTorch: channels come last.
func (f *file) weight() int32 {
	name := fmt.Sprint(f.used)
	f.used++
	x, shape := f.weights[name], f.shapes[name]
	dims := lists.Each(shape, func(d int) int32 { return int32(d) })
	if len(shape) == 3 {
		o, c, k := shape[0], shape[1], shape[2]
		last := make([]float32, len(x))
		for i := range x {
			last[(i/(c*k)*k+i%k)*c+i/k%c] = x[i]
		}
		x, dims = last, []int32{int32(o), 1, int32(k), int32(c)}
	}
	return f.tensor(tflitetest.Tensor{Name: "w" + name, Shape: dims, Data: raw(x)})
}

func raw(x any) []byte {
	var b bytes.Buffer
	fail.Check(binary.Write(&b, binary.LittleEndian, x))
	return b.Bytes()
}

// add appends a layer behind a tensor of a shape, and gives its own.
func (f *file) add(l layer, x int32, shape []int32) (int32, []int32) {
	in, fields := []int32{x}, []any{l.relu}
	switch l.op {
	case "CONV_2D":
		in = append(in, f.weight(), f.weight())
		w := f.Tensors[in[1]].Shape
		shape = []int32{1, 1, (shape[2]-w[2])/int32(l.stride) + 1, w[0]}
		fields = []any{int8(1), l.stride, 1, l.relu} // 1: without padding
	case "MEAN":
		const int32s = 2
		in = append(in, f.tensor(tflitetest.Tensor{Name: "axes", Type: int32s, Shape: []int32{2},
			Data: raw([]int32{1, 2})}))
		shape, fields = []int32{1, shape[3]}, nil
	case "FULLY_CONNECTED":
		in = append(in, f.weight(), f.weight())
		shape = []int32{1, f.Tensors[in[1]].Shape[0]}
	default:
		in = append(in, f.weight())
	}
	y := f.tensor(tflitetest.Tensor{Name: fmt.Sprintf("%s_%d", strings.ToLower(l.op), len(f.Ops)), Shape: shape})
	f.Ops = append(f.Ops, tflitetest.NewOp(l.op, in, []int32{y}, kinds[l.op], fields...))
	return y, shape
}

// convert writes a network with the weights of train.py.
func convert(name, weights, model string) (err error) {
	defer fail.Catch(&err)
	f := &file{weights: map[string][]float32{}, shapes: map[string][]int{}}
	for _, a := range fail.Must(npz.ReadFile(weights, npz.DefaultLimits)) {
		f.weights[a.Name], f.shapes[a.Name] = a.Array.Data.([]float32), a.Array.Shape
	}
	shape := inputs[name]
	x := f.tensor(tflitetest.Tensor{Name: "input", Shape: shape})
	f.Inputs = []int32{x}
	for _, l := range networks[name] {
		x, shape = f.add(l, x, shape)
	}
	f.Tensors[x].Name, f.Outputs = "scores", []int32{x}
	return os.WriteFile(model, f.Bytes(), 0o666)
}
