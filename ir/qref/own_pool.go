// SPDX-License-Identifier: Apache-2.0

package qref

// meanS8 is nncc_mean_s8: clamp(round_half_away(acc/n) + zero).
func meanS8(acc, n, zero, lo, hi int32) int8 {
	half := n / 2
	if acc < 0 {
		half = -half
	}
	v := int64((acc + half) / n)
	return int8(min(max(v+int64(zero), int64(lo)), int64(hi)))
}

// MeanResult is the result of a sum of n values: nncc_mean_scaled_s8 where the
// scales differ, else nncc_mean_s8.
func MeanResult(acc int32, rescale bool, inScale float64, n int32, outScale float64, zero, lo, hi int32) int8 {
	if rescale {
		return meanScaledS8(acc, inScale, n, outScale, zero, lo, hi)
	}
	return meanS8(acc, n, zero, lo, hi)
}

// meanScaledS8 is nncc_mean_scaled_s8: the same with a change of scale, in float64.
func meanScaledS8(acc int32, inScale float64, n int32, outScale float64, zero, lo, hi int32) int8 {
	v := float64(acc) * inScale
	v = v / float64(n)
	return int8(roundAway(v/outScale, zero, lo, hi))
}
