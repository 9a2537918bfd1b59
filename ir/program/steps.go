// SPDX-License-Identifier: Apache-2.0

package program

import "slices"

// Until is the step before which the bytes of a buffer are as they were at the
// start: the first step that writes over any of them, len(Steps) where none does.
func (p *Program) Until(buffer int) int {
	e := p.extent(buffer)
	for k, s := range p.Steps {
		for _, b := range slices.Concat(s.own(), s.Out) {
			if p.extent(b).meets(e) {
				return k
			}
		}
	}
	return len(p.Steps)
}

// From is the step that completes a buffer, through views, too: -1 where the caller
// writes it.
func (p *Program) From(buffer int) int {
	live := p.liveness()
	last := before
	for _, w := range live[buffer].own {
		last = max(last, live[w].first)
	}
	return last
}
