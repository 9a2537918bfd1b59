// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// layerList are layers in the order in which they are added.
type layerList []*Layer

// add adds a layer of an operator for each of some types.
func (all *layerList) add(op, types string, o options, parts ...part) {
	all.fill(op, types, func(l *Layer) { l.do(o, parts...) })
}

func (all *layerList) fill(op, types string, fill func(l *Layer)) {
	for _, t := range strings.Fields(types) {
		l := newLayer(op, t)
		fill(l)
		*all = append(*all, l)
	}
}

// Layers are models of one operator each: every operator that nncc reads, in the types
// that TensorFlow Lite Micro has it in, and those that TensorFlow Lite alone has.
func Layers() []*Layer {
	var all layerList
	all.elementwise()
	all.windows()
	all.views()
	all.moving()
	all.arithmetic()
	all.signals()
	all.control()
	all.detections()
	all.beyond()
	return all
}

func (all *layerList) elementwise() {
	for op, types := range map[string]string{"ABS": "f32 i8 i16", "CEIL": "f32", "COS": "f32", "ELU": "f32 i8",
		"EXP": "f32", "FLOOR": "f32", "HARD_SWISH": "f32 i8", "NEG": "f32", "RELU": "f32 i8 i16", "ROUND": "f32",
		"SIN": "f32", "SQUARE": "f32"} {
		all.add(op, types, with(0), in(2, 3, 5), rescaled(2, 3, 5))
	}
	all.add("LEAKY_RELU", "f32 i8 i16", with(75, 0.2), in(2, 15), rescaled(2, 15))
	all.add("RELU6", "f32 i8 i16", with(0), in(2, 15), out(2, 15))
	all.add("RELU_0_TO_1", "f32", with(0), in(2, 15), out(2, 15))
	for op, at := range map[string]part{"LOGISTIC": out(3, 9).scaled("i8", 1./256, -128),
		"TANH": out(3, 9).scaled("i8", 1./128, 0), "SOFTMAX": out(3, 9).scaled("i8", 1./256, -128)} {
		all.add(op, "f32 i8 i16", with(9, 1.0), in(3, 9), at.scaled("i16", 1./32768, 0))
	}
	pair := func(op string, kind byte, types string, fields ...any) {
		all.add(op, types, with(kind, fields...), in(2, 3, 5), in(3, 5), rescaled(2, 3, 5))
	}
	pair("ADD", 11, "f32 i8 i16 i32", int8(0))
	pair("SUB", 28, "f32 i8 i16 i32", int8(0))
	pair("MUL", 21, "f32 i8 i16 i32", int8(1))
	pair("SQUARED_DIFFERENCE", 76, "f32 i8 i16 i32")
	all.add("DIV", "f32 i8", with(29, int8(0)), in(2, 15), random("", 15), rescaled(2, 15))
	all.add("PRELU", "f32", with(0), in(2, 15), random("f32", 15), rescaled(2, 15))
	all.add("PRELU", "i8 i16", with(0), in(2, 15), random("i8", 15), rescaled(2, 15))
	for _, op := range []string{"MAXIMUM", "MINIMUM"} {
		all.add(op, "f32 i8 i16 i32 i64", with(39), in(2, 15), in(15), out(2, 15))
	}
	for op, kind := range map[string]byte{"EQUAL": 53, "NOT_EQUAL": 54, "LESS": 41, "LESS_EQUAL": 46, "GREATER": 44,
		"GREATER_EQUAL": 45} {
		all.add(op, "f32 i8 i32 i64", with(kind), in(2, 15), in(15), output("bool", 2, 15))
	}
	for _, op := range []string{"LOGICAL_AND", "LOGICAL_OR"} {
		all.add(op, "bool", with(0), in(15), in(15), out(15))
	}
	all.add("LOGICAL_NOT", "bool", with(0), in(15), out(15))
	for _, op := range []string{"MEAN", "SUM"} {
		all.add(op, "f32 i8 i16", with(27, true), in(2, 5, 3), ints(1), rescaled(2, 1, 3))
	}
	for _, op := range []string{"REDUCE_MAX", "REDUCE_MIN"} {
		all.add(op, "f32 i8", with(27, false), in(2, 5, 3), ints(1), out(2, 3))
	}
}

