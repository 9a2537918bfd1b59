// SPDX-License-Identifier: Apache-2.0

// Nncccost measures what layers cost under QEMU and fits the models of
// lower/cost to it: seeded layers of every kind, some dozens in one program, are
// compiled, run with the instruction count of every step, and written as lines
// of out/measured.csv, a part of them of sample.csv; cycles.csv and code.csv say what instructions take on a core,
// and the bytes of every source of the runtime. See README.md.
//
//	go run ./cmd/nncccost
//	go run ./cmd/nncccost -variant nncc_dsp_depthwise_s8
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/option"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// options are the command line.
type options struct {
	boards, makes, kinds, variants string
	include, libs, out, all        string
	only                           string
	code, checks                   bool
	layers                         int
}

func main() {
	var o options
	flag.StringVar(&o.boards, "boards", "cortex-m55,cortex-m4,cortex-m3,cortex-m0plus", "boards to measure on")
	flag.StringVar(&o.makes, "makes", "own,nncc,cmsis-nn",
		"makes of kernels: own ones for the instruction set, nncc's portable sources, an installed CMSIS-NN")
	flag.StringVar(&o.kinds, "kinds", "", "kinds of layers, such as conv1d,pad; all of them by default")
	flag.StringVar(&o.variants, "variant", "", "functions of the manifest: only layers that run one of them are "+
		"measured, and only their sources")
	flag.StringVar(&o.only, "only", "", "points, cycles or code, or fit: models of what -points has; all of them "+
		"by default")
	flag.BoolVar(&o.code, "code", false, "only bytes of sources that code.csv does not have, or that are no more")
	flag.BoolVar(&o.checks, "check", false, "write nothing: measure a few layers again, and say which variants take "+
		"other instructions than sample.csv has")
	flag.StringVar(&o.include, "cmsis-nn-include", "", "headers of the installed CMSIS-NN")
	flag.StringVar(&o.libs, "cmsis-nn-lib", "", "its libraries, as BOARD=FILE,...; a board without one is measured "+
		"with nncc's kernels only")
	flag.StringVar(&o.out, "out", filepath.Join("lower", "cost"), "folder of the tables")
	flag.StringVar(&o.all, "points", filepath.Join("out", "measured.csv"),
		"file of all points; what is measured takes the place of the same variants there")
	flag.IntVar(&o.layers, "layers", 80, "layers of each kind")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "nncccost:", err)
		os.Exit(1)
	}
}

// run makes the tables; lines about what is not measured stay.
func (o *options) run() (err error) {
	defer fail.Catch(&err)
	for _, f := range list(o.variants) {
		fail.If(!slices.Contains(runtimec.Functions(), f),
			"-variant %s: no function of the manifest runtime_c/kernels.csv has that name", f)
	}
	if o.checks {
		fail.Check(o.check())
		return nil
	}
	for _, step := range []struct {
		name string
		run  func()
	}{{"points", o.points}, {"fit", o.fit}, {"cycles", o.cycles}, {"code", o.codeSizes}} {
		if o.does(step.name) {
			step.run()
		}
	}
	return nil
}

