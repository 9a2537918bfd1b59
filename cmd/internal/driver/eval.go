// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// EvalConfig is what the verb eval is asked for.
type EvalConfig struct {
	Data    string // files of samples
	Labels  string // "": those within the data, if there are any
	Classes string // names of classes, a file
	Scores  string // OUTPUT[:AXIS]; "": guessed
	TopK    int
	Qemu    int // samples that also run on the board's machine
	// Sequence is after how many samples recurrent state begins anew; 0: never.
	Sequence         int
	MinTop1, MinSQNR string // gates; "": none
	Propose          string // file of a mix of precisions that reaches the gates; "": none
}

// evaluation runs a float model and its program on data.
type evaluation struct {
	c        *Config
	compiled *Compiled // nil: there is no board
	float    func() (*state.Runner, error)
	samples  []quant.Sample
	names    []string
	folders  *eval.Labels      // what folders say; nil: nothing
	sorted   bool              // classes are in the order of their names, which nobody gave
	meter    *eval.Meter       // has seen nothing: runs begin with it
	want     [][]*tensor.Dense // the float model's outputs, as far as they are kept
	keep     bool
	post     *data.Post    // nil: nothing is declared
	boxes    *boxes        // nil: none are compared
	answers  *eval.Answers // nil: none are counted
}

// Evaluate is the verb eval. Beyond a gate there is a result and a GateError.
func (c *Config) Evaluate(ctx context.Context) (_ *eval.Result, err error) {
	defer fail.Catch(&err)
	top1, db := fail.Must2(c.evalGates())
	if c.Eval.Data == "" {
		return nil, usage("eval: --data is missing: a .npy or .npz file of samples, or a folder")
	}
	e := fail.Must(c.newEvaluation())
	r := e.result()
	r.Model, r.Data, r.SHA256 = filepath.Base(c.Model), c.Eval.Data, hex.EncodeToString(c.source.SHA256[:])
	if o := e.compiled; o != nil {
		r.Board, r.Precision = o.Board.Name, o.Report.Precision
	}
	if c.Eval.Qemu > 0 {
		r.Qemu = fail.Must(e.onBoard(ctx))
	}
	if names, share := r.Confusion.Order(); e.sorted && names != nil {
		c.warn("eval", "class-order", e.c.Eval.Data, "the model has another order of classes, it seems: --classes %s "+
			"makes %.0f %% of its answers right", strings.Join(names, ","), 100*share)
	}
	c.fell(r)
	gate := c.exceeded(r, top1, db)
	if e.compiled != nil && c.Eval.Propose == "" {
		gate = fail.Must(e.limits(r, gate))
	}
	if c.Eval.Propose != "" {
		gate = fail.Must(e.propose(r, top1, db))
	}
	c.Diags.Add(c.spec.Idle().From("data")...)
	r.Warnings, r.Notes = c.Diags.Texts(diag.Warning), c.Diags.Texts(diag.Note)
	fail.Check(c.strictly())
	return r, gate
}

// result runs all samples, with the program where there is a board.
func (e *evaluation) result() *eval.Result {
	r := fail.Must(e.float())
	var program func() *state.Runner
	if e.compiled != nil {
		program = e.compiled.Lowered.Interface
	}
	m := fail.Must(e.run(e.sequences(r), program))
	x := m.Result(e.names)
	if e.boxes != nil {
		x.Task, x.Detection = eval.Detect, e.boxes.Result(program != nil)
		x.Labels = x.Detection.Boxes
	}
	if e.answers != nil {
		x.Answers = e.answers.Result(program != nil, e.c.Eval.Sequence)
	}
	return x
}

// mayFall is by how much a program may be right less often than the float model without a word.
const mayFall = 0.01

// fell says what to do where quantisation costs accuracy.
func (c *Config) fell(r *eval.Result) {
	f, p := r.Float, r.Program
	if c.Eval.Propose != "" || p == nil || p.Top1 == nil || *f.Top1-*p.Top1 <= mayFall {
		return
	}
	c.warn("eval", "accuracy", r.Data, "the program is right in %.1f %% of the labels, the float model in %.1f %%: "+
		"--propose mix.yaml --min-top1 %.0f%% finds the layers that need more bits (nncc help accuracy)", 100**p.Top1,
		100**f.Top1, 100*(*f.Top1-mayFall))
}

