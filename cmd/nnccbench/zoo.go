// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// zooBoards are the columns of the written table of a folder of networks.
var zooBoards = []string{"cortex-m55", "cortex-m4", "cortex-m0plus"}

// coreName is that of the table.
func coreName(board string) string {
	return strings.Replace(strings.ToUpper(strings.TrimPrefix(board, "cortex-")), "PLUS", "+", 1)
}

// linked is the installed CMSIS-NN that the environment names for a board: ""
// where there is none.
func linked(board string) (include, lib string) {
	include = testenv.Get("CMSIS_NN_INCLUDE")
	lib = testenv.Get("CMSIS_NN_LIB_" + strings.ToUpper(strings.TrimPrefix(board, "cortex-")))
	if include == "" || lib == "" {
		return "", ""
	}
	return include, lib
}

// zoo measures every network of a folder and writes the page with the table.
// Ratios to CMSIS-NN stay as they are unless one is installed for all boards.
func zoo(dir, doc string, boards []string) (err error) {
	defer fail.Catch(&err)
	text := fail.Must(os.ReadFile(doc))
	old, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	paths := fail.Must(filepath.Glob(filepath.Join(dir, "*.onnx")))
	if len(paths) == 0 {
		return fmt.Errorf("%s has no networks (*.onnx)", dir)
	}
	t := &table{Library: version(boards)}
	for _, b := range boards {
		t.Cores = append(t.Cores, core{Name: coreName(b)})
	}
	for _, p := range paths {
		r := row{Network: strings.TrimSuffix(filepath.Base(p), ".onnx")}
		for i, b := range boards {
			fmt.Fprintf(os.Stderr, "nnccbench: %s on %s\n", r.Network, b)
			f := fail.Must(t.figures(p, b, &t.Cores[i]))
			r.On = append(r.On, *f)
		}
		t.Rows = append(t.Rows, r)
	}
	t.keep(old)
	return os.WriteFile(doc, []byte(t.String()), 0o666)
}

// figures measures a network on a board; the error of the cycles goes to the core.
func (t *table) figures(path, board string, c *core) (_ *figures, err error) {
	defer fail.Catch(&err)
	v := fail.Must(measure(model{path: path}, board, option.AllKernels, "", "", profiled))
	c.Error = max(c.Error, v.CyclesError)
	f := &figures{Instructions: float64(v.Instructions) / 1e6, Cycles: float64(v.Cycles) / 1e6,
		Arena: float64(v.RAM["arena_bytes"]) / 1024, Code: float64(v.TextBytes) / 1024}
	if t.Library != "" {
		include, lib := linked(board)
		peer := fail.Must(measure(model{path: path}, board, option.CMSISNN, include, lib, verified))
		f.Ratio = float64(v.Instructions) / float64(peer.Instructions)
	}
	return f, nil
}

var (
	revisionRE = regexp.MustCompile(`\$Revision:\s*(\S+)`)
	dateRE     = regexp.MustCompile(`\$Date:\s*(.*\S)`)
)

// version is that of the installed CMSIS-NN, as its header has it: "" where it
// is not there for every board.
func version(boards []string) string {
	for _, b := range boards {
		if _, lib := linked(b); lib == "" {
			return ""
		}
	}
	header, err := os.ReadFile(filepath.Join(testenv.Get("CMSIS_NN_INCLUDE"), "arm_nnfunctions.h"))
	if err != nil {
		return ""
	}
	rev, date := revisionRE.FindSubmatch(header), dateRE.FindSubmatch(header)
	if rev == nil || date == nil {
		return "of an unknown version"
	}
	return fmt.Sprintf("%s of %s", rev[1], date[1])
}
