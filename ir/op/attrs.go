// SPDX-License-Identifier: Apache-2.0

package op

import "github.com/nncc/nncc/ir/tensor"

// Attributes that several operators have, each with a default of its own, for
// who reads one of them on any of these operators (ir.AttrsOf).
type (
	// AlphaAttr is the attribute alpha.
	AlphaAttr struct{ Alpha float32 }
	// AutoPadAttr is the attribute auto_pad.
	AutoPadAttr struct{ AutoPad string }
	// AxesAttr is the attribute axes.
	AxesAttr struct{ Axes []int }
	// AxisAttr is the attribute axis.
	AxisAttr struct{ Axis int }
	// BetaAttr is the attribute beta.
	BetaAttr struct{ Beta float32 }
	// BiasAttr is the attribute bias.
	BiasAttr struct{ Bias float32 }
	// BlocksizeAttr is the attribute blocksize.
	BlocksizeAttr struct{ Blocksize int }
	// CoordinateTransformationModeAttr is the attribute coordinate_transformation_mode.
	CoordinateTransformationModeAttr struct{ CoordinateTransformationMode string }
	// DilationsAttr is the attribute dilations.
	DilationsAttr struct{ Dilations []int }
	// DirectionAttr is the attribute direction.
	DirectionAttr struct{ Direction string }
	// EpsilonAttr is the attribute epsilon.
	EpsilonAttr struct{ Epsilon float32 }
	// GroupAttr is the attribute group.
	GroupAttr struct{ Group int }
	// KeepdimsAttr is the attribute keepdims.
	KeepdimsAttr struct{ Keepdims int }
	// KernelShapeAttr is the attribute kernel_shape.
	KernelShapeAttr struct{ KernelShape []int }
	// ModeAttr is the attribute mode.
	ModeAttr struct{ Mode string }
	// PAttr is the attribute p.
	PAttr struct{ P int }
	// PadsAttr is the attribute pads.
	PadsAttr struct{ Pads []int }
	// ReductionAttr is the attribute reduction.
	ReductionAttr struct{ Reduction string }
	// SortedAttr is the attribute sorted.
	SortedAttr struct{ Sorted int }
	// StashTypeAttr is the attribute stash_type.
	StashTypeAttr struct{ StashType int }
	// StridesAttr is the attribute strides.
	StridesAttr struct{ Strides []int }
	// ToAttr is the attribute to.
	ToAttr struct{ To int }
	// ValueAttr is the attribute value.
	ValueAttr struct{ Value *tensor.Dense }
)