func (all *layerList) windows() {
	wide := func(shape ...int32) part { return out(shape...).scaled("i8", 0.3, 4).scaled("i16", 0.01, 0) }
	const types = "f32 i8 i16"
	all.add("CONV_2D", types, with(1, int8(0), 2, 1, int8(1), 1, 1), in(1, 5, 6, 3), weights(4, 3, 3, 3), none,
		wide(1, 5, 3, 4))
	all.add("DEPTHWISE_CONV_2D", types, with(2, int8(1), 1, 1, 2, int8(0), 1, 1), in(1, 5, 6, 3), weights(1, 3, 3, 6),
		none, wide(1, 3, 4, 6))
	all.add("TRANSPOSE_CONV", types, with(49, int8(0), 2, 2), ints(1, 6, 8, 2), weights(2, 3, 3, 3), in(1, 3, 4, 3),
		wide(1, 6, 8, 2))
	all.add("FULLY_CONNECTED", types, with(8, int8(0)), in(2, 9), weights(4, 9), none, wide(2, 4))
	for _, op := range []string{"AVERAGE_POOL_2D", "MAX_POOL_2D"} {
		all.add(op, types, with(5, int8(0), 2, 1, 3, 2, int8(0)), in(1, 5, 6, 3), out(1, 5, 3, 3))
	}
}

// views are layers that give elements another shape, place or quantisation.
func (all *layerList) views() {
	const most = "f32 i8 i16 i32"
	all.add("CONCATENATION", most+" bool", with(10, 1, int8(0)), in(2, 3), in(2, 4), out(2, 7))
	all.add("DEPTH_TO_SPACE", "f32 i8", with(94, 2), in(1, 2, 3, 8), out(1, 4, 6, 2))
	all.add("SPACE_TO_DEPTH", "f32 i8", with(19, 2), in(1, 4, 6, 2), out(1, 2, 3, 8))
	all.add("EXPAND_DIMS", most, with(52), in(2, 3), ints(1), out(2, 1, 3))
	all.add("SQUEEZE", most, with(30), in(2, 1, 3), out(2, 3))
	all.add("RESHAPE", most, with(17), in(2, 6), ints(3, 4), out(3, 4))
	all.add("PACK", most+" i64", with(59, 2, 1), in(2, 3), in(2, 3), out(2, 2, 3))
	all.add("UNPACK", most, with(64, 2, 0), in(2, 3), out(3), out(3))
	all.add("PAD", most, with(22), in(2, 3), list(shape(2, 2), 1, 0, 2, 1), out(3, 6))
	all.add("PADV2", "f32 i8 i16", with(43), in(2, 3), list(shape(2, 2), 1, 0, 2, 1), random(""), out(3, 6))
	all.add("SLICE", most+" bool", with(48), in(4, 5), ints(1, 2), ints(2, -1), out(2, 3))
	all.add("SPLIT", most, with(35, 2), scalar(1), in(2, 6), out(2, 3), out(2, 3))
	all.add("SPLIT_V", most, with(79, 2), in(2, 6), ints(2, 4), scalar(1), out(2, 2), out(2, 4))
	all.add("TRANSPOSE", "f32 i8 i16", with(26), in(2, 3, 4), ints(2, 0, 1), out(4, 2, 3))
	for to, scale := range map[string]float32{"i8": 0.085, "i16": 0.00085} {
		all.add("QUANTIZE", "f32 i8 i16 i32", with(89), in(2, 9).scaled("i32", 0.001, 0),
			output(to, 2, 9).scaled(to, scale, 0))
	}
	all.add("DEQUANTIZE", "i8 i16", with(38), in(2, 9), output("f32", 2, 9))
}

