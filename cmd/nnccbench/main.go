// SPDX-License-Identifier: Apache-2.0

// Nnccbench measures what networks cost with default flags, beside a linked
// CMSIS-NN where an installed one is named by the environment (CMSIS_NN_INCLUDE,
// CMSIS_NN_LIB_M55, _M4, _M0PLUS). Every program is verified on the way. It prints
// a table of the shipped model and of MLPerf Tiny's where these are there, and
// writes that of a folder of networks as docs/zoo.md.
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
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/option"
)

var digitsDir = filepath.Join("cmd", "nncc", "examples", "digits")

// runs are the commands of the README's picture.
var runs = []string{
	"nncc verify -board cortex-m55 --calib digits_calib.npz --cases 8 digits.onnx",
}

// model is what is measured: its calibration data, too, where it needs some.
type model struct{ path, calib string }

func main() {
	shared := flag.String("models", sharedata.Find("models"),
		"folder of the models of MLPerf Tiny (default ../shared/models)")
	dir := flag.String("zoo", sharedata.Find("zoo"),
		"folder of the networks of the written table (default ../shared/zoo)")
	doc := flag.String("doc", filepath.Join("docs", "zoo.md"), "page with the table")
	boards := flag.String("boards", "cortex-m55,cortex-m4", "boards of the printed table")
	only := flag.String("only", "", "zoo: only the written table; models: only the printed one")
	picture := flag.String("terminal", "", "write the picture of the README, a run of this nncc, and nothing else")
	flag.Parse()
	if *picture != "" {
		if err := terminal(*picture, digitsDir, filepath.Join("docs", "terminal.svg"), 118, runs...); err != nil {
			fmt.Fprintln(os.Stderr, "nnccbench:", err)
			os.Exit(1)
		}
		return
	}
	var err error
	if *only != "zoo" {
		err = run(models(*shared, flag.Args()), strings.Split(*boards, ","))
	}
	if err == nil && *only != "models" && flag.NArg() == 0 {
		if *dir == "" {
			fmt.Fprintf(os.Stderr, "nnccbench: no folder ../shared/zoo, and -zoo names none: the table in %s stays\n",
				*doc)
		} else {
			err = zoo(*dir, *doc, zooBoards)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nnccbench:", err)
		os.Exit(1)
	}
}

// models are those of the command line, else the shipped one and MLPerf Tiny's.
func models(shared string, paths []string) []model {
	var list []model
	for _, p := range paths {
		list = append(list, model{path: p})
	}
	if len(list) > 0 {
		return list
	}
	list = []model{{filepath.Join(digitsDir, "digits.onnx"), filepath.Join(digitsDir, "digits_calib.npz")}}
	for _, name := range []string{"kws_int8", "ic_int8", "vww_int8"} {
		if p := filepath.Join(shared, name+".onnx"); exists(p) {
			list = append(list, model{path: p})
		} else {
			fmt.Fprintf(os.Stderr, "nnccbench: no %s: left out\n", p)
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func run(models []model, boards []string) (err error) {
	defer fail.Catch(&err)
	fmt.Println("| model | board | instructions | linked CMSIS-NN | ratio | arena | code | stack |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, m := range models {
		for _, b := range boards {
			v := fail.Must(measure(m, b, option.AllKernels, "", "", verified))
			peer, ratio := "-", "-"
			if include, lib := linked(b); lib != "" {
				p := fail.Must(measure(m, b, option.CMSISNN, include, lib, verified))
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

// how a program is measured: with or without an estimate of its cycles.
type how func(o *driver.Compiled, ctx context.Context) (*report.Verdict, error)

var verified, profiled how = (*driver.Compiled).Verify, (*driver.Compiled).Profile

// measure compiles with default flags and runs one case.
func measure(m model, board string, kernels option.Kernels, include, lib string, h how) (*report.Verdict, error) {
	c := driver.Defaults()
	c.Model, c.Board, c.Kernels, c.Cases = m.path, board, kernels, 1
	c.CMSISInclude, c.CMSISLib = include, lib
	if m.calib != "" {
		c.Calib = []string{m.calib}
	}
	o, err := c.Compile()
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", m.path, board, err)
	}
	v, err := h(o, context.Background())
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", m.path, board, err)
	}
	if v.Mismatches > 0 {
		return nil, fmt.Errorf("%s on %s (--kernels %s): %d mismatches: %s", m.path, board, kernels, v.Mismatches,
			v.Failure)
	}
	return v, nil
}
