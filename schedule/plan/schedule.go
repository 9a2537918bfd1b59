// SPDX-License-Identifier: Apache-2.0

package plan

// Schedule orders the nodes and places their buffers. Orders with the fewest
// live bytes are now and then hard to pack, so where the plan for such an order
// stays above its lower bound the order given is placed as well, and the
// smaller arena wins. Stats are those of Order; its Peak is that of the order
// returned.
func Schedule(nodes []Node, values []Value, opt Options) (order []int, bufs []Buffer, res Result, st Stats, err error) {
	order, st, err = Order(nodes, values, opt)
	if err != nil {
		return nil, nil, Result{}, Stats{}, err
	}
	if bufs, res, err = placeIn(nodes, values, order, opt); err != nil {
		return nil, nil, Result{}, Stats{}, err
	}
	if res.Total <= res.LowerBound || res.Total <= st.GivenPeak {
		return order, bufs, res, st, nil
	}
	given := make([]int, len(nodes))
	for i := range given {
		given[i] = i
	}
	bufs2, res2, err := placeIn(nodes, values, given, opt)
	if err != nil {
		return nil, nil, Result{}, Stats{}, err
	}
	if res2.Total < res.Total {
		st.Optimal = st.Optimal && st.Peak == st.GivenPeak
		st.Peak = st.GivenPeak
		return given, bufs2, res2, st, nil
	}
	return order, bufs, res, st, nil
}

func placeIn(nodes []Node, values []Value, order []int, opt Options) ([]Buffer, Result, error) {
	bufs, err := Buffers(nodes, values, order, opt)
	if err != nil {
		return nil, Result{}, err
	}
	res, err := Place(bufs, opt)
	return bufs, res, err
}
