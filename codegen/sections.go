// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/runtime_c/spdx"
)

// sectionsView is where the constants of a model go.
type sectionsView struct {
	Prefix, Upper, Version string
	Region, Section        string // "": the compiler's choice
	Bytes                  int
}

// SectionFiles say in which section the constants of a model are, once it is known which
// of the board's memory regions they go to: they take the place of those that Generate
// made, which leave it to the compiler. A model whose constants are not linked has none.
func SectionFiles(i *Info, version, region string) ([]File, error) {
	if !i.Sections {
		return nil, nil
	}
	return sectionFiles(sectionsView{Prefix: i.Prefix, Version: version, Region: region, Bytes: i.WeightBytes})
}

func sectionFiles(v sectionsView) ([]File, error) {
	v.Upper = strings.ToUpper(v.Prefix)
	jobs := []job{{v.Prefix + "_sections.h", "sections.h.tmpl"}}
	if v.Region != "" {
		v.Section = ".nncc.weights." + v.Region
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
	if err != nil || !v.Sections() {
		return append(list, v.data()...), err
	}
	sections, err := sectionFiles(sectionsView{Prefix: v.Prefix, Version: v.Version})
	return slices.Concat(list, v.data(), sections), err
}
