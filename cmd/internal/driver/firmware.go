// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"encoding/hex"
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/option"
)

// Firmware is what one folder holds and one image runs: a compiled model, or several that
// share kernels and an arena. What is not about one model (board, build files, limits) is
// the same in the Config of each.
type Firmware struct {
	Models []*Compiled
	Files  []codegen.File
	Report *report.Firmware

	prefixes  []string
	profiling bool // Verify also estimates cycles

	waitBound float64 // of an arena in parts: cycles that no way to divide it is below
	flash     int     // bytes, measured; 0: not yet
	least     string  // which goal and kernels miss the budgets least; "": none is missed
	whole     string  // why an arena that has no room is in one piece; "": there is room, or one memory
}

// Compile does everything but write files, for models that share a folder.
func Compile(list ...*Config) (out *Firmware, err error) {
	defer fail.Catch(&err)
	for _, c := range list {
		if err := c.Check(); err != nil {
			return nil, named(list, c, err)
		}
	}
	prefixes := fail.Must(prefixes(list))
	spec := fail.Must(list[0].board())
	var models []*Compiled
	defer func() {
		for _, o := range models {
			if e := o.dumped(); err == nil && e != nil {
				out, err = nil, e
			}
		}
	}()
	for i, c := range list {
		if c.DumpIR != "" && len(list) > 1 {
			c.DumpIR = filepath.Join(c.DumpIR, prefixes[i])
		}
		c.sharing = len(list)
		o, err := c.loadAndLower(spec)
		if err != nil {
			return nil, named(list, c, err)
		}
		models = append(models, o)
	}
	f := newFirmware(models, prefixes)
	fail.Check(f.shrink())
	return f, f.finish()
}

// shrink takes models that exceed --max-ram beside the state of the others to smaller
// programs, where there are such.
func (f *Firmware) shrink() error {
	ram := f.config().maxRAM()
	if ram < 0 {
		return nil
	}
	all := f.stateBytes()
	for i, o := range f.Models {
		others := all - o.Lowered.Program.StateBytes
		if others == 0 || o.Lowered.Program.RAMBytes() <= ram-others {
			continue
		}
		o.Config.othersState = others
		if err := f.again(i); err != nil {
			return f.named(o, err)
		}
	}
	return nil
}

// again compiles a model once more, as its Config is now.
func (f *Firmware) again(i int) (err error) {
	defer fail.Catch(&err)
	fail.Check(f.Models[i].dumped())
	x := fail.Must(f.Models[i].Config.loadAndLower(f.board()))
	x.Firmware, f.Models[i] = f, x
	return nil
}

func newFirmware(models []*Compiled, prefixes []string) *Firmware {
	f := &Firmware{Models: models, prefixes: prefixes}
	for _, o := range models {
		o.Firmware = f
	}
	return f
}

func named(list []*Config, c *Config, err error) error {
	if len(list) == 1 {
		return err
	}
	switch e := err.(type) {
	case *UsageError:
		return usage("%s: %s", c.Model, e.Msg)
	case *InputError:
		return &InputError{text.Errorf("%s: %w", c.Model, e.Err)}
	}
	return err
}

// prefixes are the C prefixes of the models. Those that --name gives stay as they are; a
// note says which others do not have their file's name.
func prefixes(list []*Config) ([]string, error) {
	names, given := make([]string, len(list)), make([]string, len(list))
	var taken []string
	for i, c := range list {
		names[i] = modelName(c.Model)
		if c.Name == "" {
			continue
		}
		if p := codegen.Prefix(c.Name); p != c.Name {
			return nil, usage("--name %s: not usable as a C prefix, it would become %s", c.Name, p)
		}
		if k := codegen.PrefixTaken(c.Name, taken); k >= 0 {
			return nil, usage("--name %s: %s is the prefix of another model, and files or identifiers of both "+
				"would have the same names", c.Name, taken[k])
		}
		if len(list) > 1 && codegen.Prefixes([]string{c.Name, ""}, nil)[0] != c.Name {
			return nil, usage("--name %s: the header of all models has this name", c.Name)
		}
		given[i] = c.Name
		taken = append(taken, c.Name)
	}
	out := codegen.Prefixes(names, given)
	for i, p := range out {
		if own := codegen.Prefix(names[i]); given[i] == "" && p != own {
			list[i].Diags.Add(diag.List{diag.Notef("prefix", "", "%s has the C prefix %s: %s is taken "+
				"(--name %s=PREFIX gives it another one)", list[i].Model, p, own, p)}.From("driver")...)
		}
	}
	return out, nil
}