// evalGates reads --min-top1 and --min-sqnr; NaN: not given.
func (c *Config) evalGates() (top1, db float64, err error) {
	top1, db = math.NaN(), math.NaN()
	if s := c.Eval.MinTop1; s != "" {
		t, percent := strings.CutSuffix(s, "%")
		if top1, err = strconv.ParseFloat(strings.TrimSpace(t), 64); percent {
			top1 /= 100
		}
		if err != nil || !(top1 >= 0 && top1 <= 1) {
			return 0, 0, usage("--min-top1 %s: want a share such as 0.97, or 97%%", s)
		}
	}
	if s := c.Eval.MinSQNR; s != "" {
		if db, err = strconv.ParseFloat(s, 64); err != nil || !(math.Abs(db) <= 200) {
			return 0, 0, usage("--min-sqnr %s: want a ratio in dB, such as 30", s)
		}
	}
	return top1, db, nil
}

// exceeded says which gates are, in the result and as an error.
func (c *Config) exceeded(r *eval.Result, top1, db float64) error {
	if top1 == top1 {
		if a := r.Best(); a == nil || a.Top1 == nil {
			return usage("--min-top1 %s: there are no labels of classes; --labels FILE has them", c.Eval.MinTop1)
		} else if *a.Top1 < top1 {
			r.Gates = append(r.Gates, fmt.Sprintf("--min-top1 %s: top-1 is %.4f, %d of %d labels", c.Eval.MinTop1,
				*a.Top1, *a.Correct, r.Labels))
		}
	}
	if db == db {
		if worst, ok := r.Worst(); !ok || worst < db {
			r.Gates = append(r.Gates, fmt.Sprintf("--min-sqnr %s: the worst output has %.1f dB", c.Eval.MinSQNR, worst))
		}
	}
	if len(r.Gates) > 0 {
		return &GateError{r.Gates}
	}
	return nil
}

// limits adds the limits of the program (--max-ram and the like) to those of its accuracy.
func (e *evaluation) limits(r *eval.Result, accuracy error) (gate, err error) {
	var g *GateError
	if err := e.compiled.Gates(); err != nil && !errors.As(err, &g) {
		return nil, err
	}
	if g == nil || accuracy != nil && !errors.As(accuracy, new(*GateError)) {
		return accuracy, nil
	}
	r.Gates = append(r.Gates, g.Reasons...)
	return &GateError{r.Gates}, nil
}

// newEvaluation prepares the model, its program where there is a board, and the data.
func (c *Config) newEvaluation() (_ *evaluation, err error) {
	defer fail.Catch(&err)
	e := &evaluation{c: c}
	if err := readable(c.Eval.Data, true); err != nil {
		return nil, badInput("--data %s: %w", c.Eval.Data, err)
	}
	if c.Board != "" {
		o := fail.Must(c.Compile())
		e.compiled = o
		e.float = func() (*state.Runner, error) { return o.Lowered.Windows(o.Float), nil }
	} else if err := e.floatOnly(); err != nil {
		return nil, err
	}
	r := fail.Must(e.float())
	e.read(r)
	e.want = make([][]*tensor.Dense, len(e.samples))
	return e, e.labelled(r)
}

// read reads the samples, with the labels that their folders say.
func (e *evaluation) read(r *state.Runner) {
	c := e.c
	fail.Check(c.readSpec())
	o := c.dataOptions("data")
	o.Labelled = c.Eval.Labels == ""
	if c.Eval.Classes != "" && o.Labelled {
		o.Classes = input(eval.ReadClasses(c.Eval.Classes))
	}
	set := input(data.Open([]string{c.Eval.Data}, r.Inputs(), o))
	if names := c.inOrder(set.Classes, set.Sorted); names != nil {
		o.Classes = names
		set = input(data.Open([]string{c.Eval.Data}, r.Inputs(), o))
	}
	e.post, _ = fail.Must2(c.resolvePost(r))
	e.boxes = fail.Must(c.boxes(e.post))
	l := &eval.Labels{Source: c.Eval.Data, Classes: set.Classes, Sorted: set.Sorted}
	for i := range set.Len() {
		s := input(set.Sample(i))
		e.samples, e.names = append(e.samples, s.Inputs), append(e.names, s.Name)
		l.Class = append(l.Class, s.Label)
		fail.Check(asInput(e.boxes.truth(set, i, s.Name)))
	}
	fail.Check(asInput(e.boxes.begin()))
	if set.Classes != nil {
		e.folders = l
	}
	c.Diags.Add(set.Diags.From("data")...)
}

// floatOnly prepares a model without a program.
func (e *evaluation) floatOnly() (err error) {
	defer fail.Catch(&err)
	c := e.c
	fail.Check(c.Check())
	_, g := fail.Must2(c.load(nil))
	b := c.bindings(g)
	s := used(state.ParseStream(g, b, c.Stream))
	e.float = func() (*state.Runner, error) {
		r, err := state.Float(g, b, s)
		return r, asInput(err)
	}
	return nil
}

