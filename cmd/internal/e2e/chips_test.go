// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// TestChips: the shipped model compiles for every chip, and fits into it or is said region
// by region not to. With NNCC_LONG, it is a quantised keyword spotting network where there
// is one, and runs on the machine that stands in.
func TestChips(t *testing.T) {
	model := filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx")
	precision := option.Float32
	if testenv.Long() {
		testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		testenv.Tool(t, "qemu", "qemu-system-arm")
		if dir := sharedata.Dir(); dir != "" {
			model, precision = filepath.Join(dir, "models", "kws_int8.onnx"), option.Auto
		}
	}
	for _, name := range boards.List() {
		if s, err := boards.Load(name); err != nil || !s.IsChip() {
			continue
		}
		t.Run(name, func(t *testing.T) { tryChip(t, model, name, precision) })
	}
}

// tryChip compiles for a chip and compares the warnings with the placement.
func tryChip(t *testing.T, model, name string, precision option.Precision) {
	c := config(model, name)
	c.Precision, c.Cases = precision, 1
	o := mustCompile(t, c)
	said := slices.ContainsFunc(o.Report.Warnings, func(w string) bool { return strings.Contains(w, "missing") })
	if said == o.Placement.Fits() {
		t.Errorf("fits: %t, warnings: %q", o.Placement.Fits(), o.Report.Warnings)
	}
	for _, r := range o.Placement.Regions {
		if r.Used() > 0 {
			t.Log(r)
		}
	}
	if !testenv.Long() || !o.Placement.Fits() {
		return
	}
	v := mustVerify(t, o)
	if v.Mismatches > 0 || v.Failure != "" {
		t.Errorf("%d mismatches, %s", v.Mismatches, v.Failure)
	}
}