// Prefixes are the C prefixes that models would have together.
func Prefixes(models []string) []string {
	names := lists.Map(models, modelName)
	return codegen.Prefixes(names, nil)
}

func (f *Firmware) finish() (err error) {
	defer fail.Catch(&err)
	said := lists.Map(f.Models, func(o *Compiled) diag.List { return slices.Clone(o.Config.Diags) })
	fail.Check(f.arrange())
	f.meet(said)
	fail.Check(f.sections())
	for _, o := range f.Models {
		o.Report = report.New(&o.Subject)
		if f.Several() {
			o.Report.Prefix = o.Info.Prefix
		}
		if o.Config.TimePasses {
			o.Report.StageTimes = o.Config.times
		}
	}
	f.Report = report.NewFirmware(f.Reports(), f.Files)
	f.said()
	return f.strictly()
}

// arrange writes C and gives everything its place.
func (f *Firmware) arrange() (err error) {
	defer fail.Catch(&err)
	fail.Check(f.generate())
	fail.Check(f.split())
	f.stageWeights()
	f.memoryVerdict(nil)
	return nil
}

// Several reports more than one model.
func (f *Firmware) Several() bool { return len(f.Models) > 1 }

func (f *Firmware) config() *Config { return f.Models[0].Config }

func (f *Firmware) board() *boards.Spec { return f.Models[0].Board }

// Reports are those of the models.
func (f *Firmware) Reports() []*report.Report {
	return lists.Map(f.Models, func(o *Compiled) *report.Report { return o.Report })
}

func (f *Firmware) generate() error {
	c, board := f.config(), f.board()
	c.note("generating C")
	optFlags := board.Toolchain.Speed
	if c.Optimize == option.Size {
		optFlags = board.Toolchain.Size
	}
	var models []codegen.Model
	for i, o := range f.Models {
		models = append(models, codegen.Model{Program: o.Lowered.Program, Prefix: f.prefixes[i],
			Source: filepath.Base(o.Config.Model), SHA256: hex.EncodeToString(o.Model.SHA256[:]),
			Preprocess: o.pre, Postprocess: o.post, InputNotes: o.inputNotes(), Classes: o.Model.Classes,
			StagedRegion: o.Placement.At("staged")})
	}
	opt := c.Emit
	opt.Version, opt.Board, opt.Features, opt.CPUFlags = Version, board.Name, board.Features(), board.Toolchain.CPU
	opt.CFlags = slices.Concat(optFlags, board.Toolchain.CFlags)
	opt.CC, opt.AR = board.Toolchain.Prefix+board.Toolchain.CC, board.Toolchain.Prefix+"ar"
	opt.Projects, opt.Notes, opt.Drivers = c.projects(), f.warnings(), f.Models[0].drivers
	opt.WeightsFile = c.WeightsFile
	files, infos, err := codegen.Generate(models, opt)
	if err != nil {
		return err
	}
	var harness []run.Model
	for i, o := range f.Models {
		o.Info, o.Harness = infos[i], report.Harness(infos[i])
		harness = append(harness, o.Harness)
	}
	for _, x := range run.HarnessFiles(board, harness...) {
		files = append(files, codegen.File(x))
	}
	f.Files = files
	for _, o := range f.Models {
		o.Files = files
	}
	return nil
}

// warnings are those so far, each once, with the model that one speaks of.
func (f *Firmware) warnings() []string {
	return lists.Map(f.Said(diag.Warning), func(d Remark) string { return d.Text })
}

// Remark is what there is to say of a firmware.
type Remark struct {
	*diag.Diag
	Text string // with the C prefix of the model where there are several and not all have it
}

// Said are the diagnostics of a severity, each once.
func (f *Firmware) Said(severity diag.Severity) []Remark {
	var out []Remark
	for i, o := range f.Models {
		for _, d := range o.Config.Diags {
			t := d.Error()
			if d.Severity != severity || i > 0 && f.allSay(t) {
				continue
			}
			if f.Several() && !f.allSay(t) {
				t = f.prefixes[i] + ": " + t
			}
			out = append(out, Remark{d, t})
		}
	}
	return out
}

// allSay reports a text that is said of every model: it speaks of the firmware.
func (f *Firmware) allSay(t string) bool {
	return !slices.ContainsFunc(f.Models, func(o *Compiled) bool {
		return !slices.ContainsFunc(o.Config.Diags, func(d *diag.Diag) bool { return d.Error() == t })
	})
}

