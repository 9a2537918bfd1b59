// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"slices"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
)

// preprocessing are the inputs for which --preprocess wants C: those that the firmware
// has as the model has them.
func (c *Config) preprocessing(o *Compiled) ([]codegen.Preprocess, error) {
	if c.Told["preprocess"] && !c.spec.Emits() && len(c.Calib)+len(c.Inputs) == 0 && c.Eval.Data == "" {
		c.warn(
			"data",
			"no-effect",
			"--preprocess",
			"--preprocess has no effect: there is no --calib or --input that "+
				"it speaks of, and emit is not set",
		)
	}
	list, err := c.spec.Devices(o.Float.In)
	if err != nil {
		return nil, &InputError{err}
	}
	ins := o.Lowered.Interface().Inputs()
	var out []codegen.Preprocess
	for _, d := range list {
		model := o.Float.In[slices.IndexFunc(o.Float.In, func(v *ir.Value) bool { return v.Name == d.Input })]
		i := slices.IndexFunc(ins, func(v *ir.Value) bool { return v.Name == d.Input })
		switch {
		case i < 0:
			return nil, badInput("--preprocess: emit for %s, which is state: nobody writes it", d.Input)
		case !slices.Equal(ins[i].Type.Shape, model.Type.Shape):
			return nil, badInput(
				"--preprocess: emit for %s, which the firmware has as %v and the model as %v; want a "+
					"program without --stream and --pad-input",
				d.Input,
				ins[i].Type.Shape,
				model.Type.Shape,
			)
		}
		if err := codegen.Preprocessable(ins[i].Type); err != nil {
			return nil, badInput("--preprocess: emit for %s: %w", d.Input, err)
		}
		out = append(out, codegen.Preprocess{Input: d.Input, Image: d.Image, Values: d.Values, Strides: d.Strides,
			Sound: d.Sound, Rate: d.Rate, Says: d.Says})
	}
	return out, nil
}
