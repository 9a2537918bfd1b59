// SPDX-License-Identifier: Apache-2.0

// Package driver is the way from a model file to firmware, reports and
// verdicts: what the verbs of the command line share.
package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// Version of nncc; part of the emitted files, so that the same version gives
// the same bytes.
const Version = "0.1.0"

// Config is what the user asked for.
type Config struct {
	Model  string // path
	Script string // of surgery
	Board  string
	Out    string
	Name   string

	Calib        []string
	Preprocess   []string // FILE.yaml, or [INPUT:]KEY=VALUE
	Postprocess  []string // FILE.yaml, or KIND.KEY=VALUE
	Written      []string // what RunModel wrote, a line each
	CalibMethod  option.Method
	BiasCorrect  bool
	Rounding     option.Rounding
	Equalize     bool
	Told         map[string]bool // flags that the user gave: what they say is not tried, but done
	Precision    option.Precision
	Weights      option.Weights
	LayersConfig string // path
	Sensitivity  bool
	FixedWeights string
	FixedActs    string
	Dims         []string
	Set          []string
	IO           option.IO
	OwnIO        bool // float, but for integers that the model itself has at its borders: no flag
	IOLayout     option.IOLayout
	Legalize     bool
	DeadChannels bool
	Fuse         bool
	FuseAll      bool     // to measure loops that do not pay
	States       []string // OUT=IN, or auto
	Stream       string   // [INPUT=]AXIS[:HOP]
	Kernels      option.Kernels
	Align        option.Align
	PadInput     bool // channels of inputs may be padded, too
	Optimize     option.Optimize
	Generic      bool     // own kernels for any shape only: no flag, for measuring
	Without      []string // kernels that are not chosen: no flag, for measuring
	CMSISInclude string
	CMSISLib     string
	WeightsFile  bool // constants are bound at run time
	StageWeights bool // constants have copies in faster memory where that pays
	MaxSegments  int  // -1: no gate
	MaxFallback  int
	MaxRAM       string
	MaxFlash     string
	Gates        []Gate // that were looked at
	DumpIR       string
	Passes       []string // NAME=off
	StopAfter    string   // a stage
	TimePasses   bool
	Project      string
	Functions    []string
	Limits       onnx.Limits // what a model may ask for
	Strict       bool
	Note         func(string)    // progress and remarks; may be nil
	Stage        string          // what was begun last, for the report of a fault
	Context      context.Context // ends compilers and emulators that --max-flash needs; may be nil
	Inputs       []string
	Cases        int
	RunsSamples  bool // the verb runs programs on calibration samples, too
	Golden       string
	Record       string // folder that gets the cases, as Golden reads them
	Measured     string // file of cycles of a real core
	Tolerance    float64
	Layers       bool
	Dequantize   bool
	Tensors      string // folder of --tensors
	RunResult    RunResult
	Eval         EvalConfig
	JSON         bool
	layers       *quant.LayersFile  // --layers-config, once read
	spec         *data.Spec         // --preprocess, once read
	Tries        int                // programs that are planned to meet --max-ram; 0: as many as pays
	sharing      int                // models of the firmware
	othersState  int                // bytes of --max-ram that other models of the firmware keep as state
	read         []string           // files that were read beside those of flags
	source       *onnx.Model        // the model, once it is loaded
	values       *intermediates     // of --tensors
	Emit         codegen.Options    // options of the C that no flag sets
	Diags        diag.List          // warnings and notes so far
	times        []report.StageTime // of the stages that ran
}

// Defaults is what the command line gives without further flags.
func Defaults() Config {
	return Config{CalibMethod: option.PerLayer, BiasCorrect: true, Rounding: option.Adaptive, Legalize: true,
		DeadChannels: true, Fuse: true, Align: option.AlignAuto, MaxSegments: -1, MaxFallback: -1,
		Project: "make,cmake", Cases: 3, Eval: EvalConfig{TopK: 5}}
}

func (c *Config) context() context.Context {
	if c.Context == nil {
		return context.Background()
	}
	return c.Context
}