// scores finds what labels speak of: what --scores says, else the output of which
// --postprocess takes the best classes or keywords, else what fits.
func (e *evaluation) scores(outs []eval.Output, l *eval.Labels, each int) (*eval.Scores, eval.Task, error) {
	if p := e.post; p != nil && e.c.Eval.Scores == "" {
		at := -1
		switch {
		case p.Classes != nil:
			at = p.Classes.Output
		case p.Keywords != nil:
			at = p.Keywords.Output
		}
		if at >= 0 {
			if s, task, err := eval.Choose(outs, l, each, outs[at].Name); err == nil {
				return s, task, nil
			}
		}
	}
	return eval.Choose(outs, l, each, e.c.Eval.Scores)
}

// begin prepares the count of what --postprocess makes of samples with a class each.
func (e *evaluation) begin(l *eval.Labels, each int) {
	p := e.post
	if p == nil || p.Classes == nil && p.Keywords == nil {
		return
	}
	if l == nil || l.Class == nil || each != 1 {
		e.c.warn("eval", "no-effect", "--postprocess", "classes and keywords of --postprocess are not counted: "+
			"samples have no class each as their label")
		return
	}
	e.answers = eval.NewAnswers(p.Classes, p.Keywords, l.Class)
}

// look takes what the float model and the program gave for sample i; got may be nil.
func (e *evaluation) look(i int, want, got []*tensor.Dense) {
	if e.boxes == nil && e.answers == nil {
		return
	}
	floats, programs := values(want), [][]float32(nil)
	if got != nil {
		programs = values(got)
	}
	e.boxes.look(i, floats, programs)
	if e.answers != nil {
		e.answers.Look(i, floats, programs)
	}
}

// sequences are the samples that run one after the other: all of a model with state,
// or --sequence of them, else one.
func (e *evaluation) sequences(r *state.Runner) [][]int {
	n := 1
	if r.Stateful() {
		if n = e.c.Eval.Sequence; n == 0 {
			n = len(e.samples)
		}
	} else if e.c.Eval.Sequence > 0 && (e.answers == nil || e.answers.Keywords == nil) {
		e.c.warn("eval", "no-effect", "--sequence", "--sequence has no effect: the model has no state")
	}
	var out [][]int
	for from := 0; from < len(e.samples); from += n {
		out = append(out, ir.Identity(len(e.samples))[from:min(from+n, len(e.samples))])
	}
	return out
}

