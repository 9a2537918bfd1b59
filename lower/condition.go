// SPDX-License-Identifier: Apache-2.0

package lower

import "github.com/nncc/nncc/lower/option"

// Condition is a fact about the target, the options or the model that a stage
// asks for. Conditions are known before the first stage: no stage asks for them
// inside.
type Condition struct {
	Name  string // as `nncc passes` shows it
	Holds func(f *Facts) bool
}

var (
	noAccelerator = Condition{"no accelerator",
		func(f *Facts) bool { return f.Accel == nil }}
	accelerator = Condition{"accelerator",
		func(f *Facts) bool { return f.Accel != nil }}
	// native4D is an accelerator whose tensors are 4-D and that computes in
	// their own order.
	native4D = Condition{"accelerator on 4-D tensors, --legalize on",
		func(f *Facts) bool {
			stateless := len(f.StateBindings) == 0 && f.Stream == nil
			return f.Accel != nil && f.Legalize && f.Accel.Traits().Native4D && stateless
		}}
	floatModel = Condition{"float model",
		func(f *Facts) bool { return !f.Quantised }}
	quantisedModel = Condition{"quantised model",
		func(f *Facts) bool { return f.Quantised }}
	// ownRanks: values keep the ranks of the model while they are float.
	ownRanks = Condition{"not a float model for 4-D tensors",
		func(f *Facts) bool { return f.Quantised || !native4D.Holds(f) }}
	legalize = Condition{"--legalize on",
		func(f *Facts) bool { return f.Legalize }}
	otherFloat = Condition{"a float type besides float32, --precision not model",
		func(f *Facts) bool { return f.OtherFloats && f.Precision != option.Model }}
	floatProgram = Condition{"--precision float32 or model",
		func(f *Facts) bool { return f.Precision.Float() }}
	fixedPoint = Condition{"--precision neither float32 nor model",
		func(f *Facts) bool { return !f.Precision.Float() }}
	softFloat = Condition{"a core without an FPU",
		func(f *Facts) bool { return !f.Target.Core.FPU && !f.Target.Core.Host }}
	calibrated = Condition{"--calib",
		func(f *Facts) bool { return f.Quant.Calibrated() }}
	recurrent = Condition{"--state",
		func(f *Facts) bool { return len(f.StateBindings) > 0 }}
	streaming = Condition{"--stream",
		func(f *Facts) bool { return f.Stream != nil }}
	deadChannels = Condition{"--dead-channels on",
		func(f *Facts) bool { return f.DeadChannels }}
	fusing = Condition{"--fuse on",
		func(f *Facts) bool { return f.Fuse }}
	fastest = Condition{"--optimize speed",
		func(f *Facts) bool { return f.Optimize == option.Speed }}
	slowConstants = Condition{"a board where reads of constants wait",
		func(f *Facts) bool { return f.Copying.From.PerByteCycles() > 0 }}
	tiled = Condition{"a smaller arena is searched",
		func(f *Facts) bool { return f.Tiled }}
)
