# Paddock: everything that one does with it. `make help` lists it.
#
# Only Go is needed. What Node, Python or Chromium would add is prepared when
# they are there, and left out with a line that says so when they are not.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

GO       ?= go
ARGS     ?=
BENCH    ?= .
FUZZTIME ?= 10s
KILLS    ?= 50
POINTS   ?= 10000000
# More flags for `go test`, such as TESTFLAGS="-race -run TestDrain".
TESTFLAGS ?=

# The browser test's screenshots end up here.
ARTIFACTS := artifacts

# Which build this is: see internal/process/version. Go's own stamping is off, because it
# fails where git refuses to read a directory of another owner; without git the
# binary says "devel".
STAMP   = paddock/internal/process/version
LDFLAGS = -X $(STAMP).linkedVersion=$(shell git describe --tags --always --dirty 2>/dev/null) \
          -X $(STAMP).linkedRevision=$(shell git rev-parse HEAD 2>/dev/null) \
          -X $(STAMP).linkedTime=$(shell git log -1 --format=%cI 2>/dev/null)

# The second client of the broker's tests, and the second reader of histogram logs.
# CPython's own venv, so that nothing is installed outside this directory.
VENV    := .venv
NATS_PY := nats-py==2.16.0
HDRH_PY := hdrhistogram==0.10.8
HOOKS_PY := standardwebhooks==1.1.0

# Node 20.19 or later, which the dashboard's build tool needs.
NODE_OK := $(shell node -e 'const [a, b] = process.versions.node.split(".").map(Number); \
	process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null && command -v npm)
WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' 2>/dev/null)
WEB_MODULES := web/node_modules/.package-lock.json
WEB_BUILT   := web/node_modules/.paddock-built

CHROMIUM := $(or $(PADDOCK_CHROMIUM),$(shell command -v chromium || command -v chromium-browser || command -v google-chrome))

##@ Use

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "; print "make TARGET, where TARGET is one of"} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Build, and serve a simulated city on the live map. ARGS="--vehicles 500"
	exec bin/paddock demo $(ARGS)

.PHONY: build
build: web ## Build the dashboard and bin/paddock.
	@[ -e bin/paddock ] || echo 'make: compiling bin/paddock, which takes minutes the first time'
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock

.PHONY: web
ifneq ($(NODE_OK),)
web: $(WEB_BUILT) ## Build the dashboard, which the binary embeds.
else
web:
	@echo 'make: no npm with Node 20.19 or later: the dashboard is left out, and its page says so'
endif

# Where `make install` puts the program: below it, in bin.
PREFIX ?= $(HOME)/.local

.PHONY: install
install: build ## Build, and put paddock where your shell finds it. PREFIX=~/.local
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 bin/paddock '$(DESTDIR)$(PREFIX)/bin/paddock'
	@case ":$$PATH:" in *:'$(PREFIX)/bin':*) ;; *) echo 'make: $(PREFIX)/bin is not in PATH: add it, or call the program by its whole name' ;; esac

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin $(ARTIFACTS) $(WEB_BUILT)

##@ Check

.PHONY: test
test: web python test-go test-web ## Run the tests: Go, dashboard. TESTFLAGS="-race"

# The race detector lets each program sleep for a second at its end, in case that others of its
# goroutines are at work still. Tests wait for theirs. It leaves out long tests that have one
# goroutine: the next line runs them, and "arch" does its own.
SEQUENTIAL = ./fence ./fence/track ./internal/city ./internal/imports ./internal/platform/fold ./lab/internal/gofence ./lab/internal/sweep

.PHONY: check
check: format vet arch lint bench-build packaging ## Run everything that must hold before a change is done.
	GORACE="$${GORACE:-} atexit_sleep_ms=0" $(MAKE) test TESTFLAGS='-race $(TESTFLAGS)'
	$(GO) test -tags sampled $(TESTFLAGS) $(SEQUENTIAL)
	$(MAKE) browser

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s).
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
	  done; \
	done

