// SPDX-License-Identifier: Apache-2.0

// Package diff compares what two compilations of models gave: figures, layers and
// kernels, and limits of how much they may have grown.
package diff

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
)

// EvalFile is the name under which a folder has what `nncc eval --json` said.
const EvalFile = "eval.json"

// mostBytes bounds a file that is read.
const mostBytes = 256 << 20

// layer is what is compared of a layer of report.json.
type layer struct {
	Name         string   `json:"name"`
	Op           string   `json:"op"`
	Kernel       string   `json:"kernel"`
	Route        string   `json:"route"`
	ONNXNodes    []string `json:"onnx_nodes"`
	MACs         float64  `json:"macs"`
	ScratchBytes float64  `json:"scratch_bytes"`
	WeightBytes  float64  `json:"weight_bytes"`
	Instructions *float64 `json:"instructions"`
	Cycles       *float64 `json:"estimated_cycles"`

	sqnr *float64 // of the last of its nodes that has one
	live float64  // bytes of the arena that are in use while it runs
}

// inner is the function that does the work.
func (l *layer) inner() string {
	if l.Route != "" {
		return l.Route
	}
	return l.Kernel
}

// Model is what is compared of one model's report.json. Fields that it does not have
// are zero: reports only grow.
type Model struct {
	Schema    int    `json:"schema"`
	Generator string `json:"generator"`
	Version   string `json:"version"`
	Prefix    string `json:"c_prefix"` // of several models
	Model     struct {
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
	} `json:"model"`
	Board     string  `json:"board"`
	Precision string  `json:"precision"`
	Layers    []layer `json:"layers"`
	Memory    struct {
		Arena   *float64        `json:"arena_bytes"`
		State   float64         `json:"state_bytes"` // apart from the arena
		Weights *float64        `json:"weights_bytes"`
		Regions []report.Region `json:"regions"`
		Buffers []report.Buffer `json:"buffers"`
	} `json:"memory"`
	Code *struct {
		Instructions *float64 `json:"instructions"`
		Text         *float64 `json:"text_bytes"`
		ROData       *float64 `json:"rodata_bytes"`
		Stack        *float64 `json:"stack_bytes"`
		Bound        *float64 `json:"stack_bound_bytes"`
		Path         []string `json:"stack_path"`
	} `json:"code"`
	Calibration *struct {
		Source   string  `json:"source"`
		SQNR     float64 `json:"sqnr_db"`
		Unknown  bool    `json:"sqnr_unknown"`
		InSample bool    `json:"in_sample"`
		PerLayer []struct {
			Layer string  `json:"layer"`
			SQNR  float64 `json:"sqnr_db"`
		} `json:"per_layer"`
	} `json:"calibration"`
	Eval *evaluation `json:"eval"`

	Models []*Model `json:"models"` // of a report about several
	shared bool     // its regions and kernels are those of all models of the firmware
}

// evaluation is what is compared of the JSON of eval.
type evaluation struct {
	Model   string    `json:"model"`
	SHA256  string    `json:"sha256"`
	Data    string    `json:"data"`
	Float   *accuracy `json:"float"`
	Program *accuracy `json:"program"`
	Outputs []struct {
		SQNR *float64 `json:"sqnr_db"`
	} `json:"outputs"`
}

type accuracy struct {
	Top1 *float64 `json:"top1"`
}

// Load reads a report.json, or that of a folder, with what eval said where the
// folder has it.
func Load(path string) ([]*Model, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, text.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	if !st.IsDir() {
		return read(path)
	}
	list, err := read(filepath.Join(path, report.File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, text.Errorf("%s: there is no %s in the folder; nncc compile and verify --out write one", path,
			report.File)
	}
	if err != nil {
		return nil, err
	}
	return list, withEval(list, filepath.Join(path, EvalFile))
}

func decode(path string, to any) error {
	b, err := files.Read(path, mostBytes)
	if err != nil {
		return err
	}
	err = json.Unmarshal(b, to)
	var kind *json.UnmarshalTypeError
	switch b = bytes.TrimSpace(b); {
	case len(b) == 0:
		return text.Errorf("%s: the file is empty; want a %s of nncc", path, report.File)
	case errors.As(err, &kind) && kind.Field == "":
		return text.Errorf("%s: want a %s of nncc, an object with generator and model; it is a JSON %s", path,
			report.File, kind.Value)
	case err != nil:
		return text.Errorf("%s: want a %s of nncc: %w", path, report.File, err)
	}
	return nil
}

func read(path string) ([]*Model, error) {
	var m Model
	if err := decode(path, &m); err != nil {
		return nil, err
	}
	list := m.Models
	if len(list) == 0 {
		list = []*Model{&m}
	} else if m.Memory.Arena != nil && !slices.Contains(list, nil) {
		list = append(list, m.image())
	}
	for _, x := range list {
		if x == nil || m.Generator != "nncc" && x.Generator != "nncc" || x.Model.Name == "" {
			return nil, text.Errorf("%s: want a %s of nncc, with generator and model.name", path, report.File)
		}
		if n := max(m.Schema, x.Schema); n > report.Schema {
			return nil, text.Errorf("%s: schema %d; this nncc reads up to %d: use a newer one", path, n, report.Schema)
		}
		x.complete()
	}
	sameNames(list)
	return list, nil
}

// imageName is the row of what the models of one firmware share.
const imageName = "all models together"

// image is what a firmware of several models takes, kernels once.
func (m *Model) image() *Model {
	for _, x := range m.Models {
		x.shared = true
	}
	all := *m
	all.Models, all.Model.Name = nil, imageName
	return &all
}

// sameNames tells models of one report apart whose files have the same name.
func sameNames(list []*Model) {
	count := map[string]int{}
	for _, m := range list {
		count[m.Model.Name]++
	}
	for _, m := range list {
		if count[m.Model.Name] > 1 && m.Prefix != "" {
			m.Model.Name += " (" + m.Prefix + ")"
		}
	}
}

// evaluated: r is of this model: by its hash where both have one, else by its name.
func (m *Model) evaluated(r evaluation) bool {
	if m.Model.SHA256 != "" && r.SHA256 != "" {
		return m.Model.SHA256 == r.SHA256
	}
	return m.Model.Name == r.Model
}

func withEval(list []*Model, path string) error {
	var r evaluation
	if err := decode(path, &r); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, m := range list {
		if m.Eval == nil && m.evaluated(r) {
			m.Eval = &r
			return nil
		}
	}
	return text.Errorf("%s: speaks of %s, the report beside it does not", path, r.Model)
}

// complete gives the layers what stands elsewhere in the report.
func (m *Model) complete() {
	ratios := map[string]float64{}
	if m.Calibration != nil {
		for _, l := range m.Calibration.PerLayer {
			ratios[l.Layer] = l.SQNR
		}
	}
	for i := range m.Layers {
		l := &m.Layers[i]
		for _, n := range l.ONNXNodes {
			if db, ok := ratios[n]; ok {
				l.sqnr = &db
			}
		}
	}
	for _, b := range m.Memory.Buffers {
		if b.AliasOf != "" {
			continue
		}
		for i := max(b.First, 0); i <= b.Last && i < len(m.Layers); i++ {
			m.Layers[i].live += float64((b.Bytes + 15) &^ 15)
		}
	}
}
