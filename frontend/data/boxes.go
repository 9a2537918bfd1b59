// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/preprocess"
)

// Boxes says where a detector's boxes are in its outputs, and what becomes of them.
type Boxes struct {
	Head string // one of heads
	// The outputs, by name, one for each map: From hold everything, or Boxes, Scores and
	// the others have it apart. nil: the only one there is.
	From, Boxes, Sizes, Scores, Objects, Classes []string

	Box        string // what the four numbers are; "": by the head
	Unit       string
	Activation string // "": by the head
	Count      int    // of classes; 0: by the shapes
	Background int    // -1: none, -2: by the head
	Layout     string // "": by the shapes
	Strides    []float64
	Anchors    []float64
	Bins       int
	Variance   []float64
	Priors     string // a file
	Grids      [][2]int
	Scales     []float64
	Aspects    []float64
	Between    bool
	Threshold  []float64
	IoU        float64
	Suppress   string // class, all, none
	Label      string // best, all
	Candidates int
	Most       int
	Width      int // of the input in pixels; 0: by its shape
	Height     int
	Emit       bool

	said []string // keys that were set
}

// NewBoxes are boxes of which nothing is declared.
func NewBoxes() *Boxes {
	return &Boxes{Background: -2, Bins: 16, Threshold: []float64{0.25}, IoU: 0.45, Candidates: 300, Most: 100,
		Unit: "pixels", Aspects: []float64{1}, Variance: []float64{0.1, 0.1, 0.2, 0.2}}
}

// maxCandidates bounds what is compared with each other.
const maxCandidates = 4096

// head is a kind of detector: the defaults that go with its name.
type head struct {
	name, doc string
	coding    postprocess.Coding // of boxes as the network gives them
	object    bool               // there is a channel for whether there is anything at all
	scores    postprocess.Activation
	keys      string // that mean something here, beside those of every head
}

// decoded are keys of heads of which models may have the boxes decoded.
const decodedKeys = " box unit"

var heads = []head{
	{"yolov3", "cells with anchors, e^t sizes", postprocess.Exponents, true, postprocess.SigmoidOf,
		"anchors strides objects" + decodedKeys},
	{"yolov5", "cells with anchors, squared sizes: v5, v7", postprocess.Anchored, true, postprocess.SigmoidOf,
		"anchors strides objects" + decodedKeys},
	{"yolox", "cells without anchors", postprocess.Grid, true, postprocess.SigmoidOf, "strides objects" + decodedKeys},
	{"yolov8", "distances to the sides, no objectness: v6, v8, v9, v11", postprocess.Distances, false,
		postprocess.SigmoidOf, "strides bins" + decodedKeys},
	{"rows", "boxes, scores and classes after suppression: v10, DETR-like, TFLite_Detection_PostProcess",
		postprocess.Corners, false, postprocess.None, "classes-from unit box"},
	{"ssd", "offsets from prior boxes", postprocess.Offsets, false, postprocess.SoftmaxOf,
		"box variance priors grids scales aspects between"},
	{"centernet", "peaks of a heat map", postprocess.Points, false, postprocess.SigmoidOf, "sizes strides"},
}

// everyHead are keys that mean something for all.
const everyHead = "head from boxes scores activation classes background layout threshold iou suppress label " +
	"candidates most size emit"

func headNames() []string {
	var out []string
	for _, h := range heads {
		out = append(out, h.name)
	}
	return out
}

