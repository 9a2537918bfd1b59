// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
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

// Interpreter is the target that needs no C.
const Interpreter = "interpreter"

// Targets are all that a full run tries, in order.
var Targets = []string{Interpreter, "host", "cortex-m55", "cortex-m0plus"}

// Outcome is what came of one test.
type Outcome struct {
	ID string
	// Outside says why the test is not one of tensors of numbers and bools.
	Outside string
	// Bound are the inputs that were known at compile time.
	Bound []string
	// Failed has the reason for every target that was tried in vain.
	Failed map[string]string
	// Tried are the targets that were tried.
	Tried []string
}

// Passed reports whether a target was tried and passed.
func (o *Outcome) Passed(target string) bool {
	return o.Outside == "" && slices.Contains(o.Tried, target) && o.Failed[target] == ""
}

// Plan says what is run where.
type Plan struct {
	Targets []string
	// Pick chooses the tests that are built and run for a board; the
	// interpreter and the compiler take all of them.
	Pick func(i int, board string) bool
	// Note hears how far the run is; may be nil.
	Note func(string)
}

// Run tries the tests on the targets. The error is one of the tools: tests
// that fail are outcomes.
func Run(ctx context.Context, tests []*Test, p Plan) ([]*Outcome, error) {
	out := make([]*Outcome, len(tests))
	cases := make([]*Case, len(tests))
	for i, t := range tests {
		o := &Outcome{ID: t.ID(), Failed: map[string]string{}}
		out[i] = o
		c, err := Load(t)
		if errors.Is(err, ErrOutside) {
			o.Outside = strings.TrimPrefix(reason(err), ErrOutside.Error()+": ")
			continue
		}
		if err == nil {
			err = c.Import()
		}
		if err == nil {
			o.Bound = c.Bound
			o.Tried = append(o.Tried, Interpreter)
			err = c.Interpret()
		}
		if err != nil { // what cannot be read or computed passes nowhere
			for _, target := range p.Targets {
				o.Failed[target] = reason(err)
			}
			o.Tried = p.Targets
			continue
		}
		cases[i] = c
	}
	for _, board := range p.Targets {
		if board == Interpreter {
			continue
		}
		if err := runBoard(ctx, board, cases, out, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func runBoard(ctx context.Context, board string, cases []*Case, out []*Outcome, p Plan) error {
	spec, err := boards.Load(board)
	if err != nil {
		return err
	}
	var built []*Built
	outcome := map[*Case]*Outcome{}
	for i, c := range cases {
		if c == nil {
			continue
		}
		prefix := fmt.Sprintf("c%04d", i)
		outcome[c] = out[i]
		o, err := c.Compile(spec, prefix)
		if err != nil {
			out[i].Failed[board] = "no C: " + reason(err)
			out[i].Tried = append(out[i].Tried, board)
		} else if p.Pick == nil || p.Pick(i, board) {
			built = append(built, &Built{c, prefix, o})
		}
	}
	return runBatches(ctx, spec, Batches(built), p.Note, func(b *Built, err error) {
		o := outcome[b.Case]
		o.Tried = append(o.Tried, board)
		var fit *run.FitError
		if errors.As(err, &fit) {
			o.Failed[board] = fmt.Sprintf("too large: region %s is %d bytes too small", fit.Region, fit.Missing)
		} else if err != nil {
			o.Failed[board] = reason(err)
		}
	})
}

// runBatches runs images, as many at a time as there are cores; note and report
// are called by one at a time. The error is the first of the tools.
func runBatches(ctx context.Context, spec *boards.Spec, batches [][]*Built, note func(string),
	report func(b *Built, err error)) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	done := 0
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for _, b := range batches {
		free <- true
		wg.Add(1)
		go func() {
			defer func() { <-free; wg.Done() }()
			start := time.Now()
			err := RunBatch(ctx, spec, b, func(b *Built, err error) {
				mu.Lock()
				defer mu.Unlock()
				report(b, err)
			})
			mu.Lock()
			defer mu.Unlock()
			if failed == nil {
				failed = err
			}
			done++
			if note != nil {
				note(fmt.Sprintf("%s: image %d of %d, %d cases from %s, %.1f s", spec.Name, done, len(batches), len(b),
					b[0].Case.ID(), time.Since(start).Seconds()))
			}
		}()
	}
	wg.Wait()
	return failed
}

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
		var b []byte
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
	cfg.Model, cfg.Board, cfg.Name, cfg.OwnIO = c.Name+".tflite", spec.Name, prefix, true
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
