// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

func (c *cli) legalize(args []string) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.model(args))
	l := fail.Must(c.cfg.LegalizeModel(c.only, c.outputs))
	return c.writeModel(l, "-legal.onnx")
}

// sensitivity takes the place of a verb when its flag is set.
func (c *cli) sensitivity(args []string) (err error) {
	defer fail.Catch(&err)
	if c.cfg.Eval.Propose != "" {
		return c.propose(args)
	}
	fail.Check(c.model(args))
	r := fail.Must(c.cfg.RankLayers())
	c.warnings()
	if c.cfg.JSON {
		return c.json(r)
	}
	fmt.Fprint(c.out, report.SensitivityText(r))
	return nil
}

func (c *cli) quantize(args []string) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.model(args))
	l := fail.Must(c.cfg.QuantizeModel())
	return c.writeModel(l, "-"+l.Precision+".onnx")
}

// named is a model's name without its folder and format.
func named(model string) string {
	name := filepath.Base(model)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".onnx"), ".tflite")
}

// onnxFile refuses the name of a file for an ONNX model that says another format.
func onnxFile(path string) error {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".tflite", ".lite", ".pb", ".pt", ".pth", ".h5", ".keras", ".ort":
		return &driver.UsageError{Msg: fmt.Sprintf("--out %s: the model is written as ONNX, not as %s; want a name "+
			"that ends in .onnx", path, ext)}
	}
	return nil
}

// writeModel writes a rewritten model and says what was done to it.
func (c *cli) writeModel(l *driver.Rewritten, suffix string) error {
	c.warnings()
	path := c.cfg.Out
	if path == "" {
		// here, as compile: models may lie where nobody writes
		path = named(c.cfg.Model) + suffix
	} else if err := onnxFile(path); err != nil {
		return err
	}
	if l.Differs != nil {
		c.status = exitDiffer
		fmt.Fprintf(c.err, "nncc: %v\nnncc: nothing is written\n", l.Differs)
	}
	write := !c.reportOnly && l.Differs == nil
	if write {
		if err := l.Write(path); err != nil {
			return err
		}
	}
	if c.cfg.JSON {
		return c.json(l)
	}
	fmt.Fprint(c.out, l.Text())
	if write {
		fmt.Fprintf(c.out, "wrote %s (%d bytes)\n", text.Line(path), len(l.Model))
	}
	if write && l.Native != nil {
		fmt.Fprintf(c.out, "its outputs are the accelerator's; %s.json says how the original ones follow (--outputs "+
			"original appends the nodes that do it)\n", path)
	}
	return nil
}
