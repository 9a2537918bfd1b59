package driver

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/schedule"
)

// Compiled is a model on its way to firmware, with everything decided.
type Compiled struct {
	Config   *Config
	Board    *boards.Spec
	Model    *onnx.Model
	Float    *ir.Graph // as imported
	Lowered  *lower.Result
	Program  *program.Program
	Schedule *schedule.Result // what the program was in the graph
	Info     *codegen.Info
	Files    []codegen.File
	Harness  run.Model
	Report   *Report
	// Rounding is how the linked CMSIS-NN requantises, "" before it was asked.
	Rounding string
	// Placement is where the program lies in the board's memories.
	Placement boards.Placement
	profiling bool // Verify also estimates cycles
}

// Compile does everything but write files.
func (c *Config) Compile() (*Compiled, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	prefix, err := c.prefix()
	if err != nil {
		return nil, err
	}
	spec, err := c.board()
	if err != nil {
		return nil, err
	}
	c.note("reading %s", filepath.Base(c.Model))
	m, g, err := c.load(nil)
	if err != nil {
		return nil, err
	}
	var out *Compiled
	err = c.dumping(func(d *dump) error {
		out, err = c.lower(m, g, spec, prefix, d)
		return err
	})
	return out, err
}

// core is what kernel choice needs to know about the board.
func core(s *boards.Spec) kernel.Core {
	return kernel.Core{Name: s.Core, MVE: s.ISA.HasMVE(), DSP: s.ISA.DSP, FPU: s.ISA.HasFPU(), Host: s.IsHost(),
		Armv6M: s.Armv6M(), Memory: cost.Memory{Board: s.Name, PerByte: float64(s.Memory.Wait("weights").PerByte),
			Error: cyclesError(s)}}
}

// lowerOptions are the options of the middle end.
func (c *Config) lowerOptions(spec *boards.Spec, g *ir.Graph) (lower.Options, error) {
	o := lower.Options{
		Precision: c.Precision, Legalize: c.Legalize, DeadChannels: c.DeadChannels, Fuse: c.Fuse,
		FuseAll: c.FuseAll, Align: c.Align,
		PadInput: c.PadInput, Installed: c.CMSISLib != "",
		FloatIO: c.IO == option.FloatIO, NativeIO: c.IOLayout == option.NativeLayout,
		Target: kernel.Options{Core: core(spec), Kernels: c.Kernels, Generic: c.Generic}, Libraries: spec.Kernels,
		Optimize: c.Optimize,
	}
	var err error
	if o.Off, err = c.stagesOff(); err != nil {
		return o, err
	}
	o.StopAfter = c.StopAfter
	ram, err := parseBytes("max-ram", c.MaxRAM)
	if err != nil {
		return o, err
	}
	o.MaxRAM, o.MaxTries = max(ram, 0), c.tries
	if o.StateBindings, err = c.ties(g); err != nil {
		return o, err
	}
	if o.Stream, err = c.stream(g, o.StateBindings); err != nil {
		return o, err
	}
	if (len(o.StateBindings) > 0 || o.Stream != nil) && (o.NativeIO || len(spec.Accelerators) > 0) {
		return o, usage("--state and --stream: not together with --io-layout native or a board with an accelerator "+
			"(%s)", spec.Name)
	}
	if (len(o.StateBindings) > 0 || o.Stream != nil) && o.PadInput {
		return o, usage("--pad-input: not together with --state or --stream, whose inputs are part of the program's " +
			"state")
	}
	if o.Accel, err = Accelerator(spec); err != nil {
		return o, err
	}
	if lower.Quantised(g) {
		if err := c.precisionIsFixed(); err != nil {
			return o, err
		}
	} else if !c.unquantised() || c.LayersConfig != "" {
		if c.LayersConfig != "" {
			o.Precision = option.Auto // layer by layer
		}
		q, err := c.quantOptions(g, o.StateBindings)
		if err != nil {
			return o, err
		}
		o.Quant = q
	}
	return o, nil
}

// syntheticSamples is how many seeded inputs stand in for --calib.
const syntheticSamples = 8