.PHONY: test-overload
test-overload: ## Overload a tunnel's service, and its link, for a second each, and see that all of it ends well.
	PADDOCK_TEST_OVERLOAD=1 $(GO) test -v -count 1 -run TestBenchTunnelOverload $(TESTFLAGS) ./cmd/paddock

.PHONY: adversarial
adversarial: ## Compare every kind of index with exact arithmetic at POINTS (10000000) hard points.
	PADDOCK_POINTS=$(POINTS) $(GO) test -v -count 1 -timeout 6h -run TestAdversarial $(TESTFLAGS) ./fence

HISTORIES ?= 2000
STEPS     ?= 5000

.PHONY: adversarial-track
adversarial-track: ## Compare the tracker with the slow one in HISTORIES (2000) random histories of STEPS (5000), again and again for HOURS (0).
	end=$$((SECONDS + $${HOURS:-0} * 3600)); from=0; \
	while :; do \
	  PADDOCK_FROM=$$from PADDOCK_HISTORIES=$(HISTORIES) PADDOCK_STEPS=$(STEPS) \
	    $(GO) test -count 1 -timeout 6h -run TestAgainstTheOracle $(TESTFLAGS) ./fence/track; \
	  from=$$((from + $(HISTORIES))); [ $$SECONDS -lt $$end ] || break; \
	done

.PHONY: mutate-track
mutate-track: ## Change each rule of the tracker in turn, and see that its tests fail.
	PADDOCK_MUTATE=1 $(GO) test -count 1 -timeout 2h -run 'TestMutations' $(TESTFLAGS) ./fence/track

.PHONY: bursts
bursts: ## Send what causes millions of events, and print the memory and the waiting that they take.
	PADDOCK_BURSTS=1 $(GO) test -v -count 1 -timeout 1h -run 'TestBursts' $(TESTFLAGS) ./cmd/paddock

MIXED ?= 10m

.PHONY: mixed
mixed: ## Mix positions, edits, reloads, look-ups and slow readers by all doors for MIXED (10m), with the race detector.
	PADDOCK_MIXED=$(MIXED) $(GO) test -race -v -count 1 -timeout 2h -run 'TestMixedLoad' $(TESTFLAGS) ./internal/platform

BUSES ?= 200

.PHONY: nyc-track
nyc-track: ## Drive BUSES (200) for a day through real fences, and compare the events with brute force and with the slow tracker.
	PADDOCK_NYC_TRACK=$(BUSES) $(GO) test -v -count 1 -timeout 6h -run TestDayOfBuses $(TESTFLAGS) ./fence/track

.PHONY: kill
kill: ## Kill servers and clients of wire and of the tunnel KILLS times (50), and judge who survives.
	PADDOCK_KILLS=$(KILLS) $(GO) test -race -v -count 1 -timeout 30m -run 'Test(Tunnel)?(Server|Client)IsKilled' $(TESTFLAGS) ./cmd/paddock

.PHONY: kill-platform
kill-platform: ## Kill a platform KILLS times (50) while positions come in by all doors; nothing acknowledged may be lost.
	PADDOCK_PLATFORM_KILLS=$(KILLS) $(GO) test -v -count 1 -timeout 2h -run 'TestPlatformIsKilled' $(TESTFLAGS) ./cmd/paddock

VEHICLES ?= 1000

.PHONY: day
day: ## Send a day of VEHICLES (1000), a position a second each, to a platform; it, and a backup of it, must give all of it back.
	PADDOCK_DAY=$(VEHICLES) $(GO) test -v -count 1 -timeout 3h -run 'TestADay' $(TESTFLAGS) ./cmd/paddock

CUTS ?= 1000

.PHONY: power-cuts
power-cuts: ## Cut the simulated power of a disk CUTS times (1000) under load; nothing acknowledged may be lost.
	PADDOCK_POWER_CUTS=$(CUTS) $(GO) test -v -count 1 -timeout 1h -run 'TestPowerCuts' $(TESTFLAGS) ./internal/platform/journal ./internal/platform/ingest ./internal/platform

DAMAGES ?= 200

