// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/surgery"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Surgical is what a script of graph edits did: the answer of nncc surgery.
type Surgical struct {
	Model    string             `json:"model"`
	SHA256   string             `json:"sha256"` // of the model before
	Script   string             `json:"script"`
	Nodes    [2]int             `json:"nodes"` // before and after
	Steps    []surgery.Did      `json:"steps"`
	Verified []surgery.Verified `json:"verified"`
	Files    []string           `json:"files"` // beside the result
	Warnings []string           `json:"warnings"`
	// Differs: a comparison found a difference; nothing is to be written.
	Differs error `json:"-"`

	config *Config
	model  []byte
	extra  []surgery.File
}

// Surgery runs a script of graph edits on the model, or on the one that the
// script names. A comparison that fails leaves Differs set.
func (c *Config) Surgery(script string) (_ *Surgical, err error) {
	defer fail.Catch(&err)
	if script == "" {
		return nil, usage("no script given: nncc surgery -f steps.yaml MODEL.onnx --out X.onnx (nncc surgery " +
			"--steps lists the steps)")
	}
	c.Script = script
	sc := input(surgery.LoadScript(script))
	if c.Model == "" {
		if sc.Model == "" {
			return nil, usage("no model given: neither on the command line nor in %s (model:)", script)
		}
		c.Model = sc.Model
		if !filepath.IsAbs(c.Model) {
			c.Model = filepath.Join(sc.Dir, c.Model)
		}
	}
	loaded := input(frontend.Load(c.Model, c.Limits))
	m, err := surgery.New(loaded)
	if err != nil {
		return nil, badInput("%s: %w", c.Model, err)
	}
	opt := fail.Must(c.surgeryOptions(m))
	s := &Surgical{config: c, Model: c.Model, SHA256: hex.EncodeToString(loaded.SHA256[:]), Script: script}
	res, err := sc.Run(m, opt)
	s.Nodes[0] = len(m.Proto.Graph.Node)
	s.Steps = append([]surgery.Did{}, res.Steps...)
	s.Verified = append([]surgery.Verified{}, res.Verified...)
	s.Warnings = res.Warnings.Texts(diag.Warning)
	s.Files = []string{}
	var differ *surgery.DifferError
	switch {
	case errors.As(err, &differ):
		s.Differs = err
		return s, nil
	case err != nil:
		return nil, &InputError{err}
	}
	c.Diags.Add(res.Warnings...)
	fail.Check(c.strictly())
	s.Nodes[1] = len(res.Model.Proto.Graph.Node)
	s.extra = res.Files
	c.read = append(append(c.read, res.Read...), loaded.ExternalFiles()...)
	for _, f := range res.Files {
		s.Files = append(s.Files, f.Path)
	}
	s.model = fail.Must(res.Model.Bytes())
	return s, nil
}

func (c *Config) surgeryOptions(m *surgery.Model) (surgery.RunOptions, error) {
	opt := surgery.RunOptions{Count: c.Cases, Note: func(s string) { c.note("%s", s) }}
	if c.Cases < 1 || c.Cases > MaxCases {
		return opt, usage("--cases %d: want 1 to %d", c.Cases, MaxCases)
	}
	var err error
	if opt.Dims, err = c.dims(); err != nil {
		return opt, err
	}
	for _, f := range c.Functions {
		fs, err := onnx.LoadFunctions(f, c.Limits)
		if err != nil {
			return opt, &InputError{err}
		}
		opt.Functions = append(opt.Functions, fs...)
	}
	if len(c.Inputs) > 0 {
		names := m.InputNames()
		in, err := npz.ReadInputs(c.Inputs, names, c.dataLimits())
		if err != nil {
			return opt, &InputError{err}
		}
		one := map[string]*tensor.Dense{}
		for i, n := range names {
			one[n] = in[i]
		}
		opt.Cases = append(opt.Cases, one)
	}
	return opt, nil
}

// Write puts the result at path and the other files beside it: all of them, or
// none where one cannot be written. Where the script chose a name, only what
// nncc saved there before is replaced.
func (s *Surgical) Write(path string) error {
	var beside []files.Target
	for _, f := range s.extra {
		beside = append(beside, files.Target{Path: f.Path, Data: f.Data, Mine: surgery.Saved})
	}
	return s.config.replaceFiles(path, s.model, beside...)
}

// Bytes is the size of the result.
func (s *Surgical) Bytes() int { return len(s.model) }

// Text lists what was done and compared.
func (s *Surgical) Text() string {
	s = text.Lines(s)
	var b strings.Builder
	for _, d := range s.Steps {
		fmt.Fprintf(&b, "%-6s %s: %s\n", d.Path, d.Step, d.Text)
	}
	if s.Differs == nil {
		fmt.Fprintf(&b, "%d nodes before, %d after\n", s.Nodes[0], s.Nodes[1])
	}
	if len(s.Verified) > 0 {
		rows := [][]string{{"output", "against", "shape", "elements", "min diff", "max diff", "max |diff|", "relative",
			"beyond", "allowed"}}
		for _, v := range s.Verified {
			for _, o := range v.Outputs {
				rows = append(rows, []string{o.Name, v.Against, strings.ReplaceAll(fmt.Sprint(o.Shape), " ", ","),
					strconv.Itoa(o.Elements * v.Cases), short(o.Min), short(o.Max), short(o.MaxAbs), short(o.Relative),
					strconv.Itoa(o.Mismatches), v.Wanted})
			}
		}
		b.WriteString(text.Table(rows))
	}
	return b.String()
}

func short(x float64) string {
	if math.Abs(x) == math.MaxFloat64 {
		return "no number"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
