package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/driver"
)

// lm prints a segment file.
func (c *cli) lm(args []string) error {
	if len(args) != 1 {
		return &driver.UsageError{Msg: fmt.Sprintf("one segment file expected, got %d arguments; usage: nncc lm [--json] FILE.lm", len(args))}
	}
	s, err := driver.ReadSegment(args[0])
	if err != nil {
		return err
	}
	if c.cfg.JSON {
		return c.json(s)
	}
	fmt.Fprint(c.out, s)
	return nil
}
