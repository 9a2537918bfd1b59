// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/option"
)

// verb is one command.
type verb struct {
	args    string // after the flags, for help
	doc     string
	example string
	flags   func(c *cli, fs *pflag.FlagSet)
	run     func(c *cli, args []string) // an error ends it (ir/fail)
}

var verbs map[string]*verb

func init() {
	verbs = map[string]*verb{
		"compile": {"MODEL...", "compile a model, or several into one firmware, to a folder of C sources with " +
			"report.json and report.html (the default verb)", "nncc -board cortex-m55 --calib samples.npz model.onnx",
			compileFlags, (*cli).compile},
		"verify": {"MODEL...", "compile, build, run on the board's QEMU machine, compare with the reference " +
			"interpreter bit for bit, and the program with the model itself",
			"nncc verify -board cortex-m55 --golden tests/golden model.onnx", verifyFlags, (*cli).verify},
		"run": {"MODEL", "run the reference interpreter: the float model, or with --board the program " +
			"that would be emitted", "nncc run --input image.npy --out result model.onnx", runFlags, (*cli).run},
		"check": {"MODEL", "is this a valid model? lists all findings", "nncc check model.onnx",
			checkFlags, (*cli).check},
		"explain": {"MODEL...", "a row per node: shape, MACs, where it runs, why better kernels refused it",
			"nncc explain -board cortex-m4 model.onnx", compileFlags, (*cli).explain},
		"legalize": {"MODEL", "write the legalised float graph as ONNX, compared with the model as it was",
			"nncc legalize --outputs native model.onnx --out model_4d.onnx", legalizeFlags, (*cli).legalize},
		"quantize": {"MODEL", "write the quantised graph as QDQ ONNX that ONNX Runtime runs",
			"nncc quantize --calib samples.npz model.onnx --out model_int8.onnx", quantizeFlags, (*cli).quantize},
		"profile": {"MODEL...", "instructions, estimated cycles, MACs and bytes per layer under QEMU; two " +
			"models give before and after, three or more (two with --together) run in one firmware",
			"nncc profile -board cortex-m4 model.onnx", profileFlags, (*cli).profile},
		"eval": {"MODEL", "accuracy over labelled data: the float model beside the program that would be emitted",
			"nncc eval -board cortex-m55 --calib samples.npz --data test.npz --labels test.csv model.onnx", evalFlags,
			(*cli).eval},
		"diff": {"OLD NEW", "compare two reports (report.json, or folders with one): arena, flash, stack, " +
			"instructions, accuracy, by model and layer", "nncc diff --max-growth instructions=1%,ram=0 before after",
			diffFlags, (*cli).diff},
		"boards": {"[NAME]", "list the boards, show one, or find those for a chip", "nncc boards --for STM32F411CEU6",
			boardsFlags, (*cli).boards},
		"cost": {"", "what layers cost, one JSON object a line on standard input ({board, op, shapes, attributes, " +
			"precision}), one a line out", `nncc cost --json < layers.jsonl`, tableFlags, (*cli).cost},
		"tune": {"MODEL", "what to change for a board, each with its worth: channels that cost nothing, smaller " +
			"windows, transposes, int16x8 of a layer, boards that hold it",
			"nncc tune -board stm32f411 --calib samples.npz model.onnx", compileFlags, (*cli).tune},
		"ops": {"", "list the operators", "nncc ops", tableFlags, (*cli).ops},
		"passes": {"", "list the stages in order, from import to the plan of the arena", "nncc passes", tableFlags,
			(*cli).passes},
		"bisect": {"MODEL", "interpret the model before and after every stage: which one first changes the " +
			"outputs by more than it may? (exit status 1)",
			"nncc bisect -board cortex-m55 --calib samples.npz model.onnx", bisectFlags, (*cli).bisect},
		"help": {"[TOPIC or VERB]", "show the flags of a verb, or a text: " +
			strings.Join(slices.Sorted(maps.Keys(topics)), ", "), "nncc help debugging", noFlags, (*cli).help},
		"version": {"", "print the version", "nncc version", tableFlags, (*cli).version},
		"completion": {"bash|zsh|fish", "print the script by which a shell completes verbs, flags and their values",
			"source <(nncc completion bash)", noFlags, (*cli).completion},
		"man": {"", "print the manual page", "nncc man > nncc.1", noFlags, (*cli).man},
		"kernels": {"", "list the kernels with the conditions under which they apply", "nncc kernels --json",
			tableFlags, (*cli).kernels},
		"surgery": {"[MODEL]", "apply a YAML script of graph edits, check the result, compare it with the " +
			"model as it was, save it", "nncc surgery -f steps.yaml model.onnx --out edited.onnx", surgeryFlags,
			(*cli).surgery},
	}
	for _, a := range kinds.Table {
		if f := a.Format(); f != nil {
			verbs[f.Ext] = printer(f)
		}
	}
}

