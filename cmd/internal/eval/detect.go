// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/preprocess"
)

// Truth is a box that a sample shows, in pixels of the input.
type Truth = postprocess.Box

// maxBoxBytes bounds a file of boxes.
const maxBoxBytes = 16 << 20

// ReadBoxes reads the boxes of a sample from the folder dir: lines of a class and the
// middle, width and height of a box as parts of the picture (YOLO's text files), in a file
// called as the sample is, with _0, _1, ... where one file has many samples. place says
// where the picture lies in the input; nil: it is all of an input of width x height pixels.
// There are none where there is no file, which found says.
func ReadBoxes(dir, sample string, place *preprocess.Image, width, height float64) (list []Truth, found bool,
	err error) {
	sample, number, many := strings.Cut(sample, "#") // of one of many in a file
	base := strings.TrimSuffix(sample, filepath.Ext(sample))
	if many {
		base += "_" + number
	}
	var b []byte
	path := filepath.Join(dir, filepath.FromSlash(base)+".txt")
	if b, err = files.Read(path, maxBoxBytes); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, filepath.Base(base)+".txt")
		b, err = files.Read(path, maxBoxBytes)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, text.Errorf("labels: %w", err)
	}
	for i, line := range strings.Split(string(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		x, err := truth(words)
		if err != nil {
			return nil, false, text.Errorf("labels %s, line %d: %w", path, i+1, err)
		}
		list = append(list, placed(x, place, width, height))
	}
	return list, true, nil
}

// truth reads class, middle and sizes; the box's corners are parts of the picture.
func truth(words []string) (x Truth, err error) {
	const want = "want a class and four numbers from 0 to 1: middle x and y, width, height"
	if len(words) < 5 {
		return x, fmt.Errorf("%d words; %s", len(words), want)
	}
	if x.Label, err = strconv.Atoi(words[0]); err != nil || x.Label < 0 || x.Label > 1<<20 {
		return x, fmt.Errorf("class %q; %s", text.Short(words[0], 40), want)
	}
	var v [4]float64
	for k := range v {
		if v[k], err = strconv.ParseFloat(words[1+k], 64); err != nil || !(v[k] >= -1 && v[k] <= 2) {
			return x, fmt.Errorf("number %q; %s", text.Short(words[1+k], 40), want)
		}
	}
	x.X0, x.X1 = float32(v[0]-v[2]/2), float32(v[0]+v[2]/2)
	x.Y0, x.Y1 = float32(v[1]-v[3]/2), float32(v[1]+v[3]/2)
	return x, nil
}

// placed gives a box of parts of a picture as pixels of the input.
func placed(x Truth, m *preprocess.Image, width, height float64) Truth {
	across := func(v float32) float32 { return v * float32(width) }
	down := func(v float32) float32 { return v * float32(height) }
	if m != nil {
		side := func(size, crop, cropped, at, n int) func(v float32) float32 {
			return func(v float32) float32 {
				return float32(float64(at) + (float64(v)*float64(size)-float64(crop))*float64(n)/float64(cropped))
			}
		}
		across = side(m.Width, m.Crop.X, m.Crop.Width, m.At.X, m.At.Width)
		down = side(m.Height, m.Crop.Y, m.Crop.Height, m.At.Y, m.At.Height)
	}
	x.X0, x.X1, x.Y0, x.Y1 = across(x.X0), across(x.X1), down(x.Y0), down(x.Y1)
	return x
}

// Folder reports a folder of boxes.
func Folder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Detector compares boxes that were found with those that are there.
type Detector struct {
	Truths [][]Truth // by sample
	found  [variants][][]postprocess.Box
}

// NewDetector begins.
func NewDetector(truths [][]Truth) *Detector {
	d := &Detector{Truths: truths}
	for v := range d.found {
		d.found[v] = make([][]postprocess.Box, len(truths))
	}
	return d
}

// Found takes what the float model and the program found in sample i, the best first. It may
// be called for several samples at once.
func (d *Detector) Found(i int, floats, programs []postprocess.Box) {
	d.found[float][i], d.found[program][i] = floats, programs
}

// Detection is how well boxes are found: means of average precision over classes, as COCO
// has them (101 points of recall).
type Detection struct {
	Boxes   int         `json:"boxes"` // that are there
	Classes int         `json:"classes"`
	Float   *Precision  `json:"float"`
	Program *Precision  `json:"program"`
	ByClass []ClassRate `json:"by_class"`
}

// Precision is a mean of average precisions.
type Precision struct {
	MAP50 float64 `json:"map50"` // boxes that overlap by half are right
	MAP   float64 `json:"map"`   // mean over overlaps of 0.5, 0.55, ... 0.95
	Found int     `json:"found"` // boxes
}

