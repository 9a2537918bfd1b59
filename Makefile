# SPDX-License-Identifier: Apache-2.0
# make demo and make test need Debian 12 (or a relative of it), Go, git and make;
# what else they use they install with apt where they run as root.

GO     ?= go
BOARD  ?= cortex-m55
WEB    ?= out/web
SITE   ?= out/docs
OUT    ?= out/digits-$(BOARD)
FUZZTIME ?= 20s
# No version control stamp: git refuses to read clones of another user, as
# containers of CI services have them.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

# nncc as users get it: the C sources are packed, and what runs once for a model is compiled for size, not speed.
ONCE := ./cmd/... ./codegen ./frontend/... ./lower/accel/... ./lower/align ./lower/fidelity ./lower/kernel/cmsisnn \
  ./lower/kernel/dsp ./lower/kernel/helium ./lower/kernel/loops ./lower/kernel/quantised ./lower/kernel/reference \
  ./lower/legal ./lower/legal4d ./lower/patch ./lower/prune ./lower/signal ./lower/stagepage ./lower/stream ./lower/verify \
  github.com/go-task/... github.com/spf13/... go.yaml.in/... google.golang.org/... archive/... debug/... html/... image/... \
  net/... text/...
SMALL := -tags packed $(foreach p,$(ONCE),-gcflags=$(p)=-l)
PACK := $(GO) run ./runtime_c/pack

# One static file without symbols; the commit and its date are for nncc version.
BUILD = $(PACK) && CGO_ENABLED=0 $(GO) build -trimpath $(SMALL) -ldflags "-s -w -funcalign=16 $(shell git -c 'safe.directory=*' \
  log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format='-X main.commit=%H -X main.date=%cd' 2>/dev/null)"
export TZ := UTC

SETUP  := cmd/nncc/examples/setup.sh
DIGITS := cmd/nncc/examples/digits
MODEL  := $(DIGITS)/digits.onnx
CALIB  := --calib $(DIGITS)/digits_calib.npz

# Formats C; the version is that of Debian 12.
CLANG_FORMAT ?= clang-format

# The tools whose absence makes tests fail instead of being skipped.
REQUIRE := cc,clang,arm-gcc,qemu,protoc,cmake,cargo,cppcheck,chromium,onnx-tests

# go test, how far it is, and a line for every reason for which tests were skipped.
GOTEST := GO=$(GO) $(GO) run ./cmd/internal/gotest

# The tests that use data beside the repository, have a long form, are left out
# by make test: -run and packages.
USERS = $(GO) run ./ir/irtest/sharedata/users
SOME  = -run "^($$($(USERS) $(1) | cut -d' ' -f2 | sort -u | paste -sd'|'))\$$" $$($(USERS) $(1) | cut -d' ' -f1 | sort -u)

# slow: what make test leaves out; 1: every test in its long form, too, which takes hours.
LONG ?= 1

.PHONY: demo build release web docs test test-shared test-long conformance lint bench bench-go fuzz analyze clean

# From an ONNX file to firmware that QEMU has proved right, and how good it is.
demo:
	@echo "demo, 1 of 5: compiler and emulator for Cortex-M"
	@$(SETUP) demo
	@echo "demo, 2 of 5: nncc itself, some two minutes the first time"
	$(BUILD) -o nncc ./cmd/nncc
	@echo "demo, 3 of 5: a model becomes firmware"
	./nncc -board $(BOARD) $(CALIB) --out $(OUT) $(MODEL)
	@echo "demo, 4 of 5: the firmware runs on an emulated board"
	./nncc verify -board $(BOARD) $(CALIB) --cases 8 $(MODEL)
	./nncc verify -board $(BOARD) $(CALIB) --golden $(DIGITS)/golden --tolerance 0.02 $(MODEL)
	@echo "demo, 5 of 5: how many of 1,000 digits it reads"
	./nncc eval -board $(BOARD) $(CALIB) --data $(DIGITS)/digits_test.npz $(MODEL)

build:
	$(BUILD) -o nncc ./cmd/nncc

# Kernels are compiled once for all the tests that link them (boards/run); the
# folder may be deleted at any time.
test test-shared test-long conformance: export NNCC_OBJECTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nncc/objects

