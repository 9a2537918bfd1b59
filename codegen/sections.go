// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// sectionsView is where the constants of a model go.
type sectionsView struct {
	Prefix, Upper, Version string
	Region, Section        string // "": the compiler's choice
	Fragment               string // the part of a linker script
}

// fragmentView is the part of a linker script that places the constants of all models of a folder
// and the parts of an arena: a section is there once, whoever puts something into it.
type fragmentView struct {
	Prefixes, File, Version string
	Region, Section         string // of the constants; "": the compiler's choice
	Bytes                   int
	Parts                   []partView // of the arena
	Align                   int
}

// What is placed, for people.
func (v fragmentView) What() string {
	switch {
	case v.Region == "":
		return "the parts of the arena"
	case len(v.Parts) > 0:
		return "the parts of the arena and the constants"
	}
	return "the constants"
}

// Memories are the regions, for people.
func (v fragmentView) Memories() string {
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

// weightsSection is the section of constants that go to a region.
func weightsSection(region string) string {
	if region == "" {
		return ""
	}
	return ".nncc.weights." + region
}

// fragmentFile is the part of a linker script that a folder can have.
func fragmentFile(name string) string { return name + "_sections.ld" }

// Fragment is the same; "": the folder has nothing to place. That it has is seen later, where
// the board has no memory regions.
func (v *firmwareView) Fragment() string {
	if !v.Split() && !slices.ContainsFunc(v.Models, (*modelView).Sections) {
		return ""
	}
	return fragmentFile(v.Name)
}

// SectionFiles say in which section the constants of a folder's models are, once it is known
// which of the board's memory regions they go to: they take the place of those that Generate
// made, which leave it to the compiler. A model whose constants are not linked has no header;
// a folder without linked constants and with an arena in one piece has no part of a linker
// script.
func SectionFiles(list []*Info, version, region string) (_ []File, err error) {
	defer fail.Catch(&err)
	f := fragmentView{Version: version, Align: program.Align}
	f.File = fragmentFile(modelsName)
	if len(list) == 1 {
		f.File = fragmentFile(list[0].Prefix)
	}
	var files []File
	var prefixes []string
	for _, i := range list {
		prefixes = append(prefixes, i.Prefix)
		f.Parts = append(f.Parts, i.parts...)
		if !i.Sections {
			continue
		}
		f.Region, f.Bytes = region, f.Bytes+i.WeightBytes
		v := sectionsView{Prefix: i.Prefix, Upper: strings.ToUpper(i.Prefix), Version: version, Region: region,
			Section: weightsSection(region), Fragment: f.File}
		x := fail.Must(renderJobs(v, []job{{i.Prefix + "_sections.h", "sections.h.tmpl"}}))
		files = append(files, x...)
	}
	f.Prefixes, f.Section = strings.Join(prefixes, ", "), weightsSection(f.Region)
	if f.Region != "" || len(f.Parts) > 0 {
		x := fail.Must(renderJobs(f, []job{{f.File, "sections.ld.tmpl"}}))
		files = append(files, x...)
	}
	for i, x := range files {
		files[i].Data = spdx.Stamp(x.Path, x.Data, spdx.Emitted)
	}
	return files, nil
}

// Sections reports that the constants of a model are linked.
func (v *modelView) Sections() bool { return len(v.Weights.Blobs) > 0 && v.Bound == nil }

// files are the model's sources and data.
func (v *modelView) files() ([]File, error) {
	list, err := renderJobs(v, v.jobs())
	return slices.Concat(list, v.data()), err
}
