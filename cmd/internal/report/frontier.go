// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// Frontier are programs for one model, each with a smaller arena and more instructions than the one before it.
type Frontier []RAMPoint

// RAMPoint is a program of the frontier, and the flags that give it.
type RAMPoint struct {
	ArenaBytes   int    `json:"arena_bytes"`
	Instructions int64  `json:"instructions"`
	Flags        string `json:"flags"`
}

// NewFrontier is the frontier with flags.
func NewFrontier(points []lower.Point) (out Frontier) {
	for _, p := range points {
		flags := fmt.Sprintf("--optimize %v --max-ram %d", p.Optimize, p.RAMBytes)
		if p.Kernels != option.AllKernels {
			flags = fmt.Sprintf("--kernels %v %s", p.Kernels, flags)
		}
		out = append(out, RAMPoint{p.ArenaBytes, int64(math.Round(p.Work)), flags})
	}
	return out
}

// rooms are the memories that may hold an arena, the largest first, with the bytes that they have for it.
func (m *Memory) rooms() (out []ArenaPart) {
	for _, r := range m.Regions {
		left := int(min(r.Bytes, math.MaxInt32))
		for _, x := range r.Items {
			if x.What != "arena" {
				left -= int(x.Bytes)
			}
		}
		if slices.Contains(r.Holds, "arena") {
			out = append(out, ArenaPart{Region: r.Name, Bytes: left})
		}
	}
	lists.Sort(out, func(a, b ArenaPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// FrontierText is a table, with a line for the room that a memory has.
func (m *Memory) FrontierText() string {
	var b strings.Builder
	rooms := m.rooms()
	fmt.Fprintf(&b, "%12s %14s  flags\n", "arena bytes", "instructions")
	for i := 0; i <= len(m.Frontier); i++ {
		for len(rooms) > 0 && (i == len(m.Frontier) || m.Frontier[i].ArenaBytes <= rooms[0].Bytes) {
			fmt.Fprintf(&b, "%12d ---- %s\n", rooms[0].Bytes, rooms[0].Region)
			rooms = rooms[1:]
		}
		if i < len(m.Frontier) {
			p := &m.Frontier[i]
			fmt.Fprintf(&b, "%12d %14d  %s\n", p.ArenaBytes, p.Instructions, p.Flags)
		}
	}
	return b.String()
}

// frontierView is the frontier as a drawing.
type frontierView struct {
	Width       float64
	Path        string
	Points      []arenaBox
	Bytes, Work []tick
	Walls       []wall // room that memories have
}

func newFrontierView(m *Memory) (v frontierView) {
	list := m.Frontier
	if len(list) < 2 {
		return v
	}
	const margin = 60
	v.Width = arenaWidth
	first, last := &list[0], &list[len(list)-1]
	sx := (arenaWidth - 2*margin) / max(float64(last.Instructions-first.Instructions), 1)
	sy := arenaHeight / float64(first.ArenaBytes)
	for i, p := range list {
		x, y := margin+float64(p.Instructions-first.Instructions)*sx, arenaHeight-float64(p.ArenaBytes)*sy
		if i == 0 {
			v.Path = "M" + short(x) + " " + short(y)
		}
		v.Path += "H" + short(x) + "V" + short(y)
		v.Points = append(v.Points, arenaBox{X: x - 4, Y: y - 4, Title: fmt.Sprintf("%s bytes, %s instructions: %s",
			thousands(p.ArenaBytes), thousands(p.Instructions), p.Flags)})
	}
	for _, p := range []*RAMPoint{first, last} {
		v.Work = append(v.Work, tick{margin + float64(p.Instructions-first.Instructions)*sx, thousands(p.Instructions)})
	}
	for _, r := range m.rooms() {
		if r.Bytes <= first.ArenaBytes {
			v.Walls = append(v.Walls, wall{arenaHeight - float64(r.Bytes)*sy, r.Region + ": " + thousands(r.Bytes) +
				" bytes"})
		}
	}
	v.Bytes = byteTicks(first.ArenaBytes, sy)
	return v
}
