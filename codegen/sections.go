// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// sectionsView is where the constants and the arena of a model go.
type sectionsView struct {
	Prefix, Upper, Version string
	Region, Section        string // of the constants; "": the compiler's choice
	Bytes                  int
	Parts                  []partView // of the arena
	Align                  int
	constants              bool // there are some that are linked
}

// What is placed, for people.
func (v sectionsView) What() string {
	switch {
	case v.Region == "":
		return "the parts of the arena"
	case len(v.Parts) > 0:
		return "the parts of the arena and the constants"
	}
	return "the constants"
}

// Memories are the regions, for people.
func (v sectionsView) Memories() string {
	var s []string
	if v.Region != "" {
		s = append(s, v.Region)
	}
	for _, x := range v.Parts {
		if !slices.Contains(s, x.Region) {
			s = append(s, x.Region)
		}
	}
	if len(s) > 1 {
		return "memories " + strings.Join(s, ", ")
	}
	return "memory " + s[0]
}

// SectionFiles say in which section the constants of a model are, once it is known which
// of the board's memory regions they go to: they take the place of those that Generate
// made, which leave it to the compiler. A model whose constants are not linked, and whose
// arena is in one piece, has none.
func SectionFiles(i *Info, version, region string) ([]File, error) {
	v := sectionsView{Prefix: i.Prefix, Version: version, Bytes: i.WeightBytes, Parts: i.parts, constants: i.Sections}
	if i.Sections {
		v.Region = region
	}
	return sectionFiles(v)
}

func sectionFiles(v sectionsView) ([]File, error) {
	v.Upper, v.Align = strings.ToUpper(v.Prefix), program.Align
	var jobs []job
	if v.constants {
		jobs = append(jobs, job{v.Prefix + "_sections.h", "sections.h.tmpl"})
	}
	if v.Region != "" {
		v.Section = ".nncc.weights." + v.Region
	}
	if v.Region != "" || len(v.Parts) > 0 {
		jobs = append(jobs, job{v.Prefix + "_sections.ld", "sections.ld.tmpl"})
	}
	files, err := renderJobs(v, jobs)
	for i, f := range files {
		files[i].Data = spdx.Stamp(f.Path, f.Data, spdx.Emitted)
	}
	return files, err
}

// Sections reports that the constants of a model are linked.
func (v *modelView) Sections() bool { return len(v.Weights.Blobs) > 0 && v.Bound == nil }

// files are the model's sources and data.
func (v *modelView) files() ([]File, error) {
	list, err := renderJobs(v, v.jobs())
	if err != nil {
		return nil, err
	}
	sections, err := sectionFiles(sectionsView{Prefix: v.Prefix, Version: v.Version, Parts: v.Parts,
		constants: v.Sections()})
	return slices.Concat(list, v.data(), sections), err
}
