// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Type is the type of a value.
type Type = types.Type

// Quant is how the integers of a value stand for reals.
type Quant = types.Quant

// T is a type in logical order without quantisation.
func T(d tensor.DType, shape ...int) Type { return types.T(d, shape...) }

// PerTensor is a Quant with one scale and zero point.
func PerTensor(scale float32, zero int32) *Quant { return types.PerTensor(scale, zero) }

// Identity is 0, 1, ..., n-1.
func Identity(n int) []int { return types.Identity(n) }

// NHWC is the channels-last memory order of a rank-n [N, C, spatial...] value.
func NHWC(rank int) []int { return types.NHWC(rank) }

// Rand is a seeded tensor for tests, the "rand SEED" of the text form.
func Rand(seed uint64, d tensor.DType, shape []int) *tensor.Dense { return syntax.Rand(seed, d, shape) }
