// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"

	"github.com/nncc/nncc/frontend/text"
)

func (c *cli) bisect(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	b, gate := c.cfg.Bisect()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.warnings()
	if b.Guilty != "" {
		c.status = exitDiffer
	}
	if c.cfg.JSON {
		return cmp.Or(c.json(b), gate)
	}
	fmt.Fprint(c.out, text.Lines(b).Text())
	return gate
}