// idle are keys that were set and mean nothing for the head.
func (b *Boxes) idle(h *head) []string {
	var out []string
	for _, k := range b.said {
		if !slices.Contains(strings.Fields(everyHead+" "+h.keys), k) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func outputNames(to *[]string, v []string) error {
	if slices.Contains(v, "") {
		return errors.New("want names of outputs")
	}
	*to = v
	return nil
}

func share(to *float64, v []string) error {
	var x float64
	if err := number(&x, v); err != nil || x < 0 || x > 1 {
		return errors.New("want a number from 0 to 1")
	}
	*to = x
	return nil
}

func shares(to *[]float64, v []string) error {
	var x []float64
	err := numbers(&x, v)
	if err != nil || slices.ContainsFunc(x, func(y float64) bool { return y < 0 || y > 1 }) {
		return errors.New("want a number from 0 to 1, or one for each class")
	}
	*to = x
	return nil
}

// positive reads numbers above 0 and at most 1e6.
func positive(to *[]float64, v []string) error {
	var x []float64
	err := numbers(&x, v)
	if err != nil || slices.ContainsFunc(x, func(y float64) bool { return !(y >= 1e-6 && y <= 1e6) }) {
		return errors.New("want numbers from 1e-6 to 1e6")
	}
	*to = x
	return nil
}

func wholeTo(to *int, v []string, lo, hi int) (err error) {
	*to, err = whole(v, lo, hi)
	return err
}

// boxKeys are those of "boxes".
var boxKeys = []key[Boxes]{
	{"head", "the kind of network", "how boxes are coded", func(x *Boxes, v []string) error {
		return oneOf(&x.Head, v, headNames()...)
	}},
	{"from", "names of outputs", "outputs with everything, one for each map", func(x *Boxes, v []string) error {
		return outputNames(&x.From, v)
	}},
	{"boxes", "names of outputs", "outputs with boxes alone", func(x *Boxes, v []string) error {
		return outputNames(&x.Boxes, v)
	}},
	{"sizes", "names of outputs", "outputs with sizes alone", func(x *Boxes, v []string) error {
		return outputNames(&x.Sizes, v)
	}},
	{"scores", "names of outputs", "outputs with scores alone", func(x *Boxes, v []string) error {
		return outputNames(&x.Scores, v)
	}},
	{"objects", "names of outputs", "outputs with objectness alone", func(x *Boxes, v []string) error {
		return outputNames(&x.Objects, v)
	}},
	{"classes-from", "names of outputs", "outputs with numbers of classes alone", func(x *Boxes, v []string) error {
		return outputNames(&x.Classes, v)
	}},
	{"box", "raw, xywh, xyxy, yxhw, yxyx", "what the numbers of a box are", func(x *Boxes, v []string) error {
		return oneOf(&x.Box, v, "raw", "xywh", "xyxy", "yxhw", "yxyx")
	}},
	{"unit", "pixels, fraction", "of decoded boxes", func(x *Boxes, v []string) error {
		return oneOf(&x.Unit, v, "pixels", "fraction")
	}},
	{"activation", "none, sigmoid, softmax", "what makes scores of values", func(x *Boxes, v []string) error {
		return oneOf(&x.Activation, v, postprocess.Activations()...)
	}},
	{"classes", "a number", "how many there are; values behind them are left", func(x *Boxes, v []string) error {
		return wholeTo(&x.Count, v, 1, 1<<16)
	}},
	{"background", "a class or none", "a class that is nothing", func(x *Boxes, v []string) error {
		if strings.Join(v, ",") == "none" {
			x.Background = -1
			return nil
		}
		return wholeTo(&x.Background, v, 0, 1<<16)
	}},
	{"layout", "nchw, nhwc", "channels before or behind the cells", func(x *Boxes, v []string) error {
		return oneOf(&x.Layout, v, "nchw", "nhwc")
	}},
	{"strides", "numbers", "pixels from cell to cell of each map", func(x *Boxes, v []string) error {
		return positive(&x.Strides, v)
	}},
	{"anchors", "numbers", "width and height of each anchor of each map", func(x *Boxes, v []string) error {
		return positive(&x.Anchors, v)
	}},
	{"bins", "1 to 64", "values for each distance; 1: the distance itself", func(x *Boxes, v []string) error {
		return wholeTo(&x.Bins, v, 1, 64)
	}},
	{"variance", "four numbers", "factors of x, y, width, height", func(x *Boxes, v []string) error {
		if err := positive(&x.Variance, v); err != nil || len(v) != 4 {
			return errors.New("want four numbers, such as 0.1, 0.1, 0.2, 0.2")
		}
		return nil
	}},
	{"priors", "FILE.npy or FILE.csv", "prior boxes: centre and size as parts of the input, in the order of box",
		func(x *Boxes, v []string) error {
			x.Priors = strings.Join(v, ",")
			return nil
		}},
	{"grids", "COLUMNSxROWS, ...", "maps of generated prior boxes", func(x *Boxes, v []string) error {
		x.Grids = nil
		for _, s := range v {
			w, h, err := preprocess.Size(s)
			if err != nil || max(w, h) > 1024 {
				return errors.New("want COLUMNSxROWS of each map, such as 19x19, 10x10")
			}
			x.Grids = append(x.Grids, [2]int{w, h})
		}
		return nil
	}},
	{"scales", "numbers", "of generated prior boxes: one for each map, or the first and the last",
		func(x *Boxes, v []string) error { return positive(&x.Scales, v) }},
	{"aspects", "numbers", "width / height of generated prior boxes", func(x *Boxes, v []string) error {
		return positive(&x.Aspects, v)
	}},
	{"between", "true, false", "also a square between a map's scale and the next", func(x *Boxes, v []string) error {
		return truth(&x.Between, v)
	}},
	{"threshold", "0 to 1, or one for each class", "the least score", func(x *Boxes, v []string) error {
		return shares(&x.Threshold, v)
	}},
	{"iou", "0 to 1", "boxes that overlap more are one", func(x *Boxes, v []string) error { return share(&x.IoU, v) }},
	{"suppress", "class, all, none", "which boxes are compared", func(x *Boxes, v []string) error {
		return oneOf(&x.Suppress, v, "class", "all", "none")
	}},
	{"label", "best, all", "classes of one prediction that may be boxes", func(x *Boxes, v []string) error {
		return oneOf(&x.Label, v, "best", "all")
	}},
	{"candidates", "1 to 4096", "boxes that are compared, the best", func(x *Boxes, v []string) error {
		return wholeTo(&x.Candidates, v, 1, maxCandidates)
	}},
	{"most", "1 to 4096", "boxes that are given", func(x *Boxes, v []string) error {
		return wholeTo(&x.Most, v, 1, maxCandidates)
	}},
	{"size", "WIDTHxHEIGHT", "the input's pixels, where its shape does not say",
		func(x *Boxes, v []string) (err error) {
			x.Width, x.Height, err = preprocess.Size(strings.Join(v, ","))
			return err
		}},
	{"emit", "true, false", "write C that reads the boxes", func(x *Boxes, v []string) error {
		return truth(&x.Emit, v)
	}},
}