.PHONY: damages
damages: ## Change a bit of a platform's files at DAMAGES random places (200), and start it with --accept-loss.
	PADDOCK_DAMAGES=$(DAMAGES) $(GO) test -v -count 1 -timeout 1h -run 'TestManyDamages' $(TESTFLAGS) ./internal/platform

.PHONY: tunnel-scale
tunnel-scale: ## Tunnel at scale: 10,000 clients come back, 10 GiB, 5,000 slow visitors, 100,000 who leave, a dead path.
	PADDOCK_TUNNEL_CLIENTS=10000 PADDOCK_TUNNEL_MIB=10240 PADDOCK_TUNNEL_LOST=1 $(GO) test -v -count 1 -timeout 2h -run 'TestTunnel(ClientsComeBack|MemoryIsFlat|LossIsNoticed)' $(TESTFLAGS) ./cmd/paddock
	PADDOCK_TUNNEL_OPEN=1000 PADDOCK_TUNNEL_SLOW=5000 PADDOCK_TUNNEL_LEAVE=100000 PADDOCK_TUNNEL_REUSE=10000 PADDOCK_TUNNEL_POSTS=720 $(GO) test -v -count 1 -timeout 1h -run 'Test(ACrowdAtOneClient|SlowCrowd|VisitorsLeave|EndsAtTheMomentOfReuse|PostsAtTheMomentOfReuse)' $(TESTFLAGS) ./tunnel/server

.PHONY: bench
bench: ## Run the Go benchmarks. BENCH=Contains
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: bench-wire
bench-wire: ## Compare wire with raw TCP and gRPC. ARGS="--only request"
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/bench ./cmd/bench
	@mkdir -p $(ARTIFACTS)
	bin/bench wire --json $(ARTIFACTS)/bench-wire.json $(ARGS)

.PHONY: bench-bus
bench-bus: ## Compare paddock bus with nats-server. ARGS="--only one-to-one-16 --pinned"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/nats-server github.com/nats-io/nats-server/v2
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/bench ./cmd/bench
	@mkdir -p $(ARTIFACTS)
	bin/bench bus --json $(ARTIFACTS)/bench-bus.json $(ARGS)

# Where the real data is, if it is there; else the simulated city is measured.
FENCE_DATA ?= $(wildcard ../shared/data/nyc)

.PHONY: bench-fence
bench-fence: ## Compare fence with other indexes, and its HTTP with nginx. ARGS="--only look-up-buses,build" FENCE_DATA=DIR
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/bench ./cmd/bench
	@mkdir -p $(ARTIFACTS)
	bin/bench fence --data '$(FENCE_DATA)' --json $(ARTIFACTS)/bench-fence.json $(ARGS)

.PHONY: bench-track
bench-track: ## Measure the tracker on FENCE_DATA. ARGS="--vehicles 0 --door none --policy steady --rules 100000 --objects 1000000"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	@mkdir -p $(ARTIFACTS)
	bin/paddock bench track $(if $(FENCE_DATA),--sets '$(FENCE_DATA)') --summary $(ARTIFACTS)/bench-track.json $(ARGS)

.PHONY: bench-load
bench-load: ## Compare paddock bench http with wrk, ab, hey and oha. ARGS="--only get,pipeline --memory 1h"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/bench ./cmd/bench
	@mkdir -p $(ARTIFACTS)
	bin/bench load --json $(ARTIFACTS)/bench-load.json $(ARGS)

# A peer that is no Go module: `make rathole` builds it; else it is looked for in PATH.
RATHOLE ?= $(firstword $(wildcard $(CURDIR)/lab/compare/.tools/bin/rathole) rathole)

.PHONY: rathole
rathole: ## Build rathole for bench-tunnel, with cargo.
	cargo install rathole --version 0.5.0 --no-default-features --features server,client,tls,noise --root lab/compare/.tools

.PHONY: bench-tunnel
bench-tunnel: ## Compare paddock tunnel with rathole and ssh, nginx behind and wrk before. ARGS="--only tcp,tls,http"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/bench ./cmd/bench
	@mkdir -p $(ARTIFACTS)
	bin/bench tunnel --rathole '$(RATHOLE)' --json $(ARTIFACTS)/bench-tunnel.json $(ARGS)

