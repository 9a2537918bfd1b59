package driver

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/option"
)

// UlpBound is how far a float output may be from the reference interpreter,
// in units in the last place of the output's largest magnitude (3e-5 of it):
// sums of hundreds of terms are taken in another order, layer after layer, and
// the C library's functions differ.
const UlpBound = 256

// Verdict is the result of verify; it marshals to the contract's JSON.
type Verdict struct {
	Model  string        `json:"model,omitempty"`
	Board  string        `json:"board"`
	Stream *ReportStream `json:"stream,omitempty"`
	// another machine ran the code: which, and what that cannot show
	StandsIn   string `json:"stands_in,omitempty"`
	Cases      int    `json:"cases"`
	Mismatches int    `json:"mismatches"`
	// of the installed CMSIS-NN that was linked: double or single
	Rounding string          `json:"rounding,omitempty"`
	Outputs  []OutputVerdict `json:"outputs"`
	Golden   []OutputVerdict `json:"golden,omitempty"`
	// Fidelity compares the program with the model itself.
	Fidelity []FidelityVerdict `json:"fidelity"`
	Measured
	Layers []LayerVerdict `json:"layers"`
	ReportStack
	Flash      map[string]any   `json:"flash"`
	RAM        map[string]int   `json:"ram"`
	Failure    string           `json:"failure,omitempty"`
	Warnings   []string         `json:"warnings"`
	ByCase     []CaseVerdict    `json:"by_case"`
	FirstWrong *LayerDifference `json:"first_wrong_layer,omitempty"`
	// LayerCases is in how many cases every layer was compared (--layers).
	LayerCases int     `json:"layer_cases,omitempty"`
	Library    *uint64 `json:"cmsis_nn_instructions,omitempty"`
	// Cycles of the largest case, estimated; only in profile. CyclesBasis says
	// how, CyclesMissing why there are none.
	Cycles        int    `json:"estimated_cycles,omitempty"`
	CyclesBasis   string `json:"cycles_basis,omitempty"`
	CyclesMissing string `json:"cycles_missing,omitempty"`
	// CyclesError is how far the estimate may be off, relative, CyclesErrorBasis
	// how that was found; Milliseconds are at the board's clock.
	CyclesError      float64 `json:"cycles_error,omitempty"`
	CyclesErrorBasis string  `json:"cycles_error_basis,omitempty"`
	Milliseconds     float64 `json:"estimated_ms,omitempty"`
	LibraryCycles    int     `json:"cmsis_nn_estimated_cycles,omitempty"`
}

// CaseVerdict is one inference.
type CaseVerdict struct {
	Source       string `json:"source"`
	Instructions uint64 `json:"instructions"`
	Mismatches   int    `json:"mismatches"`
}

// OutputVerdict compares one output over all cases.
type OutputVerdict struct {
	Name       string  `json:"name"`
	Elements   int     `json:"elements"`
	Mismatches int     `json:"mismatches"`
	MaxAbsDiff float64 `json:"max_abs_diff"`
	UlpBound   float64 `json:"ulp_bound"`
	// StepBound is 1 for integers that are quantised from a float layer: a
	// value on the edge between two steps may fall to either side.
	StepBound int `json:"step_bound,omitempty"`
	// Amplified is the most that was allowed beyond that, because the interpreter's
	// own results move by half as much when its floats are rounded otherwise.
	Amplified float64 `json:"amplified,omitempty"`
	Tolerance float64 `json:"tolerance,omitempty"`
}

// LayerVerdict is one step with its cost.
type LayerVerdict struct {
	Name         string  `json:"name"`
	Kernel       string  `json:"kernel"`
	Route        string  `json:"route"`
	Instructions uint64  `json:"instructions"`
	Mismatches   int     `json:"mismatches,omitempty"` // with --layers, over all cases
	MACs         int64   `json:"macs,omitempty"`
	WeightBytes  int     `json:"weight_bytes,omitempty"`
	MovedBytes   int     `json:"moved_bytes,omitempty"`
	PerMAC       float64 `json:"instructions_per_mac,omitempty"`
	*LayerCycles
	// Library is what the linked CMSIS-NN takes for the layer; only in profile.
	Library       *uint64 `json:"cmsis_nn_instructions,omitempty"`
	LibraryCycles *int    `json:"cmsis_nn_estimated_cycles,omitempty"`
}

// LayerDifference is the first step whose result differs (--layers).
type LayerDifference struct {
	Name       string  `json:"name"`
	Value      string  `json:"value"`
	Case       int     `json:"case"`
	Mismatches int     `json:"mismatches"`
	MaxAbsDiff float64 `json:"max_abs_diff"`
}