func (c *Config) note(format string, args ...any) {
	c.Stage = fmt.Sprintf(format, args...)
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, args...))
	}
}

// warn adds a warning; stage is the part of the driver that says so.
func (c *Config) warn(stage, code, node, format string, args ...any) {
	c.Diags.Add(diag.List{diag.Warnf(code, node, format, args...)}.From(stage)...)
}

// UsageError is a wrong flag or combination of flags: exit status 2.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// InputError is a bad model, board or data file: exit status 2.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *InputError) Unwrap() error { return e.Err }

// GateError says which gates were exceeded: exit status 3.
type GateError struct{ Reasons []string }

func (e *GateError) Error() string { return strings.Join(e.Reasons, "\n") }

func usage(format string, args ...any) error {
	return &UsageError{text.Errorf(format, args...).Error()}
}

func badInput(format string, args ...any) error {
	return &InputError{text.Errorf(format, args...)}
}

// asInput is an error about the input; nil for none.
func asInput(err error) error {
	if err == nil {
		return nil
	}
	return &InputError{err}
}

// asUsage is an error about flags; nil for none.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err.Error()}
}

// input is v; an error, which is one about the input, ends the function that catches it.
func input[T any](v T, err error) T {
	fail.Check(asInput(err))
	return v
}

// used is v; an error, which is one about flags, ends the function that catches it.
func used[T any](v T, err error) T {
	fail.Check(asUsage(err))
	return v
}

// MaxCases bounds the inputs that one command tries.
const MaxCases = 10_000

// readableCalib checks --calib, also where a quantised model has no use for it.
func (c *Config) readableCalib() error {
	for _, p := range c.Calib {
		if err := readable(p, true); err != nil {
			return badInput("calibration %s: %w", p, err)
		}
	}
	return nil
}

// Check validates flags that do not depend on the model.
func (c *Config) Check() (err error) {
	defer fail.Catch(&err)
	fail.Must(c.stagesOff())
	if c.StopAfter != "" {
		if _, err := lower.Find(c.StopAfter); err != nil {
			return usage("--stop-after %s: %v", c.StopAfter, err)
		}
	}
	for flag, v := range map[string]string{"max-ram": c.MaxRAM, "max-flash": c.MaxFlash} {
		fail.Must(parseBytes(flag, v))
	}
	_, _, err = c.fixedPoint()
	fail.Check(cmp.Or(c.readSpec(), c.readableCalib(), err, c.checkPrecision()))
	if (c.CMSISInclude == "") != (c.CMSISLib == "") {
		return usage("--cmsis-nn-include and --cmsis-nn-lib go together")
	}
	fail.Check(asInput(c.checkLibrary()))
	if c.WeightsFile && c.DeadChannels && c.Told["dead-channels"] {
		return usage("--dead-channels on: not with --weights-file: which channels are dead is decided by a training, " +
			"and another one's file has to fit; leave it away")
	}
	for _, p := range c.projects() {
		if known := codegen.Projects(); !slices.Contains(known, p) {
			return usage("--project %s: unknown%s; want some of %s", p, text.Meant(p, known), strings.Join(known, ", "))
		}
	}
	return nil
}

// readable refuses what is no regular file with something in it, and, unless
// one may stand there, no folder.
func readable(path string, folder bool) error {
	if st, err := os.Stat(path); folder && err == nil && st.IsDir() {
		return nil
	}
	f, st, err := files.Open(path)
	if err != nil {
		return files.Reason(err)
	}
	defer f.Close()
	if st.Size() == 0 {
		return errors.New("the file is empty")
	}
	return nil
}

