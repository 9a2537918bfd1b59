package run_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
)

func build(t testing.TB, spec *boards.Spec, opt run.BuildOptions) *run.Image {
	t.Helper()
	if opt.Model == nil {
		opt.Model = &miniModel
	}
	im, err := run.Build(context.Background(), spec, writeMini(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

// Every board with a machine computes the right bytes, counts the same
// instructions twice, and reports its steps.
func TestMiniModelOnEveryBoard(t *testing.T) {
	for _, name := range boards.List() {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			im := build(t, spec, run.BuildOptions{Trace: true, Sanitize: name == "host"})
			cases := []run.Case{miniCase(0, 1), miniCase(0, 2), miniCase(0, 3), miniCase(8, 3)}
			cases[2].KeepState = true
			dumps := []run.Dump{{Step: 1, Offset: 1040, Bytes: 4}, {Step: -1, Offset: 16, Bytes: 512}, {Step: 0, Offset: 528, Bytes: 512}}
			opt := run.Options{Trace: []int{0, 2}, Dumps: dumps}
			res, err := run.RunWith(context.Background(), spec, im, cases, opt)
			if err != nil {
				t.Fatal(err)
			}
			var state int32
			for i, c := range cases {
				if !c.KeepState {
					state = 0
				}
				var want [][]byte
				want, state = miniOutputs(c, state)
				got := res.Cases[i]
				if got.Status != 0 || len(got.Outputs) != 2 || !bytes.Equal(got.Outputs[0], want[0]) || !bytes.Equal(got.Outputs[1], want[1]) {
					t.Errorf("case %d: status %d, outputs differ", i, got.Status)
				}
				if i == 0 || i == 2 {
					if len(got.Layers) != 3 || !bytes.Equal(got.Dumps[0], want[1]) || !bytes.Equal(got.Dumps[1], c.Inputs[1]) || !bytes.Equal(got.Dumps[2], want[0]) {
						t.Errorf("case %d: layers %v or dumps differ", i, got.Layers)
					}
				} else if got.Layers != nil {
					t.Errorf("case %d was not to be traced", i)
				}
			}
			if name == "host" {
				im = build(t, spec, run.BuildOptions{}) // sanitisers change sizes
			}
			if res.ArenaBytes != 1088 || im.Sizes.Arena != 1088 {
				t.Errorf("arena %d, %d", res.ArenaBytes, im.Sizes.Arena)
			}
			if w := im.Sizes.Weights(); w != 16 {
				t.Errorf("weights %d bytes, want 16: %+v", w, im.Sizes)
			}
			if c := im.Sizes.Code(); c < 100 || c > 3000 {
				t.Errorf("code %d bytes: %+v", c, im.Sizes)
			}
			if name == "host" {
				return
			}
			t.Logf("instructions %d %d, layers %v, stack %d, code %d", res.Cases[0].Instructions, res.Cases[3].Instructions, res.Layers, res.StackBytes, im.Sizes.Code())
			if n := res.Cases[0].Instructions; n < 3000 || n > 40000 {
				t.Errorf("%d instructions", n)
			}
			var sum uint64
			for _, l := range res.Layers {
				sum += l
			}
			if n := res.Cases[0].Instructions; sum > n || sum+100 < n {
				t.Errorf("layers %v sum up to %d, total is %d", res.Layers, sum, n)
			}
			if res.StackBytes < 8 || res.StackBytes > 400 || !res.StackExact {
				t.Errorf("stack %d bytes, exact %t", res.StackBytes, res.StackExact)
			}
			again, err := run.RunWith(context.Background(), spec, im, cases, opt)
			if err != nil {
				t.Fatal(err)
			}
			for i := range cases {
				if again.Cases[i].Instructions != res.Cases[i].Instructions {
					t.Errorf("case %d: %d instructions, then %d", i, res.Cases[i].Instructions, again.Cases[i].Instructions)
				}
			}
		})
	}
}

// A loop of known length is counted to the instruction, also where the
// counter wraps many times.
func TestCalibration(t *testing.T) {
	for _, name := range []string{"cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "microbit"} {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			im := build(t, spec, run.BuildOptions{Trace: true})
			counts := func(opt run.Options, pick func(run.CaseResult) uint64) [3]uint64 {
				res, err := run.RunWith(context.Background(), spec, im, []run.Case{miniCase(8, 1), miniCase(9, 1), miniCase(10, 1)}, opt)
				if err != nil {
					t.Fatal(err)
				}
				return [3]uint64{pick(res.Cases[0]), pick(res.Cases[1]), pick(res.Cases[2])}
			}
			check := func(what string, n [3]uint64) {
				t.Log(what, n)
				// The loops differ by the turns; the jump table of the switch
				// may take one branch more or less.
				for i, turns := range []uint64{250, 2500000, 25000000} {
					if d := int64(n[i]-n[0]) - int64(4*(turns-250)); d < -2 || d > 2 {
						t.Errorf("%s: %d turns are off by %d instructions", what, turns, d)
					}
				}
			}
			opt := run.Options{Trace: []int{0, 1, 2}}
			check("inference", counts(opt, func(c run.CaseResult) uint64 { return c.Instructions }))
			check("step", counts(opt, func(c run.CaseResult) uint64 { return c.Layers[2] }))
		})
	}
}

func TestFailures(t *testing.T) {
	for _, name := range []string{"host", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "microbit"} {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			im := build(t, spec, run.BuildOptions{})
			host := name == "host"
			for _, c := range []struct {
				name string
				mode int8
				kind run.Kind
				says string
			}{
				{"null call", 1, run.Fault, "PC="},
				{"unaligned", 2, run.Fault, "PC="},
				{"stack overflow", 3, run.Fault, "overflow"},
				{"beyond arena", 4, run.Guard, "beyond the end"},
				{"before arena", 5, run.Guard, "before the start"},
				{"endless", 6, run.Timeout, "no end after"},
				{"early exit", 7, run.Broken, "without an end record"},
				{"bad address", 12, run.Fault, "PC="},
			} {
				if c.name == "unaligned" && !strings.HasPrefix(spec.Core, "cortex-m0") {
					continue // allowed on this core
				}
				if c.name == "bad address" && host {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					opt := run.Options{}
					if c.kind == run.Timeout {
						opt.Timeout = time.Second
					}
					_, err := run.RunWith(context.Background(), spec, im, []run.Case{miniCase(0, 7), miniCase(c.mode, 7)}, opt)
					var e *run.Error
					if !errors.As(err, &e) {
						t.Fatalf("got %v", err)
					}
					t.Log(err)
					if e.Kind != c.kind {
						t.Errorf("kind %q, want %q", e.Kind, c.kind)
					}
					if !host && !strings.Contains(err.Error(), c.says) {
						t.Errorf("no %q in the message", c.says)
					}
				})
			}
			res, err := run.Run(context.Background(), spec, im, []run.Case{miniCase(100, 1), miniCase(0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			if res.Cases[0].Status != -3 || res.Cases[0].Outputs != nil || res.Cases[1].Status != 0 || res.Cases[1].Outputs == nil {
				t.Errorf("a model that reports an error: %+v", res.Cases)
			}
			leftovers, _ := filepath.Glob(filepath.Join(os.TempDir(), "nncc-run-*"))
			if len(leftovers) > 0 {
				t.Logf("runs of others or leftovers: %v", leftovers)
			}
		})
	}
}
