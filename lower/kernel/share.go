// SPDX-License-Identifier: Apache-2.0

package kernel

import "github.com/nncc/nncc/ir"

// MayShare reports that two values could share storage through views.
func MayShare(a, b *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value, mark bool) bool
	walk = func(v *ir.Value, mark bool) bool {
		if v == nil || v.Const != nil {
			return false
		}
		if mark {
			if seen[v] {
				return false
			}
			seen[v] = true
		} else if seen[v] {
			return true
		}
		if v.Def != nil && v.Def.Op.View != ir.NoView {
			for _, w := range v.Def.In {
				if walk(w, mark) {
					return true
				}
			}
		}
		return false
	}
	walk(a, true)
	return walk(b, false)
}
