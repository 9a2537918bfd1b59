// SPDX-License-Identifier: Apache-2.0

package boards_test

import (
	"path"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestFind: part numbers, boards' usual names, families and slips lead to the board that
// describes the chip, or to its core; what is no Cortex-M is said to be none.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		query string
		want  string // the first boards
		exact bool
	}{
		{"stm32f411", "stm32f411", true},
		{"STM32F411CEU6", "stm32f411", true},
		{"Nucleo-F411RE", "stm32f411", true},
		{"NUCLEO F411RE", "stm32f411", true},
		{"black pill", "stm32f411", true},
		{"STM32F411CCU6", "cortex-m4 stm32f411", false}, // half of the flash
		{"STM32F407VG", "cortex-m4 stm32f411", false},
		{"STM32F103C8T6", "cortex-m3", false},
		{"STM32H750VB", "cortex-m7 stm32h743 stm32h7a3", false},
		{"stm32l4r5", "stm32l4r5zi", true},
		{"nRF52840-DK", "nrf52840", true},
		{"nrf52840_qiaa", "nrf52840", true},
		{"Arduino Nano 33 BLE", "nrf52840", true},
		{"nano 33 ble sense", "nrf52840", true},
		{"nRF52832", "cortex-m4", false},
		{"Raspberry Pi Pico", "rp2040", true},
		{"Raspberry Pi Pico 2", "rp2350", true},
		{"pico 2 w", "rp2350", true},
		{"R7FA8D1BHECBD", "ra8d1", true},
		{"teensy 4.1", "cortex-m7", false},
		{"M0+", "cortex-m0plus", true},
		{"stm32", "stm32f411 stm32f746", false},
		{"renesas", "ra6m4 ra8d1", false},
	} {
		f := boards.Find(c.query)
		var got []string
		for _, m := range f.Matches {
			got = append(got, m.Board)
			if m.Why == "" {
				t.Errorf("%s: %s without a reason", c.query, m.Board)
			}
		}
		if !strings.HasPrefix(strings.Join(got, " ")+" ", c.want+" ") || f.Not != "" {
			t.Errorf("%s: %v %q, want %s", c.query, got, f.Not, c.want)
		} else if f.Matches[0].Exact != c.exact || c.exact && len(got) > 1 {
			t.Errorf("%s: %+v", c.query, f.Matches)
		}
	}
	for query, want := range map[string]string{"esp32": "RISC-V", "ESP32-S3-WROOM": "Espressif", "Arduino Uno": "AVR",
		"raspberry pi 4": "Cortex-A", "GD32VF103": "RISC-V", "Cortex-M23": "take cortex-m0plus", "nRF52810": "no FPU",
		"xyzzy": "", "": "", "*": "", strings.Repeat("stm32f411", 50): ""} {
		if f := boards.Find(query); len(f.Matches) > 0 || !strings.Contains(f.Not, want) || want == "" && f.Not != "" {
			t.Errorf("%.20s: %+v, want no board, and %q", query, f, want)
		}
	}
}

// TestPatterns: what a board is known by can be matched, and belongs to one board.
func TestPatterns(t *testing.T) {
	first := map[string]string{}
	for _, name := range boards.List() {
		s, err := boards.Load(name)
		testenv.OK(t, err)
		for _, a := range s.Aliases {
			if o, err := boards.Load(a); err != nil || o.Name != name {
				t.Errorf("alias %s of %s: %v %v", a, name, o, err)
			}
		}
		for _, list := range [][]string{s.Aliases, s.Parts, s.Kits, s.Families} {
			for _, p := range list {
				if _, err := path.Match(p, ""); err != nil {
					t.Errorf("%s: %s: %v", name, p, err)
				}
				if other, ok := first[strings.ToLower(p)]; ok {
					t.Errorf("%s and %s: both have %s", other, name, p)
				}
				first[strings.ToLower(p)] = name
			}
		}
		// The name of the chip, and what its kits are called, find it.
		for _, k := range append([]string{name}, s.Kits...) {
			f := boards.Find(strings.NewReplacer("*", "", "?", "").Replace(k))
			if len(f.Matches) == 0 || f.Matches[0].Board != name {
				t.Errorf("%s: found %+v for %s", name, f, k)
			}
		}
	}
}
