// SPDX-License-Identifier: Apache-2.0

package ir

import "github.com/nncc/nncc/ir/bug"

// SetInput replaces input i of n (growing the list), keeping the use lists.
func (g *Graph) SetInput(n *Node, i int, v *Value) {
	for len(n.In) <= i {
		n.In = append(n.In, nil)
	}
	if old := n.In[i]; old != nil {
		old.dropUse(n, i)
	}
	n.In[i] = v
	if v != nil {
		v.uses = append(v.uses, Use{n, i})
	}
	n.dropAbsent()
}

func (v *Value) dropUse(n *Node, i int) {
	use := Use{n, i}
	for k, l := 0, len(v.uses)-1; k <= l; k, l = k+1, l-1 { // rewrites go through uses from either end
		if v.uses[k] == use {
			v.uses = append(v.uses[:k], v.uses[k+1:]...)
			return
		}
		if v.uses[l] == use {
			v.uses = append(v.uses[:l], v.uses[l+1:]...)
			return
		}
	}
	panic(bug.Errorf("use list of %s lacks %s", v, n))
}

// ReplaceUses makes every reader of old (graph outputs too) read v instead, which
// from then on holds the tensors that old held (Value.Holds).
func (g *Graph) ReplaceUses(old, v *Value) {
	if old == v {
		return
	}
	for _, u := range old.uses {
		u.Node.In[u.Index] = v
	}
	v.uses = append(v.uses, old.uses...)
	old.uses = nil
	v.Hold(old.Holds...)
	old.Holds = nil
	g.ReplaceOutput(old, v)
}

// SoleUse is the only reader of v, or nil when there are others or v is a
// graph output.
func (g *Graph) SoleUse(v *Value) *Node {
	if len(v.uses) != 1 || g.IsOutput(v) {
		return nil
	}
	return v.uses[0].Node
}
