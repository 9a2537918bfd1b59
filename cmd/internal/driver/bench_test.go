package driver

import (
	"path/filepath"
	"testing"
)

// BenchmarkFirmware gives the figures of the README's table: instructions of
// an inference under QEMU, arena, flash. They do not depend on the machine that
// measures, so one iteration is exact.
func BenchmarkFirmware(b *testing.B) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	models := filepath.Join("..", "..", "..", "..", "shared", "models")
	for _, m := range []struct{ name, path, calib string }{
		{"digits", filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digits_calib.npz")},
		{"kws_int8", filepath.Join(models, "kws_int8.onnx"), ""},
		{"ic_int8", filepath.Join(models, "ic_int8.onnx"), ""},
		{"vww_int8", filepath.Join(models, "vww_int8.onnx"), ""},
	} {
		if !exists(m.path) {
			continue
		}
		for _, board := range []string{"cortex-m0plus", "cortex-m4", "cortex-m55"} {
			b.Run(m.name+"/"+board, func(b *testing.B) {
				c := config(m.path, board)
				if m.calib != "" {
					c.Calib = []string{m.calib}
				}
				got := map[string]figures{}
				for range b.N {
					measure(b, got, "", c, true)
				}
				b.ReportMetric(float64(got[""].Instructions), "insn/inference")
				b.ReportMetric(float64(got[""].Arena), "arena-B")
				b.ReportMetric(float64(got[""].Flash), "flash-B")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