func (f *Firmware) strictly() error { return f.config().strict(f.warnings()) }

// said brings the reports up to date with what there is to say.
func (f *Firmware) said() {
	for _, o := range f.Models {
		o.said(nil)
	}
	if !f.Several() {
		return
	}
	r := f.Report
	r.Warnings, r.Notes = f.warnings(), lists.Each(f.Said(diag.Note), func(d Remark) string { return d.Text })
}

// Write puts the firmware folder in place, complete or not at all. A folder
// that nncc wrote before is replaced, files in it that are not nncc's are kept;
// any other folder that is not empty is refused. It gives the files that a user had edited: they are kept, and the
// new ones are beside them (files.Fresh).
func (f *Firmware) Write(dir string) (kept []string, err error) {
	return writeFolder(dir, report.File, append(slices.Clone(f.Files), f.reportFiles()...))
}

// Write writes the firmware that the model is part of.
func (o *Compiled) Write(dir string) error {
	_, err := o.Firmware.Write(dir)
	return err
}

// reportFiles are the pages and report.json, which has the hashes of all other files.
func (f *Firmware) reportFiles() []codegen.File {
	hashed := func(pages ...codegen.File) map[string]string {
		sums := map[string]string{}
		for _, x := range append(pages, f.Files...) {
			sums[x.Path] = files.Hash(x.Data)
		}
		return sums
	}
	if !f.Several() {
		r := f.Models[0].Report
		page := codegen.File{Path: report.HTMLFile, Data: r.HTML()}
		r.FileHashes = hashed(page)
		return []codegen.File{page, {Path: report.File, Data: r.JSON()}}
	}
	list := []codegen.File{{Path: report.HTMLFile, Data: f.Report.HTML()}}
	for _, r := range f.Reports() {
		list = append(list, codegen.File{Path: r.Page(), Data: r.HTML()})
	}
	f.Report.FileHashes = hashed(list...)
	return append(list, codegen.File{Path: report.File, Data: f.Report.JSON()})
}

// The file of a folder by which nncc knows again what it wrote: JSON with the
// keys generator and files. Each kind of folder has one of its own, so that one
// does not replace another.
const (
	runManifest     = "run.json"
	dumpManifest    = "dump.json"
	tensorsManifest = "tensors.json"
	goldenManifest  = "golden.json"
)

func writeFolder(dir, manifest string, list []codegen.File) (kept []string, err error) {
	defer fail.Catch(&err)
	f := input(files.NewFolder(dir, manifest))
	defer f.Discard()
	fail.Check(asInput(f.Add(files.Of(list)...)))
	err = asInput(f.Commit())
	return f.Kept(), err
}

// replaceFiles writes a file that the user named, and others beside it: all of
// them, or none where one cannot be written. None is an input of the command.
func (c *Config) replaceFiles(path string, data []byte, beside ...files.Target) error {
	list := append([]files.Target{{Path: filepath.Base(path), Data: data}}, beside...)
	for i, t := range list {
		for _, u := range list[:i] {
			if filepath.Clean(filepath.FromSlash(t.Path)) == filepath.Clean(filepath.FromSlash(u.Path)) {
				return badInput("file %s would be written twice", t.Path)
			}
		}
	}
	return asInput(files.ReplaceFile(path, data, beside, c.InputFiles()...))
}

// InputFiles are the files that the command reads.
func (c *Config) InputFiles() []string {
	list := []string{c.Model, c.Script, c.Board, c.LayersConfig, c.CMSISLib, c.Eval.Data, c.Eval.Labels, c.Eval.Classes}
	list = append(append(append(list, c.Functions...), c.Calib...), c.read...)
	for _, s := range append(append([]string(nil), c.Inputs...), c.Set...) {
		list = append(list, s)
		for i := range s { // NAME=FILE, where names may hold equals signs
			if s[i] == '=' {
				list = append(list, s[i+1:])
			}
		}
	}
	return list
}

func writeFiles(dir string, list []codegen.File) error { return files.WriteTree(dir, files.Of(list)) }

// OutDir is the folder that Write should fill.
func (f *Firmware) OutDir() string {
	c := f.config()
	if c.Out != "" {
		return c.Out
	}
	name := modelName(c.Model)
	if f.Several() {
		name = "models"
	}
	return name + "-" + modelName(c.Board)
}
