// SPDX-License-Identifier: Apache-2.0

// Command eval measures the digits model on its test images: as a float model
// and as the integer program that nncc emits, both in the reference interpreter.
// What the firmware computes is the same bit for bit (nncc verify proves it), so
// its accuracy is the program's.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/nncc/examples/digits"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

func main() {
	dir := pflag.String("dir", "cmd/nncc/examples/digits", "folder with the model and its calibration data")
	board := pflag.String("board", "cortex-m55", "target of the integer program")
	images := pflag.Int("images", digits.TestImages, "test images to draw")
	pngs := pflag.String("png", "", "write the images as PNG files to DIR, a folder for each numeral, and end")
	arrays := pflag.String("npz", "", "write the images and their labels as FILE.npz, and end")
	pflag.Usage = func() {
		fmt.Fprintf(os.Stderr, "Example: go run ./cmd/nncc/examples/digits/eval\n\nFlags:\n%s",
			pflag.CommandLine.FlagUsages())
	}
	pflag.Parse()
	if pflag.NArg() > 0 || *images < 1 || *images > 1e6 {
		pflag.Usage()
		os.Exit(2)
	}
	var err error
	switch {
	case *pngs != "":
		err = digits.WritePNGs(*pngs, *images)
	case *arrays != "":
		err = digits.WriteArrays(*arrays, *images)
	default:
		err = run(*dir, *board, *images)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

func run(dir, board string, n int) error {
	model := filepath.Join(dir, digits.ModelFile)
	g, err := digits.Load(model)
	if err != nil {
		return err
	}
	program, err := quantised(model, filepath.Join(dir, digits.CalibFile), board)
	if err != nil {
		return err
	}
	images, labels := draw.Set(digits.TestSeed, n)
	float, err := digits.Classes(digits.Float(g), images)
	if err != nil {
		return err
	}
	integer, err := digits.Classes(program, images)
	if err != nil {
		return err
	}
	percent := func(k int) string { return fmt.Sprintf("%6.2f %%", 100*float64(k)/float64(n)) }
	fmt.Printf("%-28s %s\n", fmt.Sprintf("accuracy on %d images", n), " top-1")
	fmt.Printf("%-28s %s\n", "float model", percent(digits.Same(float, labels)))
	fmt.Printf("%-28s %s\n", "int8 program, "+board, percent(digits.Same(integer, labels)))
	fmt.Printf("%-28s %s\n", "both say the same", percent(digits.Same(float, integer)))
	return nil
}

// quantised compiles the model as "nncc -board BOARD --calib CALIB MODEL" does
// and gives the emitted program's arithmetic.
func quantised(model, calib, board string) (digits.Classifier, error) {
	c := driver.Defaults()
	c.Model, c.Board, c.Calib = model, board, []string{calib}
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	g := o.Lowered.Graph
	return func(m *draw.Image) ([]float64, error) {
		in := ir.QuantiseEven(digits.Input(m), g.In[0].Type)
		out, err := interp.Run(g, []*tensor.Dense{in}, nil)
		if err != nil {
			return nil, err
		}
		return out[0].Floats(), nil // one scale for all classes: the order is that of the probabilities
	}, nil
}