func (all *layerList) moving() {
	all.add("BATCH_TO_SPACE_ND", "f32 i8", with(24), in(6, 3, 2, 4), ints(3, 2), list(shape(2, 2), 1, 2, 0, 1),
		out(1, 6, 3, 4))
	all.add("SPACE_TO_BATCH_ND", "f32 i8", with(25), in(2, 5, 3, 2), ints(3, 2), list(shape(2, 2), 1, 0, 0, 1),
		out(12, 2, 2, 2))
	all.add("BROADCAST_ARGS", "i32 i64", with(0), in(3), in(5), out(5))
	all.add("BROADCAST_TO", "f32 i8 i16 i32 i64", with(104), in(3, 1), ints(2, 3, 4), out(2, 3, 4))
	all.add("DYNAMIC_UPDATE_SLICE", "f32 i8 i16 i32", with(117), in(3, 5, 2), in(2, 3, 2), input("i32", 3),
		out(3, 5, 2))
	all.add("EMBEDDING_LOOKUP", "f32 i8", with(0), index(7, 4), random("", 7, 3), out(4, 3))
	all.add("EMBEDDING_LOOKUP", "i8", with(0), index(7, 4), random("i8", 7, 3).scaled("i8", 0.02, 0),
		output("f32", 4, 3))
	all.add("FILL", "f32 i8 i16 i32 i64", with(68), ints(2, 3), in(), out(2, 3))
	all.add("GATHER", "f32 i8 i32", with(23, 1), in(2, 5, 3), list(shape(2, 2), 4, 0, 1, 1), out(2, 2, 2, 3))
	all.add("GATHER", "f32 i8 i32", with(23, 2, 1), in(2, 3, 5), list(shape(2, 4), 4, 0, 1, 1, 3, 2, 0, 4),
		out(2, 3, 4))
	all.add("GATHER", "f32 i8 i32", with(23, 0), random("", 3, 2), index(3, 5), out(5, 2))
	all.add("GATHER_ND", "f32 i8 i32", with(83), in(3, 4, 2), list(shape(3, 2), 2, 3, 0, 1, 1, 1), out(3, 2))
	all.add("MIRROR_PAD", "f32 i8", with(77, int8(0)), in(3, 4), list(shape(2, 2), 2, 1, 3, 0), out(6, 7))  // REFLECT
	all.add("MIRROR_PAD", "f32 i8", with(77, int8(1)), in(3, 4), list(shape(2, 2), 3, 1, 2, 4), out(7, 10)) // SYMMETRIC
	all.add("REVERSE_V2", "f32 i8 i16 i32 i64 bool u8", with(81), in(2, 3, 4), ints(1), out(2, 3, 4))
	all.add("SELECT_V2", "f32 i8 i16", with(98), input("bool", 2, 1), in(2, 3), in(3), out(2, 3))
	all.fill("SHAPE", "f32 i8", func(l *Layer) {
		x := l.put(in(2, 3, 4))
		l.do(with(55), at(x), output("i32", 3))
		l.op("ABS", with(78), at(x), out(2, 3, 4))
	})
	all.add("STRIDED_SLICE", "f32 i8 i16 i32 bool", with(32, 1, 2, 0, 0, 0), in(4, 5, 6), ints(9, 1, 5),
		ints(3, 0, 0), ints(2, 1, -2), out(2, 4, 3))
	// x[..., None, 1, 2:4]
	all.add("STRIDED_SLICE", "f32 i8", with(32, 0, 0, 1, 2, 4), in(2, 3, 4, 5), ints(0, 0, 1, 2),
		ints(0, 0, 2, 4), ints(1, 1, 1, 1), out(2, 3, 1, 2))
	all.add("TILE", "f32 i8 i32", with(51), in(2, 3), ints(2, 3), out(4, 9))
	all.fill("ZEROS_LIKE", "f32 i8 i32 i64", func(l *Layer) {
		x := l.put(in(2, 3))
		l.do(with(67), at(x), out(2, 3))
		l.op("REVERSE_V2", with(81), at(x), ints(0), out(2, 3))
	})
	for _, to := range strings.Fields("f32 i8 i16 i32 bool") {
		from := slices.DeleteFunc(strings.Fields("f32 i8 i16 i32 u32 bool"), func(t string) bool { return t == to })
		all.add("CAST", strings.Join(from, " "), with(37), in(3, 4).plain(), output(to, 3, 4).plain())
	}
	all.add("REDUCE_ALL", "bool", with(27, true), in(2, 3, 4), ints(1), out(2, 1, 4))
}

