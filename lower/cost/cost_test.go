// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	runtimec "github.com/nncc/nncc/runtime_c"
)

func measured(t *testing.T) []Point {
	t.Helper()
	f := testenv.Must(os.Open("sample.csv"))(t)
	defer f.Close()
	p := testenv.Must(ReadPoints(f))(t)
	return p
}

// strange is how many times its stated error a model may be off on the few held-out layers of a sample.
const strange = 2.5

// byKey are the points of each variant.
func byKey(points []Point) map[Key][]Point {
	by := map[Key][]Point{}
	for _, p := range points {
		by[p.Key] = append(by[p.Key], p)
	}
	return by
}

// TestHeldOut: layers of the sample that were not fitted are predicted within the error that
// each model states, on average, and within its worst error one by one; were they to take
// half as long or twice, nearly all models would be told.
func TestHeldOut(t *testing.T) {
	by := byKey(measured(t))
	for k, why := range wrong(by) {
		t.Errorf("%s: %s", k, why)
	}
	for _, change := range []float64{0.5, 2} {
		changed := map[Key][]Point{}
		for k, ps := range by {
			for _, p := range ps {
				p.Instructions *= change
				changed[k] = append(changed[k], p)
			}
		}
		if n := len(wrong(changed)); n < len(Models())*9/10 {
			t.Errorf("layers take %g of what they took, and %d of %d models are told", change, n, len(Models()))
		}
	}
}

// wrong says which models do not predict the held-out layers as well as they state.
func wrong(by map[Key][]Point) map[Key]string {
	out := map[Key]string{}
	for k, m := range Models() {
		_, held := split(by[k])
		switch {
		case k.Make == anyMake:
			continue
		case len(held) == 0 || m.Points <= wholeUpTo && len(by[k]) != m.Points:
			out[k] = fmt.Sprintf("%d layers in the sample, %d held out, of %d; run nncccost", len(by[k]), len(held),
				m.Points)
		case rms(m, held) > strange*m.Error:
			out[k] = fmt.Sprintf("held-out layers are off by %.2f %%, it states %.2f %%", 100*rms(m, held), 100*m.Error)
		case worst(m, held) > m.Worst+0.0005:
			out[k] = fmt.Sprintf("off by %.2f %%, it states %.2f %% at worst", 100*worst(m, held), 100*m.Worst)
		case m.Coefficients() == 0 || m.Coefficients()*pointsEach > m.Points:
			out[k] = fmt.Sprintf("%d coefficients on %d layers, want one for %d", m.Coefficients(), m.Points,
				pointsEach)
		}
	}
	for k, ps := range by {
		if Models()[k] == nil && len(ps) >= MinPoints {
			out[k] = "layers, but no model; run nncccost"
		}
	}
	return out
}

// TestRegret: of two kernels that were measured on the same layer, the one that is
// expected to take less is the right one to take: over the layers that were not
// fitted it is never much slower than the other, and a choice that asks for
// more than the worst errors, as it was made once, loses many times as much.
// Functions of elements are left out: those of one shape compute different things.
func TestRegret(t *testing.T) {
	type place struct {
		lib, isa, geometry string
		max                bool // maxima and averages have one kind of geometry
	}
	by := map[place][]Point{}
	for _, p := range measured(t) {
		m := Models()[p.Key]
		if m != nil && p.Kind != Element && p.HeldOut() && m.Covers.covers(traitsOf(&p.Geometry)) {
			at := place{p.Make, p.ISA, p.Geometry.String(), strings.Contains(p.Variant, "_max_")}
			by[at] = append(by[at], p)
		}
	}
	var n, mean, worst, cautious float64
	compare := func(first, later *Point) {
		price := func(p *Point) *Cost {
			m := Models()[p.Key]
			return &Cost{Instructions: m.Predict(&p.Geometry), Error: m.Error, Worst: m.Worst}
		}
		regret := func(later bool, p, q *Point) float64 {
			if later {
				p = q
			}
			return p.Instructions/min(first.Instructions, q.Instructions) - 1
		}
		a, b := price(first), price(later)
		r := regret(b.ExpectedInstructions() < a.ExpectedInstructions(), first, later)
		n, mean, worst = n+1, mean+r, max(worst, r)
		cautious += regret(b.Instructions*(1+b.Worst) < a.Instructions*(1-a.Worst), first, later)
	}
	for _, ps := range by {
		for i := range ps {
			for j := range ps {
				if ps[i].Variant != ps[j].Variant {
					compare(&ps[i], &ps[j])
				}
			}
		}
	}
	mean, cautious = mean/n, cautious/n
	t.Logf("%.0f choices: %.2f %% more than the better kernel on average, %.0f %% at worst; beyond the worst errors "+
		"%.2f %%", n, 100*mean, 100*worst, 100*cautious)
	if n < 50 || mean > 0.005 || worst > 0.2 || mean > cautious/5 {
		t.Errorf("%.0f choices, regret %.4f on average, %.3f at worst, %.4f beyond the worst errors", n, mean, worst,
			cautious)
	}
}

