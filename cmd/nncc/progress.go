// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nncc/nncc/frontend/text"
)

// progress says what is being done: by a spinner on a terminal, by plain lines
// elsewhere (logs of CI jobs), there only once a command takes a while.
type progress struct {
	to       io.Writer
	terminal bool
	bar      *spinner // nil: nothing is shown

	mu      sync.Mutex
	wait    *time.Timer // plain: until the first line; nil: it is over
	over    bool        // plain: nothing is done any more
	doing   string      // plain: what was said last
	written string      // plain: the last line
	at      time.Time   // plain: when it was written
}

const (
	// quietFirst is how long a command takes before plain lines say what it does.
	quietFirst = time.Second
	// between is how long lines that only count stay apart.
	between = 10 * time.Second
)

// newProgress is for standard error; nil where that is no file.
func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	if st.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" {
		return &progress{to: w, terminal: true}
	}
	return plainProgress(w, quietFirst)
}

func plainProgress(w io.Writer, wait time.Duration) *progress {
	p := &progress{to: w}
	p.wait = time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wait = nil
		p.line()
	})
	return p
}

func (p *progress) say(s string) {
	if p == nil {
		return
	}
	s = text.Line(s)
	if p.terminal {
		if p.bar == nil {
			p.bar = newSpinner(p.to)
		}
		p.bar.describe(s)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = s
	if p.wait == nil {
		p.line()
	}
}

func (p *progress) line() {
	if p.over || p.doing == "" || p.doing == p.written ||
		withoutNumbers(p.doing) == withoutNumbers(p.written) && time.Since(p.at) < between {
		return
	}
	p.written, p.at = p.doing, time.Now()
	fmt.Fprintf(p.to, "nncc: %s\n", p.doing)
}

func withoutNumbers(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}

// done clears the spinner, before other things are written.
func (p *progress) done() {
	if p != nil && p.bar != nil {
		p.bar.finish()
		p.bar = nil
	}
}

// end: nothing is done any more.
func (p *progress) end() {
	p.done()
	if p == nil || p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wait != nil {
		p.wait.Stop()
	}
	p.over = true
}

// spinner is a line of a terminal that turns while something is done.
type spinner struct {
	to     io.Writer
	mu     sync.Mutex
	doing  string
	turn   int
	ticker *time.Ticker
	ended  chan struct{}
}

// spinnerWidth is how much of a text the line has: one that wraps would stay.
const spinnerWidth = 76

func newSpinner(to io.Writer) *spinner {
	s := &spinner{to: to, ticker: time.NewTicker(100 * time.Millisecond), ended: make(chan struct{})}
	go func() {
		for {
			select {
			case <-s.ticker.C:
				s.draw()
			case <-s.ended:
				return
			}
		}
	}()
	return s
}

func (s *spinner) describe(doing string) {
	s.mu.Lock()
	s.doing = doing
	s.mu.Unlock()
	s.draw()
}

func (s *spinner) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doing == "" {
		return
	}
	line := []rune(s.doing)
	if len(line) > spinnerWidth {
		line = append(line[:spinnerWidth-1], '…')
	}
	fmt.Fprintf(s.to, "\r%c %s\x1b[K", `|/-\`[s.turn%4], string(line))
	s.turn++
}

func (s *spinner) finish() {
	s.ticker.Stop()
	close(s.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = ""
	fmt.Fprint(s.to, "\r\x1b[K")
}

const (
	// idleBytes count as live for the garbage collector and are never touched, so
	// that they take no memory: half of them is what a small compilation may leave
	// behind between two collections. plentyBytes bounds what that can come to.
	idleBytes = 128 << 20
	// garbagePercent is the garbage between two collections in percent of what is
	// live. Tensors hold no pointers: to look for them again costs little.
	garbagePercent = 50
	// plentyBytes is up to where memory that was freed may wait for its next use
	// instead of going back to the system: weights of megabytes seldom fit where
	// others were.
	plentyBytes = 96<<20 + idleBytes
	// tensorPercent and graphPercent are what may be held above plentyBytes beyond what
	// is live, garbage and freed memory together, in percent of the tensors and of
	// what has pointers. Looking through pointers costs time: a graph has so much room
	// that garbagePercent, and never this limit, says when.
	tensorPercent, graphPercent = 20, 200
)

// idle holds idleBytes.
var idle []byte

// collect sets how much garbage there may be beside what is live.
func collect() {
	idle = make([]byte, idleBytes)
	debug.SetGCPercent(garbagePercent)
	limit()
}

// limit bounds the memory held by what was live at the end of the last collection, and
// does so again behind the next one.
func limit() {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(heap)
	live, graphs := int64(heap[0].Value.Uint64()), int64(heap[1].Value.Uint64())
	graphs = min(live, graphs)
	room := (live-graphs)/100*tensorPercent + graphs/100*graphPercent
	debug.SetMemoryLimit(max(plentyBytes, live+room))
	runtime.AddCleanup(new([16]byte), func(int) { limit() }, 0)
}