func (all *layerList) arithmetic() {
	all.add("ADD_N", "f32 i8", with(82), in(2, 3, 4), in(2, 3, 4), in(2, 3, 4), rescaled(2, 3, 4))
	all.add("CUMSUM", "f32 i8", with(102, true, false), in(2, 5, 3), scalar(1), rescaled(2, 5, 3))
	all.add("CUMSUM", "f32 i8", with(102, false, true), in(2, 5, 3), scalar(-1), rescaled(2, 5, 3))
	for _, op := range []string{"ARG_MAX", "ARG_MIN"} {
		all.add(op, "f32 i8", with(40, int8(2)), in(3, 5, 4), scalar(1), output("i32", 3, 4))
	}
	all.add("BATCH_MATMUL", "f32 i8 i16", with(101, true, false), in(2, 5, 3), in(2, 5, 4), rescaled(2, 3, 4))
	all.add("FLOOR_DIV", "f32 i32", with(65), in(2, 9), random("", 9), out(2, 9))
	all.add("FLOOR_MOD", "f32 i32", with(72), in(2, 9), random("", 9), out(2, 9))
	all.add("L2_NORMALIZATION", "f32 i8", with(12, int8(0)), in(3, 7), out(3, 7).scaled("i8", 1./128, 0))
	all.add("L2_POOL_2D", "f32", with(5, int8(0), 2, 1, 3, 2, int8(1)), in(1, 5, 6, 3), out(1, 5, 3, 3))
	all.add("LOG_SOFTMAX", "f32 i8", with(36), in(4, 6), out(4, 6).scaled("i8", 1./16, 127))
	for _, where := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		all.add("RESIZE_BILINEAR", "f32 i8", with(15, nil, nil, where[0], where[1]), in(1, 4, 3, 2), ints(7, 5),
			out(1, 7, 5, 2))
		all.add("RESIZE_NEAREST_NEIGHBOR", "f32 i8 i16", with(74, where[0], where[1]), in(1, 4, 3, 2), ints(7, 6),
			out(1, 7, 6, 2))
	}
	all.add("RESIZE_NEAREST_NEIGHBOR", "f32 i8 i16", with(74, false, false), in(1, 2, 3, 4), ints(4, 9),
		out(1, 4, 9, 4))
}