// does reports that a step is asked for. What an instruction takes on a core is
// measured on layers of all kinds and functions, not on those of -variant or -kinds.
func (o *options) does(step string) bool {
	switch {
	case o.code:
		return step == "code"
	case o.only == "":
		return step != "cycles" || o.variants == "" && o.kinds == ""
	case o.only == "points":
		return step == "points" || step == "fit"
	}
	return o.only == step
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// points measures board after board and writes the file of all points.
func (o *options) points() {
	fail.Check(os.MkdirAll(filepath.Dir(o.all), 0o777))
	points := read(o.all)
	lib := map[string]string{}
	for _, s := range list(o.libs) {
		if b, f, ok := strings.Cut(s, "="); ok {
			lib[b] = f
		}
	}
	for _, b := range list(o.boards) {
		for _, mk := range list(o.makes) {
			if mk == "cmsis-nn" && lib[b] == "" {
				continue
			}
			if fresh := o.measured(b, mk, lib[b]); len(fresh) > 0 {
				points = merge(points, o.enough(fresh))
				write(o.all, func(w io.Writer) error { return cost.WritePoints(w, points) })
			}
		}
	}
}

// enough leaves out new points of functions that a run of some kinds of layers
// met now and then, too seldom for the models that others gave them.
func (o *options) enough(fresh []cost.Point) []cost.Point {
	if o.kinds == "" {
		return fresh
	}
	now := map[cost.Key]int{}
	for _, p := range fresh {
		now[p.Key]++
	}
	return slices.DeleteFunc(fresh, func(p cost.Point) bool {
		return now[p.Key] < cost.MinPoints && cost.Models()[p.Key] != nil
	})
}

// merge puts new points in the place of all others of their keys.
func merge(points, fresh []cost.Point) []cost.Point {
	anew := lists.Set(lists.Map(fresh, func(p cost.Point) cost.Key { return p.Key }))
	points = slices.DeleteFunc(points, func(p cost.Point) bool { return anew[p.Key] })
	points = append(points, unique(fresh)...)
	slices.SortStableFunc(points, func(x, y cost.Point) int { return strings.Compare(x.Key.String(), y.Key.String()) })
	return points
}

func (o *options) measured(board, mk, lib string) (fresh []cost.Point) {
	for _, generic := range []bool{false, true} {
		for _, ks := range o.programs(mk, generic) {
			c := driver.Defaults()
			c.Board, c.Kernels, c.Generic, c.Without = board, option.CMSISNN, generic, ks[0].without
			switch mk {
			case "cmsis-nn":
				c.CMSISInclude, c.CMSISLib = o.include, lib
			case "own":
				c.Kernels = option.OwnKernels
			}
			var ps []cost.Point
			fail.Under(fmt.Sprintf("%s on %s (%s)", names(ks), board, mk), func() { ps = o.measure(&c, ks) })
			if len(ps) > 0 && !o.checks {
				fmt.Fprintf(os.Stderr, "%s, %s kernels: %d layers of kind %s\n", board, mk, len(ps), names(ks))
			}
			fresh = append(fresh, ps...)
		}
	}
	return fresh
}

// programs are the kinds of layers that are asked for, as they are measured: each by itself, or all that are
// compiled alike together where few layers of each are wanted.
func (o *options) programs(mk string, generic bool) [][]kind {
	var out [][]kind
	for _, k := range kinds {
		if !o.wants(k) || !k.measuredWith(mk, generic) {
			continue
		}
		i := slices.IndexFunc(out, func(ks []kind) bool { return o.checks && ks[0].alike(&k) })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], k)
	}
	return out
}

func (o *options) wants(k kind) bool { return o.kinds == "" || slices.Contains(list(o.kinds), k.name) }

// measuredWith reports that a make of kernels has functions of its own for a
// kind of layers: those that fit, or the generic ones.
func (k *kind) measuredWith(mk string, generic bool) bool {
	switch {
	case generic && !k.generic, mk != "own" && (generic || k.own):
		return false
	}
	return mk != "cmsis-nn" || k.elements == nil
}

// fit writes fitted.csv and sample.csv. Variants that were not measured keep their lines.
func (o *options) fit() {
	points, sample := read(o.all), read(o.file("sample.csv"))
	models := cost.Fit(points, cost.Models())
	for _, m := range models {
		fmt.Printf("%-50s %4d points, %2d coefficients, error %5.2f %%, at worst %6.2f %%\n", m.Key, m.Points,
			m.Coefficients(), 100*m.Error, 100*m.Worst)
	}
	sample = merge(sample, cost.Sample(points))
	write(o.file("sample.csv"), func(w io.Writer) error { return cost.WritePoints(w, sample) })
	write(o.file("fitted.csv"), func(w io.Writer) error { return cost.WriteModels(w, models) })
}