// verbNames are the verbs' names, sorted. (maps.Keys would keep every method of what a verb holds
// in the binary: the types of a generic function's arguments count as used by reflection.)
func verbNames() (names []string) {
	for n := range verbs {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// help shows an example first, then the verb, then its flags.
func (v *verb) help(name string, fs *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Example:\n  %s\n\nUsage:\n  nncc", v.example)
	if name != "compile" {
		b.WriteString(" " + name)
	}
	fmt.Fprintf(&b, " [flags] %s\n\n%s\n", v.args, sentence(v.doc))
	if strings.Contains(v.args, "MODEL") {
		b.WriteString("MODEL is an ONNX or a TensorFlow Lite file; its content says which.\n")
	}
	if name == "verify" {
		b.WriteString(verifyNotes)
	}
	if slices.Contains(strings.Fields(takesSeveral), name) {
		b.WriteString(severalNotes)
		fs.VisitAll(func(f *pflag.Flag) {
			if flagRules[f.Name].each {
				f.Usage += " *"
			}
		})
	}
	if name == "compile" {
		b.WriteString("\nVerbs (nncc VERB -h shows each; nncc help TOPIC: " +
			strings.Join(slices.Sorted(maps.Keys(topics)), ", ") + "):\n")
		for _, n := range verbNames() {
			fmt.Fprintf(&b, "  %-10s %s\n", n, verbs[n].doc)
		}
	}
	fmt.Fprintf(&b, "\n%s\nExit status: 0 done, 1 verification found a difference, 2 bad usage or input, 3 "+
		"a gate was exceeded,\n4 a tool is missing or failed, 70 a bug in nncc.\n", flagsText(fs))
	return b.String()
}

// verifyNotes say what verify promises.
const verifyNotes = `
Three comparisons, each of which gives exit status 1:
  1. the firmware's outputs with those of the program in the reference interpreter, bit for bit (float layers: 256 ulp)
  2. the program with the model's own semantics: from every quantised tensor of the model to the next, fed with what the
     program gave, at most 2 steps (int16 kernels and curves: what they miss by definition); float: 256 ulp, or as far
     as the model itself moves when its values are rounded otherwise
  3. with --layers, every step's result in the arena with the interpreter's
A model that nncc quantised has the SQNR of every output (signal to quantisation noise); below 15 dB is a warning that
names the layers which take most. Seeded inputs do not count there where calibration data are given.
--golden runs the cases in the order of their names (case_9 before case_10); recurrent state goes on from one to the
next.
`

// severalNotes say how several models are given.
const severalNotes = `
Several models become one firmware: one folder, one set of kernels, one arena used in turn (nncc help models). Flags
marked * then also take MODEL=VALUE, about one of them; MODEL is its C prefix, path or file name.
`

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func commonFlags(c *cli, fs *pflag.FlagSet) {
	c.cfg = driver.Defaults()
	f := &c.cfg
	fs.StringVar(&f.Board, "board", "", "target `NAME or FILE.yaml`; `nncc boards` lists them")
	fs.StringVar(&f.Out, "out", "", "output `DIR` (or file); a folder that nncc did not write must be empty")
	fs.StringVar(&f.Name, "name", "", "C `PREFIX` (default: the model's file name)")
	fs.StringArrayVar(&f.Calib, "calib", nil, "calibration inputs: `PATH` of a .npy, .npz, .png, .jpg, .wav, .csv, "+
		"or a folder of one kind of them (repeatable)")
	fs.StringArrayVar(&f.Postprocess, "postprocess", nil, "what becomes of outputs: `FILE.yaml or KIND.KEY=VALUE`, "+
		"such as boxes.threshold=0.3 (repeatable; nncc help vision)")
	fs.StringArrayVar(&f.Preprocess, "preprocess", nil, "how files become inputs: `FILE.yaml or [INPUT:]KEY=VALUE`, "+
		"such as image.resize=fit (repeatable; nncc help vision)")
	enum(fs, &f.CalibMethod, "calib-method")
	fs.BoolVar(&f.BiasCorrect, "bias-correction", f.BiasCorrect,
		"correct the mean error of every channel (--bias-correction=false: do not)")
	enum(fs, &f.Rounding, "weight-rounding")
	fs.BoolVar(&f.Equalize, "equalize", false, "equalise channel ranges across layers")
	enum(fs, &f.Precision, "precision")
	enum(fs, &f.Weights, "weights")
	fs.StringVar(&f.LayersConfig, "layers-config", "",
		"precision per layer: `FILE.yaml` of node names (* matches anything) with int8, int16x8, int4 or float32")
	fs.BoolVar(&f.Sensitivity, "sensitivity", false,
		"print how much signal each layer alone costs when it is quantised, the worst first, and do nothing else")
	proposeFlags(c, fs)
	fs.StringVar(&f.FixedWeights, "fixed-point-weights", "",
		"weights as fixed-point numbers, as nnabla's converter has them: `n=8,sign=1,delta=auto-pow2`")
	fs.StringVar(&f.FixedActs, "fixed-point-activations", "",
		"activations as fixed-point numbers: `n=8,sign=0,delta=X`")
	fs.StringArrayVar(&f.Dims, "dim", nil, "pin a symbolic dimension: `NAME=N` (repeatable)")
	fs.StringArrayVar(&f.Set, "set", nil, "bind an input to a constant: `INPUT=VALUE`, a number, numbers with "+
		"commas, or a .npy file (repeatable)")
	fs.StringArrayVar(&f.Functions, "functions", nil,
		"`FILE` of ONNX functions for custom operators, ONNX or ONNX text (repeatable)")
	fs.IntVar(&f.MaxSegments, "max-segments", f.MaxSegments,
		"gate: at most `N` accelerator segments; a gate that is exceeded is exit status 3, the folder is written "+
			"all the same")
	fs.IntVar(&f.MaxFallback, "max-fallback", f.MaxFallback, "gate: at most `N` compute nodes outside the segments")
	fs.StringVar(&f.MaxRAM, "max-ram", "", "gate: `BYTES` of arena and state")
	fs.StringVar(&f.MaxFlash, "max-flash", "", "gate: `BYTES` of code, constants and weights")
	fs.Var((*onOff)(&f.DeadChannels), "dead-channels",
		"removal of channels that are constant for every input or that nobody reads")
	fs.StringArrayVar(&f.States, "state", nil, "`OUTPUT=INPUT`: recurrent state, kept apart from the arena; auto: by "+
		"name (repeatable)")
	fs.StringVar(&f.Stream, "stream", "", "`[INPUT=]AXIS[:FRAMES]`: the input is a window along AXIS, fed FRAMES new "+
		"frames a step (default: as few as the strides allow)")
	fs.Var((*onOff)(&f.Fuse), "fuse", "neighbours computed together, by one table or in a kernel's store loop")
	fs.Var((*onOff)(&f.Legalize), "legalize", "rewrites of the float graph")
	enum(fs, &f.Kernels, "kernels")
	enum(fs, &f.Align, "align")
	fs.BoolVar(&f.PadInput, "pad-input", false, "--align may add channels to inputs; the firmware's input then has "+
		"them, too")
	enum(fs, &f.Optimize, "optimize")
	fs.StringVar(&f.CMSISInclude, "cmsis-nn-include", "", "include `DIR` of an installed CMSIS-NN to link")
	fs.StringVar(&f.CMSISLib, "cmsis-nn-lib", "", "library `FILE` of an installed CMSIS-NN")
	enum(fs, &f.IO, "io")
	enum(fs, &f.IOLayout, "io-layout")
	fs.StringVar(&f.DumpIR, "dump-ir", "", "write the graph after every stage to `DIR`, as text, as ONNX, and drawn "+
		"side by side in index.html")
	fs.StringArrayVar(&f.Passes, "pass", nil, "`NAME=off` skips a stage (repeatable); `nncc passes` lists them")
	fs.StringVar(&f.StopAfter, "stop-after", "", "print the graph after the stage `NAME`, and write no program")
	fs.BoolVar(&f.TimePasses, "time-passes", false,
		"print how long every stage took; with --json the report has it as stage_times")
	fs.StringVar(&f.Project, "project", f.Project,
		"`NAMES` of project files to write: make, cmake, zephyr, cmsis-pack, cmake-package, platformio, rust, arduino")
	fs.BoolVar(&f.WeightsFile, "weights-file", false, "constants are no part of the sources, but a file that the "+
		"firmware binds at run time: from other flash, or over the air; dead channels stay")
	fs.BoolVar(&f.StageWeights, "stage-weights", false, "constants whose reads wait in flash are read from a copy in "+
		"faster RAM, made once by NAME_stage or before the layer that reads them, where that saves estimated cycles; "+
		"layers are not cut for it")
	fs.BoolVar(&f.Layers, "layers", false, "verify: compare every layer, in every case that fits into 256 MB; one "+
		"that differs is exit status 1")
	fs.BoolVar(&f.Strict, "strict", false, "every warning is an error")
	fs.BoolVarP(&c.verbose, "verbose", "v", false,
		"say of every warning, note and error which stage it comes from, and its code; explain: also kernels "+
			"that were not chosen")
	limitFlag(c, fs)
	junitFlag(c, fs)
	quietFlag(c, fs)
	pageFlag(c, fs)
}

// enum adds the flag of an option that is one of a few words.
func enum[T option.Enum](fs *pflag.FlagSet, to *T, name string) {
	fs.Var(option.Value(to), name, option.SpecOf[T]().Help)
}

func quietFlag(c *cli, fs *pflag.FlagSet) {
	fs.BoolVarP(&c.quiet, "quiet", "q", false, "neither progress nor notes: only warnings, errors and results")
}

// limitFlag raises the bounds that protect against hostile models.
func limitFlag(c *cli, fs *pflag.FlagSet) {
	fs.Func("limit", "`NAME=N` raises (or lowers) a bound on what a model may ask for; N may end in K, M or G "+
		"(repeatable):\n"+onnx.LimitsDoc(), c.cfg.Limits.Set)
}

func compileFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

func verifyFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	f := &c.cfg
	fs.StringArrayVar(&f.Inputs, "input", nil, inputDoc)
	fs.IntVar(&f.Cases, "cases", 3, "`N` seeded inputs to try, calibration samples first")
	fs.StringVar(&f.Golden, "golden", "", "`DIR or FILE.npz` of stored inputs and outputs to compare with, too")
	fs.StringVar(&f.Record, "record", "", "write the cases and what the firmware gave for them to `DIR`, as --golden "+
		"reads it")
	fs.Float64Var(&f.Tolerance, "tolerance", 0, "largest `DIFFERENCE` from --golden outputs, finite and not negative")
	fs.BoolVar(&f.JSON, "json", false, "print JSON")
}

func profileFlags(c *cli, fs *pflag.FlagSet) {
	verifyFlags(c, fs)
	fs.BoolVar(&c.frontier, "ram", false, "arena bytes against instructions: the programs that --max-ram can give")
	fs.BoolVar(&c.together, "together", false, "two models are one firmware, not before and after")
	fs.StringVar(&c.cfg.Measured, "measured", "", "`FILE` of cycles of a real core, as harness/nncc_trace_dwt.c "+
		"prints them: beside the estimate")
}

// inputDoc is what --input takes.
const inputDoc = "`NAME=FILE`, FILE in graph order, or one .npz; .npy, pictures, recordings, tables, a folder of " +
	"them (repeatable)"

func bisectFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	fs.StringArrayVar(&c.cfg.Inputs, "input", nil,
		"`NAME=FILE`, FILE in graph order, or one .npz (default: two calibration samples, or seeded ones)")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

func runFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	fs.StringArrayVar(&c.cfg.Inputs, "input", nil, inputDoc)
	fs.BoolVar(&c.cfg.Dequantize, "dequantize", false, "write outputs as float")
	fs.StringVar(&c.cfg.Tensors, "tensors", "", "also write every intermediate value to `DIR`, of the float model "+
		"and, with --board, of the program beside it")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

func checkFlags(c *cli, fs *pflag.FlagSet) {
	fs.StringArrayVar(&c.cfg.Functions, "functions", nil, "`FILE` of ONNX functions for custom operators (repeatable)")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
	fs.StringArrayVar(&c.cfg.Dims, "dim", nil, "pin a symbolic dimension: `NAME=N` (repeatable)")
	fs.StringArrayVar(&c.cfg.Set, "set", nil, "bind an input to a constant: `INPUT=VALUE` (repeatable)")
	limitFlag(c, fs)
	quietFlag(c, fs)
}

func tableFlags(c *cli, fs *pflag.FlagSet) {
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

func legalizeFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	fs.StringSliceVar(&c.only, "only", nil, "run only these passes: `NAME,...` (`nncc passes` lists them)")
	enum(fs, &c.outputs, "outputs")
	fs.StringArrayVar(&c.cfg.Inputs, "input", nil,
		"inputs to compare with, beside seeded ones: `NAME=FILE.npy`, FILE.npy in graph order, or one .npz "+
			"(repeatable)")
	fs.BoolVar(&c.reportOnly, "report-only", false, "write nothing, only report")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

func quantizeFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}
