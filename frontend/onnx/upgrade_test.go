// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
)

// textModel is a model of an opset from the text of its graph and functions.
func textModel(t testing.TB, opset int, text string) *Model {
	t.Helper()
	m,
		err := Parse(fmt.Appendf(nil,
		`<ir_version: 8, opset_import: ["" : %d, "com.microsoft" : 1, "ai.onnx.ml" : 3, "local" : 1, "com.sigmastar" : 1,
			"darknet" : 1, "qonnx.custom_op.channels_last" : 1]> g %s`, opset, text), Limits{})
	testenv.Require(t, err == nil, "%v in\n%s", err, text)
	return m
}

// open checks and imports a model, which must be right.
func open(t testing.TB, m *Model, opt ImportOptions) *ir.Graph {
	t.Helper()
	g := testenv.Must(OpenModel(m, opt))(t)
	irtest.Verify(t, g)
	return g
}

// newest is the opset in which the expected forms are written.
const newest = 23

// Nodes of old opsets mean what the newest form beside them says.
func TestUpgrades(t *testing.T) {
	for _, c := range []struct {
		name   string
		opset  int
		sig    string // inputs and outputs
		old    string
		newest string
	}{
		{"Add-6 along an axis", 6, "(float[2,3,4] x) => (float y)",
			`b = Constant <value = float[3] {1, 2, 3}> () y = Add <broadcast = 1, axis = 1> (x, b)`,
			`b = Constant <value = float[3,1] {1, 2, 3}> () y = Add (x, b)`},
		{"PRelu-6, per channel", 6, "(float[1,3,4] x) => (float y)",
			`s = Constant <value = float[3] {0.1, 0.2, 0.3}> () y = PRelu (x, s)`,
			`s = Constant <value = float[3,1] {0.1, 0.2, 0.3}> () y = PRelu (x, s)`},
		{"Gemm-6", 6, "(float[2,3] x) => (float y)",
			`w = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () b = Constant <value = float[2] {1, 2}> ()
				y = Gemm <broadcast = 1> (x, w, b)`,
			`w = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () b = Constant <value = float[2] {1, 2}> ()
				y = Gemm (x, w, b)`},
		{"Reshape-1", 4, "(float[2,3] x) => (float y)", `y = Reshape <shape = [3, 2]> (x)`,
			`s = Constant <value_ints = [3, 2]> () y = Reshape (x, s)`},
		{"Scaler", 13, "(float[2,2] x) => (float y)",
			`y = ai.onnx.ml.Scaler <offset = [1.0, 2.0], scale = [2.0, 3.0]> (x)`,
			`o = Constant <value_floats = [1.0, 2.0]> () s = Constant <value_floats = [2.0, 3.0]> () a = Sub (x, o)
				y = Mul (a, s)`},
		{"Normalizer", 13, "(float[2,3] x) => (float y)", `y = ai.onnx.ml.Normalizer <norm = "L2"> (x)`,
			`y = LpNormalization <p = 2> (x)`},
		{"LinearRegressor", 13, "(float[2,3] x) => (float y)",
			`y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], intercepts = [0.5, -0.5],
				targets = 2> (x)`,
			`w = Constant <value = float[2,3] {1, 2, 3, 4, 5, 6}> () b = Constant <value_floats = [0.5, -0.5]> ()
				y = Gemm <transB = 1> (x, w, b)`},
		{"LinearClassifier", 13, "(float[2,2] x) => (int64 y, float p)",
			`y, p = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, 3.0, -4.0, 5.0, 6.0], intercepts = [0.5, -0.5, 0.0],
				classlabels_ints = [7, 8, 9], post_transform = "SOFTMAX"> (x)`,
			`w = Constant <value = float[3,2] {1, 2, 3, -4, 5, 6}> () b = Constant <value_floats = [0.5, -0.5, 0.0]> ()
				s = Gemm <transB = 1> (x, w, b) m = ArgMax <axis = 1, keepdims = 0> (s) l = Constant <value_ints = [7,
					8, 9]> ()
				y = Gather (l, m) p = Softmax (s)`},
		{"LabelEncoder", 13, "(float[4] x) => (int64 y)",
			`r = Round (x) y = ai.onnx.ml.LabelEncoder <keys_floats = [0.0, 1.0], values_int64s = [5, 6],
				default_int64 = -3> (r)`,
			`r = Round (x) a = Constant <value_float = 0.0> () b = Constant <value_float = 1.0> () p = Equal (r, a)
				q = Equal (r, b) u = Constant <value_int = 5> () v = Constant <value_int = 6> () d = Constant <value_int = -3> ()
				w = Where (q, v, d) y = Where (p, u, w)`},
		{"LabelEncoder, the default of floats is -0", 13, "(float[4] x) => (float y)",
			`l = ai.onnx.ml.LabelEncoder <keys_floats = [70.0], values_floats = [5.0]> (x) o = Constant <value_float = 1.0> ()
				q = Div (o, l) y = Sign (q)`,
			`z = Sub (x, x) m = Constant <value_float = -1.0> () q = Div (m, z) y = Sign (q)`},
		{"SVMRegressor, linear kernel", 13, "(float[2,2] x) => (float y)",
			`y = ai.onnx.ml.SVMRegressor <kernel_type = "LINEAR", support_vectors = [1.0, 2.0, 3.0, 4.0], coefficients = [0.5,
				-1.0], n_supports = 2, rho = [0.25]> (x)`,
			`w = Constant <value = float[2,1] {-2.5, -3}> () b = Constant <value_float = 0.25> () m = MatMul (x, w)
				y = Add (m, b)`},
		{"TreeEnsembleRegressor", 13, "(float[5,2] x) => (float y)",
			`y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1,
				0, 0], nodes_values = [0.5, 0.0, 0.0],
			nodes_modes = ["BRANCH_LT", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0],
			target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [3.0, 4.0],
			base_values = [1.0], n_targets = 1> (x)`,
			`i = Constant <value_int = 1> () f = Gather <axis = 1> (x, i) s = Constant <value_float = 0.5> () c = Less (f, s)
				a = Constant <value_float = 4.0> () b = Constant <value_float = 5.0> () w = Where (c, a, b)
				n = Constant <value_ints = [5, 1]> () y = Reshape (w, n)`},
		{"TreeEnsembleClassifier, two classes with weights of their own", 13, "(float[9,1] x) => (int64 y)",
			`y, z = ai.onnx.ml.TreeEnsembleClassifier <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
				nodes_featureids = [0, 0, 0], nodes_values = [0.1, 0.0, 0.0],
			nodes_modes = ["BRANCH_LT", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0],
			class_treeids = [0, 0, 0, 0], class_nodeids = [1, 1, 2, 2], class_ids = [0, 1, 0, 1], class_weights = [0.8,
				0.2, 0.4,
			0.6], classlabels_int64s = [5, 7]> (x)`,
			`s = Constant <value_float = 0.1> () c = Less (x, s) a = Constant <value_int = 5> () b = Constant <value_int = 7> ()
				w = Where (c, a, b) n = Constant <value_ints = [9]> () y = Reshape (w, n)`},
		{"sequences that disappear", 13, "(float[4,3] x) => (float y, int64 n)",
			`a = SplitToSequence <axis = 0, keepdims = 0> (x) m = Constant <value_int = -1> () b = SequenceErase (a, m)
				c = SequenceAt (b, m) z = Constant <value_int = 0> () d = SequenceInsert (b, c, z) e = Identity (d)
			y = ConcatFromSequence <axis = 1, new_axis = 1> (e) n = SequenceLength (e)`,
			`i = Constant <value_ints = [2, 0, 1, 2]> () g = Gather (x, i) y = Transpose <perm = [1, 0]> (g)
			n = Constant <value_int = 4> ()`},
		{"DFT and back", 20, "(float[1,6,2] x) => (float y)", `f = DFT (x) y = DFT <inverse = 1> (f)`,
			`y = Identity (x)`},
		{"real DFT and back", 20, "(float[1,7,1] x) => (float y)",
			`f = DFT <onesided = 1> (x) n = Constant <value_int = 7> () y = DFT <onesided = 1, inverse = 1> (f, n)`,
			`y = Identity (x)`},
		{"STFT of a signal without its last axis", 17, "(float[1,9] x) => (float y)",
			`s = Constant <value_int = 2> () l = Constant <value_int = 4> () y = STFT (x, s, "", l)`,
			`n = Constant <value_ints = [1, 9, 1]> () c = Reshape (x, n) s = Constant <value_int = 2> ()
				l = Constant <value_int = 4> () y = STFT (c, s, "", l)`},
		{"Squeeze-1", 7, "(float[1,3,1] x) => (float y)", `y = Squeeze <axes = [0, 2]> (x)`,
			`a = Constant <value_ints = [0, 2]> () y = Squeeze (x, a)`},
		{"Squeeze-11, all", 11, "(float[1,3,1] x) => (float y)", `y = Squeeze (x)`, `y = Squeeze (x)`},
		{"Squeeze, a list of none", 13, "(float[1,3,1] x) => (float y)",
			`a = Constant <value = int64[0] {}> () y = Squeeze (x, a)`, `y = Squeeze (x)`},
		{"Unsqueeze-1", 8, "(float[3] x) => (float y)", `y = Unsqueeze <axes = [0, 2]> (x)`,
			`a = Constant <value_ints = [0, 2]> () y = Unsqueeze (x, a)`},
		{"ReduceSum-11", 12, "(float[2,3] x) => (float y)", `y = ReduceSum <axes = [1], keepdims = 0> (x)`,
			`a = Constant <value_ints = [1]> () y = ReduceSum <keepdims = 0> (x, a)`},
		{"ReduceMean-13", 17, "(float[2,3] x) => (float y)", `y = ReduceMean <axes = [-1]> (x)`,
			`a = Constant <value_ints = [-1]> () y = ReduceMean (x, a)`},
		{"ReduceMax-1, all", 7, "(float[2,3] x) => (float y)", `y = ReduceMax <keepdims = 0> (x)`,
			`y = ReduceMax <keepdims = 0> (x)`},
		{"Split-2", 7, "(float[5] x) => (float y, float z)", `y, z = Split <split = [2, 3]> (x)`,
			`a = Constant <value_ints = [2, 3]> () y, z = Split (x, a)`},
		{"Split-2, even", 7, "(float[2,4] x) => (float y, float z)", `y, z = Split <axis = 1> (x)`,
			`y, z = Split <axis = 1, num_outputs = 2> (x)`},
		{"Clip-6", 10, "(float[4] x) => (float y)", `y = Clip <min = -0.5, max = 0.5> (x)`,
			`a = Constant <value_float = -0.5> () b = Constant <value_float = 0.5> () y = Clip (x, a, b)`},
		{"Clip-6, one bound", 7, "(float[4] x) => (float y)", `y = Clip <max = 0.0> (x)`,
			`b = Constant <value_float = 0.0> () y = Clip (x, "", b)`},
		{"Slice-1", 9, "(float[4,5] x) => (float y)",
			`y = Slice <starts = [1, -3], ends = [3, 100], axes = [0, 1]> (x)`,
			`s = Constant <value_ints = [1, -3]> () e = Constant <value_ints = [3, 100]> () a = Constant <value_ints = [0, 1]> ()
				y = Slice (x, s, e, a)`},
		{"Slice-1, no axes", 7, "(float[4,5] x) => (float y)", `y = Slice <starts = [1], ends = [3]> (x)`,
			`s = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> () y = Slice (x, s, e)`},
		{"Pad-2", 10, "(float[2,2] x) => (float y)", `y = Pad <pads = [0, 1, 1, 0], value = 2.5> (x)`,
			`p = Constant <value_ints = [0, 1, 1, 0]> () v = Constant <value_float = 2.5> () y = Pad (x, p, v)`},
		{"Pad-2, reflect", 7, "(float[3,3] x) => (float y)", `y = Pad <pads = [0, 1, 1, 0], mode = "reflect"> (x)`,
			`p = Constant <value_ints = [0, 1, 1, 0]> () y = Pad <mode = "reflect"> (x, p)`},
		{"Pad that crops and wraps", 19, "(float[5,3] x) => (float y)", `p = Constant <value_ints = [3, -1, -1, 2]> ()
				y = Pad <mode = "wrap"> (x, p)`,
			`s = Constant <value_ints = [0, 1]> () e = Constant <value_ints = [4, 3]> () c = Slice (x, s, e)
				q = Constant <value_ints = [3, 0, 0, 2]> () y = Pad <mode = "wrap"> (c, q)`},
		{"TopK-1", 9, "(float[2,5] x) => (float y, int64 z)", `y, z = TopK <k = 2, axis = 1> (x)`,
			`k = Constant <value_ints = [2]> () y, z = TopK <axis = 1> (x, k)`},
		{"Upsample-7", 7, "(float[1,1,2,3] x) => (float y)", `y = Upsample <scales = [1.0, 1.0, 2.0, 3.0]> (x)`,
			`s = Constant <value_floats = [1.0, 1.0, 2.0, 3.0]> ()
				y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, "", s)`},
		{"Upsample-9, linear", 9, "(float[1,1,2,3] x) => (float y)",
			`s = Constant <value = float[4] {1, 1, 2, 2}> () y = Upsample <mode = "linear"> (x, s)`,
			`s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
				y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, "", s)`},
		{"Resize-10, smaller", 10, "(float[1,1,4,6] x) => (float y)",
			`s = Constant <value = float[4] {1, 1, 0.6, 0.6}> () y = Resize (x, s)`,
			`s = Constant <value_floats = [1.0, 1.0, 0.6, 0.6]> ()
				y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil"> (x, "", s)`},
		{"Resize-10, both ways", 10, "(float[1,1,4,6] x) => (float y)",
			`s = Constant <value = float[4] {1, 1, 0.6, 2}> () y = Resize (x, s)`,
			`r = Constant <value_floats = [1.0, 1.0, 0.6, 1.0]> ()
				a = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil"> (x, "", r)
			 s = Constant <value_floats = [1.0, 1.0, 1.0, 2.0]> ()
			 y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, "", s)`},
		{"Softmax-1", 11, "(float[2,3,4] x) => (float y)", `y = Softmax (x)`,
			`f = Constant <value_ints = [2, 12]> () r = Reshape (x, f) s = Softmax <axis = 1> (r)
				b = Constant <value_ints = [2, 3, 4]> () y = Reshape (s, b)`},
		{"Softmax-11, last axis", 12, "(float[2,3,4] x) => (float y)", `y = Softmax <axis = -1> (x)`,
			`y = Softmax <axis = 2> (x)`},
		{"Softmax-11, ones behind", 12, "(float[2,3,1,1] x) => (float y)", `y = Softmax <axis = 1> (x)`,
			`y = Softmax <axis = 1> (x)`},
		{"LogSoftmax-1, all", 7, "(float[2,3] x) => (float y)", `y = LogSoftmax <axis = 0> (x)`,
			`f = Constant <value_ints = [1, 6]> () r = Reshape (x, f) s = LogSoftmax <axis = 1> (r)
				b = Constant <value_ints = [2, 3]> () y = Reshape (s, b)`},
		{"Hardmax-1", 7, "(float[2,3,2] x) => (float y)", `y = Hardmax <axis = 2> (x)`, `y = Hardmax <axis = 2> (x)`},
		{"Dropout-7", 7, "(float[3] x) => (float y, float m)", `y, m = Dropout <ratio = 0.3> (x)`,
			`y = Identity (x) o = Sub (x, x) c = Constant <value_float = 1.0> () m = Add (o, c)`},
		{"Dropout-10", 11, "(float[3] x) => (float y, bool m)", `y, m = Dropout <ratio = 0.3> (x)`,
			`y = Identity (x) m = Equal (x, x)`},
		{"Dropout-12", 13, "(float[3] x) => (float y)",
			`r = Constant <value_float = 0.3> () n = Constant <value = bool {0}> () y = Dropout (x, r, n)`,
			`y = Identity (x)`},
		{"Scatter-9", 10, "(float[1,5] x) => (float y)",
			`i = Constant <value = int64[1,2] {1, 3}> () u = Constant <value = float[1,2] {7, 8}> ()
				y = Scatter <axis = 1> (x, i, u)`,
			`i = Constant <value = int64[1,2] {1, 3}> () u = Constant <value = float[1,2] {7, 8}> ()
				y = ScatterElements <axis = 1> (x, i, u)`},
		{"BatchNormalization-7", 8, "(float[2,3,2] x) => (float y)",
			`s = Constant <value = float[3] {1, 2, 3}> () v = Constant <value = float[3] {0.5, 1, 2}> ()
				y, m, n, o, p = BatchNormalization <momentum = 0.8, epsilon = 0.01> (x, s, s, s, v)`,
			`s = Constant <value = float[3] {1, 2, 3}> () v = Constant <value = float[3] {0.5, 1, 2}> ()
				y = BatchNormalization <epsilon = 0.01> (x, s, s, s, v)`},
		{"BatchNormalization-7, not spatial", 7, "(float[2,3,2] x) => (float y)",
			`s = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () y = BatchNormalization <spatial = 0> (x, s, s, s, s)`,
			`s = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () e = Constant <value_float = 1e-5> () v = Add (s, e)
				d = Sqrt (v) f = Div (s, d) c = Sub (x, s) z = Mul (c, f) y = Add (z, s)`},
		{"GroupNormalization-18", 18, "(float[1,4,2] x) => (float y)",
			`s = Constant <value = float[2] {1, 2}> () b = Constant <value = float[2] {3, 4}> ()
				y = GroupNormalization <num_groups = 2> (x, s, b)`,
			`s = Constant <value = float[4] {1, 1, 2, 2}> () b = Constant <value = float[4] {3, 3, 4, 4}> ()
				y = GroupNormalization <num_groups = 2> (x, s, b)`},
		{"Gemm-7", 7, "(float[2,3] x) => (float y)",
			`w = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () b = Constant <value = float[2] {1, 2}> ()
				y = Gemm (x, w, b)`,
			`w = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () b = Constant <value = float[2] {1, 2}> ()
				y = Gemm (x, w, b)`},
		{"Cast-6", 7, "(float[3] x) => (int32 y)", `y = Cast <to = 6> (x)`, `y = Cast <to = 6> (x)`},
		{"MaxPool-8, column major", 8, "(float[1,1,4,4] x) => (float y, int64 z)",
			`y, z = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)`,
			`y, z = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)`},
		{"AveragePool-7", 7, "(float[1,1,4,4] x) => (float y)",
			`y = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 0, 0], count_include_pad = 1> (x)`,
			`y = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 0, 0], count_include_pad = 1> (x)`},
		{"Constant kinds", 13, "(float[2] x) => (float y)",
			`a = Constant <value_float = 2.0> () b = Constant <value_floats = [1.0, 3.0]> () i = Constant <value_int = 1> ()
				j = Constant <value_ints = [0, 1]> ()
			k = Cast <to = 1> (i) l = Cast <to = 1> (j) m = Add (a, b) n = Add (k, l) o = Mul (m, n) y = Mul (x, o)`,
			`b = Constant <value_floats = [3.0, 10.0]> () y = Mul (x, b)`},
		{"shape chain", 13, "(float[2,3,4] x) => (float y)",
			`s = Shape (x) i = Constant <value = int64 {0}> () n = Gather (s, i) a = Constant <value_ints = [0]> ()
				u = Unsqueeze (n, a) m = Constant <value_ints = [-1]> ()
			t = Concat <axis = 0> (u, m) y = Reshape (x, t)`, `t = Constant <value_ints = [2, 12]> () y = Reshape (x,
				t)`},
		{"Gelu of com.microsoft", 13, "(float[4] x) => (float y)", `y = com.microsoft.Gelu (x)`, `y = Gelu (x)`},
		{"BiasGelu", 13, "(float[4] x) => (float y)",
			`b = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () y = com.microsoft.BiasGelu (x, b)`,
			`b = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () a = Add (x, b) y = Gelu (a)`},
		{"FastGelu", 13, "(float[4] x) => (float y)", `y = com.microsoft.FastGelu (x)`,
			`y = Gelu <approximate = "tanh"> (x)`},
		{"QuickGelu", 13, "(float[4] x) => (float y)", `y = com.microsoft.QuickGelu (x)`,
			`c = Constant <value_float = 1.702> () a = Mul (x, c) s = Sigmoid (a) y = Mul (x, s)`},
		{"FusedMatMul", 13, "(float[3,2] x) => (float y)",
			`y = com.microsoft.FusedMatMul <transA = 1, alpha = 0.5> (x, x)`,
			`t = Transpose <perm = [1, 0]> (x) m = MatMul (t, x) c = Constant <value_float = 0.5> () y = Mul (m, c)`},
		{"FusedConv", 13, "(float[1,1,3,3] x) => (float y)",
			`w = Constant <value = float[1,1,2,2] {1, 2, 3, 4}> ()
				y = com.microsoft.FusedConv <activation = "Clip", activation_params = [0.0, 1.0]> (x, w)`,
			`w = Constant <value = float[1,1,2,2] {1, 2, 3, 4}> () c = Conv (x, w) a = Constant <value_float = 0.0> ()
				b = Constant <value_float = 1.0> () y = Clip (c, a, b)`},
		{"FusedGemm", 13, "(float[2,2] x) => (float y)",
			`y = com.microsoft.FusedGemm <activation = "LeakyRelu", activation_alpha = 0.3, transB = 1> (x, x)`,
			`g = Gemm <transB = 1> (x, x) y = LeakyRelu <alpha = 0.3> (g)`},
		{"SkipLayerNormalization", 13, "(float[2,4] x) => (float y, float s)",
			`g = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
				y, "", "", s = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, x, g, g)`,
			`g = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () s = Add (x, x)
				y = LayerNormalization <epsilon = 0.01> (s, g, g)`},
		{"Attention of com.microsoft", 13, "(float[1,3,2] x) => (float y)",
			`w = Constant <value = float[2,6] {1, -2, 0.5, 1, 3, -1, 0.25, 1, -1, 2, 0.5, 1}> ()
				b = Constant <value = float[6] {0.5, 1, -0.5, 0.25, 1, 2}> ()
				m = Constant <value = int32[1,3] {1, 1, 0}> ()
				y = com.microsoft.Attention <num_heads = 1, unidirectional = 1> (x, w, b, m)`,
			`wq = Constant <value = float[2,2] {1, -2, 0.25, 1}> ()
				wk = Constant <value = float[2,2] {0.5, 1, -1, 2}> ()
				wv = Constant <value = float[2,2] {3, -1, 0.5, 1}> () bq = Constant <value = float[2] {0.5, 1}> ()
				bk = Constant <value = float[2] {-0.5, 0.25}> () bv = Constant <value = float[2] {1, 2}> ()
				mq = MatMul (x, wq) q = Add (mq, bq) mk = MatMul (x, wk) k = Add (mk, bk)
				mv = MatMul (x, wv) v = Add (mv, bv)
				t = Transpose <perm = [0, 2, 1]> (k) s = MatMul (q, t) c = Constant <value_float = 0.70710678> ()
				f = Mul (s, c) n = Constant <value = float[3,3] {0, -1e9, -1e9, 0, 0, -1e9, 0, 0, -10000}> ()
				g = Add (f, n) p = Softmax (g) y = MatMul (p, v)`},
		{"MultiHeadAttention", 13, "(float[1,3,2] x) => (float y)",
			`b = Constant <value = float[6] {0.5, 1, -0.5, 0.25, 1, 2}> ()
				y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.5> (x, x, x, b)`,
			`bq = Constant <value = float[2] {0.5, 1}> () bk = Constant <value = float[2] {-0.5, 0.25}> ()
				bv = Constant <value = float[2] {1, 2}> () q = Add (x, bq) k = Add (x, bk) v = Add (x, bv)
				y = Attention <q_num_heads = 2, kv_num_heads = 2, scale = 0.5> (q, k, v)`},
		{"GroupQueryAttention of a prompt", 23, "(float[1,3,8] x) => (float y, float k)",
			`l = Constant <value = int32[1] {2}> () t = Constant <value = int32 {3}> ()
				y, k, v = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1, scale = 0.5,
					local_window_size = 2> (x, "", "", "", "", l, t)`,
			`s = Constant <value_ints = [4, 2, 2]> () q, a, v = Split <axis = 2> (x, s)
				r = Constant <value_ints = [1, 1, 3, 2]> () k = Reshape (a, r)
				m = Constant <value = float[3,3] {0, 0, 0, 0, 0, 0, -inf, 0, 0}> ()
				y = Attention <q_num_heads = 2, kv_num_heads = 1, scale = 0.5, is_causal = 1> (q, a, v, m)`},
		{"GroupQueryAttention with a cache", 23, "(float[2,1,4] x, float[2,1,3,2] p) => (float y, float k)",
			`l = Constant <value = int32[2] {3, 1}> () t = Constant <value = int32 {4}> ()
				c = Constant <value = float[4,1] {1, 2, 3, 4}> () s = Constant <value = float[4,1] {5, 6, 7, 8}> ()
				w = Constant <value = float[4,2] {1, 2, 3, 4, 5, 6, 7, 8}> () n = MatMul (x, w)
				y, k, v = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1, do_rotary = 1,
					softcap = 2.0> (x, n, n, p, p, l, t, c, s)`,
			`o = Constant <value = int64[2,1] {3, 1}> ()
				c = Constant <value = float[4,1] {1, 2, 3, 4}> () s = Constant <value = float[4,1] {5, 6, 7, 8}> ()
				w = Constant <value = float[4,2] {1, 2, 3, 4, 5, 6, 7, 8}> () n = MatMul (x, w)
				q = RotaryEmbedding <num_heads = 2> (x, c, s, o) r = RotaryEmbedding <num_heads = 1> (n, c, s, o)
				h = Constant <value_ints = [2, 1, 1, 2]> () rh = Reshape (r, h) nh = Reshape (n, h)
				z = Constant <value = float[1,1,2,2] {0, 0, 0, 0}> () i = Constant <value_ints = [1, 1]> ()
				p0, p1 = Split <axis = 0> (p, i) r0, r1 = Split <axis = 0> (rh, i) n0, n1 = Split <axis = 0> (nh, i)
				j = Constant <value_ints = [1, 2]> () f, g = Split <axis = 2> (p1, j)
				k0 = Concat <axis = 2> (p0, r0) k1 = Concat <axis = 2> (f, r1, z) k = Concat <axis = 0> (k0, k1)
				v0 = Concat <axis = 2> (p0, n0) v1 = Concat <axis = 2> (f, n1, z) v = Concat <axis = 0> (v0, v1)
				m = Constant <value = float[2,1,1,4] {0, 0, 0, 0, 0, 0, -inf, -inf}> ()
				d = Constant <value_ints = [2, 1, 2, 2]> () qr = Reshape (q, d) qh = Transpose <perm = [0, 2, 1, 3]> (qr)
				a = Attention <softcap = 2.0> (qh, k, v, m) u = Transpose <perm = [0, 2, 1, 3]> (a)
				e = Constant <value_ints = [2, 1, 4]> () y = Reshape (u, e)`},
		{"MultiHeadAttention of projected keys", 13, "(float[2,2,2] x, float[2,2,3,1] k) => (float y)",
			`b = Constant <value = float[6] {0.5, 1, -0.5, 0.25, 1, 2}> () e = Constant <value = int32[2] {3, 1}> ()
				y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.5> (x, k, k, b, e)`,
			`bq = Constant <value = float[2] {0.5, 1}> () q = Add (x, bq) s = Constant <value_ints = [2, 2, 2, 1]> ()
				r = Reshape (q, s) t = Transpose <perm = [0, 2, 1, 3]> (r)
				m = Constant <value = float[2,1,1,3] {0, 0, 0, 0, -10000, -10000}> ()
				a = Attention <scale = 0.5> (t, k, k, m) u = Transpose <perm = [0, 2, 1, 3]> (a)
				o = Constant <value_ints = [2, 2, 2]> () y = Reshape (u, o)`},
		{"masks of attention", 13, "(float[1,2,2] x) => (float y, float z, float u, float v)",
			`b = Constant <value = int32[2] {2, 1}> () c = Constant <value = int32[1,2,2] {1, 0, 1, 2}> ()
				d = Constant <value = int32[1,1,3,3] {5, 5, 5, 1, 0, 5, 1, 1,
					5}> () e = Constant <value = int32[1,2] {3, 0}> ()
				y = com.microsoft.MultiHeadAttention <num_heads = 1> (x, x, x, "", b)
				z = com.microsoft.MultiHeadAttention <num_heads = 1> (x, x, x, "", c)
				u = com.microsoft.MultiHeadAttention <num_heads = 1> (x, x, x, "", d)
				v = com.microsoft.MultiHeadAttention <num_heads = 1> (x, x, x, "", e)`,
			`b = Constant <value = float[1,1,1,2] {-10000, 0}> () c = Constant <value = float[1,1,2,2] {0, -10000, 0, 0}> ()
				d = Constant <value = float[1,1,2,2] {0, 0, 0, -10000}> () e = Constant <value = float[1,1,1,2] {0,
					-10000}> ()
				y = Attention <q_num_heads = 1, kv_num_heads = 1> (x, x, x, b)
				z = Attention <q_num_heads = 1, kv_num_heads = 1> (x, x, x, c)
				u = Attention <q_num_heads = 1, kv_num_heads = 1> (x, x, x, d)
				v = Attention <q_num_heads = 1, kv_num_heads = 1> (x, x, x, e)`},
		{"MatMulNBits", 13, "(float[2,10] x) => (float y, float z, float u)",
			`w = Constant <value = uint8[2,2,4] {33, 67, 101, 135, 169, 203, 0, 0, 16, 50, 84, 118, 152, 186, 0, 0}> ()
				s = Constant <value = float[4] {0.5, 0.25, 1, 2}> () n = Constant <value = uint8[2] {37, 114}> ()
				f = Constant <value = float[4] {5, 2, 2, 7}> () b = Constant <value = float[2] {1, 2}> ()
				y = com.microsoft.MatMulNBits <K = 10, N = 2, block_size = 8> (x, w, s)
				z = com.microsoft.MatMulNBits <K = 10, N = 2, block_size = 8> (x, w, s, n)
				u = com.microsoft.MatMulNBits <K = 10, N = 2, block_size = 8> (x, w, s, f, "", b)`,
			`w = Constant <value = float[2,10] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}> ()
				s = Constant <value = float[2,10] {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25,
				1, 1, 1, 1, 1, 1, 1, 1, 2, 2}> ()
				n = Constant <value = float[2,10] {5, 5, 5, 5, 5, 5, 5, 5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 7, 7}> ()
				h = Constant <value_float = 8.0> () b = Constant <value = float[2] {1, 2}> ()
				d = Sub (w, h) e = Mul (d, s) t = Transpose (e) y = MatMul (x, t)
				g = Sub (w, n) k = Mul (g, s) l = Transpose (k) z = MatMul (x, l) u = Add (z, b)`},
		{"DynamicQuantizeLSTM", 13, "(float[3,1,2] x) => (float y)",
			`w = Constant <value = int8[1,2,4] {1, -2, 3, 4, -5, 6, 7, -8}> ()
				r = Constant <value = int8[1,1,4] {4, 3, -2, 1}> ()
				s = Constant <value = float[1,4] {0.5, 0.25, 0.125, 0.5}> () t = Constant <value = float[1] {0.25}> ()
				z = Constant <value = int8[1] {1}> () n = Constant <value = int8[1,4] {0, 0, 1, 2}> ()
				y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1> (x, w, r, "", "", "", "", "", s, n, t, z)`,
			`w = Constant <value = float[1,4,2] {0.5, -2.5, -0.5, 1.5, 0.25, 0.75, 1, -5}> ()
				r = Constant <value = float[1,4,1] {0.75, 0.5, -0.75, 0}> () y = LSTM <hidden_size = 1> (x, w, r)`},
		{"EmbedLayerNormalization", 13, "(float[3,2] x) => (float y, int32 n)",
			`i = Constant <value = int32[1,3] {2, 0, 1}> () s = Constant <value = int32[1,3] {0, 1, 1}> ()
				m = Constant <value = int32[1,3] {1, 1, 0}> ()
				p = Constant <value = float[4,2] {1, 2, 3, 5, 8, 4, 0, 0}> ()
				g = Constant <value_floats = [1.0, 2.0]> ()
				y, n = com.microsoft.EmbedLayerNormalization <epsilon = 0.01> (i, s, x, p, x, g, g, m)`,
			`i = Constant <value = int64[1,3] {2, 0, 1}> () s = Constant <value = int64[1,3] {0, 1, 1}> ()
				p = Constant <value = float[3,2] {1, 2, 3, 5, 8, 4}> () g = Constant <value_floats = [1.0, 2.0]> ()
				a = Gather (x, i) b = Gather (x, s) c = Add (a, p) d = Add (c, b)
				y = LayerNormalization <epsilon = 0.01> (d, g, g) n = Constant <value = int32[1] {2}> ()`},
		{"MultiThreshold", 13, "(float[1,2,3] x) => (float y)",
			`t = Constant <value = float[2,3] {0.5, -0.25, 0.75, 0, 0, 0.25}> ()
				y = qonnx.custom_op.general.MultiThreshold <out_scale = 0.5, out_bias = -1.5, out_dtype = "INT4",
					data_layout = "NCHW"> (x, t)`,
			`a = Constant <value = float[2,1] {-0.25, 0}> () b = Constant <value = float[2,1] {0.5, 0}> ()
				c = Constant <value = float[2,1] {0.75, 0.25}> () i = GreaterOrEqual (x, a) j = GreaterOrEqual (x, b)
				k = GreaterOrEqual (x, c) d = Cast <to = 1> (i) e = Cast <to = 1> (j) f = Cast <to = 1> (k)
				g = Sum (d, e, f) h = Constant <value_float = 0.5> () m = Mul (g, h)
				n = Constant <value_float = 1.5> () y = Sub (m, n)`},
		{"QONNX, channels last", 13, "(float[1,4,4,2] x) => (float y)",
			`w = Constant <value = float[2,2,1,2] {1, 2, 3, 4, 5, 6, 7, 8}> ()
				b = Constant <value_floats = [0.5, -1.0]> ()
				c = qonnx.custom_op.channels_last.Conv <kernel_shape = [2, 1], strides = [1, 2], dilations = [1, 1],
					pads = [1, 0, 0, 0], group = 1> (x, w, b)
				v = Constant <value_floats = [3.5, 1.0]> ()
				n = qonnx.custom_op.channels_last.BatchNormalization <epsilon = 0.5>
					(c, b, b, b, v)
				y = qonnx.custom_op.channels_last.MaxPool <kernel_shape = [2, 2], pads = [0, 0, 0, 0]> (n)`,
			`w = Constant <value = float[2,2,2,1] {1, 3, 2, 4, 5, 7, 6, 8}> ()
				b = Constant <value_floats = [0.5, -1.0]> ()
				v = Constant <value_floats = [3.5, 1.0]> () f = Transpose <perm = [0, 3, 1, 2]> (x)
				c = Conv <kernel_shape = [2, 1], strides = [1, 2], pads = [1, 0, 0, 0]> (f, w, b)
				n = BatchNormalization <epsilon = 0.5> (c, b, b, b, v)
				p = MaxPool <kernel_shape = [2, 2]> (n) y = Transpose <perm = [0, 2, 3, 1]> (p)`},
		{"classes with names", 13, "(float[2,1] x) => (int64 y, float z)",
			`y, s = ai.onnx.ml.LinearClassifier <coefficients = [1.0, -2.0], classlabels_strings = ["no", "yes"]> (x)
				z = ai.onnx.ml.ZipMap <classlabels_strings = ["no", "yes"]> (s)`,
			`y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, -2.0], classlabels_ints = [0, 1]> (x)`},
		{"com.microsoft's RotaryEmbedding, from a position on", 23, "(float[2,3,4] x) => (float y)",
			`p = Constant <value_ints = [1]> () c = Constant <value = float[5,1] {1, 2, 3, 4, 5}> ()
				s = Constant <value = float[5,1] {6, 7, 8, 9, 0}> ()
				y = com.microsoft.RotaryEmbedding <scale = 2.0> (x, p, c, s)`,
			`p = Constant <value = int64[2,3] {1, 2, 3, 1, 2, 3}> ()
				c = Constant <value = float[5,1] {1, 2, 3, 4, 5}> ()
				s = Constant <value = float[5,1] {6, 7, 8, 9, 0}> () y = RotaryEmbedding <num_heads = 2> (x, c, s, p)`},
		{"ONNX Runtime's operators without their domain", 13, "(float[2,3] x) => (float y, float m)",
			`g = Constant <value_floats = [1.0, 2.0, 3.0]> () h = Gelu (g)
				y, m = SkipLayerNormalization <epsilon = 0.5> (x, x, h)`,
			`g = Constant <value_floats = [1.0, 2.0, 3.0]> () h = Gelu (g) a = Add (x, x)
				y, m = LayerNormalization <epsilon = 0.5> (a, h)`},
		{"LayerNormalization, a scale of more dimensions", 17, "(float[2,3,4] x) => (float y, float m)",
			`s = Constant <value = float[2,1,4] {1, 2, 3, 4, 5, 6, 7, 8}> ()
				b = Constant <value = float[3,1] {1, 2, 3}> ()
				y, m = LayerNormalization <epsilon = 0.5, stash_type = 0> (x, s, b)`,
			`s = Constant <value = float[2,1,4] {1, 2, 3, 4, 5, 6, 7, 8}> ()
				b = Constant <value = float[3,1] {1, 2, 3}> ()
				o = Constant <value_float = 1.0> () n, m = LayerNormalization <epsilon = 0.5> (x, o) p = Mul (n, s)
				y = Add (p, b)`},
		{"Loop, its turn in a vector", 13, "(float[2] x) => (float y)", `n = Constant <value_int = 2> ()
				y = Loop (n, "", x) <body = b (int64[1] i, bool[1] c, float[2] v) => (c, w) {
					a = Constant <value_ints = [0]> () s = Squeeze (i, a) f = Cast <to = 1> (s) w = Add (v, f) }>`,
			`n = Constant <value_float = 0.0> () o = Constant <value_float = 1.0> () a = Add (x, n) y = Add (a, o)`},
		{"FusedMatMul, batches behind rows", 13, "(float[3,2,4] x, float[5,2,4] w) => (float y)",
			`y = com.microsoft.FusedMatMul <transBatchA = 1, transBatchB = 1, transB = 1> (x, w)`,
			`a = Transpose <perm = [1, 0, 2]> (x) b = Transpose <perm = [1, 2, 0]> (w) y = MatMul (a, b)`},
		{"LayerNormalization-1, a scale of its own type", 13, "(float16[2,4] x, float[4] s) => (float y)",
			`y = LayerNormalization <epsilon = 0.5> (x, s)`,
			`c = Cast <to = 1> (x) y = LayerNormalization <epsilon = 0.5> (c, s)`},
		{"Crop", 7, "(float[1,2,5,6] x) => (float y, float z)", `y = Crop <border = [1, 2, 3, 1]> (x)
				z = Crop <border = [1, 2, 0, 0], scale = [2, 4]> (x)`,
			`i = Constant <value_ints = [2, 1]> () e = Constant <value_ints = [4, 3]> ()
				a = Constant <value_ints = [2, 3]> ()
				y = Slice (x, i, e, a) f = Constant <value_ints = [4, 5]> () z = Slice (x, i, f, a)`},
		{"MatMulIntegerToFloat", 13, "(int8[2,3] x) => (float y)",
			`w = Constant <value = int8[3,2] {1, -2, 3, 4, -5, 6}> () s = Constant <value_float = 0.5> ()
				t = Constant <value_floats = [0.25, 0.125]> () y = com.microsoft.MatMulIntegerToFloat (x, w, s, t)`,
			`f = Cast <to = 1> (x) w = Constant <value = float[3,2] {0.125, -0.125, 0.375, 0.25, -0.625, 0.375}> ()
				y = MatMul (f, w)`},
		{"QLinearAdd", 13, "(int8[4] x) => (int8 y)",
			`s = Constant <value_float = 0.5> () z = Constant <value = int8 {2}> () r = Constant <value_float = 1.0> ()
				n = Constant <value = int8 {0}> () y = com.microsoft.QLinearAdd (x, s, z, x, r, n, r, n)`,
			`s = Constant <value_float = 0.5> () z = Constant <value = int8 {2}> () r = Constant <value_float = 1.0> ()
				n = Constant <value = int8 {0}> () a = DequantizeLinear (x, s, z) b = DequantizeLinear (x, r,
					n) c = Add (a, b)
				y = QuantizeLinear (c, r, n)`},
		{"QLinearAveragePool, channels last", 13, "(int8[1,2,2,3] x) => (int8 y)",
			`s = Constant <value_float = 0.5> () z = Constant <value = int8 {2}> ()
				y = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2], channels_last = 1> (x, s, z, s, z)`,
			`s = Constant <value_float = 0.5> () z = Constant <value = int8 {2}> () a = DequantizeLinear (x, s, z)
				b = Transpose <perm = [0, 3, 1, 2]> (a) c = AveragePool <kernel_shape = [2, 2]> (b)
				d = Transpose <perm = [0, 2, 3, 1]> (c) y = QuantizeLinear (d, s, z)`},
		{"QLinearConv, one zero point", 13, "(uint8[1,1,3,3] x) => (uint8 y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = uint8 {7}> ()
				w = Constant <value = int8[2,1,2,2] {1, -2, 3, 4, 5, -6, 7, 8}> ()
			t = Constant <value = float[2] {0.25, 0.125}> () u = Constant <value = int8 {1}> ()
			b = Constant <value = int32[2] {100, -200}> () y = QLinearConv (x, s, z, w, t, u, s, z, b)`,
			`s = Constant <value = float {0.5}> () z = Constant <value = uint8 {7}> ()
				w = Constant <value = float[2,1,2,2] {0, -0.75, 0.5, 0.75, 0.5, -0.875, 0.75, 0.875}> ()
			b = Constant <value = float[2] {12.5, -12.5}> () a = DequantizeLinear (x, s, z) c = Conv (a, w, b)
			y = QuantizeLinear (c, s, z)`},
		{"QGemm to float", 13, "(uint8[2,2] x) => (float y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = uint8 {7}> ()
				w = Constant <value = int8[2,2] {1, -2, 3, 4}> () n = Constant <value = int8 {0}> ()
				b = Constant <value = int32[2] {10, 20}> ()
			y = com.microsoft.QGemm <alpha = 2.0, transB = 1> (x, s, z, w, s, n, b)`,
			`s = Constant <value = float {0.5}> () z = Constant <value = uint8 {7}> ()
				w = Constant <value = float[2,2] {0.5, -1, 1.5, 2}> () b = Constant <value = float[2] {5, 10}> ()
				a = DequantizeLinear (x, s, z) y = Gemm <alpha = 2.0, transB = 1> (a, w, b)`},
		{"QLinearConcat", 13, "(int8[1,2] x) => (int8 y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
				y = com.microsoft.QLinearConcat <axis = 1> (s, z, x, s, z, x, s, z)`, `y = Concat <axis = 1> (x, x)`},
		{"QLinearSoftmax", 13, "(int8[1,4] x) => (int8 y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
				y = com.microsoft.QLinearSoftmax <opset = 13> (x, s, z, s, z)`,
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> () a = DequantizeLinear (x, s, z)
				b = Softmax (a) y = QuantizeLinear (b, s, z)`},
		{"QLinearReduceMean", 13, "(int8[2,4] x) => (int8 y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
				y = com.microsoft.QLinearReduceMean <axes = [1], keepdims = 0> (x, s, z, s, z)`,
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> () a = DequantizeLinear (x, s, z)
				c = Constant <value_ints = [1]> () b = ReduceMean <keepdims = 0> (a, c) y = QuantizeLinear (b, s, z)`},
		{"QLinearWhere", 13, "(int8[4] x) => (int8 y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> () r = Constant <value = float {1}> ()
				k = Constant <value = bool[4] {1, 0, 1, 0}> () y = com.microsoft.QLinearWhere (k, x, s, z, x, r, z, s,
					z)`,
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> () r = Constant <value = float {1}> ()
				k = Constant <value = bool[4] {1, 0, 1, 0}> () a = DequantizeLinear (x, s, z) b = DequantizeLinear (x,
					r, z)
				c = Where (k, a, b) y = QuantizeLinear (c, s, z)`},
		{"QLinearMatMul, per column", 13, "(int8[2,3] x) => (int8 y)",
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
				w = Constant <value = int8[3,2] {1, 2, 3, 4, 5, 6}> () t = Constant <value = float[2] {0.5, 0.25}> ()
				n = Constant <value = int8[2] {1, 2}> () y = QLinearMatMul (x, s, z, w, t, n, s, z)`,
			`s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
				w = Constant <value = float[3,2] {0, 0, 1, 0.5, 2, 1}> () a = DequantizeLinear (x, s, z) m = MatMul (a,
					w)
				y = QuantizeLinear (m, s, z)`},
		{"DynamicQuantizeMatMul", 13, "(float[2,3] x) => (float y)",
			`w = Constant <value = int8[3,2] {1, 2, 3, 4, 5, 6}> () t = Constant <value = float[2] {0.5, 0.25}> ()
				b = Constant <value = float[2] {1, 2}> () y = com.microsoft.DynamicQuantizeMatMul (x, w, t, "", b)`,
			`q, s, z = DynamicQuantizeLinear (x) a = DequantizeLinear (q, s, z)
				w = Constant <value = float[3,2] {0.5, 0.5, 1.5, 1, 2.5, 1.5}> () b = Constant <value = float[2] {1,
					2}> ()
				m = MatMul (a, w) y = Add (m, b)`},
		{"NhwcMaxPool", 13, "(int8[1,4,4,2] x) => (int8 y)",
			`y = com.microsoft.NhwcMaxPool <kernel_shape = [2, 2]> (x)`,
			`a = Transpose <perm = [0, 3, 1, 2]> (x) b = MaxPool <kernel_shape = [2, 2]> (a)
				y = Transpose <perm = [0, 2, 3, 1]> (b)`},
		{"ReduceSumInteger", 13, "(uint8[2,3,4] x) => (int32 y)",
			`y = com.microsoft.ReduceSumInteger <axes = [-1, 0], keepdims = 0> (x)`,
			`a = Constant <value_ints = [0, 2]> () i = Cast <to = 6> (x) y = ReduceSum <keepdims = 0> (i, a)`},
		{"MulInteger", 13, "(uint8[4] x) => (int32 y)",
			`z = Constant <value = uint8 {3}> () y = com.microsoft.MulInteger (x, z, x)`,
			`a = Cast <to = 6> (x) c = Constant <value = int32 {3}> () b = Sub (a, c) y = Mul (b, a)`},
		{"RequantShift without its domain", 13, "(int8[2,3] x) => (int8 y)",
			`m = Constant <value = float[3] {9, 7, 3}> () a = Constant <value = float {5}> ()
				y = RequantShift <div = float {16}, n_levels_out = float[1] {16}, signed = float[1] {1}> (x, m, a)`,
			`f = Cast <to = 1> (x) m = Constant <value = float[3] {9, 7, 3}> () a = Constant <value = float {13}> ()
				d = Constant <value = float {16}> () l = Constant <value = float {-8}> () h = Constant <value = float {7}> ()
				p = Mul (f, m) s = Add (p, a) v = Div (s, d) r = Floor (v) c = Clip (r, l, h) y = Cast <to = 3> (c)`},
		{"RequantShift by channels", 13, "(float[2,3,2] x) => (float y)",
			`z = Round (x) m = Constant <value = float[3,1,1] {9, 7, 3}> () a = Constant <value = float[3] {-5, 40, 8}> ()
				y = PACTOps.RequantShift <div = float {16}, n_levels = float[1] {256}, signed = float[1] {0}> (z, m,
					a)`,
			`z = Round (x) m = Constant <value = float[3,1] {9, 7, 3}> () a = Constant <value = float[3,1] {3, 48, 16}> ()
				d = Constant <value = float {16}> () l = Constant <value = float {0}> () h = Constant <value = float {255}> ()
				p = Mul (z, m) s = Add (p, a) v = Div (s, d) r = Floor (v) y = Clip (r, l, h)`},
		{"iSoftmax", 13, "(int8[2,4] x) => (float y)",
			`f = Cast <to = 1> (x)
				y = PACTOps.iSoftmax <coeffA = float[1] {1}, coeffB = float[1] {345}, coeffC = float[1] {62395},
					log2 = float[1] {25},
				n_levels = float[1] {256}> (f)`,
			`f = Cast <to = 1> (x) i = Constant <value_ints = [-1]> () M = ReduceMax (f, i) t = Sub (M, f)
				l = Constant <value_float = 25.0> () b = Constant <value_float = 345.0> () c = Constant <value_float = 62395.0> ()
				n = Constant <value_float = 255.0> () two = Constant <value_float = 2.0> ()
				q = Div (t, l) z = Floor (q) w = Mul (z, l) k = Sub (w, t) p = Add (k, b) pp = Mul (p, p) o = Add (pp,
					c)
				s = Pow (two, z) v = Div (o, s) e = Floor (v) S = ReduceSum (e, i) en = Mul (e, n) r = Div (en,
					S) y = Floor (r)`},
		{"iHardswish", 13, "(int8[4] x) => (int8 y)",
			`f = Cast <to = 6> (x) g = PACTOps.iHardswish <one_over_six = 3, three = 20, six = 40> (f) y = Cast <to = 3> (g)`,
			`f = Cast <to = 1> (x) a = Constant <value_float = 20.0> () l = Constant <value_float = 0.0> ()
				h = Constant <value_float = 40.0> () k = Constant <value_float = 3.0> () s = Add (f, a) c = Clip (s, l,
					h)
				g = Mul (c, k) p = Mul (f, g) i = Cast <to = 6> (p) y = Cast <to = 3> (i)`},
		{"iGELU", 13, "(int8[6] x) => (float y)",
			`f = Cast <to = 1> (x) y = PACTOps.iGELU <b = -50, one = 2600> (f)`,
			`f = Cast <to = 1> (x) m = Constant <value_float = 50.0> () o = Constant <value_float = 2600.0> ()
				h = Constant <value_float = 0.5> () a = Abs (f) q = Min (a, m) d = Sub (q, m) dd = Mul (d,
					d) e = Sub (o, dd)
				s = Sign (f) L = Mul (s, e) g = Add (L, o) p = Mul (f, g) r = Mul (p, h) y = Floor (r)`},
		{"iLayerNorm", 13, "(int8[2,4] x) => (float y)",
			`f = Cast <to = 1> (x) w = Constant <value = float[4] {900, -800, 700, 4000}> ()
				b = Constant <value = float[4] {1, 2, 3, -400}> ()
				y = PACTOps.iLayerNorm <D = float[1] {64}, n_levels = float[1] {256}> (f, w, b)`,
			`f = Cast <to = 1> (x) w = Constant <value = float[4] {900, -800, 700, 4000}> ()
				b = Constant <value = float[4] {1, 2, 3, -400}> () i = Constant <value_ints = [-1]> ()
				M = ReduceMean (f, i) Mi = Cast <to = 7> (M) Mf = Cast <to = 1> (Mi) d = Sub (f, Mf) dd = Mul (d, d)
				V = ReduceMean (dd, i) Vf = Floor (V) one = Constant <value_float = 1.0> () Vo = Add (Vf,
					one) S = Sqrt (Vo)
				Sf = Floor (S) dw = Mul (d, w) q = Div (dw,
					Sf) qi = Cast <to = 7> (q) qf = Cast <to = 1> (qi) s = Add (qf, b)
				D = Constant <value_float = 64.0> () r = Div (s, D) e = Floor (r) l = Constant <value_float = -128.0> ()
				h = Constant <value_float = 127.0> () y = Clip (e, l, h)`},
		{"iRMSNorm, iNoNorm", 13, "(int8[2,4] x) => (float y, float u)",
			`f = Cast <to = 1> (x) w = Constant <value = float[4] {900, -800, 700, 400}> ()
				y = PACTOps.iRMSNorm <D = 64, n_levels = 256> (f, w) b = Constant <value = float[4] {1, 2, 3, -400}> ()
				u = PACTOps.iNoNorm <D = float[1] {4096}, mul = float[1] {3}, n_levels = float[1] {256}> (f, w, b)`,
			`f = Cast <to = 1> (x) w = Constant <value = float[4] {900, -800, 700, 400}> () i = Constant <value_ints = [-1]> ()
				dd = Mul (f, f) V = ReduceMean (dd, i) Vf = Floor (V) one = Constant <value_float = 1.0> () Vo = Add (Vf, one)
				S = Sqrt (Vo) Sf = Floor (S) dw = Mul (f, w) q = Div (dw,
					Sf) qi = Cast <to = 7> (q) qf = Cast <to = 1> (qi)
				D = Constant <value_float = 64.0> () r = Div (qf,
					D) e = Floor (r) l = Constant <value_float = -128.0> ()
				h = Constant <value_float = 127.0> () y = Clip (e, l, h)
				b = Constant <value = float[4] {1, 2, 3, -400}> () m = Constant <value_float = 3.0> ()
				N = Constant <value_float = 4096.0> () db = Add (dw, b) dm = Mul (db, m) n = Div (dm, N) k = Floor (n)
				u = Clip (k, l, h)`},
		{"IntegerDiv, TrueIntegerDiv, IntegerMean", 13, "(int8[2,5] x) => (float y, float u, float v)",
			`f = Cast <to = 1> (x) d = Constant <value = float[5] {3, 4, 5, 6, 7}> ()
				y = PACTOps.IntegerDiv <Delta = 10, eps = 1, eta = 20> (f, d)
				u = PACTOps.TrueIntegerDiv <Delta = 10, eps = 1, eta = 20, y = 3> (f)
				v = PACTOps.IntegerMean <axes = [-1], keepdims = 0> (f)`,
			`f = Cast <to = 1> (x) d = Constant <value = float[5] {61, 81, 101, 121, 141}> ()
				D = Constant <value_float = 200.0> () n = Mul (f, D) q = Div (n,
					d) s = Sign (n) h = Constant <value_float = 0.5> () a = Abs (q) ah = Add (a, h)
				r = Floor (ah) y = Mul (s, r) k = Constant <value_float = 61.0> () t = Div (n, k) ti = Cast <to = 7> (t)
				u = Cast <to = 1> (ti) i = Constant <value_ints = [-1]> () m = ReduceMean <keepdims = 0> (f, i)
				mh = Add (m, h) v = Floor (mh)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := open(t, textModel(t, c.opset, c.sig+" {"+c.old+"}"), ImportOptions{})
			b := open(t, textModel(t, newest, c.sig+" {"+c.newest+"}"), ImportOptions{})
			in := irtest.Inputs(a, 5)
			got, want := irtest.Run(t, a, in), irtest.Run(t, b, in)
			for i := range want {
				if got[i].DType != want[i].DType || !slices.Equal(got[i].Shape, want[i].Shape) {
					t.Errorf("output %d is %s, want %s", i, got[i], want[i])
				} else if d := worst(got[i], want[i]); d > 1e-6 {
					t.Errorf("output %d differs by %.3g: %v, want %v", i, d, got[i].Floats(), want[i].Floats())
				}
			}
		})
	}
}

// Control flow that is known at compile time disappears; a condition that is not
// selects between the results.
func TestControlFlow(t *testing.T) {
	const x = "(float[2] x) => (float y) "
	for _, c := range []struct {
		name, text string
		want       func(x []float64) []float64
		nodes      int // of the graph
	}{
		{"If, then",
			x +
				`{ c = Constant <value = bool {1}> () y = If (c) <then_branch = a () => (p) { p = Add (x, x) },
					else_branch = b () => (p) { p = Neg (x) }> }`,
			func(x []float64) []float64 { return []float64{2 * x[0], 2 * x[1]} }, 1},
		{"If, else, captured twice",
			x +
				`{ c = Constant <value = bool[1] {0}> () d = Neg (x) y = If (c) <then_branch = a () => (p) { p = Add (x, x) },
			else_branch = b () => (p) { k = Constant <value = bool {1}> ()
			p = If (k) <then_branch = e () => (q) { q = Mul (d, x) },
				else_branch = f () => (q) { q = Identity (x) }> }> }`,
			func(x []float64) []float64 { return []float64{-x[0] * x[0], -x[1] * x[1]} }, 2},
		{"If, an outer value as result",
			x +
				`{ c = Constant <value = bool {1}> () d = Neg (x)
					y = If (c) <then_branch = a () => (d) { }, else_branch = b () => (x) { }> }`,
			func(x []float64) []float64 { return []float64{-x[0], -x[1]} }, 1},
		{"If at run time",
			x + `{ z = Constant <value_float = 0.0> () s = ReduceSum <keepdims = 0> (x) c = Greater (s, z)
			y = If (c) <then_branch = a () => (p) { p = Add (x, x) }, else_branch = b () => (p) { p = Neg (x) }> }`,
			func(x []float64) []float64 {
				if x[0]+x[1] > 0 {
					return []float64{2 * x[0], 2 * x[1]}
				}
				return []float64{-x[0], -x[1]}
			}, 5},
		{"Loop by count",
			x +
				`{ n = Constant <value_int = 3> () y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { f = Cast
					<to = 1> (i) w = Add (v, f) }> }`,
			func(x []float64) []float64 { return []float64{x[0] + 3, x[1] + 3} }, 3},
		{"Loop by condition",
			x +
				`{ y = Loop ("", "", x) <body = b (int64 i, bool c, float v) => (d, w) { k = Constant <value_int = 1> ()
					d = Less (i, k) w = Add (v, v) }> }`,
			func(x []float64) []float64 { return []float64{4 * x[0], 4 * x[1]} }, 2},
		{"Loop until a condition at run time",
			x +
				`{ n = Constant <value_int = 4> () l = Constant <value_float = 10.0> ()
					y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (d, w) { w = Add (v, v)
					s = ReduceSum <keepdims = 0> (w) d = Less (s, l) }> }`,
			func(x []float64) []float64 {
				f := 1.0
				for k := 0; k < 4 && (k == 0 || f*(x[0]+x[1]) < 10); k++ {
					f *= 2
				}
				return []float64{f * x[0], f * x[1]}
			}, 15},
		{"Loop that may not run",
			x +
				`{ n = Constant <value_int = 2> () z = Constant <value_float = 0.0> () s = ReduceSum <keepdims = 0> (x)
					c = Greater (s, z) y = Loop (n, c, x) <body = b (int64 i, bool c, float v) => (c, w) { w = Add (v,
						v) }> }`,
			func(x []float64) []float64 {
				if x[0]+x[1] > 0 {
					return []float64{4 * x[0], 4 * x[1]}
				}
				return x
			}, 6},
		{"Loop with results of every trip",
			`(float[2] x) => (float y) { n = Constant <value_int = 2> ()
				l, s = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w, u) { w = Add (v,
					x) u = Identity (w) }> 
			f = Constant <value_ints = [4]> () y = Reshape (s, f) }`,
			func(x []float64) []float64 { return []float64{2 * x[0], 2 * x[1], 3 * x[0], 3 * x[1]} }, 8},
		{"Loop that never runs",
			x +
				`{ n = Constant <value_int = 0> () y = Loop (n, "", x) <
					body = b (int64 i, bool c, float v) => (c, w) { w = Add (v, v) }> }`,
			func(x []float64) []float64 { return x }, 0},
		{"Scan",
			x +
				`{ z = Constant <value = float {1}> () l, y = Scan (z, x) <num_scan_inputs = 1,
					body = b (float s, float e) => (t,
					u) { t = Mul (s, e) u = Identity (t) }> }`,
			func(x []float64) []float64 { return []float64{x[0], x[0] * x[1]} }, 9},
		{"Scan, backwards",
			x +
				`{ z = Constant <value = float {0}> () l, y = Scan (z, x) <num_scan_inputs = 1,
					scan_input_directions = [1], scan_output_directions = [1], body = b (float s, float e) => (t, u) { t = Add (s,
						e) u = Identity (t) }> }`,
			func(x []float64) []float64 { return []float64{x[0] + x[1], x[1]} }, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, textModel(t, 13, c.text), ImportOptions{})
			for _, v := range [][]float64{{1.5, 2}, {-3, 1}} {
				out := irtest.Run(t, g, []*tensor.Dense{tensor.FromFloats(tensor.F32, []int{2}, v)})
				testenv.Same(t, out[0].Floats(), c.want(v), "of %v", v)
			}
			testenv.Check(t, len(g.Nodes) == c.nodes, "%d nodes, want %d:\n%s", len(g.Nodes), c.nodes, g)
		})
	}
}

// Functions are expanded: attributes, defaults, absent inputs, nesting, their
// own opsets, subgraphs; names say where a node came from.
func TestFunctions(t *testing.T) {
	m := textModel(t, 13, `(float[2] x) => (float y, float z) {
	  [call] y = local.Scaled <by = 3.0> (x)
	  z = local.Scaled <by = 2.0> (y, x)
	}
	<domain: "local", opset_import: ["" : 9, "local" : 1]>
	Scaled <by, most: float = 100.0> (a, b) => (c) {
	  f = Constant <value = float {1}> ()
	  s = local.Sum <flag = 0> (a, b)
	  k = local.Value <v: float = @by> ()
	  t = Mul (s, k)
	  c = Clip <min = -100.0, max: float = @most> (t)
	}
	<domain: "local", opset_import: ["" : 13]>
	Value <v> () => (k) { k = Constant <value_float: float = @v> () }
	<domain: "local", opset_import: ["" : 13, "local" : 1]>
	Sum <flag> (a, b) => (c) {
	  i = Constant <value_int: int = @flag> ()
	  j = Cast <to = 9> (i)
	  c = If (j) <then_branch = p () => (d) { d = Neg (a) }, else_branch = q () => (d) { d = Sum (a) }>
	}`)
	g := open(t, m, ImportOptions{})
	out := irtest.Run(t, g, []*tensor.Dense{tensor.FromFloats(tensor.F32, []int{2}, []float64{1, 50})})
	testenv.Same(t, out[0].Floats(), []float64{3, 100}, "y")
	testenv.Same(t, out[1].Floats(), []float64{6, 100}, "z")
	if g.Nodes[1].Origin[0] != "call/Mul_3" || g.Out[0].Name != "y" {
		t.Errorf("names %q, %s", g.Nodes[1].Origin, g.Out[0])
	}
}

// The shipped library: both orders of Reorg, and the way back.
func TestReorg(t *testing.T) {
	sig := "(float[2,4,4,6] x) => (float y, float z, float d)"
	g := open(t, textModel(t, 13, sig+` {
	  y = com.sigmastar.Reorg <stride = 2> (x)
	  z = com.sigmastar.Reorg <stride = 2, reverse = 1> (y)
	  d = darknet.Reorg <stride = 2> (x)
	}`), ImportOptions{})
	w := open(t, textModel(t, 13, sig+` {
	  y = SpaceToDepth <blocksize = 2> (x)
	  z = Identity (x)
	  a = Constant <value_ints = [2, 1, 4, 2, 6, 2]> ()
	  b = Reshape (x, a)
	  c = Transpose <perm = [0, 3, 5, 1, 2, 4]> (b)
	  e = Constant <value_ints = [2, 16, 2, 3]> ()
	  d = Reshape (c, e)
	}`), ImportOptions{})
	testenv.Check(t, irtest.Count(g, "If") <= 0 && irtest.Count(g, "Shape") <= 0, "not folded:\n%s", g)
	in := irtest.Inputs(g, 1)
	got, want := irtest.Run(t, g, in), irtest.Run(t, w, in)
	for i := range want {
		if !tensor.Equal(got[i], want[i]) {
			t.Errorf("%s differs", g.OutNames[i])
		}
	}
}

// TestEarlyAttributes: an attribute that ONNX Runtime passes over does so here.
func TestEarlyAttributes(t *testing.T) {
	g := open(t, textModel(t, 12, `(float[2,3] x) => (float y) { s = Constant <value_floats = [1.0, 2.0, 3.0]> ()
		y = LayerNormalization <axis = -1, flux = 1.0> (x, s) }`), ImportOptions{})
	testenv.Equal(t, irtest.Count(g, "LayerNormalization"), 1, "nodes LayerNormalization")
}
