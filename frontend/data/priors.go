// SPDX-License-Identifier: Apache-2.0

package data

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/postprocess"
)

// maxPriorBytes bounds a file of prior boxes.
const maxPriorBytes = 32 << 20

// priors gives maps their prior boxes, in pixels.
func (d *detector) priors() {
	v := d.Variance
	d.out.Variance = [4]float32{float32(v[0]), float32(v[1]), float32(v[2]), float32(v[3])}
	list := d.priorList()
	from := 0
	for i := range d.out.Maps {
		m := &d.out.Maps[i]
		n := 4 * m.Rows * m.Cols * m.Anchors
		if from+n <= len(list) {
			m.Table = make([]float32, n)
			for k, x := range list[from : from+n] {
				m.Table[k] = float32(x * []float64{float64(d.Width), float64(d.Height)}[k%2])
			}
		}
		from += n
	}
	fail.If(from != len(list), "priors: %d prior boxes, and the outputs have %d predictions", len(list)/4, from/4)
}

// priorList are centre x, y, width, height of all, as parts of the input.
func (d *detector) priorList() []float64 {
	switch {
	case d.Priors == "" && len(d.Grids) == 0:
		fail.Errorf("priors is missing: a file of prior boxes, or grids and scales to make them of")
	case d.Priors != "" && len(d.Grids)+len(d.Scales) > 0:
		fail.Errorf("priors and grids are both there; want one of them")
	case d.Priors != "":
		return d.readPriors()
	}
	scales := d.Scales
	n := len(d.Grids)
	switch {
	case len(scales) == n:
	case len(scales) == 2 && n > 1:
		lo, hi := scales[0], scales[1]
		scales = lists.Make(n, func(i int) float64 { return lo + (hi-lo)*float64(i)/float64(n-1) })
	default:
		fail.Errorf("scales: %d numbers; want one for each of the %d grids, or the first and the last", len(scales), n)
	}
	p := postprocess.Priors{Grids: d.Grids, Scales: scales, Aspects: d.Aspects, Between: d.Between}
	total := lists.Sum(d.Grids, func(g [2]int) int { return g[0] * g[1] * p.Anchors() })
	fail.If(total > maxPredictions, "grids: %d prior boxes; at most %d are made", total, maxPredictions)
	return p.Table()
}

// readPriors reads a file of prior boxes.
func (d *detector) readPriors() []float64 {
	path := d.Priors
	if beside := filepath.Join(filepath.Dir(d.from), path); d.from != "" && !filepath.IsAbs(path) {
		if _, err := os.Stat(beside); err == nil {
			path = beside
		}
	}
	list, err := readRows(path)
	if err != nil {
		fail.Check(text.Errorf("priors: %s: %w", path, err))
	}
	for i := range list {
		if x := list[i]; !(x >= -100 && x <= 100) {
			fail.Check(text.Errorf("priors: %s: number %d is %v; want parts of the input", path, i, x))
		}
	}
	if d.out.YFirst {
		for i := 0; i < len(list); i += 2 {
			list[i], list[i+1] = list[i+1], list[i]
		}
	}
	return list
}

// readRows reads rows of four numbers: .npy of shape [N, 4], or lines of text.
func readRows(path string) (_ []float64, err error) {
	defer fail.Catch(&err)
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		es := fail.Must(npz.ReadFile(path, npz.Limits{Bytes: maxPriorBytes}))
		a := es[0].Array
		fail.If(len(a.Shape) < 2 || a.Shape[len(a.Shape)-1] != 4, "an array of shape %s; want Nx4", shapeText(a.Shape))
		return a.Float64s()
	}
	b := fail.Must(files.Read(path, maxPriorBytes))
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord, r.TrimLeadingSpace, r.Comment = 4, true, '#'
	rows := fail.Must(r.ReadAll())
	var out []float64
	for i, row := range rows {
		for _, s := range row {
			x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
			fail.If(err != nil, "row %d has %q; want four numbers", i+1, text.Short(s, 40))
			out = append(out, x)
		}
	}
	return out, nil
}
