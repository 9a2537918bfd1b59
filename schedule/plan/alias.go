// SPDX-License-Identifier: Apache-2.0

package plan

import "fmt"

func errorf(format string, args ...any) error {
	return fmt.Errorf("plan: "+format, args...)
}

// alias is one row for resolve: the row that this one lies in (-1: none) and
// the distance in bytes from the start of that row to the start of this one.
type alias struct {
	of    int
	delta int64
}

// root is where a row ends up: the row that owns the storage and the distance
// in bytes from the start of that row.
type root struct {
	row   int
	delta int64
}

// resolve follows the aliases of n rows to their roots. name gives the text by
// which errors call a row.
func resolve(n int, at func(int) alias, name func(int) string) ([]root, error) {
	const unseen, open = -1, -2
	out := make([]root, n)
	for i := range out {
		out[i].row = unseen
	}
	var path []int
	for i := range out {
		path = path[:0]
		j := i
		for out[j].row == unseen {
			a := at(j)
			if a.of < 0 {
				out[j] = root{row: j}
				break
			}
			if a.of >= n {
				return nil, errorf("%s is an alias of row %d; there are rows 0 to %d (-1 for none)", name(j), a.of, n-1)
			}
			out[j].row = open
			path = append(path, j)
			j = a.of
		}
		if out[j].row == open {
			return nil, errorf("%s is, through its aliases, an alias of itself; use -1 for a buffer with storage of "+
				"its own", name(j))
		}
		for k := len(path) - 1; k >= 0; k-- {
			j = path[k]
			a := at(j)
			up := out[a.of]
			d := addSat(up.delta, a.delta)
			if d > maxTotal || d < -maxTotal {
				return nil, errorf("%s lies %d bytes from its storage: too far", name(j), d)
			}
			out[j] = root{row: up.row, delta: d}
		}
	}
	return out, nil
}