// TestFitted: fitted.csv is what Fit makes of all layers of a variant, which the sample has of
// small ones, and held-out points have no part in it but by the error that is stated.
func TestFitted(t *testing.T) {
	models := 0
	for k, ps := range byKey(measured(t)) {
		m := Models()[k]
		if m == nil || len(ps) != m.Points {
			continue
		}
		models++
		for i := range ps {
			if ps[i].HeldOut() {
				ps[i].Instructions *= 2
			}
		}
		fresh := fitVariant(k, ps)
		got, want := coefficients(m), coefficients(fresh)
		testenv.Check(t, slices.Equal(got, want), "%s: fitted.csv has %v, a new fit %v; run nncccost", k, got, want)
		testenv.Check(t, !(fresh.Error <= m.Error) && !(fresh.Error < 0.2),
			"%s: held-out layers take twice as long, and the error is %.4f", k, fresh.Error)
	}
	testenv.Check(t, models >= 10, "the sample has all layers of %d models, want 10", models)
}

// TestStays: models of variants that were not measured, and of kinds that were not measured whole, stay as they are.
func TestStays(t *testing.T) {
	ps := measured(t)
	one := slices.DeleteFunc(ps, func(p Point) bool { return p.Key != ps[0].Key })
	for i := range one {
		one[i].Instructions *= 2
	}
	changed := 0
	for _, m := range Fit(one, Models()) {
		if was := Models()[m.Key]; was != m && m.Key != one[0].Key {
			t.Errorf("%s is another model", m.Key)
		} else if was != m {
			changed++
		}
	}
	testenv.Check(t, changed <= 1, "%d models", changed)
}

func coefficients(m *Model) []string { return m.row()[len(modelColumns):] }

// TestErrors: models are good enough to decide by.
func TestErrors(t *testing.T) {
	var errors []float64
	for k, m := range Models() {
		if k.Make != anyMake {
			errors = append(errors, m.Error)
		}
	}
	slices.Sort(errors)
	for _, c := range []struct{ part, most float64 }{{0.5, 0.04}, {0.9, 0.15}} {
		if e := errors[int(c.part*float64(len(errors)))]; e > c.most {
			t.Errorf("%.0f of 100 models are off by %.1f %% or less, want %.0f %%: they need points or features",
				100*c.part, 100*e, 100*c.most)
		}
	}
}

// TestFit: a layer whose cost is known exactly is found again, from the features
// that it is made of.
func TestFit(t *testing.T) {
	var ps []Point
	for c := 1; c < 60; c++ {
		for _, oc := range []int{3, 4, 8, 17} {
			g := Geometry{Kind: Matrix, N: 1, IH: 1, IW: 1, C: c, OH: 1, OW: 1, OC: oc, KH: 1, KW: 1, SH: 1, SW: 1,
				DH: 1, DW: 1, Groups: 1}
			ps = append(ps, Point{Key{"m", "i", "f"}, g, float64(40 + 7*oc + 3*oc*((c+15)/16))})
		}
	}
	m := fitVariant(ps[0].Key, ps)
	testenv.Check(t, !(m.Error > 0.001) && m.Coefficients() <= 6,
		"fitted %v with error %.4f, want 40 + 7 outputs + 3 for 16 columns of each", coefficients(m), m.Error)
	far := Geometry{Kind: Matrix, N: 1, IH: 1, IW: 1, C: 1000, OH: 1, OW: 1, OC: 64, KH: 1, KW: 1, SH: 1, SW: 1, DH: 1,
		DW: 1, Groups: 1}
	got, want := m.Predict(&far), 40+7*64+3*64*63.0
	testenv.Check(t, !(math.Abs(got-want) > 0.001*want), "%v predict %.0f, want %.0f", coefficients(m), got, want)
}