# Binaries for all systems with checksums, bills of materials and notes.
release:
	$(PACK) && $(GO) run ./cmd/internal/release --out out/release -- $(SMALL)

# nncc as a page: a folder of static files for any web server.
web:
	$(GO) run ./cmd/nnccweb --out $(WEB)

# The site: guides, tables, examples, and nncc as a page with a model to try.
docs:
	$(GO) run ./cmd/nnccweb --site --out $(SITE)

# Every test but the slow ones, with none skipped for want of a tool. The package that takes longest comes first.
test:
	@$(SETUP) test
	@$(MAKE) --no-print-directory lint
	NNCC_REQUIRE=$(REQUIRE) $(GOTEST) -vet=off -p 2 -timeout 60m ./lower/kerneltest ./...

# The tests that use data beside the repository (../shared, or NNCC_SHARED), and
# no others; those that lack them fail.
test-shared:
	@$(SETUP) test
	@$(USERS) >/dev/null
	NNCC_REQUIRE=$(REQUIRE),shared $(GOTEST) -count=1 -p 2 -timeout 60m $(call SOME)

# What make test leaves out, and every test that has a long form in it.
test-long:
	@$(SETUP) test
	@$(USERS) >/dev/null
	NNCC_LONG=$(LONG) NNCC_REQUIRE=$(REQUIRE) $(GOTEST) -count=1 -p 2 -timeout 600m \
	  $(call SOME,$(if $(filter slow,$(LONG)),-slow,-long))

# ONNX's own tests through the interpreter and, as emitted C, on the host and
# under QEMU; UPDATE=1 writes what passes now into the ratchet and SUPPORT.md.
conformance:
	@$(SETUP) test
	NNCC_LONG=1 NNCC_REQUIRE=$(REQUIRE) $(GO) test -count=1 -timeout 120m -v -run 'TestConformance|TestSupport|TestElementTypes|TestVectors' ./cmd/internal/conform $(if $(UPDATE),-update)

lint:
	@echo "gofmt -l ."
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted (gofmt -w):"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	@echo "$(CLANG_FORMAT), runtime_c"
	@found=$$($(CLANG_FORMAT) --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p'); \
	  if [ "$$found" != 14 ]; then \
	    echo "lint: wants clang-format 14 (others format differently), $(CLANG_FORMAT) is $${found:-not installed}; make lint CLANG_FORMAT=... names another"; \
	    exit 1; \
	  fi
	@find runtime_c -name '*.[ch]' -exec $(CLANG_FORMAT) --dry-run -Werror {} +
	$(GO) run ./cmd/internal/lint

# docs/zoo.md, the tables of docs/benchmarks.md, and the README's
# picture.
bench: build
	@$(SETUP) demo
	$(GO) run ./cmd/nnccbench
	$(GO) run ./cmd/nnccbench -terminal $(CURDIR)/nncc

# Go's own benchmarks: how long nncc takes.
bench-go:
	$(GO) test -p 1 -run '^$$' -bench . -benchmem -timeout 60m ./...

# Every fuzz target for $(FUZZTIME); what they find lands in testdata/fuzz.
fuzz:
	@grep -rlE --include='*_test.go' '^func Fuzz' . | while read -r file; do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
	    echo "$$(dirname "$$file") $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null || exit 1; \
	  done; \
	done

# Static analysis of all C that goes into firmware, its stack and its call
# graph; random programs and the reference models of ../shared (where they are)
# through sanitizers, on inputs at the edges of their types. Hours.
analyze:
	@$(SETUP) test
	NNCC_LONG=1 NNCC_REQUIRE=cc,clang,arm-gcc $(GO) test -p 1 -count=1 -timeout 600m -v -run 'TestStaticAnalysis|TestMISRA|TestKernels|TestCallsOnHost|TestDialects|TestClangForArm' ./runtime_c ./boards/stack ./cmd/internal/e2e
	NNCC_RANDOM=2000 NNCC_REQUIRE=cc $(GO) test -count=1 -timeout 120m -run TestRandomPrograms ./cmd/internal/e2e
	NNCC_LONG=1 NNCC_REQUIRE=cc $(GO) test -count=1 -timeout 1200m -run 'TestUnderFire|TestStackBound' ./cmd/internal/e2e

clean:
	rm -rf nncc out