func (o *options) file(name string) string { return filepath.Join(o.out, name) }

// stored is a file of an earlier measurement; nil where there is none.
func stored(path string) []byte {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	return fail.Must(b, err)
}

func read(path string) []cost.Point {
	b := stored(path)
	if b == nil {
		return nil
	}
	return fail.Must(cost.ReadPoints(bytes.NewReader(b)))
}

func write(path string, f func(w io.Writer) error) {
	var b bytes.Buffer
	fail.Check(f(&b))
	fail.Check(os.WriteFile(path, b.Bytes(), 0o666))
}

// layerOf is the layer and the kernel of a point alone.
func layerOf(p cost.Point) cost.Point { return cost.Point{Key: p.Key, Geometry: p.Geometry} }

// unique leaves one of the same layer in the same kernel, which two ways of
// choosing kernels may give.
func unique(ps []cost.Point) []cost.Point {
	seen := map[cost.Point]bool{}
	return slices.DeleteFunc(ps, func(p cost.Point) bool {
		l := layerOf(p)
		again := seen[l]
		seen[l] = true
		return again
	})
}

// measure runs layers of some kinds in one program. Of own kernels only those count
// that are nncc's for the instruction set, or for every one.
func (o *options) measure(c *driver.Config, ks []kind) (out []cost.Point) {
	dir := fail.Must(os.MkdirTemp("", "nncccost-"))
	defer os.RemoveAll(dir)
	p := o.program(c, ks, dir)
	if len(p.steps) == 0 {
		return nil
	}
	v := fail.Must(p.Verify(context.Background()))
	fail.If(v.Mismatches > 0, "%d mismatches (%s): nothing was measured", v.Mismatches, v.Failure)
	for _, i := range p.steps {
		n := p.Lowered.Schedule.Nodes[i]
		g := p.Lowered.Choices[n].Layer().Geometry
		if ks[0].elements != nil && g.Kind != cost.Element {
			continue // a copy between them
		}
		// The compiler removes a step that writes back what it read: it takes nothing.
		if p.Report.Layers[i].Instructions != nil && g.Parts.Library == 0 && v.Layers[i].Instructions > 0 {
			key := board.CostKey(p.Board, p.Lowered, n, p.Config.CMSISLib != "")
			out = append(out, cost.Point{Key: key, Geometry: g, Instructions: float64(v.Layers[i].Instructions)})
		}
	}
	return out
}

// program is a compiled one with the steps that are measured.
type program struct {
	*driver.Compiled
	steps []int
}

func (o *options) program(c *driver.Config, ks []kind, dir string) *program {
	c.Model = filepath.Join(dir, "layers.onnx")
	wanted := writeModel(c.Model, ks, o.layers)
	k := &ks[0]
	c.Align, c.DeadChannels, c.Fuse, c.IOLayout, c.Cases = option.AlignNever, false, false, option.NativeLayout, 1
	c.Legalize = k.own // an activation becomes part of its layer
	c.CalibMethod, c.BiasCorrect = option.MinMax, false
	c.Precision, c.Weights = k.precision, k.weights
	if e := k.elements; e != nil {
		c.Precision, c.Fuse, c.FuseAll, c.Legalize = e.precision, e.loops, e.loops, false
		c.IO = option.FloatIO
	}
	p := &program{Compiled: fail.Must(c.Compile())}
	for i, n := range p.Lowered.Schedule.Nodes {
		low := p.Lowered.Low[n]
		if low.View || k.elements == nil && (len(n.Origin) == 0 || !wanted[n.Origin[0]]) || !o.runs(low.Functions()) ||
			c.Kernels == option.OwnKernels && (low.Library == cmsisnn.Library || !kernel.IsOptimized(low.Library)) {
			continue
		}
		p.steps = append(p.steps, i)
	}
	return p
}

