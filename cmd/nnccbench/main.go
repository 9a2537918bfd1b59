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
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
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
	list := lists.Map(paths, func(p string) model { return model{path: p} })
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
				peer, ratio, v.RAM["arena_bytes"], v.TextBytes, v.StackBytes)
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

// Geometry of the picture, in pixels.
const lineHeight, charWidth, margin = 18, 7.85, 12

// Lines of the run that the picture shows: it leaves room for the rest of the first screen.
const shownFirst, shownLast = 7, 4

// terminal runs commands in dir, with the nncc that lies at program, and writes
// what they print as an SVG: a picture of a real run. The first word of a command
// is "nncc"; lines of more than columns characters go on in the next one.
func terminal(program, dir, to string, columns int, commands ...string) error {
	var lines []string
	for _, c := range commands {
		cmd := exec.Command(program, strings.Fields(c)[1:]...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		for _, line := range strings.Split("$ "+c+"\n"+strings.TrimRight(string(out), "\n"), "\n") {
			for len(line) > columns {
				at := strings.LastIndexByte(line[:columns], ' ') + 1
				lines, line = append(lines, line[:at]), "  "+line[at:]
			}
			lines = append(lines, line)
		}
	}
	if len(lines) > shownFirst+shownLast {
		lines = slices.Replace(lines, shownFirst, len(lines)-shownLast, "...")
	}
	var b strings.Builder
	width, height := int(charWidth*float64(columns))+2*margin, lineHeight*len(lines)+2*margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]d\" height=\"%[2]d\" "+
		"viewBox=\"0 0 %[1]d %[2]d\" font-size=\"13\" "+
		"font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n", width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#101820\"/>\n", width, height)
	for i, line := range lines {
		color := "#c9d4de"
		if strings.HasPrefix(line, "$ ") {
			color = "#7fd1ae"
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n", margin,
			margin+lineHeight*(i+1)-5, color, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(to, []byte(b.String()), 0o666)
}

// zooBoards are the columns of the written table of a folder of networks.
var zooBoards = []string{"cortex-m55", "cortex-m4", "cortex-m0plus"}

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
	fail.If(len(paths) == 0, "%s has no networks (*.onnx)", dir)
	t := &table{Library: version(boards),
		Cores: lists.Map(boards, func(b string) core { return core{Name: coreName(b)} })}
	for _, p := range paths {
		r := row{Network: strings.TrimSuffix(filepath.Base(p), ".onnx")}
		for i, b := range boards {
			fmt.Fprintf(os.Stderr, "nnccbench: %s on %s\n", r.Network, b)
			f := t.figures(p, b, &t.Cores[i])
			r.On = append(r.On, *f)
		}
		t.Rows = append(t.Rows, r)
	}
	t.keep(old)
	return os.WriteFile(doc, []byte(t.String()), 0o666)
}

// figures measures a network on a board; the error of the cycles goes to the core.
func (t *table) figures(path, board string, c *core) *figures {
	v := fail.Must(measure(model{path: path}, board, option.AllKernels, "", "", profiled))
	c.Error = max(c.Error, v.CyclesError)
	f := &figures{Instructions: float64(v.Instructions) / 1e6, Cycles: float64(v.Cycles) / 1e6,
		Arena: float64(v.RAM["arena_bytes"]) / 1024, Code: float64(v.TextBytes) / 1024}
	if t.Library != "" {
		include, lib := linked(board)
		peer := fail.Must(measure(model{path: path}, board, option.CMSISNN, include, lib, verified))
		f.Ratio = float64(v.Instructions) / float64(peer.Instructions)
	}
	return f
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
