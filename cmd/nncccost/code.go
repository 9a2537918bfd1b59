// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/quant"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// codeSizes compiles sources of the runtime for every board with the flags for
// speed and for size, and writes what sections with code and constants they have.
// Columns of instruction sets that no board has stay.
func (o *options) codeSizes() {
	dir := fail.Must(os.MkdirTemp("", "nncccost-"))
	defer os.RemoveAll(dir)
	sources, include := unpack(dir)
	table := o.known()
	wanted := o.sources()
	for _, name := range list(o.boards) {
		spec := fail.Must(boards.Load(name))
		isa := board.ISA(spec)
		for _, way := range []struct {
			suffix string
			flags  []string
		}{{"", spec.Toolchain.Speed}, {"-size", spec.Toolchain.Size}} {
			column := table.column(isa + way.suffix)
			stale := func(f string) bool {
				_, known := column[f]
				return cost.Runs(f, isa) && (!known || wanted(f))
			}
			fresh := compile(spec, dir, lists.Filter(sources, stale), include, way.flags)
			maps.Copy(column, fresh)
			fmt.Fprintf(os.Stderr, "%s: code of %d sources\n", isa+way.suffix, len(fresh))
		}
	}
	write(o.file("code.csv"), func(w io.Writer) error { return table.write(w, sources) })
}

// unpack writes the runtime into a folder: its sources that are measured, and
// the folders of headers.
func unpack(dir string) (sources, include []string) {
	for _, f := range runtimec.All() {
		p := filepath.Join(dir, f.Path)
		fail.Check(os.MkdirAll(filepath.Dir(p), 0o777))
		fail.Check(os.WriteFile(p, f.Data, 0o666))
		if !slices.Contains(include, filepath.Dir(p)) {
			include = append(include, filepath.Dir(p))
		}
		if filepath.Ext(p) == ".c" && !runtimec.Shipped().Accelerator(f.Path) {
			sources = append(sources, f.Path)
		}
	}
	return sources, include
}

// compile measures sources on all processors.
func compile(spec *boards.Spec, dir string, sources, include, flags []string) map[string]int {
	bytes, out := make([]int, len(sources)), map[string]int{}
	quant.ParallelEach(len(sources), func(i int) {
		bytes[i] = fail.Must(codeSize(spec, dir, sources[i], include, flags))
	})
	for i, f := range sources {
		out[f] = bytes[i]
	}
	return out
}

// sizes is code.csv: a column of bytes by source for every instruction set and way.
type sizes struct {
	names   []string
	columns map[string]map[string]int
}

// column is that of a name, a new one behind the others if there is none.
func (s *sizes) column(name string) map[string]int {
	if s.columns[name] == nil {
		s.names, s.columns[name] = append(s.names, name), map[string]int{}
	}
	return s.columns[name]
}

// known are the sizes of an earlier measurement.
func (o *options) known() *sizes {
	table := &sizes{columns: map[string]map[string]int{}}
	rows := cells(o.file("code.csv"))
	if len(rows) == 0 {
		return table
	}
	for col, name := range rows[0][1:] {
		column := table.column(name)
		for _, row := range rows[1:] {
			if n, err := strconv.Atoi(row[1+col]); err == nil {
				column[row[0]] = n
			}
		}
	}
	return table
}

// cells are the rows of a table of an earlier measurement.
func cells(path string) [][]string {
	return fail.Must(csv.NewReader(bytes.NewReader(stored(path))).ReadAll())
}

