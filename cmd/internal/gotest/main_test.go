// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nncc/nncc/ir/irtest/testenv"
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
{"Action":"output","Package":"c","Output":"?   \tc\t[no test files]\n"}
not json
`
	var out strings.Builder
	show(strings.NewReader(in), newPrinter(&out, 2), nil)
	want := `./x.go:1: no
    a_test.go:9: is wrong
--- FAIL: TestBad (0.00s)
[1/2] FAIL	a	0.1s
not json
skipped: no peer: TestS, TestT
`
	testenv.Check(t, out.String() == want, "%s\nwant\n%s", out.String(), want)
}

// TestProgress: packages are counted, and what runs is named.
func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := newPrinter(&out, 3)
	p.now = func() time.Time { return now }
	for _, s := range []struct {
		e   event
		far string
	}{
		{event{Action: "start", Package: "m/a"}, "[0/3] building"},
		{event{Action: "run", Package: "m/a", Test: "TestX"}, "[0/3] running a TestX (30s)"},
		{event{Action: "pass", Package: "m/a", Test: "TestX"}, "[0/3] building"},
		{event{Action: "output", Package: "m/a", Output: "ok  \tm/a\t30s\n"}, "[1/3] building"},
	} {
		p.event(&s.e)
		now = now.Add(30 * time.Second)
		testenv.Equal(t, p.far()+" "+p.runs(), s.far, "after %+v", s.e)
	}
}
