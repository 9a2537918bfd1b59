// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"testing"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// TestDependence: a step depends on data as the strongest function that it comes to.
func TestDependence(t *testing.T) {
	byName := func(f ...string) *program.Step {
		s := &program.Step{}
		for _, f := range f {
			s.Calls = append(s.Calls, call.Call{Func: f})
		}
		return s
	}
	pointer := byName("nncc_copy_nd")
	pointer.Calls[0].Args = []call.Arg{&call.Struct{Fields: []call.Field{{Name: "f",
		Value: call.Nested{Fields: []call.Field{{Name: "g", Value: call.Func("nncc_boxes_s8")}}}}}}}
	with := func(f string, args ...call.Arg) *program.Step {
		return &program.Step{Calls: []call.Call{{Func: f, Args: args}}}
	}
	rows := func(f string, bytes int, indices call.Arg) *program.Step {
		p := &call.Struct{Fields: []call.Field{call.FI("count", 4), call.FI("block", bytes)}}
		return with(f, p, call.In{}, indices, call.Out{})
	}
	rnn := func(lens call.Arg) *program.Step {
		return with("nncc_rnn_f32", &call.Struct{}, call.In{}, call.Const{}, call.Const{}, call.Null{},
			call.Null{}, lens, call.Null{}, call.Out{}, call.Scratch{})
	}
	code := func(body string, params ...string) *program.Step {
		return &program.Step{Calls: []call.Call{{Code: &call.Code{Body: body, Params: params}}}}
	}
	for i, c := range []struct {
		step     *program.Step
		features []string
		want     runtimec.Dependence
	}{
		{byName("nncc_copy_nd", "nncc_lut_s8"), nil, runtimec.Fixed},
		{byName("nncc_copy_nd", "arm_softmax_s8"), nil, runtimec.Branches},
		{byName("nncc_add_f32"), nil, runtimec.Branches},
		{byName("nncc_add_f32"), []string{runtimec.FeatureFPU}, runtimec.Fixed},
		{byName("nncc_dsp_convolve_s8"), []string{runtimec.FeatureFPU}, runtimec.Branches},
		{byName("nncc_dsp_convolve_s8"), []string{runtimec.FeatureDSP}, runtimec.Fixed},
		{byName("no_such_function"), nil, runtimec.Loops},
		{pointer, nil, runtimec.Loops},
		{rnn(call.In{I: 4}), nil, runtimec.Loops},
		{rnn(call.Const{I: 4}), nil, runtimec.Branches},
		{rnn(call.Null{}), nil, runtimec.Branches},
		{rows("nncc_gather", 45, call.In{I: 1}), nil, runtimec.Loops},
		{rows("nncc_gather", 45, call.In{I: 1}), []string{runtimec.FeatureMVE}, runtimec.Branches},
		{rows("nncc_gather", 45, call.Const{I: 1}), nil, runtimec.Branches},
		{rows("nncc_gather", 44, call.In{I: 1}), nil, runtimec.Branches},
		{rows("nncc_scatter_nd", 45, call.In{I: 1}), []string{runtimec.FeatureMVE}, runtimec.Loops},
		{code("    for (int32_t i = 0; i < 5; i++) {\n        y[i] = x[i] > 0 ? x[i] : 0;\n    }\n"), nil,
			runtimec.Branches},
		{code("    for (int32_t i = 0; i < count; i++) {\n        y[i] = x[i];\n    }\n", "int32_t count"), nil,
			runtimec.Branches},
		{code("    for (int32_t i = 0; i < count; i++) {\n        y[i] = x[i];\n    }\n", "const float *x"), nil,
			runtimec.Loops},
		{code("    for (int32_t i = 0; i < 5 && x[i] > 0; i++) {\n        y[i] = x[i];\n    }\n"), nil, runtimec.Loops},
		{code("    while (x[0] > 0) {\n    }\n"), nil, runtimec.Loops},
		{code("    if (x[0] > 0) {\n        for (i = 0; i < 5; i++) {\n        }\n    }\n"), nil, runtimec.Loops},
		{code("    if (x[0] > 0) {\n        y[0] = 1;\n    }\n    for (i = 0; i < 5; i++) {\n    }\n"), nil,
			runtimec.Branches},
	} {
		testenv.Equal(t, Dependence(c.step, c.features), c.want, "case %d", i)
	}
}
