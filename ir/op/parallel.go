// SPDX-License-Identifier: Apache-2.0

package op

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls f(0) ... f(n-1) on all cores. Results must not depend on the
// order. A panic in f is raised again in the caller, where EvalNode turns it
// into an error that names the node.
func parallel(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := 0; i < n; i++ {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var fault atomic.Value
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if r := recover(); r != nil {
					fault.CompareAndSwap(nil, panicValue{r})
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		}()
	}
	wg.Wait()
	if p, ok := fault.Load().(panicValue); ok {
		panic(p.v)
	}
}

type panicValue struct{ v any }
