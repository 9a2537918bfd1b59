// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/nncc/nncc/boards"
)

// Fill writes bytes in front of a step: to the arena, or to the state, which counts as
// lying behind it. Eight bytes of noise are masked, then XORed with Base, and so on until
// the end; both are little-endian. So a mask of 0 repeats Base.
type Fill struct {
	Step          int
	Offset, Bytes uint32
	Mask, Base    uint64
}

// fillBytes is the size of a fill in cases.bin.
const fillBytes = 7 * 4

// Filled executes the cases of one model of an image step by step, each with its fills,
// and gives the instructions of every step by case: of fewer steps where one failed. What
// the steps compute is of no interest. The image was built with BuildOptions.Trace.
func Filled(ctx context.Context, spec *boards.Spec, im *Image, model, models int, cases []Case) ([][]uint64, error) {
	if im.Traced == "" {
		return nil, fmt.Errorf("the image was built without BuildOptions.Trace")
	}
	var list []encoded
	for _, c := range cases {
		c.Fills = slices.Clone(c.Fills)
		slices.SortStableFunc(c.Fills, func(a, b Fill) int { return a.Step - b.Step })
		list = append(list, encoded{Case: c, model: model, trace: true})
	}
	raw, _, err := execute(ctx, spec, im.Traced, list, make([][]Dump, models), Options{})
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, len(cases))
	for i, c := range raw.cases {
		for _, s := range c.steps {
			out[i] = append(out[i], instructions(spec, s.ticks, s.interrupts, raw.models[model].emptyStep, 0))
		}
	}
	return out, nil
}
