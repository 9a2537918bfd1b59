// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// StepError says which step of a script failed, where it is and why.
type StepError struct {
	Script string // name of the file
	Path   string // "3", or "3.2" for the second step of a loop, with the round
	Step   string // name of the step
	Line   int
	Err    error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%s:%d: step %s (%s): %v", e.Script, e.Line, e.Path, e.Step, e.Err)
}

// Unwrap gives the cause.
func (e *StepError) Unwrap() error { return e.Err }

// DifferError is a comparison that found a difference.
type DifferError struct{ Comparison *Comparison }

func (e *DifferError) Error() string {
	c := e.Comparison
	var s []string
	for _, d := range c.Outputs {
		if d.Mismatches > 0 {
			s = append(s, fmt.Sprintf("output %s: %d of %d values differ in %d cases, by up to %.3g (%.3g of the "+
				"largest value)", quote(d.Name), d.Mismatches, d.Elements*c.Cases, c.Cases, d.MaxAbs, d.Relative))
		}
	}
	return fmt.Sprintf("%s; wanted %s", strings.Join(s, "; "), c.Wanted)
}

// RunOptions of Script.Run.
type RunOptions struct {
	// Cases are given inputs of the original model, for comparisons with it.
	Cases []map[string]*tensor.Dense
	// Count is how many cases a comparison runs that does not say; 0 is 3.
	Count int
	// Dims pins symbolic dimensions for comparisons, beside the script's dims.
	Dims map[string]int
	// Functions define custom operators.
	Functions []*pb.FunctionProto
	Limits    onnx.Limits
	// Note receives what the steps do, one line each; may be nil.
	Note func(string)
}

