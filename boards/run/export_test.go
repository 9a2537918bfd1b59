// SPDX-License-Identifier: Apache-2.0

package run

import "time"

// SetStartPatience is for tests of emulators that hang.
func SetStartPatience(d time.Duration) (back func()) {
	old := startPatience
	startPatience = d
	return func() { startPatience = old }
}
