// SPDX-License-Identifier: Apache-2.0

package tflitetest

import "strings"

// custom gives options of a custom operator.
func custom[T any](v map[string]T) options { return options{bytes: Flex(v)} }

// signals are layers of the audio front end.
func signals() []*Layer {
	var all []*Layer
	layer := func(op, types string, fill func(l *Layer)) {
		all = append(all, layersOf(op, strings.Fields(types), fill)...)
	}
	plain := func(l *Layer, typ string, shape ...int32) int32 { return l.plain(l.input(typ, shape...)) }
	result := func(l *Layer, typ string, shape ...int32) int32 { return l.plain(l.output(typ, shape...)) }
	layer("CIRCULAR_BUFFER", "i8", func(l *Layer) {
		y := l.out(1, 3, 2, 4)
		l.Tensors[y].State = true
		l.do(custom(map[string]int{"cycles_max": 1}), []int32{l.in(1, 1, 2, 4)}, y)
	})
	layer("SignalDelay", "i16", func(l *Layer) {
		l.do(custom(map[string]int{"delay_length": 5}), []int32{plain(l, "i16", 2, 3)}, result(l, "i16", 2, 3))
	})
	layer("SignalEnergy", "i16", func(l *Layer) {
		l.do(custom(map[string]int{"start_index": 0, "end_index": 9}), []int32{plain(l, "i16", 18)},
			result(l, "u32", 9))
	})
	layer("SignalFftAutoScale", "i16", func(l *Layer) {
		l.do(options{}, []int32{plain(l, "i16", 12)}, result(l, "i16", 12), result(l, "i32"))
	})
	layer("SignalFilterBank", "u32", func(l *Layer) {
		list := func(v ...int16) int32 {
			i := l.plain(l.tensor("i16", int32(len(v))))
			l.Tensors[i].Data = []byte{}
			for _, x := range v {
				l.Tensors[i].Data = append(l.Tensors[i].Data, byte(x), byte(x>>8))
			}
			return i
		}
		l.do(custom(map[string]int{"num_channels": 3}), []int32{plain(l, "u32", 12), l.plain(l.random("i16", 9)),
			l.plain(l.random("i16", 9)), list(1, 3, 5, 9), list(0, 2, 4, 7), list(2, 2, 3, 2)}, result(l, "u64", 3))
	})
	layer("SignalFilterBankLog", "u32", func(l *Layer) {
		l.do(custom(map[string]int{"input_correction_bits": 3, "output_scale": 1600}), []int32{plain(l, "u32", 30)},
			result(l, "i16", 30))
	})
	layer("SignalFilterBankSquareRoot", "u64", func(l *Layer) {
		l.limit = 8
		l.do(options{}, []int32{plain(l, "u64", 30), plain(l, "i32")}, result(l, "u32", 30))
	})
	layer("SignalFilterBankSpectralSubtraction", "u32", func(l *Layer) {
		l.do(custom(map[string]int{"alternate_one_minus_smoothing": 14000, "alternate_smoothing": 2384, "clamping": 1,
			"min_signal_remaining": 819, "num_channels": 10, "one_minus_smoothing": 15975, "smoothing": 409,
			"smoothing_bits": 10, "spectral_subtraction_bits": 14}), []int32{plain(l, "u32", 10)},
			result(l, "u32", 10), result(l, "u32", 10))
	})
	for _, prefill := range []int{0, 1} {
		layer("SignalFramer", "i16", func(l *Layer) {
			l.do(custom(map[string]int{"frame_size": 7, "frame_step": 4, "prefill": prefill}),
				[]int32{plain(l, "i16", 2, 8)}, result(l, "i16", 2, 2, 7), result(l, "bool"))
		})
	}
	layer("SignalOverlapAdd", "i16 f32", func(l *Layer) {
		l.do(custom(map[string]int{"T": int(Types[l.Type]), "frame_step": 3}), []int32{plain(l, l.Type, 2, 3, 5)},
			result(l, l.Type, 2, 9))
	})
	layer("SignalPCAN", "u32", func(l *Layer) {
		l.do(custom(map[string]int{"snr_shift": 6}), []int32{plain(l, "u32", 30), plain(l, "u32", 30),
			l.plain(l.random("i16", 125))}, result(l, "u32", 30))
	})
	for _, n := range []int32{8, 64, 32} {
		layer("SignalRfft", "i16 i32", func(l *Layer) {
			l.do(custom(map[string]int{"T": int(Types[l.Type]), "fft_length": int(n)}),
				[]int32{plain(l, l.Type, 2, n-2)}, result(l, l.Type, 2, n+2))
		})
		layer("SignalIrfft", "i16 i32", func(l *Layer) {
			l.do(custom(map[string]int{"T": int(Types[l.Type]), "fft_length": int(n)}),
				[]int32{plain(l, l.Type, 2, n+2)}, result(l, l.Type, 2, n))
		})
	}
	layer("SignalStacker", "i16", func(l *Layer) {
		l.do(custom(map[string]int{"num_channels": 3, "stacker_left_context": 1, "stacker_right_context": 1,
			"stacker_step": 1}), []int32{plain(l, "i16", 3)}, result(l, "i16", 9), result(l, "bool"))
	})
	layer("SignalWindow", "i16", func(l *Layer) {
		l.do(custom(map[string]int{"shift": 12}), []int32{plain(l, "i16", 2, 9), l.plain(l.random("i16", 9))},
			result(l, "i16", 2, 9))
	})
	return all
}
