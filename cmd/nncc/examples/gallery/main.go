// SPDX-License-Identifier: Apache-2.0

// gallery draws the data of the examples: what a sensor, a microphone or a camera might give, as files that people
// have. Each has data to train with, to calibrate with, and to test with.
//
//	go run ./cmd/nncc/examples/gallery NAME DIR
//	go run ./cmd/nncc/examples/gallery NAME WEIGHTS.npz MODEL.tflite
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

// parts of the data, and how many samples of a class they have.
var parts = []struct {
	name  string
	count int
}{{"train", 120}, {"calib", 12}, {"test", 40}}

// example draws the files of a part: by path, below it.
type example func(r *rand.Rand, part string, n int) map[string][]byte

var examples = map[string]example{
	"gesture":  gesture,
	"keyword":  recordings([]string{"no", "noise", "yes"}, word),
	"picture":  pictures,
	"machine":  recordings([]string{"normal", "worn"}, machine),
	"detector": detector,
	"sensor":   sensor,
}

func main() {
	var err error
	switch {
	case len(os.Args) == 4 && networks[os.Args[1]] != nil:
		err = convert(os.Args[1], os.Args[2], os.Args[3])
	case len(os.Args) == 3 && examples[os.Args[1]] != nil:
		err = draw(os.Args[1], os.Args[2])
	default:
		fmt.Fprintf(os.Stderr, "Usage: gallery NAME DIR; NAME is one of %s\n",
			strings.Join(slices.Sorted(maps.Keys(examples)), ", "))
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

// draw writes the data of an example into a folder.
func draw(name, dir string) (err error) {
	defer fail.Catch(&err)
	for i, p := range parts {
		for file, data := range examples[name](rand.New(rand.NewPCG(42, uint64(i))), p.name, p.count) {
			path := filepath.Join(dir, filepath.FromSlash(file))
			fail.Check(os.MkdirAll(filepath.Dir(path), 0o777))
			fail.Check(os.WriteFile(path, data, 0o666))
		}
	}
	return nil
}

// gesture is the log of an accelerometer, in g, 50 rows a second: people rest, shake, circle and tap for some seconds
// each, and now and then the logger stops.
func gesture(r *rand.Rand, part string, n int) map[string][]byte {
	b := bytes.NewBufferString("ms,ax,ay,az,label\n")
	ms := 0
	for i := range n {
		label := []string{"circle", "rest", "shake", "tap"}[i%4]
		speed, size, tilt := 4+2*r.Float64(), 0.5+r.Float64(), r.Float64()
		for k := range 200 {
			t := float64(k) / 50
			x, y, z := tilt/4, -tilt/5, 1.
			switch label {
			case "circle":
				x, y = x+size*math.Sin(speed*t), y+size*math.Cos(speed*t)
			case "shake":
				x += 2 * size * math.Sin(5*speed*t)
			case "tap":
				z += 3 * size * math.Exp(-25*math.Mod(t, 0.5))
			}
			noise := func() float64 { return 0.05 * r.NormFloat64() }
			fmt.Fprintf(b, "%d,%.3f,%.3f,%.3f,%s\n", ms, x+noise(), y+noise(), z+noise(), label)
			ms += 20
		}
		if r.IntN(4) == 0 {
			ms += 700
		}
	}
	return map[string][]byte{part + ".csv": b.Bytes()}
}

// sensor is what a pump tells, in its own units: °C, pascals, revolutions a minute, g, amperes.
func sensor(r *rand.Rand, part string, n int) map[string][]byte {
	b := bytes.NewBufferString("celsius,pascal,rpm,g,ampere,label\n")
	for i := range 4 * n {
		near := func(middle, spread float64) float64 { return middle + spread*r.NormFloat64() }
		rpm := near(2900, 60)
		c, p, g, a := near(55, 4), near(412000, 9000)+60*(rpm-2900), near(0.4, 0.08), near(7.2, 0.4)
		label := []string{"blocked", "cavitation", "dry", "good"}[i%4]
		switch label {
		case "blocked":
			p, a, c = p+near(45000, 9000), a-near(1.6, 0.3), c+near(6, 2)
		case "cavitation":
			g, p = g+near(0.7, 0.15), p-near(22000, 8000)
		case "dry":
			c, p, a = c+near(22, 5), p-near(180000, 30000), a-near(3, 0.4)
		}
		fmt.Fprintf(b, "%.1f,%.0f,%.0f,%.3f,%.2f,%s\n", c, p, rpm, g, a, label)
	}
	return map[string][]byte{part + ".csv": b.Bytes()}
}

// recordings draws WAV files of 2,000 samples, 8,000 a second, in a folder for each class.
func recordings(classes []string, draw func(r *rand.Rand, class string, x []float64)) example {
	return func(r *rand.Rand, part string, n int) map[string][]byte {
		out := map[string][]byte{}
		for i := range n * len(classes) {
			class := classes[i%len(classes)]
			if class == "worn" && part == "train" { // a machine that runs well is all that there is to learn from
				continue
			}
			x := make([]float64, 2000)
			draw(r, class, x)
			var b bytes.Buffer
			b.WriteString("RIFF\xc4\x0f\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00" +
				"\x02\x00\x10\x00data\xa0\x0f\x00\x00")
			for _, v := range x {
				fail.Check(binary.Write(&b, binary.LittleEndian, int16(32767*min(max(v, -1), 1))))
			}
			out[fmt.Sprintf("%s/%s/%03d.wav", part, class, i)] = b.Bytes()
		}
		return out
	}
}

// word is yes, which rises and ends in a hiss, no, which falls, or the noise of a street.
func word(r *rand.Rand, class string, x []float64) {
	from, loud, base := r.IntN(500), 0.2+0.3*r.Float64(), 0.8+0.4*r.Float64()
	phase := 0.
	for i := range x {
		x[i] = 0.01 * r.NormFloat64()
		t := float64(i-from) / 1400
		switch {
		case class == "noise":
			phase = 0.9*phase + 0.1*r.NormFloat64()
			x[i] += 2 * loud * phase
		case t < 0 || t > 1:
		case class == "yes" && t > 0.65:
			x[i] += loud * 0.5 * r.NormFloat64()
		default:
			hz := base * (350 + 700*t)
			if class == "no" {
				hz = base * (900 - 600*t)
			}
			phase += 2 * math.Pi * hz / 8000
			x[i] += loud * math.Sin(math.Pi*t) * (math.Sin(phase) + 0.4*math.Sin(2*phase))
		}
	}
}

// machine hums; where its bearing is worn it rings at another pitch, now and then.
func machine(r *rand.Rand, class string, x []float64) {
	hz, loud, ring := 48+4*r.Float64(), 0.25+0.1*r.Float64(), 2300+600*r.Float64()
	for i := range x {
		t := float64(i) / 8000
		for k := 1; k <= 6; k++ {
			x[i] += loud / float64(k) * math.Sin(2*math.Pi*hz*float64(k)*t+float64(k*k))
		}
		x[i] += 0.03 * r.NormFloat64()
		if class == "worn" {
			x[i] += 0.25 * math.Exp(-60*math.Mod(t, 0.02)) * math.Sin(2*math.Pi*ring*t)
		}
	}
}

// shades are a dark colour and a bright one.
func shades(r *rand.Rand) (ground, figure [3]float64) {
	for c := range 3 {
		ground[c], figure[c] = 20+80*r.Float64(), 130+100*r.Float64()
	}
	return ground, figure
}

// inside tells which pixels a figure has whose middle is at 0, 0 and whose size is 1.
var inside = map[string]func(x, y float64) bool{
	"circle": func(x, y float64) bool { return x*x+y*y < 1 },
	"cross": func(x, y float64) bool {
		return max(math.Abs(x), math.Abs(y)) < 1 && min(math.Abs(x), math.Abs(y)) < 0.3
	},
	"triangle": func(x, y float64) bool { return y > -1 && math.Abs(x) < (1-y)/2 },
}

// pictures are PNGs of 32 by 32 pixels with one figure, in a folder for each class.
func pictures(r *rand.Rand, part string, n int) map[string][]byte {
	out := map[string][]byte{}
	for i := range 3 * n {
		class := slices.Sorted(maps.Keys(inside))[i%3]
		m := image.NewRGBA(image.Rect(0, 0, 32, 32))
		ground, figure := shades(r)
		cx, cy, size := 12+8*r.Float64(), 12+8*r.Float64(), 7+4*r.Float64()
		for p := range 32 * 32 {
			at := ground
			if inside[class]((float64(p%32)-cx)/size, (float64(p/32)-cy)/size) {
				at = figure
			}
			var c [3]uint8
			for k := range c {
				c[k] = uint8(min(max(at[k]+12*r.NormFloat64(), 0), 255))
			}
			m.Set(p%32, p/32, color.RGBA{c[0], c[1], c[2], 255})
		}
		out[fmt.Sprintf("%s/%s/%03d.png", part, class, i)] = encoded(m)
	}
	return out
}

// detector is grey PNGs of 48 by 48 pixels with up to three bright figures, discs (class 0) and crosses (class 1),
// and a text file with the boxes of each.
func detector(r *rand.Rand, part string, n int) map[string][]byte {
	out := map[string][]byte{}
	for i := range 3 * n {
		m := image.NewGray(image.Rect(0, 0, 48, 48))
		for p := range m.Pix {
			m.Pix[p] = uint8(60 + 10*r.NormFloat64())
		}
		var boxes strings.Builder
		for k := range 1 + r.IntN(3) { // each has a quarter of its own
			class, size := r.IntN(2), 5+4*r.Float64()
			cx, cy := float64(24*(k%2))+10+4*r.Float64(), float64(24*(k/2))+10+4*r.Float64()
			for p := range m.Pix {
				x, y := (float64(p%48)-cx)/size, (float64(p/48)-cy)/size
				if inside[[]string{"circle", "cross"}[class]](x, y) {
					m.Pix[p] = uint8(190 + 12*r.NormFloat64())
				}
			}
			fmt.Fprintf(&boxes, "%d %.4f %.4f %.4f %.4f\n", class, (cx+0.5)/48, (cy+0.5)/48, size/24, size/24)
		}
		out[fmt.Sprintf("%s/%03d.png", part, i)] = encoded(m)
		out[fmt.Sprintf("%s-boxes/%03d.txt", part, i)] = []byte(boxes.String())
	}
	return out
}

func encoded(m image.Image) []byte {
	var b bytes.Buffer
	fail.Check(png.Encode(&b, m))
	return b.Bytes()
}
