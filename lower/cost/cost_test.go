package cost

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func measured(t *testing.T) []Point {
	t.Helper()
	f, err := os.Open("measured.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := ReadPoints(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFitted: fitted.csv is what Fit makes of measured.csv. A sample of the
// models is fitted anew; all with NNCC_LONG.
func TestFitted(t *testing.T) {
	points := measured(t)
	by := map[Key][]Point{}
	for _, p := range points {
		by[p.Key] = append(by[p.Key], p)
	}
	all := testenv.Long()
	for k, ps := range by {
		m := Models()[k]
		if (m != nil) != (len(ps) >= minPoints) {
			t.Errorf("%s has %d points and a model: %v; run nncccost -fit", k, len(ps), m != nil)
			continue
		}
		if m == nil || !all && !strings.HasPrefix(k.Route, "arm_convolve_1_x_n") &&
			!strings.HasPrefix(k.Route, "arm_pad") {
			continue
		}
		fresh := fit(k, ps)
		for _, p := range ps {
			if a, b := m.Predict(p.Shape), fresh.Predict(p.Shape); math.Abs(a-b) > 0.002*b {
				t.Errorf("%s: fitted.csv says %.0f, a new fit %.0f; run nncccost -fit", k, a, b)
				break
			}
		}
	}
	for k := range Models() {
		if by[k] == nil {
			t.Errorf("%s has a model, but no points", k)
		}
	}
}

// TestErrors: models are good enough to decide by, and say how good they are.
func TestErrors(t *testing.T) {
	sum, n := map[Key]float64{}, map[Key]float64{}
	for _, p := range measured(t) {
		if m := Models()[p.Key]; m != nil {
			e := math.Abs(m.Predict(p.Shape)-p.Instructions) / p.Instructions
			sum[p.Key] += e * e
			n[p.Key]++
			if e > m.Worst+0.002 {
				t.Errorf("%s: off by %.1f %%, at worst %.1f %% are promised: %+v", p.Key, 100*e, 100*m.Worst, p.Shape)
			}
		}
	}
	if len(n) == 0 {
		t.Fatal("no models")
	}
	for k := range n {
		e := math.Sqrt(sum[k] / n[k])
		if m := Models()[k]; math.Abs(e-m.Error) > 0.001 {
			t.Errorf("%s: error %.4f, fitted.csv says %.4f", k, e, m.Error)
		}
		limit := 0.08
		// their time depends on more than the shape: blocks of scratch, shared columns
		if strings.HasPrefix(k.Make, "nncc-") {
			limit = 0.12
		}
		if e > limit {
			t.Errorf("%s: off by %.1f %% on average: it needs other terms", k, 100*e)
		}
	}
}

// TestAligned: what padding buys on Helium, and what it costs: facts about
// CMSIS-NN that the models must have.
func TestAligned(t *testing.T) {
	oneD := func(route string, c, oc int) float64 {
		m := Models()[Key{"cmsis-nn", "mve", route}]
		if m == nil {
			t.Skipf("%s has no model", route)
		}
		return m.Predict(Shape{N: 1, IH: 1, IW: 64, C: c, OH: 1, OW: 64, OC: oc, KH: 1, KW: 9, SH: 1, SW: 1, DH: 1,
			DW: 1, PW: 4, Groups: 1})
	}
	if a, b := oneD("arm_convolve_s8", 6, 16), oneD("arm_convolve_1_x_n_s8", 8, 16); b > 0.85*a {
		t.Errorf("the 1xN route with 8 channels takes %.0f instructions, the generic one with 6 %.0f: want at least "+
			"15 %% less", b, a)
	}
	if a, b := oneD("arm_convolve_s8", 6, 6), oneD("arm_convolve_s8", 6, 8); b < 1.1*a {
		t.Errorf("8 outputs take %.0f instructions, 6 take %.0f: want at least a tenth more", b, a)
	}
}

func TestRoundTrip(t *testing.T) {
	points := measured(t)[:20]
	var b bytes.Buffer
	if err := WritePoints(&b, points); err != nil {
		t.Fatal(err)
	}
	back, err := ReadPoints(&b)
	if err != nil || len(back) != len(points) || back[7] != points[7] {
		t.Errorf("%v, %d points, %v became %v", err, len(back), points[7], back[7])
	}
	for _, s := range []string{"a,b", "cmsis-nn,mve,f,x,0,0", "cmsis-nn,mve,f,9,0,0,nothing=1"} {
		if _, err := ReadModels(strings.NewReader(s)); err == nil {
			t.Errorf("%q is read", s)
		}
	}
}