// Verify compiles, builds, runs on the board's machine and compares every
// output with the reference interpreter. The verdict is nil when it did not
// come to a comparison.
func (c *Config) Verify(ctx context.Context) (*Verdict, error) {
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	return o.Verify(ctx)
}

// Verify is Config.Verify on a compiled model. It completes the report.
func (o *Compiled) Verify(ctx context.Context) (*Verdict, error) {
	c := o.Config
	if !o.Board.HasMachine() {
		return nil, badInput("board %s has no machine to run on", o.Board.Name)
	}
	cases, err := c.cases(o)
	if err != nil {
		return nil, err
	}
	dir, err := files.TempDir("", "nncc-verify-")
	if err != nil {
		return nil, err
	}
	defer files.RemoveTemp(dir)
	if err := writeFiles(dir, o.Files); err != nil {
		return nil, err
	}
	c.note("building for %s", o.Board.Name)
	im, err := run.Build(ctx, o.Board, dir, run.BuildOptions{CMSISInclude: c.CMSISInclude, CMSISLib: c.CMSISLib,
		Trace: true, Opt: c.buildOpt()})
	if err != nil {
		return nil, err
	}
	defer im.Close()
	o.memoryVerdict(&im.Sizes)
	if err := c.strictly(); err != nil {
		return nil, err
	}
	if err := o.matchRounding(ctx); err != nil {
		return nil, err
	}
	v := &Verdict{Rounding: o.Rounding, Board: o.Board.Name, Cases: len(cases), Warnings: c.Diags.Texts(diag.Warning),
		Outputs: []OutputVerdict{}, Fidelity: []FidelityVerdict{}, Layers: []LayerVerdict{}}
	v.sizes(o, im)
	v.StandsIn = o.Board.Runner.StandsIn
	v.Stream = o.streamed()
	var in []run.Case
	ins := o.Lowered.Ports().Inputs()
	for i, k := range cases { // with state, cases are the steps of one sequence
		in = append(in, run.Case{Inputs: memory(lower.Widened(k.inputs, ins), ins), KeepState: i > 0 &&
			len(o.Lowered.StateBindings) > 0})
	}
	opt := run.Options{}
	if c.Layers {
		opt.Dumps = o.dumps()
		opt.Trace, opt.TraceLargest = traced(len(cases), opt.Dumps), true
	}
	c.note("running %d cases on %s", len(cases), o.Board.Runner.Machine)
	res, err := run.RunWith(ctx, o.Board, im, in, opt)
	if err != nil {
		var re *run.Error
		if errors.As(err, &re) {
			v.Failure = re.Error()
			v.Mismatches = max(v.Mismatches, 1)
			return v, nil
		}
		return nil, err
	}
	v.Measured, v.ReportStack = measured(im, res), reportStack(o, im)
	o.Report.Code = &ReportCode{Measured: v.Measured, ReportStack: v.ReportStack}
	if err := o.stackVerdict(v); err != nil {
		return nil, err
	}
	for i, s := range o.Program.Steps {
		l := LayerVerdict{Name: s.Name, Kernel: s.Kernel, Route: s.Route}
		if i < len(res.Layers) {
			l.Instructions = res.Layers[i]
			n := res.Layers[i]
			o.Report.Layers[i].Instructions = &n
		}
		v.Layers = append(v.Layers, l)
	}
	if o.profiling {
		o.cycles(ctx, v, im, in, res)
	}
	if err := o.compare(v, cases, res); err != nil {
		return v, err
	}
	if c.Layers {
		if err := o.compareLayers(v, cases, res); err != nil {
			return v, err
		}
	}
	if o.profiling {
		return v, nil
	}
	return v, o.fidelity(v, cases)
}

func (c *Config) buildOpt() string {
	if c.Optimize == option.Size {
		return "size"
	}
	return "speed"
}

func (v *Verdict) sizes(o *Compiled, im *run.Image) {
	s := im.Sizes
	v.Flash = map[string]any{"code_bytes": s.Code(), "rodata_bytes": s.ROData(), "weights_bytes": s.Weights(),
		"by_origin": s.By}
	v.RAM = map[string]int{"arena_bytes": o.Program.ArenaBytes, "io_bytes": o.Program.IOBytes(),
		"scratch_bytes": o.Program.ScratchBytes()}
}

