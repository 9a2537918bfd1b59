// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestShow: failures are shown with their output, passing tests are not, skips
// are gathered by reason, and what the compiler says stays.
func TestShow(t *testing.T) {
	in := `{"Action":"build-output","ImportPath":"x","Output":"./x.go:1: no\n"}
{"Action":"output","Package":"a","Test":"TestOK","Output":"=== RUN   TestOK\n"}
{"Action":"output","Package":"a","Test":"TestOK","Output":"    a_test.go:3: secret\n"}
{"Action":"pass","Package":"a","Test":"TestOK"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"    a_test.go:9: is wrong\n"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"a","Test":"TestBad"}
{"Action":"output","Package":"a","Test":"TestS","Output":"    a_test.go:12: no peer\n"}
{"Action":"output","Package":"a","Test":"TestS","Output":"--- SKIP: TestS (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestS"}
{"Action":"output","Package":"b","Test":"TestT","Output":"    b_test.go:7: no peer\n"}
{"Action":"skip","Package":"b","Test":"TestT"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
not json
`
	var out strings.Builder
	show(strings.NewReader(in), &out)
	want := `./x.go:1: no
    a_test.go:9: is wrong
--- FAIL: TestBad (0.00s)
FAIL	a	0.1s
not json
skipped: no peer: TestS, TestT
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