.PHONY: ratios
ratios: ## Rewrite README's table of measured ratios, and the page of sizes, from docs/results.
	$(GO) run ./docs/results -w

# It goes on where it was interrupted, as long as the program is the same.
.PHONY: origins
origins: build ## Make the tables of the five documents again in two hours, and publish the report. ARGS="--rounds 1 --peer gofast=PATH"
	bin/paddock bench origins --resume --out $(ARTIFACTS)/origins $(if $(FENCE_DATA),--data '$(FENCE_DATA)') $(ARGS)
	cp $(ARTIFACTS)/origins/origins.json docs/results/origins.json
	$(MAKE) origins-page

.PHONY: origins-page
origins-page: ## Rewrite docs/reference/origins.md from docs/results/origins.json.
	$(GO) test -count 1 -run TestPublished ./lab/internal/origins -update

.PHONY: sizing
sizing: ## Measure what fleets need, and rewrite the page of sizes. ARGS="--vehicles 1000 --dir /mnt/nvme"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	bin/paddock bench sizing --summary docs/results/sizing.json $(ARGS)
	$(GO) run ./docs/results -w

.PHONY: bench-web
bench-web: ## Compare paddock web with nginx. ARGS="--only static-3.5kB --rounds 5"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/bench ./cmd/bench
	@mkdir -p $(ARTIFACTS)
	bin/bench web --json $(ARTIFACTS)/bench-web.json $(ARGS)

.PHONY: conformance
conformance: ## Run NATS clients' own tests against paddock and nats-server. ARGS="--suites nats.go"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/nats-server github.com/nats-io/nats-server/v2
	cd lab/compare && $(GO) test -v -count 1 -timeout 2h -run TestConformance ./internal/nats/conformance \
	  -args --paddock $(abspath bin/paddock) --reference $(abspath bin/nats-server) \
	  $(if $(PADDOCK_REQUIRE_CONFORMANCE),--require) $(ARGS)

.PHONY: diff-bus
diff-bus: ## Play generated bytes to paddock bus and to nats-server, and compare. ARGS="--scripts 100000 --seed 7"
	cd lab/compare && $(GO) test -v -count 1 -timeout 24h -run TestRandomScripts ./internal/nats/busdiff \
	  -args --scripts 10000 --seed 1 --progress 10s $(ARGS)

NEMESIS ?= 10m

.PHONY: nemesis
nemesis: ## Inflict faults on a cluster at random for NEMESIS (10m), and judge what clients were told. ARGS="--seed 7 --only SIGSTOP"
	cd lab/compare && $(GO) test -v -count 1 -timeout 24h -run 'TestNemesis$$' ./internal/nats/nemesis -args --for $(NEMESIS) $(ARGS)

.PHONY: pauses
pauses: ## Measure how long a cluster acknowledges nothing after KILLS (50) faults of each kind.
	cd lab/compare && $(GO) test -v -count 1 -timeout 24h -run 'TestPauses$$' ./internal/nats/nemesis -args --kills $(KILLS) $(ARGS)

# Each client's program is prepared if its tool is there. Only the browser's
# scenario needs Chromium.
CLIENTS      := $(abspath lab/compare/clients)
CLIENTS_VENV := $(CLIENTS)/python/.venv