// TestFallback: a variant that nobody measured is estimated by others, with a
// larger error than any of them states, and says so; where the kind's layers are
// not alike there is no number.
func TestFallback(t *testing.T) {
	g := Elements(1000, Parts{Reads: 2, Sums: 1})
	for _, isa := range []string{"mve", "dsp", "c", "v6m"} {
		target := Target{ISA: isa}
		c := target.Of(&Layer{Library: "nncc", Variant: "brand_new", Geometry: g})
		testenv.Check(t, !c.Known() && !(c.Instructions <= 0) && !(c.Error < 0.3) && !(c.Worst < 1), "%s: %+v", isa,
			c)
		for _, k := range []Kind{Copy, Other} {
			// A permutation of 27,648 bytes would be a convolution of as many channels.
			apart := Geometry{Kind: k, N: 1, IH: 1, IW: 1, C: 27648, OH: 1, OW: 1, OC: 27648, KH: 1, KW: 1,
				SH: 1, SW: 1, DH: 1, DW: 1, Groups: 1}
			if c := target.Of(&Layer{Library: "nncc", Variant: "brand_new", Geometry: apart}); c.Known() ||
				c.Instructions != 0 || c.Cycles != 0 {
				t.Errorf("%s: layers of the kind %s have nothing in common, there is a price: %+v", isa, k, c)
			}
		}
		dilated := Geometry{Kind: Depthwise, N: 1, IH: 9, IW: 9, C: 8, OH: 5, OW: 5, OC: 8, KH: 3, KW: 3, SH: 1, SW: 1,
			DH: 2, DW: 2, Groups: 8}
		for k, m := range Models() {
			if k.ISA != isa || k.Make == anyMake || m.Covers.covers(traitsOf(&Geometry{DH: 2})) {
				continue
			}
			if c := target.Of(&Layer{Library: k.Make, Variant: k.Variant, Geometry: dilated}); c.Known() {
				t.Errorf("%s answers for a dilated layer and was measured with none", k)
			}
		}
	}
}

// TestAnswers: one question gives instructions, cycles and bytes of flash.
func TestAnswers(t *testing.T) {
	g := Elements(1000, Parts{Reads: 2, Sums: 1})
	l := Layer{Library: "cmsis-nn", Variant: "arm_elementwise_add_s8", Geometry: g,
		Functions: []string{"arm_elementwise_add_s8"}, Constants: 10}
	m4 := Target{ISA: "dsp", Core: "cortex-m4", Makes: map[string]string{"cmsis-nn": "nncc"}}
	c := m4.Of(&l)
	if !c.Known() || c.Instructions < 10_000 || c.Cycles < c.Instructions || c.FlashBytes < 100 ||
		c.CyclesError <= c.Error {
		t.Errorf("%+v", c)
	}
	small := m4
	small.Size = true
	d := small.Of(&l)
	testenv.Check(t, d.FlashBytes < c.FlashBytes, "%d bytes for size, %d for speed", d.FlashBytes, c.FlashBytes)
	none := Target{ISA: "dsp", Core: "cortex-m99", Makes: m4.Makes}
	if d := none.Of(&l); d.Cycles != 0 || d.Instructions != c.Instructions {
		t.Errorf("a core without a table: %+v", d)
	}
	m7, flash := m4, m4
	m7.Core = "cortex-m7"
	if d := m7.Of(&l); d.Cycles <= 0 || d.Cycles >= c.Cycles {
		t.Errorf("a core that starts two instructions in a cycle: %+v, Cortex-M4 %+v", d, c)
	}
	flash.Memory = Memory{Board: "stm32l4r5zi", PerByte: 0.5, Error: 0.25}
	if d := flash.Of(&l); d.Cycles < c.Cycles+5 || d.CyclesError < c.CyclesError+0.2 {
		t.Errorf("with wait states: %+v, without: %+v", d, c)
	}
}

