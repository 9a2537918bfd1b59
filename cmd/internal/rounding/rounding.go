// SPDX-License-Identifier: Apache-2.0

// Package rounding finds out how an installed CMSIS-NN requantises: nothing but its
// results shows that.
package rounding

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/qref"
)

// program is a model that does nothing but call the library: how it
// rounds cannot be seen from outside, only from results.
//
//go:embed probe/rounding.c
var program []byte

// pairs are numbers whose products differ between the two roundings.
func pairs() (p qref.MulParams, a, b []int8) {
	p = qref.MulParams{ActMin: -128, ActMax: 127, Mult: 1717986918, Shift: -5} // 0.8 / 32
	for i := range 256 {
		a, b = append(a, int8(i)), append(b, int8(37*i+11))
	}
	return p, a, b
}

// Probe builds and runs a small program with a library and its headers (include) and
// says whether the library was compiled with CMSIS_NN_USE_SINGLE_ROUNDING.
func Probe(ctx context.Context, spec *boards.Spec, include, library string) (_ fixp.Rounding, err error) {
	defer fail.Catch(&err)
	p, a, b := pairs()
	m := run.Model{Name: "rounding", Header: "rounding.h", ArenaMacro: "ROUNDING_ARENA_BYTES", RunFunc: "rounding_run",
		Inputs: []run.IO{{Name: "a", CFunc: "rounding_a", Bytes: len(a)},
			{Name: "b", CFunc: "rounding_b", Bytes: len(b)}},
		Outputs: []run.IO{{Name: "y", CFunc: "rounding_y", Bytes: len(a)}}}
	header := fmt.Sprintf("#ifndef ROUNDING_H\n#define ROUNDING_H\n#include <stdint.h>\n#define ROUNDING_COUNT "+
		"%d\n#define ROUNDING_ARENA_BYTES %du\n"+
		"#define ROUNDING_MULTIPLIER %d\n#define ROUNDING_SHIFT %d\nint8_t *rounding_a(void *arena);\nint8_t "+
		"*rounding_b(void *arena);\n"+
		"const int8_t *rounding_y(const void *arena);\nint32_t rounding_run(void *arena);\n#endif\n", len(a), 3*len(a),
		p.Mult, p.Shift)
	sources := []files.File{{Path: "rounding.c", Data: program}, {Path: "rounding.h", Data: []byte(header)}}
	for _, f := range run.HarnessFiles(spec, m) {
		sources = append(sources, files.File(f))
	}
	dir := fail.Must(files.TempDir("", "nncc-probe-"))
	defer files.RemoveTemp(dir)
	fail.Check(files.WriteTree(dir, sources))
	im := fail.Must(run.Build(ctx, spec, dir, run.BuildOptions{CMSISInclude: include, CMSISLib: library}))
	defer im.Close()
	res, err := run.Run(ctx, spec, im, []run.Case{{Inputs: [][]byte{bytesOf(a), bytesOf(b)}}})
	if err != nil {
		var re *run.Error
		if errors.As(err, &re) {
			return 0, text.Errorf("%s does not run on %s (compiled for another core?): %w", filepath.Base(library),
				spec.Name, err)
		}
		return 0, err
	}
	for _, r := range []fixp.Rounding{fixp.DoubleRounding, fixp.SingleRounding} {
		p.Rounding = r
		want := make([]int8, len(a))
		qref.Mul(&p, a, b, want)
		if slices.Equal(bytesOf(want), res.Cases[0].Outputs[0]) {
			return r, nil
		}
	}
	return 0, text.Errorf("%s multiplies neither with two roundings nor with one (CMSIS_NN_USE_SINGLE_ROUNDING): nncc "+
		"knows CMSIS-NN as of revision 99f736a6", filepath.Base(library))
}

func bytesOf(s []int8) []byte {
	return lists.Each(s, func(v int8) byte { return byte(v) })
}
