# Every target works from a clean clone; what it needs beyond Go it installs.

GO        ?= go
BIN       := bin/mcp-all-in-one
PREFIX    ?= $(HOME)/.local
NAMES     := mcps-proxy mcps_proxy mcpx mcpx-sse mcp-tester
UI        := internal/web/ui
DIST      := internal/web/dist
UI_NPM    := $(UI)/node_modules/.package-lock.json
NOTICES   := $(DIST)/THIRD_PARTY_NOTICES.txt.gz
UI_FILES  := $(shell find $(UI) -type f -not -path '*/node_modules/*' 2>/dev/null)
# What --version says beside internal/mcp's ProductVersion; empty outside a git clone.
COMMIT    = $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || [ $$? -ne 1 ] || echo +changes)
DATE      = $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
MODULE    = $(shell $(GO) list -m)
LDFLAGS   = -s -w -X $(MODULE)/internal/mcp.commit=$(COMMIT) -X $(MODULE)/internal/mcp.date=$(DATE)
UNIT      = $(shell $(GO) list ./... | grep -v '/test/')
LONGEST   = $(MODULE)/internal/cli
E2E       = $(shell $(GO) list ./test/... | grep -v '/test/browser\|/test/interop\|/test/requirements\|/test/matrix\|/test/release\|/test/platforms\|/test/kernels\|/test/containers\|/test/guide\|/test/cluster\|/test/torture')
# Everything is compiled one way, that of a release, so that nothing is compiled
# twice. The race detector alone needs cgo.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)
# The output of each of several targets in one piece, where make can do that.
IN_PIECES = $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: notices unit plain static cluster faults release release-tag-check release-sign release-minisign release-publish release-again release-test vscode-test platforms kernels containers actionlint help build run vsix screenshots ui-test vet check test lint cover verify docs e2e browser interop-deps interop conformance conformance-once guide matrix torture soak fuzz bench bench-compare install uninstall crosscheck clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(if $(UI_FILES),$(DIST)/index.html.gz $(NOTICES)) ## bin/mcp-all-in-one, with the web page when npm is there
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) .

$(DIST)/index.html.gz: $(UI_FILES)
	@if command -v npm >/dev/null; then \
	  $(MAKE) $(UI_NPM) && cd $(UI) && npm run build && touch $(CURDIR)/$@; \
	else echo "npm not found: building without the web page"; fi

$(UI_NPM): $(UI)/package-lock.json
	cd $(UI) && npm ci --no-audit --no-fund && touch $(CURDIR)/$@

notices: $(NOTICES) ## the licences of works of others, as the console, the program and the extension contain them

$(NOTICES): go.mod go.sum $(UI)/package-lock.json $(DIST)/index.html.gz
	@if [ -d $(UI)/node_modules ]; then $(GO) run ./packaging -notices $@; fi

vsix: build ## mcp-tester-VERSION.vsix, the tester in an editor tab of VS Code
	rm -f mcp-tester-*.vsix
	cd vscode && npm ci --no-audit --no-fund && npm run build
	$(GO) run ./vscode/pack vscode .

run: build ## build, then serve over HTTP
	$(BIN) http

# A program with the race detector waits for a second when it exits, and tests
# start hundreds of them.
unit: export GORACE = atexit_sleep_ms=0
unit: export CGO_ENABLED = 1
unit: # with the race detector
	test/again.sh -race -vet=off -p 3 -parallel 4 -timeout 20m -- $(LONGEST) $(filter-out $(MODULE) $(LONGEST),$(UNIT)) # they wait more than they compute; check has vetted them

# Reading the source takes four times as long with the race detector; noasm is
# what runs where there is no assembly.
plain: # without it
	$(GO) test .
	$(GO) test -tags noasm ./internal/jsonrpc
	$(GO) test ./test/requirements
	$(GO) test -run '^TestEveryRuleAndDoorHasARow$$' ./test/decisions
	test/again.sh -- ./test/matrix

check: vet ## formatting, vet, unit tests with the race detector, the diagonal of the matrix (about 3 minutes)
	$(MAKE) -j 2 $(IN_PIECES) unit plain ui-test

screenshots: ## take new pictures for docs/screenshots; SCREENS=FOLDER: every page in every look, into a folder
	UPDATE=1 BROWSER_TESTS=screens.mjs $(GO) test -count=1 -timeout 60m ./test/browser

