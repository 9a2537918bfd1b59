// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/cost"
)

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
	points := fail.Must(read(o.file("sample.csv")))
	var fresh []cost.Point
	for _, b := range list(o.boards) {
		ps := fail.Must(o.measured(b, "own", ""))
		fresh = append(fresh, ps...)
	}
	return drifts(points, unique(fresh), cost.Models()), nil
}

// drifts holds layers measured again against points and models, variant by variant.
func drifts(points, fresh []cost.Point, models map[cost.Key]*cost.Model) []drift {
	type layer struct {
		cost.Key
		cost.Geometry
	}
	before := map[layer]float64{}
	for _, p := range points {
		before[layer{p.Key, p.Geometry}] = p.Instructions
	}
	by := map[cost.Key]drift{}
	for _, p := range fresh {
		m := models[p.Key]
		if m == nil {
			continue // it has no price
		}
		d := by[p.Key]
		d.key, d.stated = p.Key, m.Error
		if was, ok := before[layer{p.Key, p.Geometry}]; ok {
			d.known, d.ratio = d.known+1, d.ratio+p.Instructions/was
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