// ClassRate is one class.
type ClassRate struct {
	Class   int      `json:"class"`
	Boxes   int      `json:"boxes"`
	Float   float64  `json:"float_ap50"`
	Program *float64 `json:"program_ap50"`
}

// Result is what was found; both says that there is a program.
func (d *Detector) Result(both bool) *Detection {
	r := &Detection{ByClass: []ClassRate{}}
	counts := map[int]int{}
	for _, list := range d.Truths {
		for _, x := range list {
			counts[x.Label]++
			r.Boxes++
		}
	}
	classes := slices.Sorted(maps.Keys(counts))
	r.Classes = len(classes)
	r.Float = d.precision(float, classes)
	if both {
		r.Program = d.precision(program, classes)
	}
	for _, c := range classes {
		x := ClassRate{Class: c, Boxes: counts[c], Float: d.average(float, c, 0.5)}
		if both {
			p := d.average(program, c, 0.5)
			x.Program = &p
		}
		r.ByClass = append(r.ByClass, x)
	}
	return r
}

func (d *Detector) precision(v int, classes []int) *Precision {
	p := &Precision{}
	p.Found += lists.Sum(d.found[v], func(list []postprocess.Box) int { return len(list) })
	if len(classes) == 0 {
		return p
	}
	for k := range 10 {
		sum := lists.Sum(classes, func(c int) float64 { return d.average(v, c, 0.5+0.05*float64(k)) })
		sum /= float64(len(classes))
		if k == 0 {
			p.MAP50 = sum
		}
		p.MAP += sum / 10
	}
	return p
}

// hit is a box that was found, and whether it is right.
type hit struct {
	score float32
	right bool
}

// average is the average precision of a class: boxes are right that overlap one that is there
// and not taken by a better one by at least overlap.
func (d *Detector) average(v, class int, overlap float64) float64 {
	var hits []hit
	there := 0
	for i, truths := range d.Truths {
		open := lists.Filter(truths, func(x Truth) bool { return x.Label == class })
		there += len(open)
		for _, x := range d.found[v][i] {
			if x.Label != class {
				continue
			}
			best, at := overlap, -1
			for k, o := range open {
				if u := float64(postprocess.IoU(x, o)); u >= best {
					best, at = u, k
				}
			}
			if at >= 0 {
				open = slices.Delete(open, at, at+1)
			}
			hits = append(hits, hit{x.Score, at >= 0})
		}
	}
	lists.Sort(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return area(hits, there)
}

// area is the mean of the best precision at 101 points of recall.
func area(hits []hit, there int) float64 {
	precision := make([]float64, len(hits))
	recall := make([]float64, len(hits))
	right := 0
	for i, h := range hits {
		if h.right {
			right++
		}
		precision[i], recall[i] = float64(right)/float64(i+1), float64(right)/float64(there)
	}
	for i := len(hits) - 2; i >= 0; i-- {
		precision[i] = max(precision[i], precision[i+1])
	}
	sum, at := 0., 0
	for k := range 101 {
		for at < len(hits) && recall[at] < float64(k)/100-1e-12 {
			at++
		}
		if at < len(hits) {
			sum += precision[at]
		}
	}
	return sum / 101
}

// mostClasses bounds the classes on the terminal.
const mostClasses = 20

func (r *Result) detectionText(b *strings.Builder) {
	d := r.Detection
	if d == nil {
		return
	}
	fmt.Fprintf(b, "\n%d boxes of %d classes\n", d.Boxes, d.Classes)
	rows := [][]string{{"", "float"}, {"mAP 0.5", rate(d.Float.MAP50)}, {"mAP 0.5:0.95", rate(d.Float.MAP)},
		{"boxes found", strconv.Itoa(d.Float.Found)}}
	if p := d.Program; p != nil {
		for i, s := range []string{"program", rate(p.MAP50), rate(p.MAP), strconv.Itoa(p.Found)} {
			rows[i] = append(rows[i], s)
		}
	}
	b.WriteString(text.Table(rows))
	rows = [][]string{{"class", "boxes", "AP 0.5 float"}}
	if d.Program != nil {
		rows[0] = append(rows[0], "program")
	}
	for _, c := range d.ByClass[:min(len(d.ByClass), mostClasses)] {
		row := []string{strconv.Itoa(c.Class), strconv.Itoa(c.Boxes), rate(c.Float)}
		if c.Program != nil {
			row = append(row, rate(*c.Program))
		}
		rows = append(rows, row)
	}
	b.WriteString("\n" + text.Table(rows))
}

func rate(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