// TestAligned: what padding buys on Helium, and what it costs: facts about
// CMSIS-NN that the models must have.
func TestAligned(t *testing.T) {
	oneD := func(variant string, c, oc int) float64 {
		m := Models()[Key{"cmsis-nn", "mve", variant}]
		testenv.Require(t, m != nil, "%s has no model", variant)
		return m.Predict(&Geometry{Kind: Convolution, N: 1, IH: 1, IW: 64, C: c, OH: 1, OW: 64, OC: oc, KH: 1, KW: 9,
			SH: 1, SW: 1, DH: 1, DW: 1, PW: 4, Groups: 1})
	}
	if a, b := oneD("arm_convolve_s8", 6, 16), oneD("arm_convolve_1_x_n_s8", 8, 16); b > 0.85*a {
		t.Errorf("the 1xN route with 8 channels takes %.0f instructions, the generic one with 6 %.0f: want at least "+
			"15 %% less", b, a)
	}
	a, b := oneD("arm_convolve_s8", 6, 6), oneD("arm_convolve_s8", 6, 8)
	testenv.Check(t, !(b < 1.1*a), "8 outputs take %.0f instructions, 6 take %.0f: want at least a tenth more", b, a)
}

// TestFeatures: every feature of every kind is a product of factors that exist.
func TestFeatures(t *testing.T) {
	for kind, list := range features {
		for i, name := range list {
			_, err := feature(name)
			testenv.Check(t, err == nil, "%s: %v", kind, err)
			testenv.Check(t, !slices.Contains(list[:i], name), "%s: %s is there twice", kind, name)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	points := measured(t)[:20]
	var b bytes.Buffer
	testenv.OK(t, WritePoints(&b, points))
	back, err := ReadPoints(&b)
	testenv.Check(t, err == nil && slices.Equal(back, points), "%v, %d points, %v became %v", err, len(back), points,
		back)
	head := strings.Join(modelColumns, ",") + "\n"
	for _, s := range []string{"a,b", head + "cmsis-nn,mve,f,x,0,0,", head + "cmsis-nn,mve,f,9,0,0,,nothing=1",
		head + "cmsis-nn,mve,f,9,0,0,strange"} {
		testenv.Check(t, testenv.Err(ReadModels(strings.NewReader(s))) != nil, "%q is read", s)
	}
	for _, s := range []string{"", "sphere N=1", "pool N=x", "pool radius=2"} {
		testenv.Check(t, testenv.Err(ParseGeometry(s)) != nil, "%q is read", s)
	}
	c := rounded(0.00123449)
	testenv.Check(t, !(math.Abs(c-0.001234) > 1e-12), "rounded: %v", c)
}

// TestEverySourceHasBytes: code.csv has every source that runs on an instruction
// set, for speed and for size, and none that is no more.
func TestEverySourceHasBytes(t *testing.T) {
	missing, stale := map[string]bool{}, map[string]bool{}
	for _, isa := range []string{"mve", "dsp", "c", "v6m"} {
		for _, size := range []bool{false, true} {
			bytes := (&Target{ISA: isa, Size: size}).SourceBytes()
			seen := map[string]bool{}
			for _, f := range runtimec.All() {
				if path.Ext(f.Path) != ".c" || !Runs(f.Path, isa) {
					continue
				}
				seen[f.Path] = true
				if _, ok := bytes[f.Path]; !ok {
					missing[f.Path] = true
				}
			}
			for f := range bytes {
				if !seen[f] {
					stale[f] = true
				}
			}
		}
	}
	for _, m := range []struct {
		what  string
		files map[string]bool
	}{{"has no bytes of", missing}, {"has bytes of what is no source", stale}} {
		if len(m.files) > 0 {
			t.Errorf("code.csv %s: %s; run go run ./cmd/nncccost -code", m.what,
				strings.Join(slices.Sorted(maps.Keys(m.files)), ", "))
		}
	}
}
