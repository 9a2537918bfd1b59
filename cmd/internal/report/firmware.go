// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// Firmware is report.json of several models in one folder. Each of Models is what it
// would be alone (with c_prefix, and with its own files), but for what they share:
// memory.regions are those of the firmware, and code.text_bytes and code.rodata_bytes are
// of the model's own C, without kernels. A firmware of one model has that model's report.
type Firmware struct {
	Schema    int          `json:"schema"`
	Generator string       `json:"generator"`
	Version   string       `json:"version"`
	Board     string       `json:"board"`
	Models    []*Report    `json:"models"`
	Memory    SharedMemory `json:"memory"`
	Code      *SharedCode  `json:"code,omitempty"`
	Gates     []string     `json:"exceeded_gates,omitempty"`
	Warnings  []string     `json:"warnings"`
	Notes     []string     `json:"notes"`
	Files     []string     `json:"files"`
	// FileHashes are as those of a Report.
	FileHashes map[string]string `json:"file_hashes,omitempty"`
}

// SharedMemory is what a firmware of several models takes.
type SharedMemory struct {
	ArenaBytes   int      `json:"arena_bytes"` // of the largest: they run in turn
	StateBytes   int      `json:"state_bytes"` // of all: each keeps its own
	WeightsBytes int      `json:"weights_bytes"`
	Regions      []Region `json:"regions"`
}

// RAMText says what RAM the models need beside the stack.
func (m *SharedMemory) RAMText() string {
	s := fmt.Sprintf("one arena of %d bytes", m.ArenaBytes)
	if m.StateBytes > 0 {
		s += fmt.Sprintf(", state %d bytes", m.StateBytes)
	}
	return s
}

// SharedCode is the machine code of all models and their kernels, known after verify.
type SharedCode struct {
	TextBytes   uint64 `json:"text_bytes"`
	RODataBytes uint64 `json:"rodata_bytes"`
}

// NewFirmware is the report of models that share a folder.
func NewFirmware(models []*Report, files []codegen.File) *Firmware {
	r := &Firmware{Schema: Schema, Generator: "nncc", Version: models[0].Version, Board: models[0].Board,
		Models: models, Warnings: []string{}, Notes: []string{},
		Memory: SharedMemory{Regions: models[0].Memory.Regions}}
	for _, m := range models {
		r.Memory.ArenaBytes = max(r.Memory.ArenaBytes, m.Memory.ArenaBytes)
		r.Memory.StateBytes += m.Memory.StateBytes
		r.Memory.WeightsBytes += m.Memory.WeightsBytes
		r.Files = append(r.Files, m.Page())
	}
	r.Files = append(r.Files, lists.Map(files, func(f codegen.File) string { return f.Path })...)
	r.Files = append(r.Files, File, HTMLFile)
	slices.Sort(r.Files)
	return r
}

// Measured adds what a build takes.
func (r *Firmware) Measured(s run.Sizes) { r.Code = &SharedCode{s.Code(), s.ROData()} }

// Place says what lies in the board's memories.
func (m *SharedMemory) Place(p boards.Placement) {
	var x Memory
	x.Place(p)
	m.Regions = x.Regions
}

// JSON is the report as it is written.
func (r *Firmware) JSON() []byte {
	for _, m := range r.Models {
		m.summarise()
	}
	return flatGraph(flatNumbers(JSON(r)))
}

// Page is the file of the page of one of several models.
func (r *Report) Page() string { return r.Prefix + "_" + HTMLFile }

// firmwarePage is what the page of several models prints.
type firmwarePage struct {
	frame
	*Firmware
	Cards  []card
	Spaces []spaceView
	Parts  []*page
}