// checkLibrary looks at the installed CMSIS-NN: compilers would wait for a pipe.
func (c *Config) checkLibrary() error {
	if c.CMSISLib == "" {
		return nil
	}
	st, err := os.Stat(c.CMSISInclude)
	if err != nil {
		return fmt.Errorf("--cmsis-nn-include: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("--cmsis-nn-include %s: want a folder with arm_nnfunctions.h, it is %s", c.CMSISInclude,
			files.Kind(st.Mode()))
	}
	f, _, err := files.Open(c.CMSISLib)
	if err != nil {
		return fmt.Errorf("--cmsis-nn-lib: %w", err)
	}
	defer f.Close()
	var first [8]byte
	n, _ := io.ReadFull(f, first[:])
	for _, magic := range []string{"!<arch>\n", "!<thin>\n", "\x7fELF"} {
		if strings.HasPrefix(string(first[:n]), magic) {
			return nil
		}
	}
	return fmt.Errorf("--cmsis-nn-lib %s: want a library (.a) or an object file", c.CMSISLib)
}

func (c *Config) projects() []string {
	var out []string
	for _, p := range strings.Split(c.Project, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return out
}

func modelName(path string) string {
	b := filepath.Base(path)
	return strings.TrimSuffix(b, filepath.Ext(b))
}

// board loads the target.
func (c *Config) board() (*boards.Spec, error) {
	if c.Board == "" {
		if err := readable(c.Model, false); err != nil {
			return nil, &InputError{fmt.Errorf("%s: %w", c.Model, err)}
		}
		return nil, usage("--board is missing: --board cortex-m4, say; nncc boards lists cores and chips, " +
			"nncc boards --for PART finds the one for a part")
	}
	s, err := boards.Load(c.Board)
	return s, asInput(err)
}

// maxRAM is --max-ram, which Check has read; -1: none.
func (c *Config) maxRAM() int {
	n, _ := parseBytes("max-ram", c.MaxRAM)
	return n
}

// parseBytes reads 34000, 64K, 2M.
func parseBytes(flag, s string) (int, error) {
	if s == "" {
		return -1, nil
	}
	t, mul := strings.ToUpper(s), 1
	switch {
	case strings.HasSuffix(t, "K"):
		t, mul = t[:len(t)-1], 1<<10
	case strings.HasSuffix(t, "M"):
		t, mul = t[:len(t)-1], 1<<20
	}
	n, err := strconv.Atoi(t)
	if err != nil || n < 0 || n > 1<<40/mul {
		return 0, usage("--%s %s: want a number of bytes, such as 65536 or 64K", flag, s)
	}
	return n * mul, nil
}

// pairs splits NAME=VALUE flags.
func pairs(flag string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, s := range list {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" || v == "" {
			return nil, usage("--%s %s: want NAME=VALUE", flag, s)
		}
		m[k] = v
	}
	return m, nil
}

// dims are the pinned symbolic dimensions.
func (c *Config) dims() (_ map[string]int, err error) {
	defer fail.Catch(&err)
	m := map[string]int{}
	for k, v := range fail.Must(pairs("dim", c.Dims)) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 1<<28 {
			return nil, usage("--dim %s=%s: want a positive integer", k, v)
		}
		m[k] = n
	}
	return m, nil
}

// The precision of layers: --precision and --weights for all of them,
// --layers-config for single ones.

// checkPrecision validates the combination of flags.
func (c *Config) checkPrecision() error {
	fixed := c.FixedWeights != "" || c.FixedActs != ""
	switch {
	case c.Weights == option.Int4Weights && c.Precision == option.Int16x8:
		return usage("--weights int4 goes with int8 data: leave --precision int16x8 out, or name the layers in a " +
			"--layers-config file")
	case c.Weights == option.Int4Weights && c.unquantised():
		return usage("--weights int4 goes with int8 data, not with --precision %s", c.Precision)
	case fixed && (c.Weights == option.Int4Weights || c.Precision == option.Int16x8 || c.LayersConfig != ""):
		return usage("--fixed-point-weights and --fixed-point-activations choose the numbers themselves; they do " +
			"not go with --weights int4, --precision int16x8 or --layers-config")
	}
	return nil
}

// unquantised: the flags ask for a program in float.
func (c *Config) unquantised() bool {
	return c.Precision.Float()
}