// compare fills the verdict.
func (o *Compiled) compare(v *Verdict, cases []inputCase, res *run.Result) error {
	g := o.Lowered.Graph
	reference := o.Lowered.Windows(o.reference())
	var full []*tensor.Dense // inputs of the reference in the case
	reference.Eval = func(in []*tensor.Dense) ([]*tensor.Dense, error) {
		full = in
		return interp.Run(reference.Graph, in, nil)
	}
	visible, theirs := o.Lowered.Ports().Outputs(), reference.Outputs()
	for _, i := range visible {
		x := g.Out[i]
		ov := OutputVerdict{Name: g.OutNames[i]}
		if x.Type.DType.IsFloat() {
			ov.UlpBound = UlpBound
		} else if fromFloat(x) {
			ov.StepBound = 1
		}
		v.Outputs = append(v.Outputs, ov)
	}
	for k, r := range res.Cases {
		cv := CaseVerdict{Source: cases[k].source, Instructions: r.Instructions}
		if r.Status != 0 {
			v.Failure = fmt.Sprintf("case %d: %s_run returned %d", k, o.Info.Prefix, r.Status)
			v.Mismatches++
			continue
		}
		want, err := reference.Step(cases[k].inputs)
		if err != nil {
			return err
		}
		moves := &movement{g: reference.Graph, in: full, of: map[*ir.Value]*tensor.Dense{}}
		for i, v := range reference.Graph.Out {
			moves.of[v] = want[i]
		}
		for i, at := range visible {
			x := g.Out[at]
			got, err := fromMemory(r.Outputs[i], x.Type)
			if err != nil {
				return err
			}
			ov := &v.Outputs[i]
			n, diff, more, err := moves.differ(got, reference.Graph.Out[theirs[i]], ov.StepBound)
			if err != nil {
				return err
			}
			ov.Amplified = max(ov.Amplified, more)
			ov.Elements += got.Len()
			ov.Mismatches += n
			ov.MaxAbsDiff = max(ov.MaxAbsDiff, diff)
			cv.Mismatches += n
			v.Mismatches += n
			if gold := cases[k].golden; gold != nil {
				o.compareGolden(v, i, got, x.Type, gold)
			}
		}
		v.ByCase = append(v.ByCase, cv)
	}
	return nil
}

// compareGolden compares with stored outputs within --tolerance.
func (o *Compiled) compareGolden(v *Verdict, i int, got *tensor.Dense, t ir.Type, gold []*tensor.Dense) {
	if v.Golden == nil {
		for _, x := range v.Outputs {
			v.Golden = append(v.Golden, OutputVerdict{Name: x.Name, Tolerance: o.Config.Tolerance})
		}
	}
	if i >= len(gold) || gold[i] == nil {
		return
	}
	gv, w := &v.Golden[i], gold[i]
	if w.DType.IsFloat() {
		got = dequantised(got, t)
	}
	if w.Len() != got.Len() {
		gv.Mismatches += w.Len()
		v.Mismatches += w.Len()
		return
	}
	for k := 0; k < w.Len(); k++ {
		d := math.Abs(got.Float(k) - w.Float(k))
		gv.MaxAbsDiff = max(gv.MaxAbsDiff, d)
		if !(d <= o.Config.Tolerance) {
			gv.Mismatches++
			v.Mismatches++
		}
	}
	gv.Elements += w.Len()
}

// movement compares float results of one case, which may also be farther off
// where the network amplifies roundings.
type movement struct {
	g      *ir.Graph
	in     []*tensor.Dense
	of     map[*ir.Value]*tensor.Dense // what the interpreter gave
	spread map[*ir.Value][]float64     // made when it is asked for
	// whole allows every element of a value what one of them moves: where values
	// jump on the way, it is chance which ones do in a draw.
	whole bool
}

// differ is differ for a value of the graph; more is the most that was allowed
// beyond the bound.
func (m *movement) differ(got *tensor.Dense, v *ir.Value, steps int) (n int, diff, more float64, err error) {
	want := m.of[v]
	if n, diff = differ(got, want, steps, nil); n == 0 || steps == 0 && !want.DType.IsFloat() {
		return n, diff, 0, nil
	}
	if m.spread == nil {
		if m.spread, err = fidelity.Spread(m.g, m.in, m.of); err != nil {
			return 0, 0, 0, err
		}
	}
	for _, s := range m.spread[v] {
		more = max(more, 2*s)
	}
	if m.whole {
		for i := range m.spread[v] {
			m.spread[v][i] = more / 2
		}
	}
	n, diff = differ(got, want, steps, m.spread[v])
	return n, diff, finite(more), nil
}

