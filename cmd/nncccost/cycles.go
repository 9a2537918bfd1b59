// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/cost"
)

// cycleLayers is how many layers of a kind are followed instruction by
// instruction: a hundred times slower than counting them.
const cycleLayers = 10

// variantLayers is how many of them a kernel wants for a row of its own beside
// that of its kind.
const variantLayers = 5

// cycles writes cycles.csv: what an instruction takes, as boards/cycles estimates
// it of nncc's kernels. Rows of boards that are not measured stay; of those that
// are, with -kinds or -variant, all but the ones of the variants that ran.
func (o *options) cycles() (err error) {
	defer fail.Catch(&err)
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
			if err := o.follow(b, k, ratios); err != nil {
				return fmt.Errorf("%s on %s: %w", k.name, b, err)
			}
		}
		for kind, list := range ratios {
			if !cost.IsKind(kind) && len(list) < variantLayers || some && cost.IsKind(kind) {
				continue
			}
			replaced[rateKey{on, kind}] = true
			mean, sum := 0.0, 0.0
			for _, r := range list {
				mean += r / float64(len(list))
			}
			for _, r := range list {
				sum += (mean/r - 1) * (mean/r - 1)
			}
			fresh = append(fresh, []string{on, kind, strconv.Itoa(len(list)), fmt.Sprintf("%.3f", mean),
				fmt.Sprintf("%.4f", math.Sqrt(sum/float64(len(list))))})
		}
		fmt.Fprintf(os.Stderr, "%s: cycles of %d layers\n", b, len(ratios[string(cost.Other)]))
	}
	rows := fail.Must(o.rates(replaced))
	rows = append(rows, fresh...)
	slices.SortFunc(rows, slices.Compare)
	return write(o.file("cycles.csv"), func(f *os.File) error {
		return csv.NewWriter(f).WriteAll(append([][]string{cost.RateColumns}, rows...))
	})
}

// rateKey is a row of cycles.csv, or all of a core or board.
type rateKey struct{ on, kind string }

// rates are the rows of an earlier measurement but for those replaced.
func (o *options) rates(replaced map[rateKey]bool) ([][]string, error) {
	f, err := os.Open(o.file("cycles.csv"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return slices.DeleteFunc(rows[1:], func(row []string) bool {
		return replaced[rateKey{row[0], ""}] || replaced[rateKey{row[0], row[1]}]
	}), nil
}

// follow adds cycles an instruction of some layers of a kind, by their kernels and kinds.
func (o *options) follow(board string, k kind, ratios map[string][]float64) (err error) {
	defer fail.Catch(&err)
	dir := fail.Must(os.MkdirTemp("", "nncccost-"))
	defer os.RemoveAll(dir)
	c := driver.Defaults()
	c.Board, c.Without = board, k.without
	few := options{layers: cycleLayers, variants: o.variants}
	p, err := few.program(&c, []kind{k}, dir)
	if err != nil || len(p.steps) == 0 {
		return err
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
	return nil
}
