// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// CompileLayer reads a TensorFlow Lite layer and makes firmware of it. What is wanted are
// the results of the interpreter on the program's definition, of random inputs. State is
// an input and an output like others.
func CompileLayer(l *tflitetest.Layer, spec *boards.Spec, i int) (_ *Built, err error) {
	defer fail.Catch(&err)
	c := &Case{Test: &Test{Folder: "tflite", Name: fmt.Sprintf("%s_%s_%d", l.Op, l.Type, i)}}

	c.Model, c.Graph = fail.Must2(openLayer(l))
	c.Model.State = nil
	data := l.Data()
	for k, v := range c.Graph.In {
		b := []byte{}
		if k < len(data) {
			b = data[k]
		} else {
			b = tflitetest.Random(rand.New(rand.NewPCG(3, uint64(k))), v.Type.DType.String(), v.Type.Elems())
		}
		d := fail.Must(tensor.FromBytes(v.Type.DType, v.Type.Shape, b))
		c.Args = append(c.Args, d)
	}
	prefix := fmt.Sprintf("t%03d", i)
	cfg := driver.Defaults()
	cfg.Model, cfg.Board, cfg.Name, cfg.IO = c.Name+".tflite", spec.Name, prefix, option.FloatIO
	if !lower.Quantised(c.Graph) {
		cfg.Precision = option.Model // float stays float
	}
	o := fail.Must(cfg.CompileGraph(c.Model, c.Graph.Clone(), spec))
	c.Want = fail.Must(interp.Run(o.Lowered.Reference, c.Args, nil))
	if want, err := interp.Run(c.Graph, c.Args, nil); err != nil {
		return nil, err
	} else if err := within(c.Want, want); err != nil {
		return nil, fmt.Errorf("the program is not the model: %w", err)
	}
	return &Built{c, prefix, o}, nil
}

func openLayer(l *tflitetest.Layer) (*onnx.Model, *ir.Graph, error) {
	m, err := tflite.Parse(l.Bytes(), onnx.Limits{})
	if err != nil {
		return nil, nil, err
	}
	g, err := onnx.OpenModel(m, onnx.ImportOptions{})
	return m, g, err
}

// within holds the program's results against those of the model's reals: at most two steps
// off, as verify holds every stretch of a program.
func within(have, want []*tensor.Dense) error {
	for k, w := range want {
		for i := range w.Len() {
			d := math.Abs(have[k].Float(i) - w.Float(i))
			steps := 2.0
			if w.DType.Bits() == 16 {
				steps = 32 // functions by tables
			}
			if w.DType.IsInt() && d > steps || w.DType.IsFloat() && d > 1e-3*max(1, math.Abs(w.Float(i))) {
				return fmt.Errorf("result %d, element %d: %g, want %g", k, i, have[k].Float(i), w.Float(i))
			}
		}
	}
	return nil
}

// RunLayers compiles layers for a board, runs them as firmware and reports each by its
// index: nil where the results are the interpreter's.
func RunLayers(ctx context.Context, all []*tflitetest.Layer, spec *boards.Spec, report func(i int, err error)) error {
	index := map[*Built]int{}
	var built []*Built
	for i, l := range all {
		b, err := CompileLayer(l, spec, i)
		if err != nil {
			report(i, err)
			continue
		}
		index[b] = i
		built = append(built, b)
	}
	return runBatches(ctx, spec, Batches(built), nil, func(b *Built, err error) { report(index[b], err) })
}