// run runs samples on all cores, beside the float model a program where there is one,
// and gives what was measured.
func (e *evaluation) run(list [][]int, program func() *state.Runner) (*eval.Meter, error) {
	done := make([]*eval.Sample, len(e.samples))
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex // of the progress
	count := 0
	errs := make([]error, len(list))
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < len(list); k = int(next.Add(1)) - 1 {
				errs[k] = e.sequence(list[k], program, done, len(list) == 1, func() {
					mu.Lock()
					defer mu.Unlock()
					count++
					e.c.note("sample %d of %d", count, len(e.samples))
				})
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	m := e.meter.Again()
	for _, s := range done {
		if s != nil {
			m.Add(s)
		}
	}
	return m, nil
}

// sequence runs samples one after the other, with the state that they leave; apart says
// that the model and its program run on two cores.
func (e *evaluation) sequence(list []int, program func() *state.Runner, done []*eval.Sample, apart bool,
	each func()) (err error) {
	defer fail.Catch(&err)
	float := fail.Must(e.float())
	given := func(quant.Sample) ([]*tensor.Dense, error) { return nil, nil }
	if program != nil {
		given = typed(program())
	}
	for _, i := range list {
		var want, got []*tensor.Dense
		var err, err2 error
		run := func() { got, err2 = given(e.samples[i]) }
		model := func() {
			if want = e.want[i]; want == nil {
				want, err = verify.Reals(float, e.samples[i])
			}
		}
		if apart {
			var wg sync.WaitGroup
			wg.Go(run)
			model()
			wg.Wait()
		} else {
			run()
			model()
		}
		fail.Check(cmp.Or(err, err2))
		if e.keep {
			e.want[i] = want
		}
		done[i] = e.meter.Measure(i, want, got)
		e.look(i, want, got)
		each()
	}
	return nil
}

// typed gives a program's outputs for samples, one after the other.
func typed(r *state.Runner) func(in quant.Sample) ([]*tensor.Dense, error) {
	return func(in quant.Sample) ([]*tensor.Dense, error) {
		x, err := verify.Inputs(in, r.Inputs())
		if err != nil {
			return nil, asInput(err)
		}
		return verify.Reals(r, x)
	}
}

// onBoard runs samples on the board's machine: the first of a model with state, else
// some from the whole data.
func (e *evaluation) onBoard(ctx context.Context) (_ *eval.Qemu, err error) {
	defer fail.Catch(&err)
	o, c := e.compiled, e.c
	if !o.Board.HasMachine() {
		return nil, badInput("--qemu: board %s has no machine to run on", o.Board.Name)
	}
	var cases []verify.Case
	var at []int
	ports := o.Lowered.Interface()
	n := min(c.Eval.Qemu, len(e.samples))
	for k := range n {
		i := k * len(e.samples) / n
		if ports.Stateful() {
			i = k
		}
		in := input(verify.Inputs(e.samples[i], ports.Inputs()))
		at = append(at, i)
		cases = append(cases, verify.Case{Inputs: in})
	}
	im, done := fail.Must2(o.Firmware.build(ctx))
	defer done()
	o.Firmware.askRounding(ctx)
	c.note("running %d samples on %s", n, o.Board.Runner.Machine)
	res := fail.Must(run.RunWith(ctx, o.Board, im, o.runs(cases), run.Options{}))
	return e.firmware(at, cases, res)
}

// firmware compares what the machine gave with what the interpreter gives, and counts
// what both get right.
func (e *evaluation) firmware(at []int, cases []verify.Case, res *run.Result) (_ *eval.Qemu, err error) {
	defer fail.Catch(&err)
	o := e.compiled
	q := &eval.Qemu{Samples: len(at)}
	f := verify.NewFirmware(o.Lowered, o.reference, 0)
	m := e.meter.Again()
	program := typed(o.Lowered.Interface())
	ports := o.Lowered.Ports()
	for k, r := range res.Cases {
		if r.Status != 0 {
			return nil, &run.Error{Msg: fmt.Sprintf("sample %d: %s_run returned %d", at[k], o.Info.Prefix, r.Status)}
		}
		wrong, _ := fail.Must2(f.Case(cases[k], r.Outputs))
		q.Mismatches += wrong
		q.Instructions = max(q.Instructions, r.Instructions)
		want := fail.Must(program(e.samples[at[k]]))
		var got []*tensor.Dense
		for i, p := range ports.Outputs() {
			t := o.Lowered.Graph.Out[p].Type
			d := fail.Must(verify.FromMemory(r.Outputs[i], t))
			got = append(got, verify.Dequantised(d, t))
		}
		m.Add(m.Measure(at[k], want, got))
	}
	q.Program, q.Firmware = m.Both()
	return q, nil
}

// boxes compares the boxes in outputs with those in a folder of labels.
type boxes struct {
	*eval.Detector
	dir    string
	post   *data.Post
	truths [][]eval.Truth
	found  int // samples with a file
}

// boxes is nil where --labels names no folder, or no boxes are declared.
func (c *Config) boxes(post *data.Post) (*boxes, error) {
	folder := c.Eval.Labels != "" && eval.Folder(c.Eval.Labels)
	switch {
	case folder && (post == nil || post.Boxes == nil):
		return nil, badInput("--labels %s: a folder of boxes, and nothing says where the outputs have boxes; "+
			"--postprocess does (nncc help vision)", c.Eval.Labels)
	case folder:
		return &boxes{dir: c.Eval.Labels, post: post}, nil
	case post != nil && post.Boxes != nil:
		c.warn("eval", "no-effect", "boxes", "boxes of --postprocess have no effect: eval compares them with "+
			"--labels DIR, a folder of boxes")
	}
	return nil, nil
}

func (b *boxes) truth(set *data.Set, i int, name string) error {
	if b == nil {
		return nil
	}
	place, err := set.Place(i)
	if err != nil {
		return err
	}
	list, found, err := eval.ReadBoxes(b.dir, name, place, float64(b.post.Boxes.Width), float64(b.post.Boxes.Height))
	if found {
		b.found++
	}
	b.truths = append(b.truths, list)
	return err
}

// begin checks that there are labels at all.
func (b *boxes) begin() error {
	if b == nil {
		return nil
	}
	if b.found == 0 {
		return text.Errorf("--labels %s: no file belongs to a sample; want NAME.txt for NAME.png, with a class, the "+
			"middle, width and height of a box in each line", b.dir)
	}
	b.Detector = eval.NewDetector(b.truths)
	return nil
}

// look finds boxes in what the float model and the program gave; that of the program may be nil.
func (b *boxes) look(i int, floats, programs [][]float32) {
	if b == nil {
		return
	}
	if programs == nil {
		b.Found(i, b.post.Boxes.Of(floats), nil)
		return
	}
	b.Found(i, b.post.Boxes.Of(floats), b.post.Boxes.Of(programs))
}

func values(outs []*tensor.Dense) [][]float32 { return lists.Map(outs, floats) }

func floats(d *tensor.Dense) []float32 {
	return lists.Make(d.Len(), func(i int) float32 { return float32(d.Float(i)) })
}
