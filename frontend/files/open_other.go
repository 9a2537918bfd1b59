// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package files

const noWait = 0