// HTML is a page about all models: what they share, and the figures and layers of each.
// Their own pages have graphs and arenas.
func (r *Firmware) HTML() []byte {
	r = text.Lines(r)
	var names []string
	v := &firmwarePage{Firmware: r}
	var macs int64
	for _, m := range r.Models {
		names = append(names, m.Model.Name)
		m.summarise()
		p := &page{Report: m, Metrics: newMetrics(m), Cards: newCards(m)}
		p.layerRows()
		v.Parts = append(v.Parts, p)
		macs += lists.Sum(m.Layers, func(l Layer) int64 { return l.MACs })
	}
	v.frame = newFrame(strings.Join(names, ", ") + " for " + r.Board + " - nncc")
	v.Spaces = newSpaces(&Report{Memory: Memory{Regions: r.Memory.Regions}})
	v.Cards = []card{{Value: thousands(len(r.Models)), What: "models in one firmware"},
		{Value: thousands(r.Memory.ArenaBytes), Unit: "B", What: "arena", Note: "of the largest: they run in turn"},
		{Value: thousands(r.Memory.WeightsBytes), Unit: "B", What: "weights and constants"}}
	if r.Code != nil {
		v.Cards = append(v.Cards, card{Value: thousands(r.Code.TextBytes), Unit: "B", What: "code",
			Note: "kernels once; constants beside weights " + thousands(r.Code.RODataBytes)})
	}
	v.Cards = append(v.Cards, card{Value: thousands(macs), What: "MACs, each model once"})
	return write("firmware.html", v)
}

// FirmwareVerdict is the result of verify of several models in one image.
type FirmwareVerdict struct {
	Board      string         `json:"board"`
	StandsIn   string         `json:"stands_in,omitempty"`
	Cases      int            `json:"cases"`      // of all models together
	Mismatches int            `json:"mismatches"` // likewise
	Models     []*Verdict     `json:"models"`
	Text       uint64         `json:"text_bytes"` // of all models and their kernels
	ROData     uint64         `json:"rodata_bytes"`
	StackBytes int            `json:"stack_bytes"`
	Flash      map[string]any `json:"flash"`
	RAM        map[string]int `json:"ram"`
	Warnings   []string       `json:"warnings"`
}

// NewFirmwareVerdict puts the verdicts of models together.
func NewFirmwareVerdict(r *Firmware, vs []*Verdict) *FirmwareVerdict {
	v := &FirmwareVerdict{Board: r.Board, Models: vs, Warnings: r.Warnings,
		RAM:   map[string]int{"arena_bytes": r.Memory.ArenaBytes, "state_bytes": r.Memory.StateBytes},
		Flash: map[string]any{}}
	for _, x := range vs {
		v.Cases += x.Cases
		v.Mismatches += x.Mismatches
		v.StackBytes = max(v.StackBytes, x.StackBytes)
		v.StandsIn = x.StandsIn
	}
	if r.Code != nil {
		v.Text, v.ROData = r.Code.TextBytes, r.Code.RODataBytes
		v.Flash = map[string]any{"code_bytes": v.Text, "rodata_bytes": v.ROData, "weights_bytes": r.Memory.WeightsBytes}
	}
	return v
}

// Differs reports that some model is not what nncc promises.
func (v *FirmwareVerdict) Differs() bool { return slices.ContainsFunc(v.Models, (*Verdict).Differs) }

// Lines is the verdict for people.
func (v *FirmwareVerdict) Lines() string {
	var b strings.Builder
	for _, x := range v.Models {
		fmt.Fprintf(&b, "== %s (%s)\n%s\n", text.Line(x.Prefix), text.Line(x.Model), x.Text())
	}
	b.WriteString(v.Summary())
	return b.String()
}

// Summary is a line about the image.
func (v *FirmwareVerdict) Summary() string {
	differ := 0
	for _, x := range v.Models {
		if x.Differs() {
			differ++
		}
	}
	said := "every model as its interpreter says"
	if differ > 0 {
		said = fmt.Sprintf("%d models DIFFERENT", differ)
	}
	stack := ""
	if v.StackBytes > 0 { // a host does not measure it
		stack = fmt.Sprintf("stack %d bytes, ", v.StackBytes)
	}
	return fmt.Sprintf("%s: %d models in one image, run in turn on one arena of %d bytes; %scode %d bytes, "+
		"constants %d bytes, weights %v bytes: %s\n", text.Line(v.Board), len(v.Models), v.RAM["arena_bytes"], stack,
		v.Text, v.ROData, v.Flash["weights_bytes"], said)
}
