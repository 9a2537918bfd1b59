// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// Model is one program of a firmware, with what its C is called and says.
type Model struct {
	Program *program.Program
	Prefix  string // C prefix, see Prefixes
	Source  string // file name of the model, for comments
	SHA256  string // of the model file
	// Preprocess are the inputs for which C makes them of what a device gives.
	Preprocess []Preprocess
	// Postprocess is what C makes of the outputs; nil: nothing.
	Postprocess *Postprocess
	// StagedRegion is the memory of the board that was chosen for copies of constants.
	StagedRegion string
	// InputNotes are remarks on inputs, by name, for the header.
	InputNotes map[string]string
	// Classes are the texts that integers of an output stand for, or columns of reals, by its name.
	Classes map[string][]string
}

// modelsName is what the library, header and project files of several models are called:
// those of one have its prefix.
const modelsName = "models"

// fileSuffixes are what files of a model have behind its prefix, without extension.
var fileSuffixes = words("names sections weights stage images io preprocess postprocess")

// numberRoom are the characters that a prefix leaves for a number and for what Prefix adds.
const numberRoom = 12

// Prefixes are the C prefixes of models that share a folder: those of their names alone,
// with a number where two would be the same or their files would be. given are those that
// are fixed, "" where there is none; nil: none is.
func Prefixes(names, given []string) []string {
	out, taken := slices.Clone(given), slices.DeleteFunc(slices.Clone(given), func(p string) bool { return p == "" })
	if given == nil {
		out = make([]string, len(names))
	}
	for i, n := range names {
		if out[i] != "" {
			continue
		}
		base := Prefix(n)
		p := base
		for k := 2; PrefixTaken(p, taken) >= 0 || len(names) > 1 && isModelsFile(p); k++ {
			p = Prefix(base[:min(len(base), maxIdent-numberRoom)] + "_" + strconv.Itoa(k))
			if slices.ContainsFunc(taken, func(q string) bool { return sameNames(p, q) }) {
				base, k = Prefix("m_"+base), 1
				p = base
			}
		}
		out[i], taken = p, append(taken, p)
	}
	return out
}

// PrefixTaken is the index of a prefix beside which a model cannot be called p, since
// files or identifiers would have the same name; -1: there is none.
func PrefixTaken(p string, prefixes []string) int {
	return slices.IndexFunc(prefixes, func(q string) bool {
		return sameFiles(p, q) || sameFiles(q, p) || sameNames(p, q) || sameNames(q, p)
	})
}

// ownFamilies are the beginnings of identifiers that a model keeps for itself whatever follows (ownNames).
var ownFamilies = regexp.MustCompile(`^_(weights_\d+|postprocess)(_|$)`)

// sameNames reports that every identifier of p is one that q keeps for itself.
func sameNames(p, q string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(p), strings.ToLower(q))
	return ok && ownFamilies.MatchString(rest)
}

// sameFiles reports that p is q or the beginning of a file of q: file systems and
// macros do not tell upper from lower case.
func sameFiles(p, q string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(p), strings.ToLower(q))
	return ok && (rest == "" || rest[0] == '_' && fileSuffixes[rest[1:]])
}

// isModelsFile reports a prefix whose header would be that of all models.
func isModelsFile(p string) bool { return strings.EqualFold(p, modelsName) }

// firmwareView is everything that the templates of the folder print: build files, the
// README and the header of several models.
type firmwareView struct {
	Options
	Models  []*modelView
	Name    string // of the library and the project files
	Upper   string
	Source  string // file names of the models
	SHA256  string // of the models
	Target  string // in CMake
	Arena   int    // of the model with the largest one
	Align   int
	Bytes   int // of all weights
	Runtime runtimeView

	runtime []runtimec.File
}

// newFirmware are the views of programs that share a folder.
func newFirmware(models []Model, o Options) (_ *firmwareView, _ []*Info, err error) {
	defer fail.Catch(&err)
	v := &firmwareView{Options: o, Name: modelsName, Align: program.Align}
	var prefixes, sources, sums, kernels []string
	for _, m := range models {
		if m.Prefix != Prefix(m.Prefix) || PrefixTaken(m.Prefix, prefixes) >= 0 ||
			len(models) > 1 && isModelsFile(m.Prefix) {
			return nil, nil, bug.Errorf("%q is no C prefix beside %q", m.Prefix, prefixes)
		}
		prefixes = append(prefixes, m.Prefix)
	}
	naming := newIONaming(prefixes...)
	for _, m := range models {
		parts := partViews(m.Program, m.Prefix)
		if len(parts) > 0 && len(models) > 1 {
			return nil, nil, bug.Errorf("the arena of %s is in parts, beside other models", m.Prefix)
		}
		naming.reserve(m.Prefix, parts)
	}
	var infos []*Info
	for _, m := range models {
		m.Source, m.SHA256 = comment(m.Source), comment(m.SHA256)
		e := newEmitter(m.Program, m.Prefix, o, naming, false)
		x := fail.Must(e.model(m, o, naming))
		x.seal(m, o)
		v.Models, infos = append(v.Models, x), append(infos, e.info(x))
		v.Arena, v.Bytes = max(v.Arena, x.Arena), v.Bytes+x.Weights.Bytes
		sources, sums, kernels = append(sources, m.Source), append(sums, m.SHA256), append(kernels, x.kernels...)
	}
	if len(models) == 1 {
		v.Name = models[0].Prefix
	}
	v.Upper, v.Target = strings.ToUpper(v.Name), cmakeTarget(v.Name)
	v.Source, v.SHA256 = strings.Join(sources, ", "), strings.Join(sums, ", ")
	if v.runtime, err = o.Library.Files(kernels...); err != nil {
		return nil, nil, bug.Errorf("runtime sources: %w", err)
	}
	v.Runtime = newRuntimeView(o.Library, v.runtime)
	return v, infos, nil
}