// quantOptions reads the calibration data.
func (c *Config) quantOptions(g *ir.Graph, ties []state.Binding) (quant.Options, error) {
	q := quant.Options{Method: c.CalibMethod, BiasCorrection: c.BiasCorrect, Rounding: c.Rounding, Equalize: c.Equalize,
		Try: quant.Trial{Method: !c.Told["calib-method"], Bias: !c.Told["bias-correction"],
			Rounding: !c.Told["weight-rounding"]}}
	var err error
	if q.Layer, err = c.layerPrecision(g); err != nil {
		return q, err
	}
	if c.FixedWeights != "" {
		if q.FixedWeights, err = quant.ParseFixedPoint(c.FixedWeights); err != nil {
			return q, usage("--fixed-point-weights %s: %v", c.FixedWeights, err)
		}
	}
	if c.FixedActs != "" {
		if q.FixedActivations, err = quant.ParseFixedPoint(c.FixedActs); err != nil {
			return q, usage("--fixed-point-activations %s: %v", c.FixedActs, err)
		}
	}
	if len(c.Calib) == 0 {
		r := state.New(g, ties)
		if q.Samples, err = r.Sequence(quant.SyntheticSamples(r.Inputs(), syntheticSamples, 1)); err != nil {
			return q, &InputError{err}
		}
		q.Source = "synthetic"
		q.Rounding = option.Nearest // made-up inputs say nothing about how inputs depend on each other
		c.warn("quantize", "synthetic-calibration", "--calib",
			"no --calib data: quantised with seeded synthetic inputs, so accuracy is unknown")
		return q, nil
	}
	var names []string // without folders: the report does not depend on where things lie
	for _, p := range c.Calib {
		names = append(names, filepath.Base(p))
	}
	q.Source = strings.Join(names, ", ")
	if q.Samples, err = c.calibration(g, ties); err != nil {
		return q, &InputError{err}
	}
	return q, nil
}

func (c *Config) lower(m *onnx.Model, g *ir.Graph, spec *boards.Spec, prefix string, d *dump) (*Compiled, error) {
	out := &Compiled{Config: c, Board: spec, Model: m, Float: g.Clone()}
	opt, err := c.lowerOptions(spec, g)
	if err != nil {
		return nil, err
	}
	opt.Observe = c.observer(d)
	c.note("lowering for %s", spec.Name)
	if out.Lowered, err = lower.Run(g, opt); err != nil {
		return nil, &InputError{err}
	}
	if err := c.layersDone(); err != nil {
		return nil, err
	}
	c.Diags.Add(out.Lowered.Diags...)
	out.floatInputs()
	out.Program, out.Schedule = out.Lowered.Program, out.Lowered.Schedule
	if err := d.program(out.Program); err != nil {
		return nil, err
	}
	c.note("generating C")
	sum := hex.EncodeToString(m.SHA256[:])
	optFlags := spec.Toolchain.Speed
	if c.Optimize == option.Size {
		optFlags = spec.Toolchain.Size
	}
	cflags := append(append([]string(nil), optFlags...), spec.Toolchain.CFlags...)
	library, err := c.runtime(opt.Accel)
	if err != nil {
		return nil, err
	}
	files, info, err := codegen.Generate(out.Program, codegen.Options{
		Prefix: prefix, Source: filepath.Base(c.Model), SHA256: sum, Version: Version, Board: spec.Name,
		CPUFlags: spec.Toolchain.CPU, CFlags: cflags, CC: spec.Toolchain.Prefix + spec.Toolchain.CC,
		AR:       spec.Toolchain.Prefix + "ar",
		NativeIO: c.IOLayout == option.NativeLayout, Projects: c.projects(), Notes: c.Diags.Texts(diag.Warning),
		InputNotes: out.inputNotes(), Library: library,
	})
	if err != nil {
		return nil, err
	}
	out.Files, out.Info = files, info
	out.Harness = harnessModel(info)
	for _, f := range run.HarnessFiles(spec, out.Harness) {
		out.Files = append(out.Files, codegen.File(f))
	}
	out.memoryVerdict(nil)
	out.Report = newReport(out)
	out.said(nil)
	if c.TimePasses {
		out.Report.StageTimes = c.times
	}
	if err := c.strictly(); err != nil {
		return nil, err
	}
	return out, nil
}

// low is the lowering of step i.
func (o *Compiled) low(i int) *call.Lowered { return o.Lowered.Low[o.Schedule.Nodes[i]] }

func harnessModel(i *codegen.Info) run.Model {
	m := run.Model{Name: i.Prefix, Header: i.Prefix + ".h", ArenaMacro: i.ArenaMacro, RunFunc: i.Prefix + "_run",
		Steps: i.StepNames}
	if len(i.States) > 0 {
		m.ResetFunc = i.Prefix + "_reset"
	}
	for _, x := range i.Inputs {
		m.Inputs = append(m.Inputs, run.IO{Name: x.Name, CFunc: i.Prefix + "_" + x.CName, Bytes: x.Bytes})
	}
	for _, x := range i.Outputs {
		m.Outputs = append(m.Outputs, run.IO{Name: x.Name, CFunc: i.Prefix + "_" + x.CName, Bytes: x.Bytes})
	}
	return m
}

