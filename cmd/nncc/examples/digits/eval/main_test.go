// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/cmd/nncc/examples/digits"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
)

// The integer program says nearly always what the float model says, and is
// nearly always right.
func TestIntegerAccuracy(t *testing.T) {
	model := filepath.Join("..", digits.ModelFile)
	program, err := quantised(model, filepath.Join("..", digits.CalibFile), "cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	g, err := digits.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	const n = 100
	images, labels := draw.Set(digits.TestSeed, n)
	float, err := digits.Classes(digits.Float(g), images)
	if err != nil {
		t.Fatal(err)
	}
	integer, err := digits.Classes(program, images)
	if err != nil {
		t.Fatal(err)
	}
	if right, agree := digits.Same(integer, labels), digits.Same(integer, float); right < 94 || agree < 96 {
		t.Errorf("of %d images %d are recognised (want 94) and %d as by the float model (want 96)", n, right, agree)
	}
}
