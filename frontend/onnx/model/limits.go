// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Limits bound what a model file may ask for. Zero fields mean DefaultLimits.
type Limits struct {
	FileBytes   int64 // size of the model file
	MemoryBytes int64 // estimated size of the decoded file
	Nodes       int   // nodes of all graphs together, with functions inlined and loops unrolled
	Depth       int   // subgraphs within subgraphs
	Trips       int   // iterations of one Loop or Scan, which are unrolled
	TensorBytes int64 // data of one tensor
	FoldWork    int64 // elements and multiplications computed at compile time
	FoldBytes   int64 // results of these
	NameBytes   int64 // of all names in the file
	DataBytes   int64 // arrays of one .npy or .npz file, and all calibration samples
	Elements    int64 // of one value that is computed at run time
	Work        int64 // elements and multiplications of one inference
	Findings    int   // problems reported before Check stops
}

// DefaultLimits suit models for microcontrollers with a wide margin.
var DefaultLimits = Limits{
	FileBytes:   256 << 20,
	MemoryBytes: 512 << 20,
	Nodes:       20_000, // what compiles within seconds: 10,000 operators, each with a Constant
	Depth:       64,
	Trips:       4096,
	TensorBytes: 256 << 20,
	FoldWork:    1 << 27,
	FoldBytes:   256 << 20,
	NameBytes:   32 << 20,
	DataBytes:   256 << 20,
	Elements:    1 << 24,
	Work:        1 << 33,
	Findings:    500,
}

type limit struct {
	name, doc string
	field     func(*Limits) any // *int or *int64
}

var limits = []limit{
	{"file", "bytes of the model file", func(l *Limits) any { return &l.FileBytes }},
	{"memory", "bytes of the decoded file", func(l *Limits) any { return &l.MemoryBytes }},
	{"names", "bytes of all names in the model file", func(l *Limits) any { return &l.NameBytes }},
	{"nodes", "nodes with functions inlined and loops unrolled", func(l *Limits) any { return &l.Nodes }},
	{"depth", "subgraphs within subgraphs", func(l *Limits) any { return &l.Depth }},
	{"trips", "iterations of one Loop or Scan", func(l *Limits) any { return &l.Trips }},
	{"tensor", "bytes of one constant", func(l *Limits) any { return &l.TensorBytes }},
	{"fold-work", "elements and multiplications computed at compile time", func(l *Limits) any { return &l.FoldWork }},
	{"fold-bytes", "bytes of what is computed at compile time", func(l *Limits) any { return &l.FoldBytes }},
	{"data", "bytes of the arrays in a .npy or .npz file, and of all calibration samples",
		func(l *Limits) any { return &l.DataBytes }},
	{"elements", "elements of one value at run time", func(l *Limits) any { return &l.Elements }},
	{"work", "elements and multiplications of one inference", func(l *Limits) any { return &l.Work }},
}

func (l *Limits) at(x limit) int64 {
	switch f := x.field(l).(type) {
	case *int:
		return int64(*f)
	case *int64:
		return *f
	}
	panic(bug.Errorf("limit %s", x.name))
}

func (l *Limits) put(x limit, v int64) {
	switch f := x.field(l).(type) {
	case *int:
		*f = int(v)
	case *int64:
		*f = v
	}
}

// Set takes NAME=N, as on the command line; N may end in K, M or G (powers of
// 1024).
func (l *Limits) Set(s string) (err error) {
	defer fail.Catch(&err)
	name, v, ok := strings.Cut(s, "=")
	fail.If(!ok, "%q: want NAME=N", s)
	for _, x := range limits {
		if x.name != name {
			continue
		}
		shift := 0
		if i := strings.IndexAny(v, "KMG"); i >= 0 && i == len(v)-1 {
			shift = 10 * (1 + strings.IndexByte("KMG", v[i]))
			v = v[:i]
		}
		n, err := strconv.ParseInt(v, 10, 64)
		fail.If(err != nil || n < 1 || n > (1<<62)>>shift, "%q: want a number from 1, perhaps with K, M or G behind it",
			s)
		l.put(x, n<<shift)
		return nil
	}
	return fmt.Errorf("%q: there is no such limit%s; want one of %s", s, text.Meant(name, limitNames()),
		strings.Join(limitNames(), ", "))
}

func limitNames() []string {
	return lists.Map(limits, func(x limit) string { return x.name })
}

// LimitsDoc lists the names, what they bound and their defaults.
func LimitsDoc() string {
	s := lists.Map(limits, func(x limit) string {
		return fmt.Sprintf("  %s: %s (%d)", x.name, x.doc, DefaultLimits.at(x))
	})
	return strings.Join(s, "\n")
}

// Raise tells how to go beyond a limit.
func Raise(name string) string { return "--limit " + name + "=N raises the limit" }

// OrDefault are the limits with the defaults in place of zeros.
func (l Limits) OrDefault() Limits {
	for _, x := range limits {
		if l.at(x) == 0 {
			l.put(x, DefaultLimits.at(x))
		}
	}
	if l.Findings == 0 {
		l.Findings = DefaultLimits.Findings
	}
	return l
}