// floatInputs says why inputs of a quantised model stay float, though --io
// quantized is asked for: what reads them is no QuantizeLinear.
func (o *Compiled) floatInputs() {
	if o.Config.IO == option.FloatIO || o.Lowered.Precision == "float32" || !lower.Quantised(o.Float) {
		return
	}
	for _, v := range o.Lowered.Graph.In {
		if !v.Type.DType.IsFloat() {
			continue
		}
		for _, x := range o.Float.In {
			if n := firstReader(x); x.Name == v.Name && n != nil {
				d := diag.Notef("float-input", v.Name,
					"input %s stays float: %s reads it before it is quantised, or it is quantised in several ways",
					v.Name, n)
				o.Config.Diags.Add(diag.List{d}.From("interface")...)
			}
		}
	}
}

// firstReader is the first node behind an input that does not only move its
// values; a QuantizeLinear where there is no other.
func firstReader(v *ir.Value) *ir.Node {
	var last *ir.Node
	for _, u := range v.Uses() {
		n := u.Node
		if n.Op.Quant == ir.QMove && len(n.Out) == 1 {
			n = firstReader(n.Out[0])
		}
		if n != nil && n.Op != op.QuantizeLinear {
			return n
		}
		last = cmp.Or(n, last)
	}
	return last
}

// gates checks --max-*; nil when all hold.
func (o *Compiled) gates() error {
	c := o.Config
	var why []string
	if c.MaxSegments >= 0 && len(o.Report.Segments) > c.MaxSegments {
		why = append(why, fmt.Sprintf("--max-segments %d: %s", c.MaxSegments, o.Report.segments()))
	}
	if n := o.Report.computeFallback(); c.MaxFallback >= 0 && n > c.MaxFallback {
		why = append(why, fmt.Sprintf("--max-fallback %d: %d nodes run outside the accelerator: %s", c.MaxFallback, n,
			o.Report.cuts()))
	}
	ram, err := parseBytes("max-ram", c.MaxRAM)
	if err != nil {
		return err
	}
	if ram >= 0 && o.Program.ArenaBytes > ram {
		why = append(why, fmt.Sprintf("--max-ram %d: the arena needs %d bytes, %d too many; the largest step is %s; %s",
			ram, o.Program.ArenaBytes, o.Program.ArenaBytes-ram, o.peakStep(), o.smallest()))
	}
	flash, err := parseBytes("max-flash", c.MaxFlash)
	if err != nil {
		return err
	}
	if flash >= 0 {
		if n, err := o.flashBytes(); err != nil {
			return err
		} else if n > flash {
			why = append(why, fmt.Sprintf("--max-flash %d: code, constants and weights need %d bytes, %d too many; "+
				"weights are %d", flash, n, n-flash, o.Info.WeightBytes))
		}
	}
	if len(why) > 0 {
		return &GateError{why}
	}
	return nil
}

// smallest says how the arena came to be the smallest that was found.
func (o *Compiled) smallest() string {
	of := fmt.Sprintf("of %d programs that were tried this is the smallest", o.Lowered.Tried)
	switch p := o.Lowered.Tiled; {
	case len(o.Board.Accelerators) > 0:
		return "on a board with an accelerator layers are not computed in stripes"
	case p != nil:
		return fmt.Sprintf("%s: %d layers from %s to %s in %d stripes (%d bytes without stripes)", of, len(p.Nodes),
			p.Nodes[0], p.Nodes[len(p.Nodes)-1], p.Stripes, p.WholeBytes)
	case o.Lowered.Tried > 1:
		return of + ": stripes make none smaller"
	}
	return "no layers at the inputs can be computed in stripes"
}

// peakStep names the step with the most live bytes.
func (o *Compiled) peakStep() string {
	steps := o.Program.Steps
	if len(steps) == 0 {
		return "none (0 bytes live)"
	}
	change := make([]int, len(steps)+1) // in live bytes, before each step
	for _, b := range o.Program.Buffers {
		if first, last := max(b.First, 0), min(b.Last, len(steps)-1); b.AliasOf < 0 && first <= last {
			n := (b.Bytes + 15) &^ 15
			change[first] += n
			change[last+1] -= n
		}
	}
	live, most, at := 0, -1, 0
	for i := range steps {
		if live += change[i]; live > most {
			most, at = live, i
		}
	}
	return fmt.Sprintf("%s (%d bytes live)", steps[at].Name, most)
}

// CompileGraph is Compile for a graph that was imported before, which it
// consumes,
// from model m.
func (c *Config) CompileGraph(m *onnx.Model, g *ir.Graph, spec *boards.Spec) (*Compiled, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	prefix, err := c.prefix()
	if err != nil {
		return nil, err
	}
	return c.lower(m, g, spec, prefix, nil)
}
