// SPDX-License-Identifier: Apache-2.0

// Package tflm compares programs of TensorFlow Lite models with TensorFlow Lite Micro's
// reference kernels: models of one layer, drawn over shapes, types and quantisations.
package tflm