ui-test: ## unit tests of the page: forms over their golden corpus, JSON
	@if command -v npm >/dev/null; then $(MAKE) $(UI_NPM) && cd $(UI) && npm test; \
	  else echo "npm not found: the page is not tested"; fi

vet:
	@files=$$($(GO) list -f '{{.Dir}}' ./... | xargs gofmt -l); \
	  if [ -n "$$files" ]; then echo "gofmt -w needed:"; echo "$$files"; exit 1; fi
	$(GO) vet ./...

lint: vet static ## gofmt, go vet, staticcheck, tidy modules, known vulnerabilities where vuln.go.dev can be reached
	@if curl -sfm 10 -o /dev/null https://vuln.go.dev/index/db.json; then $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...; \
	  else echo "vuln.go.dev cannot be reached: known vulnerabilities were not looked up"; fi

static:
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff

test: check build ## everything that guards a change (about 15 minutes)
	$(MAKE) -j 3 $(IN_PIECES) browser cluster interop e2e faults conformance-once crosscheck static # the longest first; they wait more than they compute
	test/again.sh -count=1 -timeout 30m -run '^TestTimed$$' -- ./test/browser
	$(GO) test -count=1 ./test/requirements

e2e: ## the requirements, decisions and scripts, against the binary
	test/again.sh -count=1 -timeout 30m -p 2 -- $(E2E) # they wait more than they compute

cluster: ## replicas, against the binary
	test/again.sh -count=1 -timeout 30m -parallel 4 -- ./test/cluster # it waits more than it computes

faults: ## the fault tests in small size
	test/again.sh -count=1 -timeout 30m -- ./test/torture

browser: ## the console in a real browser, but for what is timed
	DEPTH=2 test/again.sh -count=1 -timeout 30m -skip '^TestTimed$$' -- ./test/browser

# Coverage counts what the tests of a package reach in any package, and what
# the binaries reach that tests start: servers, gateways, and the product in
# the scripts of internal/cli. Two tests read the standard error of a child,
# where an instrumented binary complains; make check runs them.
COVER_SKIP := TestStandardError/fault/F30|TestScripts/probe_call

cover: ## at least 70 % of the statements of internal/..., with a report of cases and protocol
	@rm -rf coverage && mkdir -p coverage/tests coverage/binaries
	@run() { MCPTEST_COVERDIR=$(CURDIR)/coverage/binaries $(GO) test -json -timeout 30m \
	    -skip '$(COVER_SKIP)' -cover -coverpkg=./internal/... "$$@" -args -test.gocoverdir=$(CURDIR)/coverage/tests >>coverage/tests.json; }; \
	  run $(UNIT) $(E2E) ./test/cluster ./test/torture ./test/browser || { again=$$($(GO) run ./test/report -again <coverage/tests.json); \
	    echo "once more, alone: $$again"; run -p 1 -count=1 $$again || true; }
	@$(GO) tool covdata textfmt -i=coverage/tests,coverage/binaries -o coverage/profile.out
	@$(GO) tool cover -func coverage/profile.out | awk 'END { sub("%", "", $$3); print $$3 }' >coverage/percent
	@$(GO) run ./test/report -coverage "$$(cat coverage/percent)" <coverage/tests.json
	@awk '{ if ($$1 < 70) { print "coverage is below 70 %"; exit 1 } }' coverage/percent

verify: cover ## one line per clause of the verification standard
	@if $(MAKE) -s lint >coverage/lint.txt 2>&1; then lint=ok; else lint=; cat coverage/lint.txt; fi; \
	  $(GO) run ./test/report -verify -lint "$$lint" -coverage "$$(cat coverage/percent)" <coverage/tests.json

docs: ## rewrite the generated pages and help texts
	$(GO) generate ./internal/config
	$(GO) test -count=1 -run '^Test(Help|Reference)$$' ./internal/cli -update
	$(GO) test -count=1 ./test/requirements -update
	$(GO) test -count=1 -run '^TestDecisions$$' ./test/decisions -update

interop-deps: ## install the published clients and servers that tests run against
	test/interop/deps.sh

# Not a prerequisite: make -j would start every other target before interop.
interop: ## official SDKs and published servers around the gateway
	test/interop/deps.sh
	test/again.sh -count=1 -timeout 30m -parallel 3 -skip '^TestConformance' -- ./test/interop # they wait more than they compute

conformance-once: ## the official conformance suite, once per era, and with the gateway as its client
	test/interop/deps.sh
	test/again.sh -count=1 -timeout 30m -run '^TestConformance' -v -- ./test/interop

