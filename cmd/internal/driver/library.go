package driver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// roundingProgram is a model that does nothing but call the library: how it
// rounds cannot be seen from outside, only from results.
//
//go:embed probe/rounding.c
var roundingProgram []byte

// roundingPairs are numbers whose products differ between the two roundings.
func roundingPairs() (p qref.MulParams, a, b []int8) {
	p = qref.MulParams{ActMin: -128, ActMax: 127, Mult: 1717986918, Shift: -5} // 0.8 / 32
	for i := range 256 {
		a, b = append(a, int8(i)), append(b, int8(37*i+11))
	}
	return p, a, b
}

// probeRounding builds and runs a small program with the library that the user
// gave and says whether it was compiled with CMSIS_NN_USE_SINGLE_ROUNDING.
func (c *Config) probeRounding(ctx context.Context, spec *boards.Spec) (fixp.Rounding, error) {
	p, a, b := roundingPairs()
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
	sources := []codegen.File{{Path: "rounding.c", Data: roundingProgram}, {Path: "rounding.h", Data: []byte(header)}}
	for _, f := range run.HarnessFiles(spec, m) {
		sources = append(sources, codegen.File(f))
	}
	dir, err := files.TempDir("", "nncc-probe-")
	if err != nil {
		return 0, err
	}
	defer files.RemoveTemp(dir)
	if err := writeFiles(dir, sources); err != nil {
		return 0, err
	}
	im, err := run.Build(ctx, spec, dir, run.BuildOptions{CMSISInclude: c.CMSISInclude, CMSISLib: c.CMSISLib})
	if err != nil {
		return 0, err
	}
	defer im.Close()
	res, err := run.Run(ctx, spec, im, []run.Case{{Inputs: [][]byte{bytesOf(a), bytesOf(b)}}})
	if err != nil {
		var re *run.Error
		if errors.As(err, &re) {
			return 0, badInput("%s does not run on %s (compiled for another core?): %w", filepath.Base(c.CMSISLib),
				spec.Name, err)
		}
		return 0, err
	}
	for _, r := range []fixp.Rounding{fixp.DoubleRounding, fixp.SingleRounding} {
		p.Rounding = r
		want := make([]int8, len(a))
		if err := qref.Mul(&p, a, b, want); err != nil {
			return 0, err
		}
		if slices.Equal(bytesOf(want), res.Cases[0].Outputs[0]) {
			return r, nil
		}
	}
	return 0, badInput("%s multiplies neither with two roundings nor with one (CMSIS_NN_USE_SINGLE_ROUNDING): nncc "+
		"knows CMSIS-NN as of revision 99f736a6", filepath.Base(c.CMSISLib))
}

func bytesOf(s []int8) []byte {
	out := make([]byte, len(s))
	for i, v := range s {
		out[i] = byte(v)
	}
	return out
}

// matchRounding makes the interpreter round as the library that is linked: once in
// the layers that its kernels compute, where it was built so.
func (o *Compiled) matchRounding(ctx context.Context) error {
	if o.Config.CMSISLib == "" {
		return nil
	}
	o.Config.note("asking %s how it rounds", filepath.Base(o.Config.CMSISLib))
	r, err := o.Config.probeRounding(ctx, o.Board)
	if err != nil {
		return err
	}
	o.Rounding = "double"
	if r == fixp.DoubleRounding {
		return nil
	}
	o.Rounding = "single"
	twin := map[int]*ir.Node{} // in the graph before the last rewrites
	for _, n := range o.Lowered.Reference.Nodes {
		twin[n.ID] = n
	}
	for n, l := range o.Lowered.Low {
		if l.Library != cmsisnn.Library {
			continue
		}
		op.SetRounding(n, r)
		if m := twin[n.ID]; m != nil && m.Op == n.Op {
			op.SetRounding(m, r)
		}
		for _, body := range n.Body { // of a fused node
			for _, m := range body.Nodes {
				op.SetRounding(m, r)
			}
		}
	}
	return nil
}

// reference is the graph that the interpreter runs. What was folded into a
// program for two roundings is folded in the reference for one, too; where the
// program is fed window by window the reference has to stay whole.
func (o *Compiled) reference() *ir.Graph {
	if o.Rounding == "single" && o.Lowered.Streamed == nil {
		return o.Lowered.Graph
	}
	return o.Lowered.Reference
}
