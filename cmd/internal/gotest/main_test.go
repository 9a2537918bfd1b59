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
	show(strings.NewReader(in), &out, newProgress([]string{"a", "b"}, time.Now), nil)
	want := `./x.go:1: no
    a_test.go:9: is wrong
--- FAIL: TestBad (0.00s)
[1/2] FAIL	a	0.1s
not json
skipped: no peer: TestS, TestT
`
	testenv.Check(t, out.String() == want, "%s\nwant\n%s", out.String(), want)
}

// TestProgress: packages and tests are counted, what runs is named, and the rest
// is estimated by what the packages took once, without those whose results are
// kept.
func TestProgress(t *testing.T) {
	now := time.Unix(0, 0)
	p := newProgress([]string{"m/a", "m/b", "m/c"}, func() time.Time { return now })
	p.weights = map[string]float64{"m/a": 60, "m/b": 300, "m/c": 40}
	for _, s := range []struct {
		e    event
		wait time.Duration
		far  string
		runs string
	}{
		{event{}, 0, "[0/3]", "building"},
		{event{Action: "start", Package: "m/a"}, 0, "[0/3 packages, 0 tests, 3m20s left]", "building"},
		{event{Action: "run", Package: "m/a", Test: "TestX"}, 30 * time.Second,
			"[0/3 packages, 0 tests, 4m38s left]", "running a TestX (30s)"},
		{event{Action: "pass", Package: "m/a", Test: "TestX/part"}, 0,
			"[0/3 packages, 0 tests, 4m38s left]", "running a TestX (30s)"},
		{event{Action: "pass", Package: "m/a", Test: "TestX"}, 0, "[0/3 packages, 1 tests, 4m38s left]", "building"},
		{event{Action: "output", Package: "m/a", Output: "ok  \tm/a\t30s\n"}, 0,
			"[1/3 packages, 1 tests, 2m50s left]", "building"},
		{event{Action: "output", Package: "m/b", Output: "ok  \tm/b\t(cached)\n"}, 0,
			"[2/3 packages, 1 tests, 20s left]", "building"},
	} {
		p.note(&s.e)
		now = now.Add(s.wait)
		if p.far() != s.far || p.runs() != s.runs {
			t.Errorf("after %+v: %s %s, want %s %s", s.e, p.far(), p.runs(), s.far, s.runs)
		}
	}
}