conformance: interop-deps ## the official conformance suite before every kind of upstream; writes docs/conformance.md
	$(GO) test -count=1 -timeout 30m -run '^TestConformance' -v ./test/interop -matrix -update

guide: interop-deps ## published servers and clients with and without the gateway between them; writes docs/interop.md (half an hour, downloads them)
	$(GO) test -count=1 -timeout 3h -v ./test/guide -update

matrix: interop-deps ## every client version before every server version, over stdio and HTTP on either side, and the SDKs
	MATRIX=full $(GO) test -count=1 -timeout 20m -v ./test/matrix

torture: interop-deps ## the fault tests in full size; writes docs/torture.md (about two hours)
	test/apt.sh haproxy=haproxy nginx=nginx
	TORTURE=full $(GO) test -count=1 -timeout 3h -v ./test/torture
	TORTURE=full $(GO) test -count=1 -timeout 3h -v ./test/cluster
	TORTURE=full $(GO) test -count=1 -timeout 30m -v -run 'Model$$' ./internal/cluster ./internal/cluster/place -rapid.checks 10000
	TORTURE=full $(GO) test -count=1 -timeout 30m -v -run '^TestNATS$$' ./internal/cluster/natsengine
	TORTURE=full $(GO) test -count=1 -timeout 30m -v -run '^TestConformanceCluster$$' ./test/interop
	TORTURE=1 $(GO) test -count=1 -timeout 30m -run 'Envelopes|Methods|Servers|Framing' ./internal/gateway
	TORTURE=1 $(GO) test -count=1 -timeout 30m -run 'Differential|RouteMatrix|OriginMatrix|NothingIsExpanded' ./internal/jsonrpc ./internal/cli
	TORTURE=1 $(GO) test -count=1 -timeout 30m -v -run 'NoChildOutlivesUs|Restarts|GarbageBetweenMessages' ./internal/stdio/...

soak: ## 30 minutes of mixed use with faults (SOAK=30m); writes docs/torture.md
	TORTURE=full SOAK=$(or $(SOAK),30m) $(GO) test -count=1 -timeout 10h -v -run '^TestSoak$$' ./test/torture

fuzz: ## 30 seconds of every fuzz target (FUZZTIME=30s)
	@grep -rl --include='*_test.go' '^func Fuzz' internal test | while read -r file; do \
	  grep -o '^func Fuzz[A-Za-z0-9_]*' $$file | sed 's/^func //' | while read -r name; do \
	    echo "$$name ($$(dirname $$file))"; \
	    $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(or $(FUZZTIME),30s) -fuzzminimizetime 10x ./$$(dirname $$file) </dev/null || exit 1; \
	  done || exit 1; done

BENCHED = ./internal/jsonrpc/... ./internal/stdio/... ./internal/jsonschema ./internal/catalog ./internal/mcphttp/... ./internal/gateway

bench: build ## measure calls beside hand-written floors; writes docs/performance.md
	$(GO) run ./bench -gateway $(BIN) -out docs/performance.md

bench-compare: ## Go benchmarks of the hot path at BASE=ref and in this tree, with benchstat
	@test -n "$(BASE)" || { echo "usage: make bench-compare BASE=ref"; exit 2; }
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && mkdir "$$tmp/base" && git archive $(BASE) | tar -x -C "$$tmp/base" && \
	  run="$(GO) test -run ^$$ -bench . -benchmem -benchtime 100ms -count 6 $(BENCHED)" && \
	  (cd "$$tmp/base" && $$run) >"$$tmp/base.txt"; $$run >"$$tmp/now.txt"; \
	  $(GO) tool benchstat base="$$tmp/base.txt" now="$$tmp/now.txt"

RELEASE   ?= dist
# Platforms of a release, such as linux-amd64,macos-arm64; all when empty.
PLATFORMS ?=

release: build ## everything by which people get the program, into dist/ (RELEASE=dist)
	cd vscode && npm ci --no-audit --no-fund && npm run build
	$(GO) run ./packaging -tools "$$(packaging/tools.sh)" -out $(RELEASE) -platforms '$(PLATFORMS)' -ldflags '$(LDFLAGS)'

release-again: ## a release from each of two clones in different folders: the same bytes
	packaging/again.sh

release-test: ## install, use and remove each artefact of dist/ in a clean root
	test/apt.sh busybox=busybox-static buildah=buildah rpm=rpm ruby=ruby minisign=minisign
	packaging/tools.sh >/dev/null
	DIST=$(abspath $(RELEASE)) $(GO) test -count=1 -timeout 30m -v ./test/release
	$(MAKE) vscode-test

