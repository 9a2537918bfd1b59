package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"

	"github.com/nncc/nncc/frontend/text"
)

// progress is a spinner on a terminal; nothing elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14))}
}

func (p *progress) say(s string) {
	if p != nil && p.bar != nil {
		p.bar.Describe(text.Line(s))
		_ = p.bar.Add(1)
	}
}

func (p *progress) done() {
	if p != nil && p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