// jobs are the files of the folder that belong to no single model.
func (v *firmwareView) jobs() []job {
	jobs := []job{{"README.md", "README.md.tmpl"}}
	if v.Several() {
		jobs = append(jobs, job{v.Header(), "models.h.tmpl"})
	}
	for _, p := range projects {
		if v.Has(p.name) {
			jobs = append(jobs, p.jobs(v)...)
		}
	}
	return jobs
}

// Several reports more than one model.
func (v *firmwareView) Several() bool { return len(v.Models) > 1 }

// Count is the number of models.
func (v *firmwareView) Count() int { return len(v.Models) }

// Header is what an application includes.
func (v *firmwareView) Header() string { return v.Name + ".h" }

// ArenaMacro is the size of the arena that does for every model.
func (v *firmwareView) ArenaMacro() string {
	if v.Several() {
		return "NNCC_MODELS_ARENA_BYTES"
	}
	return v.Upper + "_ARENA_BYTES"
}

// Prefixes are the C prefixes of the models, for people.
func (v *firmwareView) Prefixes() string {
	s := lists.Map(v.Models, func(m *modelView) string { return m.Prefix })
	return strings.Join(s, ", ")
}

// States are the models that keep some, for people.
func (v *firmwareView) States() string {
	var s []string
	for _, m := range v.Models {
		if len(m.States) > 0 {
			s = append(s, m.Prefix)
		}
	}
	return strings.Join(s, ", ")
}

// ModelSources are the C files of the models, without kernels.
func (v *firmwareView) ModelSources() []string {
	return slices.Concat(lists.Map(v.Models, func(m *modelView) []string { return m.sources() })...)
}

// Sources are the C files that belong to the models whatever their kernels are linked
// from: all but Runtime.CMSIS.
func (v *firmwareView) Sources() []string { return append(v.ModelSources(), v.Runtime.Own...) }

// Assembled are the sources of which the assembler includes a file: the linker,
// which assembles what is compiled for link time optimisation, would not find it.
func (v *firmwareView) Assembled() []string {
	return slices.Concat(lists.Map(v.Models, func(m *modelView) []string { return m.assembled() })...)
}

// IsAssembled reports one of them.
func (v *firmwareView) IsAssembled(source string) bool { return slices.Contains(v.Assembled(), source) }

// Has reports whether files for a build system are wanted.
func (v *firmwareView) Has(project string) bool { return slices.Contains(v.Projects, project) }

// Description says what the folder is, in a line.
func (v *firmwareView) Description() string {
	return v.Source + " for " + v.Board + ", compiled by nncc"
}

// includes reports a header that the source of some model names.
func (v *firmwareView) includes(header string) bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool { return slices.Contains(m.Headers, header) })
}

// hasFallback reports that a source does without the assembler where it has to.
func (v *firmwareView) hasFallback(source string) bool {
	for _, m := range v.Models {
		if source == m.Prefix+"_weights.c" {
			return m.Weights.Fallback
		}
		if source == m.Prefix+"_images.c" {
			return !slices.ContainsFunc(m.Images, func(x imageView) bool { return !x.Fallback })
		}
	}
	return false
}

// NeedsHelpers reports whether any model has float or layout helpers.
func (v *firmwareView) NeedsHelpers() bool {
	return slices.ContainsFunc(v.Models, (*modelView).NeedsHelpers)
}

// sources are the C files of a model, without kernels.
func (v *modelView) sources() []string {
	s := []string{v.Prefix + ".c"}
	for _, x := range []struct {
		file string
		has  bool
	}{{"weights", v.HasWeights()}, {"stage", v.Staged != nil},
		{"images", len(v.Images) > 0}, {"io", v.NeedsHelpers()},
		{"preprocess", v.Preprocesses()}, {"postprocess", v.Postprocesses()}} {
		if x.has {
			s = append(s, fmt.Sprintf("%s_%s.c", v.Prefix, x.file))
		}
	}
	return s
}

// assembled are those of which the assembler includes a file.
func (v *modelView) assembled() []string {
	var s []string
	if v.Weights.Binary {
		s = append(s, v.Prefix+"_weights.c")
	}
	if len(v.Images) > 0 {
		s = append(s, v.Prefix+"_images.c")
	}
	return s
}
