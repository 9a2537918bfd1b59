// SPDX-License-Identifier: Apache-2.0

// Command record compiles models for boards in precisions and writes a line for each: what was emitted and computed,
// by hash, and what it takes, or why it was refused. Two records tell what a change did.
//
//	go run ./cmd/internal/record [-boards A,B] [-precisions A,B] [-drawn N] [-qemu] [MODEL]... > FILE
//	go run ./cmd/internal/record -diff OLD NEW
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// shipped is what is recorded where no model is named.
const shipped = "cmd/nncc/examples/digits/digits.onnx"

func main() {
	boards := flag.String("boards", "cortex-m55,cortex-m4,cortex-m0plus", "targets")
	precisions := flag.String("precisions", "auto,int16x8,int4,float32", "of ONNX models; TFLite has its own")
	drawn := flag.Int("drawn", 0, "random networks of float and as many of QDQ, by their seeds")
	qemu := flag.Bool("qemu", false, "run the firmware, too: code, stack and instructions")
	diff := flag.Bool("diff", false, "compare two records")
	flag.Parse()
	same, err := true, error(nil)
	if *diff {
		same, err = compare(flag.Args(), os.Stdout)
	} else {
		models := flag.Args()
		if len(models) == 0 && *drawn == 0 {
			models = []string{shipped}
		}
		err = write(models, strings.Split(*boards, ","), strings.Split(*precisions, ","), *drawn, *qemu, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// job is one line of a record.
type job struct{ model, board, precision string }

// key is the line's beginning.
func (j job) key() string { return filepath.Base(j.model) + " " + j.board + " " + j.precision }

// write records the models, sorted, as many at once as there are processors.
func write(models, boards, precisions []string, drawn int, qemu bool, out io.Writer) (err error) {
	defer fail.Catch(&err)
	dir := fail.Must(os.MkdirTemp("", "record"))
	defer os.RemoveAll(dir)
	random := draw(drawn, dir)
	var jobs []job
	seen := map[string]bool{}
	for _, m := range append(models, random...) {
		name := filepath.Base(m)
		if seen[name] {
			return fmt.Errorf("two models are called %s; want a record for each folder", name)
		}
		seen[name] = true
		for _, b := range boards {
			for _, p := range precisions {
				if p == "auto" || !strings.HasSuffix(m, ".tflite") {
					jobs = append(jobs, job{m, b, p})
				}
			}
		}
	}
	lines := make([]string, len(jobs))
	var all sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i, j := range jobs {
		free <- true
		all.Go(func() {
			lines[i] = j.key() + " " + j.line(qemu) + "\n"
			<-free
		})
	}
	all.Wait()
	slices.Sort(lines)
	_, err = io.WriteString(out, strings.Join(lines, ""))
	return err
}

// draw writes random networks to a folder, a float and a QDQ one of each seed.
func draw(n int, dir string) (models []string) {
	for seed := range n {
		for kind, draw := range map[string]func(uint64) *ir.Graph{"float": irtest.GenFloat, "qdq": irtest.GenQDQ} {
			m := fail.Must(onnx.Export(draw(uint64(seed)), onnx.ExportOptions{}))
			b := fail.Must(onnx.Marshal(m))
			name := filepath.Join(dir, fmt.Sprintf("%s%d.onnx", kind, seed))
			fail.Check(os.WriteFile(name, b, 0o666))
			models = append(models, name)
		}
	}
	return models
}

// config is what the command line would say. Calibration data lies beside the model or its folder.
func (j job) config() (*driver.Config, error) {
	c := driver.Defaults()
	c.Model, c.Board = j.model, j.board
	dir, file := filepath.Split(j.model)
	name := strings.TrimSuffix(file, filepath.Ext(file)) // the model's
	for _, p := range []string{name + "_calib.npz", "../calib/" + name + ".npz"} {
		if _, err := os.Stat(filepath.Join(dir, p)); err == nil {
			c.Calib = []string{filepath.Join(dir, p)}
		}
	}
	var err error
	switch j.precision {
	case "auto":
	case "int4":
		c.Weights, err = option.Parse[option.Weights](j.precision)
	default:
		c.Precision, err = option.Parse[option.Precision](j.precision)
	}
	return &c, err
}

// line says what came of the job.
func (j job) line(qemu bool) (line string) {
	defer func() {
		if r := recover(); r != nil {
			line = fmt.Sprintf("fault=%q", fmt.Sprint(r))
		}
	}()
	c, err := j.config()
	if err != nil {
		return fmt.Sprintf("refused=%q", err)
	}
	o, err := c.Compile()
	if err != nil { // without the folder, which another machine has elsewhere
		return fmt.Sprintf("refused=%q", strings.ReplaceAll(err.Error(), j.model, filepath.Base(j.model)))
	}
	files := sha256.New()
	for _, f := range o.Firmware.Files {
		fmt.Fprintf(files, "%s %d\n%s", f.Path, len(f.Data), f.Data)
	}
	p := o.Lowered.Program
	line = fmt.Sprintf("files=%x outputs=%s arena=%d state=%d", files.Sum(nil)[:8], outputs(o), p.ArenaBytes,
		p.StateBytes)
	if !qemu {
		return line
	}
	v, err := o.Verify(context.Background())
	if err != nil {
		return line + fmt.Sprintf(" failed=%q", err)
	}
	return line + fmt.Sprintf(" code=%d rodata=%d stack=%d instructions=%d mismatches=%d", v.TextBytes, v.RODataBytes,
		v.StackBytes, v.Instructions, v.Mismatches)
}

// outputs hashes what the interpreter gives for three seeded inputs, one after the other.
func outputs(o *driver.Compiled) string {
	r, sum := o.Lowered.Interface(), sha256.New()
	for seed := range 3 {
		outs, err := r.Step(verify.Seeded(r, seed, 20))
		if err != nil {
			return fmt.Sprintf("%q", err)
		}
		for _, d := range outs {
			sum.Write(d.Bytes())
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// field is NAME=VALUE, where a value with spaces is quoted.
var field = regexp.MustCompile(`(\w+)=("(?:\\.|[^"\\])*"|\S+)`)

// compare lists the fields in which two records differ. It reports whether that is none.
func compare(names []string, out io.Writer) (same bool, err error) {
	defer fail.Catch(&err)
	if len(names) != 2 {
		return false, fmt.Errorf("want -diff OLD NEW, got %q", names)
	}
	old := fail.Must(read(names[0]))
	now := fail.Must(read(names[1]))
	all, counts := maps.Clone(old), map[string]int{}
	maps.Copy(all, now)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if old[k] != now[k] {
			counts[k[strings.LastIndex(k, " ")+1:]]++
			fmt.Fprintf(out, "%s: %s, was %s\n", k, cmp.Or(now[k], "none"), cmp.Or(old[k], "none"))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%s: %d differ\n", f, counts[f])
	}
	return len(counts) == 0, nil
}

// read gives a record's values by model, board, precision and field.
func read(name string) (map[string]string, error) {
	b, err := os.ReadFile(name)
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		w := strings.SplitN(line, " ", 4)
		if len(w) != 4 {
			return nil, fmt.Errorf("%s: %q is no line of a record", name, line)
		}
		for _, f := range field.FindAllStringSubmatch(w[3], -1) {
			out[strings.Join(append(w[:3:3], f[1]), " ")] = f[2]
		}
	}
	return out, err
}
