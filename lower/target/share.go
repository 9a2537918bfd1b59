package target

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// viewOps are operators whose result may lie in the storage of an input, or
// the other way round.
var viewOps = map[*ir.OpDef]bool{op.Reshape: true, op.Flatten: true, op.Squeeze: true, op.Unsqueeze: true, op.Transpose: true, op.BitCast: true,
	op.Relayout: true, op.Slice: true, op.Split: true, op.Gather: true, op.Concat: true}

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
		if v.Def != nil && viewOps[v.Def.Op] {
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
