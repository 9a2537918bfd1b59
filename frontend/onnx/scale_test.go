// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestScales: whatever is no scale of data that are computed is refused with
// the node and the reason, wherever the number comes from and in whichever
// operator it stands; compile and check both import the model.
func TestScales(t *testing.T) {
	open := func(t *testing.T, text string) error {
		t.Helper()
		m, err := Parse([]byte(`<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g `+text), Limits{})
		testenv.OK(t, err)
		_, err = OpenModel(m, ImportOptions{})
		return err
	}
	const consts = "int8 z = {0}, float ok = {0.1}, int8[1, 1, 1, 1] w = {3}, int8[4, 2] m = {1, 2, 3, 4, 5, 6, 7, 8}"
	graphs := map[string]struct{ sig, body, node string }{
		"quantize": {"(float[1, 4] x) => (float[1, 4] y)",
			"q = QuantizeLinear (x, S, z) y = DequantizeLinear (q, ok, z)", "QuantizeLinear"},
		"dequantize": {"(float[1, 4] x) => (float[1, 4] y)",
			"q = QuantizeLinear (x, ok, z) y = DequantizeLinear (q, S, z)", "DequantizeLinear"},
		"constant": {"(float[1, 4] x) => (float[1, 2] y)",
			"q = QuantizeLinear (ok, S, z) k = DequantizeLinear (q, ok, z) y = Mul (x, k)", "QuantizeLinear"},
		"QLinearConv x": {"(int8[1, 1, 4, 4] x) => (int8[1, 1, 4, 4] y)",
			"y = QLinearConv (x, S, z, w, ok, z, ok, z)", "QLinearConv"},
		"QLinearConv y": {"(int8[1, 1, 4, 4] x) => (int8[1, 1, 4, 4] y)",
			"y = QLinearConv (x, ok, z, w, ok, z, S, z)", "QLinearConv"},
		"QLinearMatMul a": {"(int8[1, 4] x) => (int8[1, 2] y)", "y = QLinearMatMul (x, S, z, m, ok, z, ok, z)",
			"QLinearMatMul"},
		"QLinearMatMul y": {"(int8[1, 4] x) => (int8[1, 2] y)", "y = QLinearMatMul (x, ok, z, m, ok, z, S, z)",
			"QLinearMatMul"},
		"QLinearAdd b": {"(int8[1, 4] x) => (int8[1, 4] y)",
			"y = com.microsoft.QLinearAdd (x, ok, z, x, S, z, ok, z)", "QLinearAdd"},
		"QLinearAdd c": {"(int8[1, 4] x) => (int8[1, 4] y)",
			"y = com.microsoft.QLinearAdd (x, ok, z, x, ok, z, S, z)", "QLinearAdd"},
		"QLinearSigmoid y": {"(int8[1, 4] x) => (int8[1, 4] y)", "y = com.microsoft.QLinearSigmoid (x, ok, z, S, z)",
			"QLinearSigmoid"},
		"QLinearConcat y": {"(int8[1, 4] x) => (int8[1, 8] y)",
			"y = com.microsoft.QLinearConcat <axis = 1> (S, z, x, ok, z, x, ok, z)", "QLinearConcat"},
		"QLinearConcat x": {"(int8[1, 4] x) => (int8[1, 8] y)",
			"y = com.microsoft.QLinearConcat <axis = 1> (ok, z, x, ok, z, x, S, z)", "QLinearConcat"},
		"QGemm a": {"(int8[1, 4] x) => (float[1, 2] y)", "y = com.microsoft.QGemm (x, S, z, m, ok, z)",
			"QGemm"},
	}
	sources := map[string][2]string{ // constants and nodes that give S
		"initializer": {"float S = {%s}", ""},
		"Constant":    {"", "S = Constant <value = float {%s}> () "},
		"folded":      {"float raw = {%s}, float one = {1}", "S = Mul (raw, one) "},
		"of a shape": {"float raw = {%s}", "sh = Shape (x) n = Size (sh) f = Cast <to = 1> (n) h = Div (f, f) S = " +
			"Mul (h, raw) "},
		"squeezed": {"float[1] raw = {%s}", "S = Squeeze (raw) "},
	}
	for what, g := range graphs {
		for from, src := range sources {
			for _, v := range []string{"0.25", "0", "-0.0", "-1", "nan", "inf", "-inf", "1e-40"} {
				fill := func(s string) string {
					if !strings.Contains(s, "%s") {
						return s
					}
					return fmt.Sprintf(s, v)
				}
				list := consts
				if src[0] != "" {
					list += ", " + fill(src[0])
				}
				err := open(t, g.sig+" <"+list+"> { "+fill(src[1])+g.body+" }")
				if v == "0.25" {
					if err != nil {
						t.Errorf("%s, %s: %v", what, from, err)
					}
				} else if err == nil || !strings.Contains(err.Error(), "the scale") || !strings.Contains(err.Error(),
					g.node+` "`) {
					t.Errorf("%s, %s, %s: got %v", what, from, v, err)
				}
			}
		}
	}
	// A channel of weights that is off: its scale may be 0.
	if err := open(t, "(float[1, 4] x) => (float[1, 2] y) <int8[4, 2] m = {1, 0, 3, 0, 5, 0, 7, 0}, float[2] s = "+
		"{0.5, 0}> { k = DequantizeLinear <axis = 1> (m, s) y = MatMul (x, k) }"); err != nil {
		t.Error(err)
	}
	// Zero points and counts along an axis.
	for what, text := range map[string]string{
		"zero point of another type": "(int8[1, 4] x) => (float[1, 4] y) <float s = {1}, uint8 z = {200}> { y = " +
			"DequantizeLinear (x, s, z) }",
		"zero point that is a float": "(float[1, 4] x) => (float[1, 4] y) <float s = {1}, float z = {0}> { y = " +
			"QuantizeLinear (x, s, z) }",
		"zero point of 32 bits": "(int32[1, 4] x) => (float[1, 4] y) <float s = {1}, int32 z = {7}> { y = " +
			"DequantizeLinear (x, s, z) }",
		"three scales for four": "(float[1, 4] x) => (int8[1, 4] y) <float[3] s = {1, 1, 1}, int8[3] z = {0, " +
			"0, 0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"two zero points for four": "(float[1, 4] x) => (int8[1, 4] y) <float[4] s = {1, 1, 1, 1}, int8[2] z = " +
			"{0, 0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"one zero point for four": "(float[1, 4] x) => (int8[1, 4] y) <float[4] s = {1, 1, 1, 1}, int8[1] z = " +
			"{0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"scales of rank 2": "(float[1, 4] x) => (int8[1, 4] y) <float[1, 4] s = {1, 1, 1, 1}, int8[1, " +
			"4] z = {0, 0, 0, 0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"an axis beyond the rank": "(float[1, 4] x) => (int8[1, 4] y) <float[4] s = {1, 1, 1, 1}, int8[4] z = " +
			"{0, 0, 0, 0}> { y = QuantizeLinear <axis = 2> (x, s, z) }",
		"no scales": "(float[1, 4] x) => (int8[1, 4] y) <float[0] s = {}, int8[0] z = {}> { y = " +
			"QuantizeLinear <axis = 1> (x, s, z) }",
		"two scales for three filters": "(int8[1, 1, 2, 2] x) => (int8[1, 3, 2, 2] y) <float ok = {1}, int8 z = " +
			"{0}, int8[3, 1, 1, 1] w = {1, 2, 3}, float[2] s = {1, 1}, int8[2] zs = {0, 0}> { y = QLinearConv (x, " +
			"ok, z, w, s, zs, ok, z) }",
		"zero point for two of three": "(int8[1, 1, 2, 2] x) => (int8[1, 3, 2, 2] y) <float ok = {1}, int8 z = " +
			"{0}, int8[3, 1, 1, 1] w = {1, 2, 3}, float[3] s = {1, 1, 1}, int8[2] zs = {0, 0}> { y = QLinearConv " +
			"(x, ok, z, w, s, zs, ok, z) }",
		"uint8 weights' zero of int8": "(int8[1, 1, 2, 2] x) => (int8[1, 1, 2, 2] y) <float ok = {1}, int8 z = " +
			"{0}, uint8[1, 1, 1, 1] w = {1}> { y = QLinearConv (x, ok, z, w, ok, z, ok, z) }",
	} {
		err := open(t, text)
		if err == nil || !strings.Contains(err.Error(), "Linear") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
