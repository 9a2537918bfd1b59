// SPDX-License-Identifier: Apache-2.0

package postprocess

// Suppress goes through a list, best first, and keeps what overlaps none that was kept by
// more than iou; at most so many. Agnostic compares boxes of different labels, too. It
// works in the list's memory.
func Suppress(list []Box, iou float32, agnostic bool, most int) []Box {
	kept := list[:0]
	for _, x := range list {
		if len(kept) == most {
			break
		}
		free := true
		for _, k := range kept {
			if (agnostic || k.Label == x.Label) && IoU(k, x) > iou {
				free = false
				break
			}
		}
		if free {
			kept = append(kept, x)
		}
	}
	return kept
}

// IoU is the area that two boxes share, in proportion to what they cover together; 0 where
// one has no area.
func IoU(a, b Box) float32 {
	one := float32((a.Y1 - a.Y0) * (a.X1 - a.X0))
	two := float32((b.Y1 - b.Y0) * (b.X1 - b.X0))
	if !(one > 0 && two > 0) {
		return 0
	}
	h := max(min(a.Y1, b.Y1)-max(a.Y0, b.Y0), 0)
	w := max(min(a.X1, b.X1)-max(a.X0, b.X0), 0)
	both := float32(h * w)
	return both / (one + two - both)
}
