// SPDX-License-Identifier: Apache-2.0

package qref

// MaxReduce16 is so many int16 values as have an exact sum of reals in float64.
const MaxReduce16 = 8192
