// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

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

// describe says what is done now.
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

// finish clears the line.
func (s *spinner) finish() {
	s.ticker.Stop()
	close(s.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = ""
	fmt.Fprint(s.to, "\r\x1b[K")
}
