// Nnccbench prints the README's table: what the shipped model costs with default
// flags and, where they are there, the models of MLPerf Tiny, beside a linked
// CMSIS-NN's cost for the same layers where an installed one is named by the
// environment (CMSIS_NN_INCLUDE, CMSIS_NN_LIB_M55, CMSIS_NN_LIB_M4). Every
// program is verified on the way.
//
//	go run ./cmd/nnccbench
//	go run ./cmd/nnccbench -boards cortex-m7 model.onnx
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// model is what is measured: its calibration data, too, where it needs some.
type model struct{ path, calib string }

func main() {
	shared := flag.String("models", sharedata.Find("models"),
		"folder of the models of MLPerf Tiny (default ../shared/models)")
	boards := flag.String("boards", "cortex-m55,cortex-m4", "boards to measure on")
	flag.Parse()
	var models []model
	for _, p := range flag.Args() {
		models = append(models, model{path: p})
	}
	if len(models) == 0 {
		digits := filepath.Join("cmd", "nncc", "examples", "digits")
		models = []model{{filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digits_calib.npz")}}
		for _, name := range []string{"kws_int8", "ic_int8", "vww_int8"} {
			if p := filepath.Join(*shared, name+".onnx"); exists(p) {
				models = append(models, model{path: p})
			} else {
				fmt.Fprintf(os.Stderr, "nnccbench: no %s: left out\n", p)
			}
		}
	}
	if err := run(models, strings.Split(*boards, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "nnccbench:", err)
		os.Exit(1)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func run(models []model, boards []string) error {
	fmt.Println("| model | board | instructions | linked CMSIS-NN | ratio | arena | code | stack |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, m := range models {
		for _, b := range boards {
			v, err := measure(m, b, option.AllKernels, "", "")
			if err != nil {
				return err
			}
			peer, ratio := "-", "-"
			include, lib := testenv.Get("CMSIS_NN_INCLUDE"),
				testenv.Get("CMSIS_NN_LIB_"+strings.ToUpper(strings.TrimPrefix(b, "cortex-")))
			if include != "" && lib != "" {
				p, err := measure(m, b, option.CMSISNN, include, lib)
				if err != nil {
					return err
				}
				peer, ratio = fmt.Sprint(p.Instructions),
					fmt.Sprintf("%.2f", float64(v.Instructions)/float64(p.Instructions))
			}
			fmt.Printf("| %s | %s | %d | %s | %s | %d B | %d B | %d B |\n", filepath.Base(m.path), b, v.Instructions,
				peer, ratio,
				v.RAM["arena_bytes"], v.TextBytes, v.StackBytes)
		}
	}
	return nil
}

// measure compiles with default flags and runs one case.
func measure(m model, board string, kernels option.Kernels, include, lib string) (*report.Verdict, error) {
	c := driver.Defaults()
	c.Model, c.Board, c.Kernels, c.Cases = m.path, board, kernels, 1
	c.CMSISInclude, c.CMSISLib = include, lib
	if m.calib != "" {
		c.Calib = []string{m.calib}
	}
	v, err := c.Verify(context.Background())
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", m.path, board, err)
	}
	if v.Mismatches > 0 {
		return nil, fmt.Errorf("%s on %s (--kernels %s): %d mismatches: %s", m.path, board, kernels, v.Mismatches,
			v.Failure)
	}
	return v, nil
}