// Did is what a step did.
type Did struct {
	Path string `json:"path"`
	Step string `json:"step"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Verified is one comparison of a run.
type Verified struct {
	Path    string `json:"path"`    // of the step; "end" for the last one
	Against string `json:"against"` // what was compared with
	*Comparison
}

// File is a model that a save step writes beside the result.
type File struct {
	Path string // relative, within the folder of the result
	Data []byte
}

// Result of a script.
type Result struct {
	Model    *Model
	Steps    []Did
	Verified []Verified
	Files    []File
	Read     []string // files of load steps
	Warnings diag.List
}

// entry is a model of a run with the one that it is compared with.
type entry struct {
	m, ref  *Model
	refName string
	edited  bool // since the last comparison
}

type session struct {
	script   *Script
	opt      RunOptions
	models   map[string]*entry
	at       string // name of the current model
	original *Model
	res      *Result
	executed int
	path     string // of the running step
	line     int
	vars     map[string]*yaml.Node
}

// mainName is the name of the model that a script begins with.
const mainName = "original"

func (s *session) cur() *entry { return s.models[s.at] }

// Run applies the script to a model, which stays as it is; infers shapes,
// checks and compares the result, unless the script compared it itself after
// its last edit. A comparison that finds a difference gives a DifferError, in a
// StepError; the Result is there beside it.
func (sc *Script) Run(m *Model, opt RunOptions) (res *Result, err error) {
	defer fail.Catch(&err)
	res = &Result{}
	s := &session{script: sc, opt: opt, models: map[string]*entry{}, at: mainName, res: res}
	m = m.Clone()
	m.Functions = append(slices.Clone(m.Functions), opt.Functions...)
	m.Dims = map[string]int{}
	maps.Copy(m.Dims, sc.dims)
	maps.Copy(m.Dims, opt.Dims)
	for _, k := range sortedKeys(m.Dims) {
		if open := m.openDims(); !slices.Contains(open, k) {
			fail.Errorf("%s: dims: the model has no symbolic dimension %s%s; it has: %s", sc.Name, quote(k),
				near(k, open), quoted(open))
		}
	}
	s.original = m
	s.models[mainName] = &entry{m: m.Clone(), ref: m, refName: mainName}
	s.steps(sc.steps, sc.vars, "")
	s.end()
	return res, nil
}

// within says of an error that ends f in which step it is.
func (s *session) within(path, step string, line int, f func()) {
	err := fail.Caught(f)
	if _, known := err.(*StepError); err != nil && !known {
		err = &StepError{s.script.Name, path, step, line, err}
	}
	fail.Check(err)
}

// steps runs a list; prefix is the path of the loop around.
func (s *session) steps(list []*yaml.Node, vars map[string]*yaml.Node, prefix string) {
	for i, n := range list {
		key, args := stepOf(n)
		path := fmt.Sprintf("%s%d", prefix, i+1)
		s.within(path, key.Value, key.Line, func() { s.step(key, args, vars, path) })
	}
}

func (s *session) step(key, args *yaml.Node, vars map[string]*yaml.Node, path string) {
	s.executed++
	fail.If(s.executed > maxExecuted, "more than %d steps; want fewer rounds", maxExecuted)
	if key.Value == "for_each" {
		rounds, body := s.iterations(args, vars)
		for k, r := range rounds {
			s.steps(body, r, fmt.Sprintf("%s[%d].", path, k+1))
		}
		return
	}
	args = expandArgs(args, vars)
	s.path, s.line, s.vars = path, key.Line, vars
	def := stepTable()[key.Value]
	if !def.reads {
		s.cur().edited = true
	}
	s.did(key.Value, def.run(s, args))
}

func (s *session) did(step, text string) {
	s.res.Steps = append(s.res.Steps, Did{s.path, step, s.line, text})
	if s.opt.Note != nil {
		s.opt.Note(fmt.Sprintf("step %s (%s): %s", s.path, step, text))
	}
}

func (s *session) warn(code, format string, args ...any) {
	d := diag.Warnf(code, "", format, args...)
	d.Stage = "surgery"
	s.res.Warnings = append(s.res.Warnings, d)
}

// end makes a valid file of the current model and compares it.
func (s *session) end() {
	s.path = "end"
	e := s.cur()
	s.within("end", "check", 1, func() { s.seal(e) })
	s.res.Model = e.m
	switch v := s.script.verify; {
	case v != nil:
		s.line, s.vars = v.Line, s.script.vars
		s.within("end", "verify", v.Line, func() { stepTable()["verify"].run(s, expandArgs(v, s.vars)) })
	case !s.script.off && e.edited:
		opt := CompareOptions{RTol: defaultRTol, Reshape: true, Partial: true, Cases: s.casesFor(e.ref),
			Count: s.count(0)}
		c, err := fail.Try(func() *Comparison { return Compare(e.m, e.ref, opt) })
		if err != nil {
			s.warn("not-compared", "the result is not compared with %s: %v", e.refName, err)
			return
		}
		if len(c.Missing) > 0 {
			s.warn("not-compared", "outputs of %s that nothing was compared with: %s", e.refName, quoted(c.Missing))
		}
		s.within("end", "verify", 1, func() { s.compared(e.refName, c) })
	}
}

// defaultRTol is the tolerance of a comparison that does not say: what
// reordered float32 arithmetic may differ by.
const defaultRTol = 1e-5

func (s *session) count(n int) int { return cmp.Or(n, s.opt.Count, 3) }

// casesFor are the given inputs where the reference is the original model, or
// has the same inputs.
func (s *session) casesFor(ref *Model) []map[string]*tensor.Dense {
	if ref == s.original || len(s.opt.Cases) > 0 && !slices.ContainsFunc(ref.InputNames(),
		func(n string) bool { return s.opt.Cases[0][n] == nil }) {
		return s.opt.Cases
	}
	return nil
}

// seal infers shapes anew and checks a model.
func (s *session) seal(e *entry) {
	changed := e.m.InferShapes()
	for _, c := range changed {
		s.warn("declared-shape", "%s: the declaration was brought up to date", c)
	}
	for _, u := range e.m.Shapes().Unknown {
		s.warn("no-shape", "no shapes behind %v", u)
	}
	fail.Check(e.m.Checked())
}

// stepDef is a kind of step; steps.yaml says what it does.
type stepDef struct {
	name  string
	args  reflect.Type
	reads bool // does not edit
	check func(args *yaml.Node, depth int)
	run   func(s *session, args *yaml.Node) string
}

// def makes a step whose arguments are a T; run gives what it did in a line.
func def[T any](name string, run func(s *session, a *T) string) *stepDef {
	return &stepDef{
		name: name, args: reflect.TypeFor[T](),
		check: func(n *yaml.Node, depth int) { checkKeys(n, reflect.TypeFor[T]()) },
		run: func(s *session, n *yaml.Node) string {
			var a T
			strict(n, &a)
			return run(s, &a)
		},
	}
}

// want fails with a message unless the condition holds.
func (s *session) want(ok bool, format string, args ...any) {
	fail.If(!ok, format, args...)
}

// oneOf fails unless exactly one of two keys is given.
func (s *session) oneOf(a, b bool, keys string) { s.want(a != b, "want %s, one of them", keys) }

// choice fails unless a text is left out or one of two.
func (s *session) choice(key, have, a, b string) {
	s.want(have == "" || have == a || have == b, "%s %s; want %s or %s", key, quote(have), a, b)
}

// m is the current model.
func (s *session) m() *Model { return s.cur().m }

// nodes and node find nodes of the current model; node exactly one.
func (s *session) nodes(a *nodeSel) []*pb.NodeProto { return a.find(s.m()) }

func (s *session) node(a *nodeSel) *pb.NodeProto { return a.single(s.m()) }

// elemType is the number of an element type, 0 where none is named.
func (s *session) elemType(name string) int32 {
	if name == "" {
		return 0
	}
	return ElemType(name)
}

// reading marks a step that edits nothing.
func reading(d *stepDef) *stepDef {
	d.reads = true
	return d
}

var (
	tableOnce sync.Once
	table     map[string]*stepDef
)

// stepTable is the steps by name.
func stepTable() map[string]*stepDef {
	tableOnce.Do(func() {
		table = map[string]*stepDef{}
		for _, d := range allSteps() {
			bug.If(table[d.name] != nil, "surgery: two steps are called %s", d.name)
			table[d.name] = d
		}
	})
	return table
}

func allSteps() []*stepDef {
	loop := &stepDef{name: "for_each", args: reflect.TypeFor[forEach](), check: checkLoop}
	return slices.Concat(nodeSteps(), rewriteSteps(), ioSteps(), initSteps(), modelSteps(), []*stepDef{loop})
}

// StepInfo describes a kind of step for people.
type StepInfo struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Keys    []string `json:"keys"`
	Example string   `json:"example"`
}

//go:embed steps.yaml
var stepTexts []byte

// StepTable lists all steps in the order of the documentation.
func StepTable() []StepInfo {
	var texts map[string]struct{ Doc, Example string }
	err := yaml.Unmarshal(stepTexts, &texts)
	bug.If(err != nil, "steps.yaml: %v", err)
	return lists.Map(allSteps(), func(d *stepDef) StepInfo {
		t := texts[d.name]
		bug.If(t.Doc == "" || t.Example == "", "steps.yaml does not say what %s does", d.name)
		return StepInfo{d.name, strings.ReplaceAll(t.Doc, "CONVERSIONS", conversionNames()), keysOf(d.args), t.Example}
	})
}

// StepNames lists the names of all steps.
func StepNames() []string {
	return lists.Map(allSteps(), func(d *stepDef) string { return d.name })
}

// localPath is a path for writing: it must stay within the folder of the
// result.
func localPath(p string) string {
	fail.If(p == "" || !filepath.IsLocal(filepath.FromSlash(p)),
		"file %s: want a relative path within the folder of the result", quote(p))
	return filepath.Clean(filepath.FromSlash(p))
}