// differ counts elements that differ: all bits for integers, beyond UlpBound
// for floats, and beyond twice the spread where there is one.
func differ(got, want *tensor.Dense, steps int, spread []float64) (n int, diff float64) {
	limit := float64(steps)
	if want.DType.IsFloat() {
		top := 0.0
		for i := 0; i < want.Len(); i++ {
			if a := math.Abs(want.Float(i)); a > top && !math.IsInf(a, 0) {
				top = a
			}
		}
		limit = UlpBound * top * want.DType.Epsilon()
	}
	for i := 0; i < want.Len(); i++ {
		a, b := got.Float(i), want.Float(i)
		if !want.DType.IsFloat() {
			if got.Int(i) == want.Int(i) {
				continue
			}
		} else if a == b || a != a && b != b {
			continue
		}
		d, allowed := math.Abs(a-b), limit
		if spread != nil {
			allowed += 2 * spread[i]
		}
		if !(d <= allowed) {
			n++
		}
		if d > diff || d != d {
			diff = d
		}
	}
	return n, diff
}

// fromFloat reports an integer value that depends on arithmetic in float: all
// else is compared bit for bit.
func fromFloat(v *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value) bool
	walk = func(v *ir.Value) bool {
		if v == nil || v.Def == nil || seen[v] {
			return false
		}
		seen[v] = true
		for _, o := range v.Def.Out {
			if o.Type.DType.IsFloat() && v.Def.Op != op.DequantizeLinear && v.Def.Op.Quant != ir.QMove {
				return true
			}
		}
		for _, x := range v.Def.In {
			if walk(x) {
				return true
			}
		}
		return false
	}
	return v.Type.DType.IsInt() && walk(v)
}

// memory are inputs as they stand in the arena.
func memory(in []*tensor.Dense, vs []*ir.Value) [][]byte {
	var out [][]byte
	for i, d := range in {
		out = append(out, physBytes(d, vs[i].Type))
	}
	return out
}

func physBytes(d *tensor.Dense, t ir.Type) []byte {
	if t.Order != nil && !t.SameMemory(nil) {
		d = d.Transpose(t.Order)
	}
	return d.Bytes()
}

// fromMemory reads a value as it stands in the arena back into logical order.
func fromMemory(b []byte, t ir.Type) (*tensor.Dense, error) {
	if t.Order == nil || t.SameMemory(nil) {
		return tensor.FromBytes(t.DType, t.Shape, b)
	}
	d, err := tensor.FromBytes(t.DType, t.Phys(), b)
	if err != nil {
		return nil, err
	}
	inv := make([]int, len(t.Order))
	for i, x := range t.Order {
		inv[x] = i
	}
	return d.Transpose(inv), nil
}

// dumps asks for every step's output in the arena.
func (o *Compiled) dumps() []run.Dump {
	var d []run.Dump
	for i, s := range o.Program.Steps {
		for _, k := range s.Out {
			b := &o.Program.Buffers[k]
			d = append(d, run.Dump{Step: i, Offset: uint32(b.Offset), Bytes: uint32(b.Span())})
		}
	}
	return d
}

// layerBytes bounds the memory of all values of all steps that --layers looks
// at, over all cases.
const layerBytes = 256 << 20

// traced are the cases of which --layers compares every layer: as many as fit,
// at least one.
func traced(cases int, dumps []run.Dump) []int {
	size := 1
	for _, d := range dumps {
		size += int(d.Bytes)
	}
	return ir.Identity(min(cases, max(layerBytes/size, 1)))
}

// compareLayers compares what every step left in the arena with the
// interpreter.
func (o *Compiled) compareLayers(v *Verdict, cases []inputCase, res *run.Result) error {
	ports := o.Lowered.Ports()
	want := map[*ir.Value]*tensor.Dense{}
	var full []*tensor.Dense
	ports.Eval = func(in []*tensor.Dense) ([]*tensor.Dense, error) {
		clear(want)
		full = lower.Widened(in, ports.Graph.In)
		return interp.Run(ports.Graph, full, func(v *ir.Value, d *tensor.Dense) { want[v] = d })
	}
	first := len(o.Program.Steps)
	for c, r := range res.Cases {
		if _, err := ports.Step(cases[c].inputs); err != nil {
			return err
		}
		if r.Dumps == nil {
			continue
		}
		v.LayerCases++
		moves := &movement{g: ports.Graph, in: full, of: want, whole: true}
		k := 0
		for i, s := range o.Program.Steps {
			for _, x := range o.Schedule.Nodes[i].Out {
				got, err := fromMemory(o.Schedule.Buffer(x).Gather(r.Dumps[k]), x.Type)
				if err != nil {
					return err
				}
				k++
				steps := 0
				if fromFloat(x) {
					steps = 1
				}
				n, diff, _, err := moves.differ(got, x, steps)
				if err != nil {
					return err
				}
				if n == 0 {
					continue
				}
				v.Layers[i].Mismatches += n
				if i < first {
					first, v.FirstWrong = i, &LayerDifference{Name: s.Name, Value: x.Name, Case: c, Mismatches: n,
						MaxAbsDiff: diff}
				}
			}
		}
	}
	return nil
}
