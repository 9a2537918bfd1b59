// SPDX-License-Identifier: Apache-2.0

// Package mla is the MLA, an accelerator beside a Cortex-M core, as a target:
// the rules by which it takes or refuses a node, with reasons; its limits, which
// a board file sets; and the compiler from an integer graph to a segment file
// (package lm), whose commands a driver submits. See README.md.
package mla