.PHONY: clients
clients: ## Run programs in NATS clients against paddock and nats-server. ARGS="--only tls,drain"
	$(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/paddock ./cmd/paddock
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/nats-server github.com/nats-io/nats-server/v2
	@programs=(); \
	if [ "$$(cat $(CLIENTS_VENV)/requirements.txt 2>/dev/null)" = "$$(cat $(CLIENTS)/python/requirements.txt)" ] || \
	  { command -v python3 >/dev/null && rm -rf $(CLIENTS_VENV) && python3 -m venv $(CLIENTS_VENV) && \
	    $(CLIENTS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $(CLIENTS)/python/requirements.txt && \
	    cp $(CLIENTS)/python/requirements.txt $(CLIENTS_VENV); }; \
	then programs+=(--client 'python=$(CLIENTS_VENV)/bin/python -B $(CLIENTS)/python/main.py'); \
	else $(call skip,PY,no Python with venv and its packages: nats-py is left out); fi; \
	if [ -n '$(NODE_OK)' ]; then (cd $(CLIENTS)/js && npm ci --silent --no-fund --no-audit); \
	  programs+=(--client 'js=node $(CLIENTS)/js/main.js'); \
	else $(call skip,NODE,no npm with Node 20.19 or later: nats.js is left out); fi; \
	if command -v cargo >/dev/null; then nice cargo build --quiet --locked -j 1 --manifest-path $(CLIENTS)/rust/Cargo.toml; \
	  programs+=(--client 'rust=$(CLIENTS)/rust/target/debug/paddock-clients'); \
	else $(call skip,CARGO,no cargo: async-nats is left out); fi; \
	if [ -n '$(CHROMIUM)' ]; then export PADDOCK_CHROMIUM='$(CHROMIUM)'; \
	else programs+=(--skip browser); $(call skip,BROWSER,no Chromium: nats.js in a browser is left out); fi; \
	cd lab/compare && $(GO) test -v -count 1 -timeout 2h -run TestClients ./internal/nats/clientscheck \
	  -args --reference $(abspath bin/nats-server) --ours $(abspath bin/paddock) "$${programs[@]}" $(ARGS)

##@ Release

# The version is that of git describe; VERSION=v1.2.3 sets another one. SOURCE_DATE_EPOCH sets the
# date of all files, which is that of the commit. Equal inputs give equal bytes.
.PHONY: dist
dist: web ## Build binaries, archives, packages, bills of materials and checksums in artifacts/dist. ARGS="linux/amd64"
	cd packaging && $(GO) run ./cmd/dist -root .. -out ../$(ARTIFACTS)/dist $(if $(VERSION),-version '$(VERSION)') $(ARGS)

# Takes root, debootstrap and a mirror of Debian (PADDOCK_DEBIAN_MIRROR). PADDOCK_DEBIAN_ROOT names
# a system that debootstrap has made before.
.PHONY: dist-check
dist-check: web helm ## Install, run, upgrade, remove and purge the package in a clean Debian; build twice and compare; lint the chart.
	cd packaging && PADDOCK_DIST_CHECK=1 $(GO) test -v -count 1 -timeout 30m $(TESTFLAGS) ./internal/install ./internal/dist

.PHONY: helm
helm: ## Lint and render the chart, with helm built for it.
	cd packaging/helm && $(GO) test -v -count 1 -timeout 30m ./...

.PHONY: module
module: ## Make a copy whose module path is MODULE=host/owner/paddock, and test it. TESTS=all for all tests, COPY=DIR
	cd packaging && $(GO) run ./cmd/module -root .. $(if $(COPY),-copy '$(COPY)') $(if $(TESTS),-tests '$(TESTS)') '$(MODULE)'

##@ Parts of the above

.PHONY: format
format: ## Report Go files that gofumpt would change.
	@files=$$($(GO) tool gofumpt -l $$($(GO) list -f '{{.Dir}}' ./...) lab/compare packaging); \
	if [ -n "$$files" ]; then echo "not formatted, run go tool gofumpt -w on:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## Run go vet and staticcheck.
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Not a part of check: compiling everything for three more systems takes minutes.
.PHONY: systems
systems: ## Build for the systems that no test runs on: Windows, macOS, 32-bit ARM.
	GOOS=windows $(GO) build -o /dev/null ./...
	GOOS=darwin $(GO) build -o /dev/null ./...
	GOOS=linux GOARCH=arm GOARM=7 CGO_ENABLED=0 $(GO) build -o /dev/null ./...

.PHONY: arch
arch: ## Run the architecture test.
	$(GO) test ./internal/arch

# The comparisons are a module of their own, which `./...` does not reach. Their
# tests check the statistics, and that each contender works: seconds, not figures.
.PHONY: bench-build
# Those of clusters wait for elections most of the time, so several run at once.
bench-build: ## Build, vet and test the comparisons.
	cd lab/compare && $(GO) vet ./...
	cd lab/compare && $(GO) tool -modfile=../../go.mod staticcheck ./...
	cd lab/compare && $(GO) test -p 4 ./...
	cd lab/compare/conformance/natsgo/orbit && $(GO) vet ./... && $(GO) test ./... && $(GO) tool -modfile=../../../../../go.mod staticcheck ./...

# The files beside the program are in modules of their own too, whose tools the product does not
# need: the units, the package for Debian, the image and the composition in seconds.
.PHONY: packaging
packaging: ## Vet and test the packages, the units, the image and the composition.
	cd packaging && $(GO) vet ./...
	cd packaging && $(GO) tool -modfile=../go.mod staticcheck ./...
	cd packaging && $(GO) test ./...
	cd packaging/helm && $(GO) vet ./...

.PHONY: test-go
test-go:
	@if [ -z "$${PADDOCK_PYTHON:-}" ] && [ -x $(VENV)/bin/python ]; then export PADDOCK_PYTHON='$(abspath $(VENV))/bin/python'; fi; \
	set -x; $(GO) test $(TESTFLAGS) ./...

.PHONY: lint test-web browser
ifneq ($(NODE_OK),)
lint: $(WEB_MODULES) ## Run the dashboard's lint and type check.
	cd web && npm run --silent lint && npm run --silent check

test-web: $(WEB_MODULES)
	cd web && npm run --silent test

browser: build ## Drive the dashboard of the real binary in Chromium. PADDOCK_SHARPNESS=1 for sharp pictures
ifneq ($(CHROMIUM),)
	cd lab/compare && $(GO) build -buildvcs=false -o ../../bin/nats-server github.com/nats-io/nats-server/v2
	cd web && PADDOCK_CHROMIUM='$(CHROMIUM)' PADDOCK_BIN='$(abspath bin/paddock)' \
	  PADDOCK_ARTIFACTS='$(abspath $(ARTIFACTS))' npm run --silent e2e
else
	@$(call skip,BROWSER,no Chromium: the browser test is left out)
endif
else
lint test-web browser:
	@$(call skip,BROWSER,no npm with Node 20.19 or later: the dashboard's $@ is left out)
endif

.PHONY: python
ifneq ($(PADDOCK_PYTHON),)
python:
else
python: ## Prepare the Python packages that the tests use.
	@if [ "$$($(VENV)/bin/python -c 'import importlib.metadata as m; print(*(p + "==" + m.version(p) for p in ("nats-py", "hdrhistogram", "standardwebhooks")))' 2>/dev/null)" = '$(NATS_PY) $(HDRH_PY) $(HOOKS_PY)' ]; then exit 0; fi; \
	if command -v python3 >/dev/null && python3 -m venv $(VENV) >/dev/null 2>&1 && \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check '$(NATS_PY)' '$(HDRH_PY)' '$(HOOKS_PY)'; then exit 0; fi; \
	rm -rf $(VENV); \
	$(call skip,PY,no Python with venv and $(NATS_PY), $(HDRH_PY) and $(HOOKS_PY): the tests with them are left out)
endif

# skip says what is left out, or fails where PADDOCK_REQUIRE_<name> asks for it.
define skip
if [ -n "$${PADDOCK_REQUIRE_$(1):-}" ]; then echo "make: PADDOCK_REQUIRE_$(1) is set, but $(2)" >&2; exit 1; fi; echo "make: $(2)"
endef

$(WEB_MODULES): web/package-lock.json
	@echo 'make: fetching what builds the dashboard'
	@cd web && npm ci --no-fund --no-audit --loglevel error >/dev/null
	@touch $@

$(WEB_BUILT): $(WEB_MODULES) $(WEB_SOURCES)
	@echo 'make: building the dashboard'
	@cd web && npm run --silent build
	@touch $@