func (all *layerList) signals() {
	type numbers = map[string]int
	plain := func(typ string, shape ...int32) part { return input(typ, shape...).plain() }
	result := func(typ string, shape ...int32) part { return output(typ, shape...).plain() }
	some := func(n int32) part { return random("i16", n).plain() }
	words := func(v ...int16) part { return constant("i16", shape(int32(len(v))), v).plain() }
	all.add("CIRCULAR_BUFFER", "i8", custom(numbers{"cycles_max": 1}), in(1, 1, 2, 4), out(1, 3, 2, 4).keeping())
	all.add("SignalDelay", "i16", custom(numbers{"delay_length": 5}), plain("i16", 2, 3), result("i16", 2, 3))
	all.add("SignalEnergy", "i16", custom(numbers{"start_index": 0, "end_index": 9}), plain("i16", 18),
		result("u32", 9))
	all.add("SignalFftAutoScale", "i16", options{}, plain("i16", 12), result("i16", 12), result("i32"))
	all.add("SignalFilterBank", "u32", custom(numbers{"num_channels": 3}), plain("u32", 12), some(9), some(9),
		words(1, 3, 5, 9), words(0, 2, 4, 7), words(2, 2, 3, 2), result("u64", 3))
	all.add("SignalFilterBankLog", "u32", custom(numbers{"input_correction_bits": 3, "output_scale": 1600}),
		plain("u32", 30), result("i16", 30))
	all.add("SignalFilterBankSquareRoot", "u64", options{}, plain("u64", 30), index(8), result("u32", 30))
	all.add("SignalFilterBankSpectralSubtraction", "u32", custom(numbers{"alternate_one_minus_smoothing": 14000,
		"alternate_smoothing": 2384, "clamping": 1, "min_signal_remaining": 819, "num_channels": 10,
		"one_minus_smoothing": 15975, "smoothing": 409, "smoothing_bits": 10, "spectral_subtraction_bits": 14}),
		plain("u32", 10), result("u32", 10), result("u32", 10))
	for _, prefill := range []int{0, 1} {
		all.add("SignalFramer", "i16", custom(numbers{"frame_size": 7, "frame_step": 4, "prefill": prefill}),
			plain("i16", 2, 8), result("i16", 2, 2, 7), result("bool"))
	}
	for _, typ := range []string{"i16", "f32"} {
		all.add("SignalOverlapAdd", typ, custom(numbers{"T": int(Types[typ]), "frame_step": 3}),
			plain(typ, 2, 3, 5), result(typ, 2, 9))
	}
	all.add("SignalPCAN", "u32", custom(numbers{"snr_shift": 6}), plain("u32", 30), plain("u32", 30), some(125),
		result("u32", 30))
	for _, n := range []int32{8, 64, 32} {
		for _, typ := range []string{"i16", "i32"} {
			o := custom(numbers{"T": int(Types[typ]), "fft_length": int(n)})
			all.add("SignalRfft", typ, o, plain(typ, 2, n-2), result(typ, 2, n+2))
			all.add("SignalIrfft", typ, o, plain(typ, 2, n+2), result(typ, 2, n))
		}
	}
	all.add("SignalStacker", "i16", custom(numbers{"num_channels": 3, "stacker_left_context": 1,
		"stacker_right_context": 1, "stacker_step": 1}), plain("i16", 3), result("i16", 9), result("bool"))
	all.add("SignalWindow", "i16", custom(numbers{"shift": 12}), plain("i16", 2, 9), some(9), result("i16", 2, 9))
}

func (all *layerList) control() {
	all.fill("IF", "f32 i8", func(l *Layer) {
		l.Called = []Graph{called(l.Type, "ADD", with(11)), called(l.Type, "RELU", options{})}
		l.do(with(92, 1, 2), input("bool", 1), in(2, 3), out(2, 3))
	})
	all.fill("WHILE", "f32 i8", func(l *Layer) {
		test, turn := newLayer("LESS", l.Type), newLayer("ADD", l.Type)
		test.put(in(2, 3))
		test.do(options{}, input("i32", 1), ints(3), output("bool", 1))
		x, count := turn.put(in(2, 3)), turn.put(input("i32", 1))
		turn.do(with(11), at(x), random("", 3), out(2, 3))
		turn.do(with(11), at(count), ints(1), output("i32", 1))
		l.Called = []Graph{test.Graph, turn.Graph}
		l.do(with(93, 1, 2), in(2, 3), ints(0), out(2, 3), output("i32", 1))
	})
}

// called is a graph of one operator, which gets its input as often as the operator has operands.
func called(typ, op string, o options) Graph {
	l := newLayer(op, typ)
	parts := []part{at(l.put(in(2, 3)))}
	if op == "ADD" {
		parts = append(parts, parts[0])
	}
	l.do(o, append(parts, out(2, 3))...)
	return l.Graph
}