// precisionIsFixed refuses flags that a quantised model leaves no choice about.
func (c *Config) precisionIsFixed() error {
	for _, f := range []struct {
		set  bool
		flag string
	}{{c.Precision == option.Int16x8, "--precision int16x8"}, {c.Weights == option.Int4Weights, "--weights int4"},
		{c.LayersConfig != "", "--layers-config"}, {c.Sensitivity, "--sensitivity"}} {
		if f.set {
			return badInput("%s is quantised already: its own precision is kept bit for bit; %s takes the float model",
				c.Model, f.flag)
		}
	}
	return nil
}

// baseLayer is the precision of all layers that no file names.
func (c *Config) baseLayer() quant.Layer {
	switch {
	case c.Precision == option.Int16x8:
		return quant.Int16x8
	case c.unquantised():
		return quant.Float
	case c.Weights == option.Int4Weights:
		return quant.Int4
	}
	return quant.Int8
}

// layerPrecision is the precision of every layer as the flags and the file say;
// nil: int8.
func (c *Config) layerPrecision(g *ir.Graph) func(n *ir.Node) quant.Layer {
	base := c.baseLayer()
	c.layers = nil
	if c.LayersConfig == "" {
		if base == quant.Int8 {
			return nil // and a target with a wider format may choose
		}
		return func(*ir.Node) quant.Layer { return base }
	}
	var names []string
	for _, n := range g.Nodes {
		names = append(append(names, n.Origin...), n.Name)
	}
	f := input(quant.ReadLayers(c.LayersConfig, names))
	if f.Default != nil {
		base = *f.Default
	}
	c.layers = f
	return func(n *ir.Node) quant.Layer { return f.Layer(n, base) }
}

// layersDone reports what the file asked for in vain, once a model is quantised.
func (c *Config) layersDone() error {
	if c.layers == nil {
		return nil
	}
	c.layers.Vain(func(pattern, why string) { c.warn("quantize", "layers-config", pattern, "%s", why) })
	return asInput(c.layers.Err())
}

// readSpec reads --preprocess, once.
func (c *Config) readSpec() error {
	if c.spec != nil {
		return nil
	}
	var err error
	if c.spec, err = data.Parse(c.Preprocess); err == nil {
		err = c.spec.ParseOutputs(c.Postprocess)
	}
	return asInput(err)
}

// dataOptions say how files become inputs; what is what the files are, for messages.
func (c *Config) dataOptions(what string) data.Options {
	return data.Options{What: what, Spec: c.spec, Limits: c.dataLimits()}
}

// inferences reads --input for inputs of a model; every: all samples of a folder, and those
// of arrays that hold several.
func (c *Config) inferences(ins []*ir.Value, every bool) ([][]*tensor.Dense, error) {
	if err := c.readSpec(); err != nil {
		return nil, err
	}
	o := c.dataOptions("")
	o.Every, o.Split = every, every
	list, from, said, err := data.Inputs(c.Inputs, ins, o)
	c.RunResult.Samples = from
	c.Diags.Add(append(said, c.spec.Idle()...).From("data")...)
	return list, asInput(err)
}

// single is the one inference of a list.
func single(list [][]*tensor.Dense, err error) []*tensor.Dense {
	fail.Check(err)
	if len(list) != 1 {
		fail.Check(badInput("--input: %d samples; want one (verify takes several)", len(list)))
	}
	return list[0]
}

// firmwareInferences reads --input for inputs of a firmware.
func (c *Config) firmwareInferences(ins []*ir.Value) ([][]*tensor.Dense, error) {
	list, err := c.inferences(ins, false)
	for k := range list {
		for i, d := range list[k] {
			if s := data.LooksLike(ins[i], d.Shape); s != "" {
				return nil, badInput("input %s has shape %v, got %v%s", ins[i].Name, ins[i].Type.Shape, d.Shape, s)
			}
		}
		if err == nil {
			list[k], err = verify.Inputs(list[k], ins)
		}
	}
	return list, asInput(err)
}

// calibration reads --calib for all inputs of a float graph.
func (c *Config) calibration(g *ir.Graph, bindings []state.Binding) []quant.Sample {
	s, said, err := state.Calibration(c.Calib, g, bindings, c.dataOptions(""))
	c.Diags.Add(said.From("data")...)
	return input(s, err)
}
