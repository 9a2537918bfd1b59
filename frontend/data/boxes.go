// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/preprocess"
)

// Boxes says where a detector's boxes are in its outputs, and what becomes of them.
type Boxes struct {
	Head string // one of heads
	// The outputs, by name, one for each map: From hold everything, or Boxes, Scores and
	// the others have it apart. nil: the only one there is.
	From, Boxes, Sizes, Scores, Objects, Classes []string

	Box        string    // what the four numbers are; "": by the head
	Unit       string    // of decoded boxes
	Activation string    // what makes scores of values; "": by the head
	Count      int       // of classes, values behind them are left; 0: by the shapes
	Background int       // a class that is nothing; -1: none, -2: by the head
	Layout     string    // channels before or behind the cells; "": by the shapes
	Strides    []float64 // pixels from cell to cell of each map
	Anchors    []float64 // width and height of each anchor of each map
	Bins       int       // values for each distance; 1: the distance itself
	Variance   []float64 // factors of x, y, width, height
	Priors     string    // a file: centre and size as parts of the input, in the order of Box
	Grids      [][2]int  // columns and rows of the maps of generated prior boxes
	Scales     []float64 // of these: one for each map, or the first and the last
	Aspects    []float64 // width / height of these
	Between    bool      // also a square between a map's scale and the next
	Threshold  []float64 // the least score, or one for each class
	IoU        float64   // boxes that overlap more are one
	Suppress   string    // which boxes are compared: class, all, none
	Label      string    // classes of one prediction that may be boxes: best, all
	Candidates int       // boxes that are compared, the best
	Most       int       // boxes that are given
	Width      int       // of the input in pixels; 0: by its shape
	Height     int
	Emit       bool // C is wanted that reads the boxes

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
	return lists.Map(heads, func(h head) string { return h.name })
}

// idle are keys that were set and mean nothing for the head.
func (x *Boxes) idle(h *head) []string {
	var out []string
	for _, k := range x.said {
		if !slices.Contains(strings.Fields(everyHead+" "+h.keys), k) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func outputNames(to *[]string) setter {
	return func(v []string) error {
		if slices.Contains(v, "") {
			return errors.New("want names of outputs")
		}
		return list(to)(v)
	}
}

func (x *Boxes) keys() []key {
	return noting(&x.said, []key{
		{"head", oneOf(&x.Head, headNames()...)},
		{"from", outputNames(&x.From)},
		{"boxes", outputNames(&x.Boxes)},
		{"sizes", outputNames(&x.Sizes)},
		{"scores", outputNames(&x.Scores)},
		{"objects", outputNames(&x.Objects)},
		{"classes-from", outputNames(&x.Classes)},
		{"box", oneOf(&x.Box, "raw", "xywh", "xyxy", "yxhw", "yxyx")},
		{"unit", oneOf(&x.Unit, "pixels", "fraction")},
		{"activation", oneOf(&x.Activation, postprocess.Activations()...)},
		{"classes", whole(&x.Count, 1, 1<<16)},
		{"background", x.background},
		{"layout", oneOf(&x.Layout, "nchw", "nhwc")},
		{"strides", positives(&x.Strides)},
		{"anchors", positives(&x.Anchors)},
		{"bins", whole(&x.Bins, 1, 64)},
		{"variance", x.variance},
		{"priors", word(&x.Priors)},
		{"grids", x.grids},
		{"scales", positives(&x.Scales)},
		{"aspects", positives(&x.Aspects)},
		{"between", yes(&x.Between)},
		{"threshold", shares(&x.Threshold)},
		{"iou", share(&x.IoU)},
		{"suppress", oneOf(&x.Suppress, "class", "all", "none")},
		{"label", oneOf(&x.Label, "best", "all")},
		{"candidates", whole(&x.Candidates, 1, maxCandidates)},
		{"most", whole(&x.Most, 1, maxCandidates)},
		{"size", size(&x.Width, &x.Height)},
		{"emit", yes(&x.Emit)},
	})
}

func (x *Boxes) background(v []string) error {
	if strings.Join(v, ",") == "none" {
		x.Background = -1
		return nil
	}
	return whole(&x.Background, 0, 1<<16)(v)
}

func (x *Boxes) variance(v []string) error {
	if positives(&x.Variance)(v) != nil || len(v) != 4 {
		return errors.New("want four numbers, such as 0.1, 0.1, 0.2, 0.2")
	}
	return nil
}

func (x *Boxes) grids(v []string) error {
	x.Grids = nil
	for _, s := range v {
		w, h, err := preprocess.Size(s)
		if err != nil || max(w, h) > 1024 {
			return errors.New("want COLUMNSxROWS of each map, such as 19x19, 10x10")
		}
		x.Grids = append(x.Grids, [2]int{w, h})
	}
	return nil
}
