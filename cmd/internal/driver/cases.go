// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// maxCaseBytes bounds the inputs of all cases together.
const maxCaseBytes = 256 << 20

// CasesOf are the inferences that verify runs: --golden, --input, else
// calibration samples first and seeded ones up to --cases.
func (c *Config) CasesOf(o *Compiled) ([]verify.Case, error) {
	ins := o.Lowered.Interface().Inputs()
	if c.Golden != "" {
		out, err := verify.Golden(c.Golden, o.Lowered.Ports(), c.dataLimits())
		return out, asInput(err)
	}
	if len(c.Inputs) > 0 {
		list, err := c.firmwareInferences(ins)
		var out []verify.Case
		for i, in := range list {
			k := verify.Case{Source: "--input", Inputs: in}
			if len(list) > 1 {
				k.Source = fmt.Sprintf("--input, sample %d", i)
			}
			out = append(out, k)
		}
		return out, err
	}
	out, err := c.calibrated(o, ins)
	if err != nil {
		return nil, &InputError{err}
	}
	bytes := 0
	for _, v := range ins {
		bytes += v.Type.Bytes()
	}
	if c.Cases > MaxCases || bytes > 0 && c.Cases > max(1, maxCaseBytes/bytes) {
		return nil, usage("--cases %d: a case has %d bytes of inputs; want at most %d", c.Cases, bytes,
			min(MaxCases, max(1, maxCaseBytes/max(bytes, 1))))
	}
	for i := len(out); i < c.Cases; i++ {
		out = append(out, verify.Case{Source: fmt.Sprintf("seed %d", i), Seeded: true,
			Inputs: verify.Seeded(ins, i, 20)})
	}
	return out, nil
}

// calibrated are cases of calibration samples.
func (c *Config) calibrated(o *Compiled, ins []*ir.Value) (out []verify.Case, err error) {
	if len(c.Calib) == 0 {
		return nil, nil
	}
	set, err := data.Open(c.Calib, state.New(o.Float, o.Lowered.Named()).Inputs(), c.dataOptions(""))
	if err != nil {
		return nil, err
	}
	samples, err := quant.SamplesOf(set)
	if err != nil {
		return nil, err
	}
	if o.Lowered.Streamed != nil {
		samples = state.Frames(o.Lowered.Slides, samples)
	}
	for i, s := range samples[:min(len(samples), c.Cases)] {
		in, err := verify.Inputs(s, ins)
		if err != nil {
			return nil, err
		}
		out = append(out, verify.Case{Source: fmt.Sprintf("calibration sample %d", i), Inputs: in})
	}
	return out, nil
}
