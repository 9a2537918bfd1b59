// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/patch"
	"github.com/nncc/nncc/schedule"
)

// Stage is a row of the table that takes an imported graph to a program.
type Stage struct {
	Name string // unique; as in --pass, --stop-after, dumps and messages
	Doc  string // one line for `nncc passes`
	// Numerics is what the stage may do to the results, LeastSQNR for a lossy
	// one the signal-to-noise ratio in dB that it has to leave.
	Numerics  pass.Numerics
	LeastSQNR float64
	// When are the facts that all have to hold; without them the stage does
	// not apply.
	When []Condition
	// Requires are the invariants that have to hold before the stage,
	// Establishes those that hold after it. The walk checks both.
	Requires, Establishes []*Invariant
	// After are the stages that have to stand before this one in the table, with
	// the reason, where no invariant says so.
	After []Order
	// Required says why the stage cannot be switched off; "" is one that can.
	Required string
	// Pass is the pass of lower/legal that the stage runs, "" for none; rewrites
	// in reports have its name.
	Pass string
	// Run edits the state. User errors end it by ir/fail, internal faults panic.
	Run func(s *State)
}

// Order is a constraint on the order of the table.
type Order struct{ Stage, Why string }

// Applies reports whether a stage runs.
func (t *Stage) Applies(f *Facts) bool {
	return !slices.ContainsFunc(t.When, func(c Condition) bool { return !c.Holds(f) })
}

// Conditions names what has to hold for the stage; "" is a stage that always
// runs.
func (t *Stage) Conditions() string {
	names := lists.Map(t.When, func(c Condition) string { return c.Name })
	return strings.Join(names, ", ")
}

// Float reports a stage that rewrites the float graph, before it is quantised.
func (t *Stage) Float() bool { return slices.Contains(floatRows, t) }

// Facts are what conditions ask: they are known before the first stage.
type Facts struct {
	Options
	Quantised   bool // the model carries its own quantisation
	OtherFloats bool // the model has float types besides float32
	Tiled       bool // the search for a smaller arena runs the stages again
}

func factsOf(g *ir.Graph, o Options) Facts {
	return Facts{Options: o, Quantised: Quantised(g), OtherFloats: len(otherFloats(g)) > 0}
}