// write has a row for each of the sources, and for no others.
func (s *sizes) write(w io.Writer, sources []string) error {
	rows := [][]string{append([]string{"file"}, s.names...)}
	for _, f := range sources {
		row := []string{f}
		for _, name := range s.names {
			cell := ""
			if n, ok := s.columns[name][f]; ok {
				cell = strconv.Itoa(n)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// sources tells those whose size is measured whether it is known or not: all,
// those of -variant, or with -code none.
func (o *options) sources() func(path string) bool {
	if o.code {
		return func(string) bool { return false }
	}
	if o.variants == "" {
		return func(string) bool { return true }
	}
	files, err := runtimec.Files(list(o.variants)...)
	return func(path string) bool {
		return err != nil || slices.ContainsFunc(files, func(f runtimec.File) bool { return f.Path == path })
	}
}

// codeSize is what a source adds to flash when all of it is called.
func codeSize(spec *boards.Spec, dir, file string, include, flags []string) (int, error) {
	object := filepath.Join(dir, file+".o")
	args := slices.Concat(spec.Toolchain.CPU, spec.Toolchain.CFlags, flags)
	for _, i := range include {
		args = append(args, "-I"+i)
	}
	cmd := exec.Command(spec.Toolchain.Prefix+spec.Toolchain.CC, append(args, "-c", file, "-o", object)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s for %s: %w\n%s", file, spec.Name, err, out)
	}
	e, err := elf.Open(object)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	n := uint64(0)
	for _, s := range e.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_WRITE == 0 && s.Type == elf.SHT_PROGBITS &&
			!strings.HasPrefix(s.Name, ".ARM") {
			n += s.Size
		}
	}
	return int(n), nil
}

// cycleLayers is how many layers of a kind are followed instruction by
// instruction: a hundred times slower than counting them.
const cycleLayers = 10

// variantLayers is how many of them a kernel wants for a row of its own beside
// that of its kind.
const variantLayers = 5

// cycles writes cycles.csv: what an instruction takes, as boards/cycles estimates
// it of nncc's kernels. Rows of boards that are not measured stay; of those that
// are, with -kinds or -variant, all but the ones of the variants that ran.
func (o *options) cycles() {
	some := o.kinds != "" || o.variants != ""
	replaced := map[rateKey]bool{}
	var fresh [][]string
	for _, b := range list(o.boards) {
		spec := fail.Must(boards.Load(b))
		if _, err := cycles.For(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		on := spec.Core
		if spec.Memory.Wait("code").States > 0 {
			on = spec.Name
		}
		replaced[rateKey{on, ""}] = !some
		ratios := map[string][]float64{}
		for _, k := range kinds {
			if k.elements != nil && k.elements.loops || !o.wants(k) {
				continue
			}
			fail.Under(k.name+" on "+b, func() { o.follow(b, k, ratios) })
		}
		for kind, list := range ratios {
			if !cost.IsKind(kind) && len(list) < variantLayers || some && cost.IsKind(kind) {
				continue
			}
			replaced[rateKey{on, kind}] = true
			mean, off := deviation(list)
			fresh = append(fresh, []string{on, kind, strconv.Itoa(len(list)), fmt.Sprintf("%.3f", mean),
				fmt.Sprintf("%.4f", off)})
		}
		fmt.Fprintf(os.Stderr, "%s: cycles of %d layers\n", b, len(ratios[string(cost.Other)]))
	}
	rows := append(o.rates(replaced), fresh...)
	slices.SortFunc(rows, slices.Compare)
	write(o.file("cycles.csv"), func(w io.Writer) error {
		return csv.NewWriter(w).WriteAll(append([][]string{cost.RateColumns}, rows...))
	})
}

// deviation is the mean of ratios, and how far they are from it, relative.
func deviation(list []float64) (mean, off float64) {
	for _, r := range list {
		mean += r / float64(len(list))
	}
	for _, r := range list {
		off += (mean/r - 1) * (mean/r - 1)
	}
	return mean, math.Sqrt(off / float64(len(list)))
}

// rateKey is a row of cycles.csv, or all of a core or board.
type rateKey struct{ on, kind string }

// rates are the rows of an earlier measurement but for those replaced.
func (o *options) rates(replaced map[rateKey]bool) [][]string {
	rows := cells(o.file("cycles.csv"))
	return slices.DeleteFunc(rows[min(1, len(rows)):], func(row []string) bool {
		return replaced[rateKey{row[0], ""}] || replaced[rateKey{row[0], row[1]}]
	})
}

// follow adds cycles an instruction of some layers of a kind, by their kernels and kinds.
func (o *options) follow(board string, k kind, ratios map[string][]float64) {
	dir := fail.Must(os.MkdirTemp("", "nncccost-"))
	defer os.RemoveAll(dir)
	c := driver.Defaults()
	c.Board, c.Without = board, k.without
	few := options{layers: cycleLayers, variants: o.variants}
	p := few.program(&c, []kind{k}, dir)
	if len(p.steps) == 0 {
		return
	}
	v := fail.Must(p.Profile(context.Background()))
	for _, i := range p.steps {
		l := &v.Layers[i]
		if l.LayerCycles == nil || l.Instructions == 0 {
			continue
		}
		// Waits for constants are a matter of their bytes.
		r := float64(l.LayerCycles.Cycles-l.ConstantWaits) / float64(l.Instructions)
		layer := p.Lowered.Choices[p.Lowered.Schedule.Nodes[i]].Layer()
		for _, k := range []string{layer.Variant, string(layer.Geometry.Kind), string(cost.Other)} {
			ratios[k] = append(ratios[k], r)
		}
	}
}
