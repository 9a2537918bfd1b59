// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"errors"

	"github.com/nncc/nncc/schedule"
)

type (
	// Pool is a memory that can hold a part of the arena.
	Pool = schedule.Pool
	// NoRoomError says why an arena cannot be divided.
	NoRoomError = schedule.NoRoomError
)

// Room is what a way to place everything else leaves of the memories that can hold a part
// of the arena, and the cycles that a run waits for what is placed.
type Room struct {
	Pools  []Pool
	Cycles float64
}

// Split is the program planned again with its arena in parts, one in each of several
// memories, for which a run waits least, over all rooms; most, where not 0, is what the parts
// may have together. No other way waits less than bound. A *NoRoomError says why the arena
// cannot be divided, with the first room. The result stays as it is.
func (r *Result) Split(rooms []Room, most int) (best *schedule.Result, bound float64, err error) {
	var no error
	least := 0.0
	for i, room := range rooms {
		if best != nil && room.Cycles >= least {
			continue // what the parts cost comes on top
		}
		x, cost, err := schedule.BuildIn(schedule.Pools{List: room.Pools, Most: most}, cmp.Or(r.Effort, schedule.Full),
			r.Graph, r.Low, r.States...)
		if errors.As(err, new(*NoRoomError)) {
			if i == 0 {
				no = err
			}
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if best == nil || room.Cycles+cost.Cost < least {
			best, least = x, room.Cycles+cost.Cost
		}
		if n := room.Cycles + cost.Bound; bound == 0 || n < bound {
			bound = n
		}
	}
	if best == nil {
		return nil, 0, no
	}
	return best, bound, nil
}
