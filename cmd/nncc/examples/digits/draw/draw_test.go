// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"hash/fnv"
	"testing"
)

// An image depends on seed and number only, whatever is drawn before it.
func TestImagesAreTheSameAlone(t *testing.T) {
	images, labels := Set(9, 40)
	for i := len(images) - 1; i >= 0; i -= 7 {
		m, l := Nth(9, i)
		if m != images[i] || l != labels[i] || l != i%Classes {
			t.Errorf("image %d differs when drawn alone", i)
		}
	}
}

func TestImagesDiffer(t *testing.T) {
	seen := map[uint64]int{}
	for seed := range uint64(2) {
		images, _ := Set(seed, 500)
		for i := range images {
			h := fnv.New64()
			h.Write(images[i][:])
			if j, ok := seen[h.Sum64()]; ok {
				t.Errorf("images %d and %d are equal", i, j)
			}
			seen[h.Sum64()] = i
		}
	}
}

// Every image shows something: a numeral is brighter than the ground around it.
func TestImagesShowInk(t *testing.T) {
	images, _ := Set(4, 500)
	for i := range images {
		sum, top := 0, 0
		for _, p := range images[i] {
			sum += int(p)
			top = max(top, int(p))
		}
		if mean := sum / Pixels; mean > 170 || top < mean+50 {
			t.Errorf("image %d: mean %d, brightest %d", i, mean, top)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for i := range b.N {
		Nth(1, i)
	}
}
