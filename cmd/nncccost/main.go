// Nncccost measures what layers cost under QEMU and fits the models of
// lower/cost to it: seeded layers of every kind, some dozens in one program, are
// compiled, run with the instruction count of every step, and written as lines
// of measured.csv.
//
//	go run ./cmd/nncccost -cmsis-nn-include DIR -cmsis-nn-lib cortex-m55=FILE,cortex-m4=FILE,cortex-m3=FILE -out lower/cost
//	go run ./cmd/nncccost -fit -out lower/cost
//	go run ./cmd/nncccost -code -out lower/cost
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/option"
)

// options are the command line.
type options struct {
	boards, makes, kinds string
	include, libs, out   string
	fitOnly, codeOnly    bool
	layers               int
}

func main() {
	var o options
	flag.StringVar(&o.boards, "boards", "cortex-m55,cortex-m4,cortex-m3,cortex-m0plus", "boards to measure on")
	flag.StringVar(&o.makes, "makes", "own,nncc,cmsis-nn",
		"makes of kernels: own ones for the instruction set, nncc's portable sources, an installed CMSIS-NN")
	flag.StringVar(&o.kinds, "kinds", "", "kinds of layers, such as conv1d,pad; all of them by default")
	flag.StringVar(&o.include, "cmsis-nn-include", "", "headers of the installed CMSIS-NN")
	flag.StringVar(&o.libs, "cmsis-nn-lib", "", "its libraries, as BOARD=FILE,...; a board without one is measured "+
		"with nncc's kernels only")
	flag.StringVar(&o.out, "out", filepath.Join("lower", "cost"), "folder of measured.csv and fitted.csv")
	flag.BoolVar(&o.fitOnly, "fit", false, "fit what was measured before")
	flag.BoolVar(&o.codeOnly, "code", false, "measure code.csv, the bytes of every source of the runtime, and "+
		"nothing else")
	flag.IntVar(&o.layers, "layers", 80, "layers of each kind")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "nncccost:", err)
		os.Exit(1)
	}
}

// run measures board after board; what measured.csv has of others stays.
func (o *options) run() error {
	if o.codeOnly {
		return o.codeSizes()
	}
	points, err := o.read()
	if err != nil {
		return err
	}
	lib := map[string]string{}
	for _, s := range strings.Split(o.libs, ",") {
		if b, f, ok := strings.Cut(s, "="); ok {
			lib[b] = f
		}
	}
	for _, b := range strings.Split(o.boards, ",") {
		for _, mk := range strings.Split(o.makes, ",") {
			if o.fitOnly || mk == "cmsis-nn" && lib[b] == "" {
				continue
			}
			var fresh []cost.Point
			for _, k := range kinds {
				if o.kinds != "" && !slices.Contains(strings.Split(o.kinds, ","), k.name) {
					continue
				}
				for _, generic := range []bool{false, true} {
					if generic && !k.generic || mk != "own" && (generic || k.own) {
						continue
					}
					c := driver.Defaults()
					c.Board, c.Kernels, c.Generic = b, option.CMSISNN, generic
					switch mk {
					case "cmsis-nn":
						c.CMSISInclude, c.CMSISLib = o.include, lib[b]
					case "own":
						c.Kernels = option.OwnKernels
					}
					ps, err := measure(&c, k, o.layers)
					if err != nil {
						return fmt.Errorf("%s on %s (%s): %w", k.name, b, mk, err)
					}
					fmt.Fprintf(os.Stderr, "%s, %s kernels: %d layers of kind %s\n", b, mk, len(ps), k.name)
					fresh = append(fresh, ps...)
				}
			}
			if len(fresh) == 0 {
				continue
			}
			anew := map[cost.Key]bool{}
			for _, p := range fresh {
				anew[p.Key] = true
			}
			points = slices.DeleteFunc(points, func(p cost.Point) bool { return anew[p.Key] })
			points = append(points, unique(fresh)...)
			slices.SortStableFunc(points, func(x, y cost.Point) int {
				return strings.Compare(x.Key.String(),
					y.Key.String())
			})
			if err := write(o.file("measured.csv"),
				func(f *os.File) error { return cost.WritePoints(f, points) }); err != nil {
				return err
			}
		}
	}
	models := cost.Fit(points)
	for _, m := range models {
		fmt.Printf("%-50s %4d points, error %5.2f %%, at worst %6.2f %%\n", m.Key, m.Points, 100*m.Error, 100*m.Worst)
	}
	return write(o.file("fitted.csv"), func(f *os.File) error { return cost.WriteModels(f, models) })
}

func (o *options) file(name string) string { return filepath.Join(o.out, name) }

func (o *options) read() ([]cost.Point, error) {
	f, err := os.Open(o.file("measured.csv"))
	if os.IsNotExist(err) && !o.fitOnly {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return cost.ReadPoints(f)
}

func write(path string, f func(*os.File) error) error {
	w, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f(w); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// unique leaves one of the same layer in the same kernel, which two ways of
// choosing kernels may give.
func unique(ps []cost.Point) []cost.Point {
	type layer struct {
		cost.Key
		cost.Shape
	}
	seen := map[layer]bool{}
	return slices.DeleteFunc(ps, func(p cost.Point) bool {
		l := layer{p.Key, p.Shape}
		again := seen[l]
		seen[l] = true
		return again
	})
}

// measure runs n layers of a kind in one program. Of own kernels only those
// count that are nncc's for the instruction set.
func measure(c *driver.Config, k kind, n int) ([]cost.Point, error) {
	dir, err := os.MkdirTemp("", "nncccost-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c.Model = filepath.Join(dir, "layers.onnx")
	shapes, err := k.write(c.Model, n)
	if err != nil {
		return nil, err
	}
	legalize := false
	if k.own { // an activation becomes part of its layer
		legalize = true
	}
	c.Align, c.DeadChannels, c.Fuse, c.Legalize, c.IOLayout, c.Cases = option.AlignNever, false, false, legalize,
		option.NativeLayout, 1
	c.CalibMethod, c.BiasCorrect = option.MinMax, false
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	v, err := o.Verify(context.Background())
	if err != nil {
		return nil, err
	}
	if v.Mismatches > 0 {
		return nil, fmt.Errorf("%d mismatches (%s): nothing was measured", v.Mismatches, v.Failure)
	}
	var out []cost.Point
	for i, l := range v.Layers {
		s, ok := shapes[l.Name]
		if !ok || o.Report.Layers[i].Instructions == nil {
			continue
		}
		low := o.Lowered.Low[o.Schedule.Nodes[i]]
		if c.Kernels == option.OwnKernels && (low.Library == cmsisnn.Library || !kernel.IsOptimized(low.Library)) {
			continue
		}
		out = append(out, cost.Point{Key: o.CostKey(low), Shape: s, Instructions: float64(l.Instructions)})
	}
	return out, nil
}