vscode-test: ## the extension of dist/ in VS Code (code-server), with a browser; UPDATE=1 takes new pictures
	CODE_SERVER=$$(test/browser/code-server.sh) VSIX=$$(echo $(abspath $(RELEASE))/vsix/mcp-tester-linux-x64-*.vsix) \
	  VSIX_WITHOUT=$$(echo $(abspath $(RELEASE))/vsix/mcp-tester-[0-9]*.vsix) BROWSER_TESTS=code-server.mjs $(GO) test -count=1 -timeout 30m -v ./test/browser

release-tag-check: # the tag says the version that the program says
	@version=$$($(GO) run . --version | head -n 1); [ "v$$version" = "$(TAG)" ] || { echo "the tag $(TAG) is not v$$version"; exit 1; }

# The file of the secret key that belongs to releaseKey in packaging/product.go.
SIGN_KEY ?=

release-sign: $(if $(SIGN_KEY),release-minisign) # and with cosign, without a key; it wants the identity of a workflow
	cosign sign-blob --yes --bundle $(RELEASE)/SHA256SUMS.sigstore.json $(RELEASE)/SHA256SUMS

release-minisign: # what upgrade checks
	@test -n "$(SIGN_KEY)" || { echo "usage: make release-minisign SIGN_KEY=FILE"; exit 2; }
	minisign -S -s "$(SIGN_KEY)" -m $(RELEASE)/SHA256SUMS -t "mcp-all-in-one"

release-publish: # as a release of GitHub; file names there have no folders
	gh release create "$(TAG)" --verify-tag --generate-notes $$(find $(RELEASE) -type f -not -path '*/deploy/chart/*')

platforms: ## run the program on Windows (wine) and arm64, armv7, riscv64 (qemu); writes docs/platforms.md
	test/apt.sh qemu-aarch64-static=qemu-user-static /usr/lib/wine/wine64=wine64 x86_64-w64-mingw32-gcc=gcc-mingw-w64-x86-64
	$(GO) test -count=1 -timeout 30m -v ./test/platforms -update

kernels: ## attack the sandbox on kernels of Debian and Ubuntu, amd64 and arm64 (qemu); writes docs/kernels.md (about an hour, downloads them)
	test/apt.sh qemu-system-x86_64=qemu-system-x86 qemu-system-aarch64=qemu-system-arm mke2fs=e2fsprogs xz=xz-utils
	$(GO) test -count=1 -timeout 5h -v ./test/kernels -update

containers: ## servers in images, with a docker daemon and a registry of images of its own; as root
	test/apt.sh dockerd=docker.io docker=docker.io docker-registry=docker-registry
	$(GO) test -count=1 -timeout 10m -v ./test/containers

actionlint: ## check the workflows
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -shellcheck= -pyflakes=

install: build ## the binary and the names it answers to, into PREFIX/bin; programs of others stay
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mcp-all-in-one
	@cd $(DESTDIR)$(PREFIX)/bin && for name in $(NAMES); do \
	  if [ "$$(readlink $$name)" = mcp-all-in-one ]; then :; \
	  elif [ -e $$name ] || [ -L $$name ]; then echo "left as it is: $(DESTDIR)$(PREFIX)/bin/$$name is another program; ours is: mcp-all-in-one $$name"; \
	  else ln -s mcp-all-in-one $$name; fi; done

uninstall: ## remove from PREFIX/bin what install put there
	@[ -d $(DESTDIR)$(PREFIX)/bin ] || exit 0; cd $(DESTDIR)$(PREFIX)/bin && for name in $(NAMES); do \
	  if [ "$$(readlink $$name)" = mcp-all-in-one ]; then rm $$name; \
	  elif [ -e $$name ] || [ -L $$name ]; then echo "left as it is: $(DESTDIR)$(PREFIX)/bin/$$name is another program"; fi; done; \
	  rm -f mcp-all-in-one

crosscheck: ## compile for every platform of a release; for Windows, macOS and 32 bits the tests too
	for p in windows/amd64 darwin/arm64 linux/386; do echo "$$p, tests too"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet ./... || exit 1; done
	for p in linux/arm64 linux/riscv64 linux/arm darwin/amd64 windows/arm64; do echo "$$p"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null . || exit 1; done

clean: ## remove what make built
	rm -rf bin coverage dist mcp-tester-*.vsix vscode/out vscode/page
