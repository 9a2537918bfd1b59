// SPDX-License-Identifier: Apache-2.0

//go:build !amd64

package vec

// width is 0: no assembly.
var width = 0

func tile4x8(_ int, _, _, _ *float64, _ int)                              {}
func tile4x16(_ int, _, _, _ *float64, _ int)                             {}
func lanes4(_ int, _, _, _, _, _ *float64, _ *[4][4]float64)              {}
func lanes4Single(_ int, _ *float64, _ *float32, _ int, _ *[4][4]float64) {}
func axpy4(_ int, _ float64, _, _ *float64)                               {}
func quantise(_ int, _ float32, _ int32, _ *float32, _ *int8)             {}
func dequantise(_ int, _ float32, _ int32, _ *int8, _ *float32)           {}

func roundingError8(_ int, _, _, _ float64, _, _ *float64, _ *[parts]float64) {}
func clampErrors4(_ int, _, _ float64, _, _ *float64)                         {}
func roundingErrors4(_ int, _, _, _ float64, _, _ *float64)                   {}

func tileSingle16(_ int, _ *float32, _ *int, _, _, _ *float32, _, _ float32, _ *float32, _ int) {}
func tileSingle32(_ int, _ *float32, _ *int, _, _, _ *float32, _, _ float32, _ *float32, _ int) {}
func rowSingle32(_ int, _ *float32, _ *int, _, _, _ *float32, _, _ float32, _ *float32)         {}
func rowSingle64(_ int, _ *float32, _ *int, _, _, _ *float32, _, _ float32, _ *float32)         {}

func accumulate8(_ int, _ *float32, _ *float64)                      {}
func extent8(_ int, _ *float32, _ *extent)                           {}
func bins8(_ int, _, _, _ float32, _ *float32, _ *int32) (zeros int) { return 0 }
func sumRows(_, _, _ int, _ *float32, _ *float64)                    {}
func noise8(_ int, _, _ *float32, _, _ *[8]float64)                  {}

func dots4x2(_ int, _, _ *int16, _ int, _ *[8]int32) {}

func pieces8(_ int, _ float32, _ int, _ *[4]float32, _, _ *float32) (done int) { return 0 }

func table8(_ int, _ float32, _ int32, _ *[256]float32, _, _ *float32) {}