// detections are layers of DetectionPostprocess: classes that compete, and that do not,
// with a background and without.
func (all *layerList) detections() {
	for i, typ := range []string{"f32", "f32", "f32", "i8"} {
		const boxes, classes = 15, 3
		o := DetectionOptions(4, classes, 1+i/3, -5, 0.9)
		if i == 1 {
			o["use_regular_nms"], o["detections_per_class"] = true, 3
		}
		rows := int32(4 * (1 + i/3))
		anchors := part{add: func(l *Layer) int32 { return l.constant("f32", shape(boxes, 4), Anchors(l.rng, boxes)) }}
		all.add("TFLite_Detection_PostProcess", typ, custom(o), in(1, boxes, 4), in(1, boxes, classes+int32(i%2)),
			anchors, output("f32", 1, rows, 4), output("f32", 1, rows), output("f32", 1, rows), output("f32", 1))
	}
}

// beyond are layers of operators that TensorFlow Lite has and TensorFlow Lite Micro has not.
func (all *layerList) beyond() {
	all.add("ATAN2", "f32", with(121), in(3, 5), in(3, 5), out(3, 5))
	all.add("GELU", "f32 i8", with(116, false), in(3, 5), rescaled(3, 5))
	all.add("GELU", "f32 i8", with(116, true), in(3, 5), rescaled(3, 5))
	// Of the indices 5 is outside.
	all.add("ONE_HOT", "f32 i32", with(61, 1), index(6, 3, 2), scalar(5), random(""), random(""), out(3, 5, 2))
	all.add("POW", "f32", with(56), floats(shape(3), 0.5, 2, 3), in(4, 3), out(4, 3))
	all.add("REDUCE_ANY", "bool", with(27, false), in(4, 3), ints(1), out(4))
	all.add("REDUCE_PROD", "f32", with(27, true), in(4, 3), ints(1), out(4, 1))
	all.add("REVERSE_SEQUENCE", "f32 i8 i32", with(87, 2, 1), in(2, 3, 4), ints(4, 1, 2), out(2, 3, 4))
	all.add("SCATTER_ND", "f32 i32", with(97), list(shape(3, 1), 4, 0, 4), in(3, 2), ints(5, 2), out(5, 2))
	all.add("SELECT", "f32 i8 i32", with(47), input("bool", 3), in(3, 4), in(3, 4), out(3, 4))
	all.add("SIGN", "f32", with(123), in(3, 5), out(3, 5))
	all.add("TOPK_V2", "f32 i8 i32", with(34), in(2, 7), scalar(3), out(2, 3), output("i32", 2, 3))
	all.add("UNIQUE", "i32", with(0), in(6), out(6), output("i32", 6))
	parts := []part{floats(shape(4, 4), 0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 2, 1, 3, 0, 2, 1, 2.9), in(4), scalar(5),
		floats(nil, 0.5), floats(nil, -2)}
	indices, count := output("i32", 5), output("i32")
	all.add("NON_MAX_SUPPRESSION_V4", "f32", with(0), append(slices.Clone(parts), indices, count)...)
	all.add("NON_MAX_SUPPRESSION_V5", "f32", with(0), append(parts, floats(nil, 0), indices, out(5), count)...)
	all.fill("STABLEHLO_COMPOSITE", "f32 i8", func(l *Layer) {
		l.Called = []Graph{called(l.Type, "ADD", with(11))}
		l.do(with(21, nil, 1), in(2, 3), out(2, 3))
		l.Ops[0].Second = true
	})
}

// Anchors are n constant anchors: centres in the unit square, sizes of a tenth to a half.
func Anchors(rng *rand.Rand, n int) []byte {
	v := make([]float32, 4*n)
	for i := range v {
		if v[i] = rng.Float32(); i%4 >= 2 {
			v[i] = 0.1 + 0.4*v[i]
		}
	}
	return raw(v)
}

// DetectionOptions are those of DetectionPostprocess, with the usual scales.
func DetectionOptions(most, classes, labels int, score, iou float64) map[string]any {
	return map[string]any{"max_detections": most, "num_classes": classes, "max_classes_per_detection": labels,
		"nms_score_threshold": score, "nms_iou_threshold": iou, "y_scale": 10., "x_scale": 10., "h_scale": 5.,
		"w_scale": 5.}
}
