// SPDX-License-Identifier: Apache-2.0

package plan

// rng is SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere and
// in every Go version.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
