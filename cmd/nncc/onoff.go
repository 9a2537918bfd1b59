// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/nncc/nncc/frontend/text"
)

// onOff is the value of a flag that is on or off.
type onOff bool

func (v *onOff) String() string {
	if *v {
		return "on"
	}
	return "off"
}

// Set takes on and off only.
func (v *onOff) Set(s string) error {
	if s != "on" && s != "off" {
		return errors.New("want one of on, off" + text.Meant(s, []string{"on", "off"}))
	}
	*v = s == "on"
	return nil
}

// Type is how help shows the value.
func (v *onOff) Type() string { return "on|off" }