// runs reports that functions are among those that -variant asks for.
func (o *options) runs(functions []string) bool {
	return o.variants == "" || slices.ContainsFunc(functions, func(f string) bool {
		return slices.ContainsFunc(list(o.variants), func(v string) bool {
			return runtimec.CostName(f) == runtimec.CostName(v)
		})
	})
}

const (
	// aged is by how much the instructions of a variant may differ from those in
	// sample.csv, on average over its layers, before its prices count as old.
	aged = 0.02
	// strange is how many times its stated error a model may be off, on average
	// over layers that it was not made of.
	strange = 2
	// less than fewLayers are too few to speak of an average: one layer may be off by twice as much.
	fewLayers = 3
)

// errOld says that prices are of kernels or layers as they were.
var errOld = errors.New("some prices are old")

// drift is how layers of a variant, measured again, differ from the tables.
type drift struct {
	key cost.Key
	// known are layers that sample.csv has; ratio is the sum of what they take
	// now to what it says.
	known int
	ratio float64
	// others run the variant now and did not then; squares is the sum of squares
	// of the relative error of the variant's model, which states an error.
	others          int
	squares, stated float64
}

// check measures layers of each kind again and holds them against the tables,
// which are made of the same ones: a kernel that has changed since then takes
// another number of instructions; one that has got other layers since then is
// predicted by a model that never saw their like.
func (o *options) check() error {
	ds, err := o.again()
	if err == nil && sayOld(os.Stdout, ds) > 0 {
		err = errOld
	}
	return err
}

// again measures layers anew and says how they differ from the tables.
func (o *options) again() (_ []drift, err error) {
	defer fail.Catch(&err)
	points := read(o.file("sample.csv"))
	var fresh []cost.Point
	for _, b := range list(o.boards) {
		fresh = append(fresh, o.measured(b, "own", "")...)
	}
	return drifts(points, unique(fresh), cost.Models()), nil
}

// drifts holds layers measured again against points and models, variant by variant.
func drifts(points, fresh []cost.Point, models map[cost.Key]*cost.Model) []drift {
	before := lists.By(points, layerOf)
	by := map[cost.Key]drift{}
	for _, p := range fresh {
		m := models[p.Key]
		if m == nil {
			continue // it has no price
		}
		d := by[p.Key]
		d.key, d.stated = p.Key, m.Error
		if was, ok := before[layerOf(p)]; ok {
			d.known, d.ratio = d.known+1, d.ratio+p.Instructions/was.Instructions
		} else {
			e := m.Predict(&p.Geometry)/p.Instructions - 1
			d.others, d.squares = d.others+1, d.squares+e*e
		}
		by[p.Key] = d
	}
	return slices.SortedFunc(maps.Values(by), func(x, y drift) int {
		return cmp.Compare(x.key.String(), y.key.String())
	})
}

// why says in what way prices of the variant are old; "" where they are not.
func (d *drift) why() string {
	var why []string
	most := aged
	if d.known < fewLayers {
		most *= 2
	}
	if r := d.ratio / float64(d.known); d.known > 0 && math.Abs(r-1) > most {
		why = append(why, fmt.Sprintf("%d layers take %.3f of the instructions in sample.csv", d.known, r))
	}
	if e := math.Sqrt(d.squares / float64(d.others)); d.others >= fewLayers && e > max(aged, strange*d.stated) {
		why = append(why, fmt.Sprintf("%d layers that are not in sample.csv are mispredicted by %.0f %%, the model "+
			"states %.0f %%", d.others, 100*e, 100*d.stated))
	}
	return strings.Join(why, "; ")
}

// sayOld writes a line for each variant whose prices are old, and gives their number.
func sayOld(w io.Writer, ds []drift) int {
	n := 0
	for i := range ds {
		if why := ds[i].why(); why != "" {
			fmt.Fprintf(w, "%s: %s\n", ds[i].key, why)
			n++
		}
	}
	fmt.Fprintf(w, "%d variants measured again, prices of %d are old\n", len(ds), n)
	return n
}
