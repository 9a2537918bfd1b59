// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
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
