// SPDX-License-Identifier: Apache-2.0

package quant

// EqualizeForTest is equalize.
var EqualizeForTest = equalize