// Find is the stage called name; the error lists what there is.
func Find(name string) (*Stage, error) {
	var names []string
	for _, t := range Table {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, unknownName("stage", name, names)
}

// unknownName refuses the name of a stage or of a pass, which there is not.
func unknownName(kind, name string, known []string) error {
	return &ir.Diag{Code: "unknown-pass", Node: kind + " " + name,
		Msg:  "there is no such " + kind + text.Meant(name, known),
		Hint: "known: " + strings.Join(known, ", ")}
}

func mayBeOff(name string) error {
	t, err := Find(name)
	if err == nil && t.Required != "" {
		return &ir.Diag{Code: "pass-required", Node: "stage " + name, Msg: "cannot be switched off: " + t.Required}
	}
	return err
}

// Step is what an observer sees after a stage.
type Step struct {
	N     int // from 0
	Stage *Stage
	State *State // it changes when the observer returns
	Took  time.Duration
}

// Name is the step as dumps call it, such as 03-transpose.
func (s *Step) Name() string { return fmt.Sprintf("%02d-%s", s.N, s.Stage.Name) }

// State is a compilation on its way through the stages.
type State struct {
	*Result
	facts Facts
	table kernel.Table
	// reconstruction rebuilds the model's outputs from those of Graph; nil
	// where these are the model's.
	reconstruction    *ir.Graph
	outputs           []output        // of the model
	single            *Single         // what a model of other float types was
	hardcodedReshapes map[string]bool // ONNX names
	tile              *patch.Plan     // of the first layers; nil: none
	draft             bool            // of the arena: nobody runs the program
	share             float64         // of what copies move that they have to gain (schedule.Goal)
	finer             *finer          // what runs in bfloat16; nil: nothing
	selection         *selection      // of kernels; nil: the fastest
	searching         []string        // the searches that run
	plans             schedule.Plans  // of all programs of the model
	ctx               *pass.Ctx
	log               *stepLog // nil: nobody watches
	stopped           bool     // behind the stage that the user asked for
}

// output is what the model's user knows of an output.
type output struct {
	name  string
	elems int
}

// stepLog numbers the steps for the observer.
type stepLog struct {
	observe func(Step) error
	n       int
}

func newState(g *ir.Graph, o Options) (_ *State, err error) {
	defer fail.Catch(&err)
	for name := range o.Off {
		fail.Check(mayBeOff(name))
	}
	s := &State{Result: &Result{Graph: g}, facts: factsOf(g, o), ctx: &pass.Ctx{}, log: &stepLog{observe: o.Observe},
		plans: schedule.Plans{}}
	s.facts.Target.Memo = map[any]any{}
	s.StateBindings = slices.Clone(o.StateBindings)
	if o.StopAfter != "" {
		t := fail.Must(Find(o.StopAfter))
		if !t.Applies(&s.facts) || o.Off[t.Name] {
			return nil, &ir.Diag{Code: "stage-not-run", Node: "stage " + t.Name,
				Msg: "does not run here, so nothing can stop after it", Hint: "it runs with: " + t.Conditions()}
		}
	}

	s.table, err = o.table()
	return s, err
}

func (s *State) options() *Options { return &s.facts.Options }

// fork is a copy of the state that nobody watches: what stages do to it leaves
// s as it is.
func (s *State) fork() *State {
	c, r := *s, *s.Result
	c.Result, c.log = &r, nil
	r.Graph = s.Graph.Clone()
	r.Fusions, r.Diags = slices.Clone(r.Fusions), slices.Clone(r.Diags)
	r.StateBindings = slices.Clone(r.StateBindings)
	r.Offloading.follow(s.Graph.Nodes, r.Graph.Nodes)
	return &c
}

// follow goes from nodes to their copies.
func (o *Offloading) follow(from, to []*ir.Node) {
	copies := map[*ir.Node]*ir.Node{}
	for i, n := range from {
		copies[n] = to[i]
	}
	copied := func(n *ir.Node) *ir.Node { return cmp.Or(copies[n], n) }
	o.Segments, o.Refused = lists.Each(o.Segments, copied), slices.Clone(o.Refused)
	for i := range o.Refused {
		o.Refused[i].Node = copied(o.Refused[i].Node)
	}
	if o.boundary != nil {
		boundary := map[*ir.Node]bool{}
		for n := range o.boundary {
			boundary[copied(n)] = true
		}
		o.boundary = boundary
	}
}

// walk runs those of the rows that apply, up to the one that the user wants to
// stop after. Where a search begins, that one runs its slice of them. The state
// that walk gives is the one to go on with.
func (s *State) walk(rows []*Stage) (*State, error) {
	for len(rows) > 0 && !s.stopped {
		n := 1
		var err error
		if x, slice := s.searchAt(rows); x != nil {
			n = len(slice)
			s, err = s.search(x, slice)
		} else if t := rows[0]; t.Applies(&s.facts) && !s.facts.Off[t.Name] {
			err = s.step(t)
			s.stopped = t.Name == s.facts.StopAfter
		}
		if err != nil {
			return s, err
		}
		rows = rows[n:]
	}
	return s, nil
}

// step runs one stage, checks what it promises, and shows it to the observer.
func (s *State) step(t *Stage) error {
	took, err := s.run(t)
	if err != nil {
		return err
	}
	return s.observed(t, took)
}

// run runs one stage and checks what it promises. What drafts keep is seen at the last stage, where one becomes
// the program.
func (s *State) run(t *Stage) (took time.Duration, err error) {
	var before *ir.Graph // the stage's input, for the report of a fault
	fault := func(format string, args ...any) error {
		return &pass.Bug{Pass: t.Name, Fault: bug.Errorf(format, args...), Before: before}
	}
	if !s.draft {
		before = s.Graph.Clone()
		for _, i := range t.Requires {
			if err := fail.Caught(func() { i.Check(s) }); err != nil {
				return 0, fault("needs %s: %v", i.Name, err)
			}
		}
	}
	begin := time.Now()
	err = pass.Guard(t.Name, s.ctx, before, func() error { return fail.Caught(func() { t.Run(s) }) })
	s.Diags.From(t.Name)
	if err != nil {
		diag.In(err).From(t.Name)
		return 0, err
	}
	took = time.Since(begin)
	s.Rewrites = s.ctx.Rewrites
	if s.draft {
		return took, nil
	}
	if errs := s.Graph.Verify(); len(errs) > 0 {
		return 0, fault("left an invalid graph: %v", errs[0])
	}
	for _, i := range t.Establishes {
		if err := fail.Caught(func() { i.Check(s) }); err != nil {
			return 0, fault("did not establish %s: %v", i.Name, err)
		}
	}
	return took, nil
}

func (s *State) observed(t *Stage, took time.Duration) error {
	if s.log == nil {
		return nil
	}
	s.log.n++
	if s.log.observe == nil {
		return nil
	}
	return s.log.observe(Step{N: s.log.n - 1, Stage: t, State: s, Took: took})
}

// Reconstruction is the graph that rebuilds the model's outputs from those of
// Graph; nil where these are the model's.
func (s *State) Reconstruction() *ir.Graph { return s.reconstruction }
