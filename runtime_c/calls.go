package runtimec

import "path"

// Pointer is a family of calls through pointers to functions: everything else
// in the sources calls by name. Nobody calls itself, on whatever way
// (TestCalls), so the stack of a program has a bound (boards/stack).
type Pointer struct {
	// Type is the parameter or member that holds the pointer.
	Type string
	// Callers are the functions that call through it, wherever the compiler
	// moves the call; Targets those that it can point to. Patterns of path.Match.
	Callers, Targets []string
}

// Pointers lists all of them. The first line with a matching caller holds.
var Pointers = []Pointer{
	{"nncc_dsp_widen_fn, nncc_dsp_matmul_fn of nncc_dsp.h",
		[]string{"nncc_dsp_convolve_s8", "nncc_dsp_transpose_conv_phase_s8",
			"nncc_dsp_convolve_1x1_s8", "nncc_dsp_fully_connected_s8",
			"nncc_plain_fully_connected_s8", "gather*", "nncc_dsp_channels*"},
		[]string{"nncc_dsp_widen_*", "nncc_plain_widen_*", "nncc_dsp_matmul_*", "nncc_plain_matmul_*"}},
	{"nncc_dsp_depthwise_pixel_fn of nncc_dsp.h",
		[]string{"nncc_dsp_depthwise_s8"},
		[]string{"nncc_dsp_depthwise_pixel_s8", "nncc_plain_depthwise_pixel_s8"}},
	{"nncc_dsp_depthwise_3x3_row_fn of nncc_dsp.h",
		[]string{"nncc_dsp_depthwise_3x3_s8"},
		[]string{"nncc_dsp_depthwise_3x3_stride*_s8"}},
	{"nncc_dsp_pool_window_fn of nncc_dsp_pool.h",
		[]string{"nncc_dsp_max_pool_s8", "nncc_dsp_avg_pool_s8", "nncc_dsp_pool_windows*"},
		[]string{"window_max", "window_mean"}},
	{"nncc_helium_matmul_fn, nncc_helium_add_linear_fn of nncc_helium.h",
		[]string{"nncc_helium_convolve_s8", "nncc_helium_matmul_add_s8", "nncc_helium_matmul_lut_s8",
			"nncc_helium_add_linear_strided_s8", "nncc_helium_transpose_conv_s8", "nncc_helium_transpose_conv_phase_s8",
			"nncc_conv*", "nncc_flush*", "nncc_residual_*"},
		[]string{"nncc_helium_matmul_k*_s8", "nncc_helium_matmul_unroll*_s8", "nncc_helium_matmul_1row_s8",
			"nncc_helium_add_linear_s8", "nncc_helium_add_linear_away_s8", "nncc_helium_add_linear_q31_s8"}},
	{"nncc_pair_fn of nncc_s8.h",
		[]string{"nncc_pairs_s8"},
		[]string{"nncc_pair_*_s8"}},
	{"kernel of mla_do_axis.c",
		[]string{"mla_pool*", "mla_reduce*", "mla_arg*", "mla_do_avg_pool", "mla_do_max_pool", "mla_do_reduce_*",
			"mla_do_arg_*"},
		[]string{"nncc_avg_pool2d_s8", "nncc_max_pool2d_s8", "nncc_reduce_max_s8", "nncc_reduce_min_s8",
			"nncc_argmax_s8", "nncc_argmin_s8"}},
	{"perform of mla_command.h",
		[]string{"mla_walk"},
		[]string{"mla_do_*"}},
}

// PointerTargets gives the patterns of the functions that a function can call
// through pointers; nil where it is to call by name only.
func PointerTargets(caller string) []string {
	for _, p := range Pointers {
		if MatchAny(p.Callers, caller) {
			return p.Targets
		}
	}
	return nil
}

// MatchAny reports a name that one of the patterns of path.Match fits.
func MatchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}
