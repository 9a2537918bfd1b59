// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

// Tensors is the index of a folder of intermediate values, and what `run --tensors --json`
// prints of them.
type Tensors struct {
	Generator string `json:"generator"`
	Version   string `json:"version"`
	Model     string `json:"model"`
	Board     string `json:"board,omitempty"`
	// Runs is how many inferences or steps the files hold; several along a first axis.
	Runs    int         `json:"runs"`
	Tensors []TensorRow `json:"tensors"`
	Files   []string    `json:"files"`
}

// TensorRow is a tensor of the model with the values of the program that stand for it, or
// one value of the program that stands for none.
type TensorRow struct {
	Model   *TensorFile  `json:"model"`
	Program []HeldTensor `json:"program"`
}

// TensorFile is a value with its file; integers that stand for reals have these in File,
// themselves in Raw.
type TensorFile struct {
	Name  string    `json:"name"`
	Node  string    `json:"node,omitempty"`
	Op    string    `json:"op,omitempty"`
	DType string    `json:"dtype"`
	Shape []int     `json:"shape"`
	Scale []float32 `json:"scale,omitempty"`
	Zero  []int32   `json:"zero_point,omitempty"`
	File  string    `json:"file"`
	Raw   string    `json:"raw_file,omitempty"`
	Least *float64  `json:"min"` // of File; null without finite values
	Most  *float64  `json:"max"`
}

// HeldTensor is a value of the program, with its signal-to-noise ratio in dB and largest
// difference beside the model's tensor; null without one.
type HeldTensor struct {
	TensorFile
	SQNR    *float64 `json:"sqnr_db"`
	MaxDiff *float64 `json:"max_abs_diff"`
}

// Text is a table: the values of the model, or of its program beside them.
func (t *Tensors) Text() string {
	rows := [][]string{{"tensor", "operator", "shape", "type", "min", "max"}}
	if t.Board != "" {
		rows = [][]string{{"tensor", "operator", "shape", "type", "SQNR dB", "max |diff|"}}
	}
	alone, apart := 0, 0
	for _, r := range t.Tensors {
		switch {
		case r.Model == nil:
			apart++
			continue
		case t.Board == "":
			rows = append(rows, append(r.Model.cells(r.Model), number(r.Model.Least), number(r.Model.Most)))
			continue
		case len(r.Program) == 0:
			alone++
		}
		for _, p := range r.Program {
			rows = append(rows, append(p.cells(r.Model), decibels(p.SQNR), number(p.MaxDiff)))
		}
	}
	s := text.Table(rows)
	if t.Board != "" {
		s += fmt.Sprintf("%d tensors of the model have no value of their own in the program, %d values of the program "+
			"stand for no tensor of the model\n", alone, apart)
	}
	return s
}

func (f *TensorFile) cells(of *TensorFile) []string {
	return []string{of.Name, f.Op, strings.Trim(fmt.Sprint(f.Shape), "[]"), f.DType}
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

func decibels(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}
