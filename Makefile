# make demo     the whole flow on a real server; the first build takes about a minute
# make test     every test of the library
# make help     the rest

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo newsroom gateway gateway-load soak test test-all test-adapters test-tools test-gateway test-newsroom test-browser test-simulation test-only test-release conformance slow-clients seen loop bench bench-compare weight screenshots simulate mutants load fuzz sanitize coverage build build-quick build-server build-simulation format lint consumers doc site test-site api test-api apple install uninstall release clean system install-system swift browser install-browser redis install-redis python-markdown install-python-markdown

SWIFT_MINIMUM := 6.3
# By default, Swift Testing starts all tests at once. On two processors, tests that wait for a processor would then exceed their time limits.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 16
# SKIP_BUILD=--skip-build runs the earlier build.
SKIP_BUILD ?=
# SwiftPM before 6.4 passes two traits in a random order, which recompiles everything when it changes (its issue 10525). Every build
# here has one trait. This is for the traits of other packages.
BUILD := SWIFT_DETERMINISTIC_HASHING=1 swift build
# The build directory. CI uses one outside of the clone, which keeps the dependencies compiled.
SCRATCH ?= $(CURDIR)/.build
# The fastest complete build: whole modules, which only a release build compiles, no optimization and no debug information. Each module
# is read once: by default, its interface is a separate job, and its files are compiled in batches that parse the others. A change to a
# file compiles its whole module again, so make test-only builds with the defaults of swift build instead. Assertions are on.
QUICKLY := -c release -Xswiftc -Onone -Xswiftc -gnone -Xswiftc -no-emit-module-separately-wmo -Xswiftc -enable-testing
# The library, its tests and the demo.
QUICK = $(QUICKLY) --traits SQLite --scratch-path '$(SCRATCH)/quick'
# What needs SwiftNIO and BoringSSL: the tests behind the other traits, and the nested packages. One directory serves all of them, so
# each build is planned again: after two runs of one package, SwiftPM mistakes its plan for another package's (findings/swiftpm-shared-scratch-path.sh).
SERVER = $(QUICKLY) --disable-build-manifest-caching --scratch-path '$(SCRATCH)/server'
nested = --package-path $(1) $(SERVER)
# Not with --skip-build, which uses the plan of the last planned package. A filter by target finds nothing in another package, which
# CI counts as a failure. The flags above make modules testable: with another flag, swift test would recompile every module.
TEST := SWIFT_DETERMINISTIC_HASHING=1 swift test --disable-testable-imports
# The target Faults runs by itself: its suites kill processes, fail disks, damage files, measure memory or simulate, and need both processors.
# Some run programs: on Linux, Foundation's Process ends the process of the tests if over a thousand files are open, as during the other tests.
FAULTS := ^Faults\.
# The core has both processors too, so that its time limits hold.
CORE := ^ReactorCoreTests\.
SOURCES := git ls-files -z --cached --others --exclude-standard -- '*.swift'

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 20

demo: system ## the whole flow against an embedded server, each step checked; STAY=1 shows the inspector of it afterwards
	@$(if $(SKIP_BUILD),,echo "Building the demo: Reactor with its inspector, swift-http-types and GRDB. Less than a minute, once.")
	swift run $(QUICK) $(SKIP_BUILD) ReactorDemo $(if $(STAY),--stay)

NEWSROOM := Examples/Newsroom
# Run the binary directly, so that it receives signals itself.
newsroom: system ## a news API and a reader of it in the browser, on this machine, until Ctrl-C; STORE=directory outlives it
	@echo "Building the newsroom: Reactor, GRDB, SwiftNIO and Hummingbird. Two minutes or so, once."
	$(BUILD) $(call nested,$(NEWSROOM)) --product newsroom
	@exec "$$(swift build $(call nested,$(NEWSROOM)) --show-bin-path)/newsroom" $(if $(STORE),--store '$(STORE)')

GATEWAY := Examples/Gateway
gateway: system ## a gateway before three APIs, on this machine, until Ctrl-C; FLEET=redis://127.0.0.1:6379 for two that share a cache
	@echo "Building the gateway: Reactor, async-http-client, SwiftNIO and Hummingbird. Three minutes or so, once."
	$(BUILD) $(call nested,$(GATEWAY)) --product gateway
	$(BUILD) $(call nested,$(GATEWAY)) --product shop
	@exec $(GATEWAY)/run "$$(swift build $(call nested,$(GATEWAY)) --show-bin-path)"

# Use an otherwise idle machine if possible; BENCH="--filter memory --quick" for a quick run.
BENCHMARKS := swift build -c release --package-path Benchmarks --product reactor-bench
JSON ?= Benchmarks/.build/bench.json
bench: system ## what each job costs beside its limit, as a table and into JSON=bench.json; minutes
	$(BENCHMARKS)
	"$$($(BENCHMARKS) --show-bin-path)/reactor-bench" --json $(JSON) $(BENCH)

bench-compare: system ## two runs of it: make bench-compare A=before.json B=after.json
	@if [ -z "$(A)" ] || [ -z "$(B)" ]; then echo "error: say which: make bench-compare A=before.json B=after.json" >&2; exit 1; fi
	@$(BENCHMARKS) >&2
	@"$$($(BENCHMARKS) --show-bin-path)/reactor-bench" compare $(A) $(B)

weight: system ## what ReactorCore adds: build time, size, packages, public symbols; a minute or two
	@Benchmarks/weight

test: system ## every test of the library; a minute to build, then two of tests; test-all has the rest
	$(if $(SKIP_BUILD),,$(BUILD) --build-tests $(QUICK))
	swift test $(QUICK) --skip-build --skip '$(FAULTS)|$(CORE)'
	swift test $(QUICK) --skip-build --filter '$(CORE)'
	swift test $(QUICK) --skip-build --filter '$(FAULTS)'

# Randomized tests repeat more often here than in make test.
test-all: export REACTOR_THOROUGH = 1
test-all: test test-adapters test-tools test-newsroom test-gateway test-browser test-simulation ## everything: also adapters, command, examples, browser, and 1,000 seeds of each world

# Only their tests: the others were built and run without SwiftNIO.
ADAPTERS := ReactorAsyncHTTPClientTests,ReactorObservabilityTests,ReactorOperatorsTests,ReactorSealingTests,ReactorValkeyTests
test-adapters: system ## the tests of the products behind the traits AsyncHTTPClient, Valkey, Observability and Sealing
	$(if $(SKIP_BUILD),,REACTOR_TESTS=$(ADAPTERS) $(BUILD) --product ReactorPackageTests $(SERVER) --traits Server)
	@command -v redis-server >/dev/null || { echo "skipped: the tests of ReactorValkey, which need redis-server; run: sudo make install-redis"; [ -z "$${CI:-}" ]; }
	REACTOR_TESTS=$(ADAPTERS) $(TEST) $(SERVER) --traits Server

# The proxy's tests and the kill trials of the outbox run in separate processes: beside them, Foundation takes an interrupted read of a program's output (EINTR) for fatal.
test-tools: system ## the tests of the command reactor
	$(if $(SKIP_BUILD),,$(BUILD) --build-tests $(call nested,Tools))
	$(TEST) $(call nested,Tools) --skip '^(ProxyTests|OutboxKillTests)\.'
	$(TEST) $(call nested,Tools) --filter '^ProxyTests\.'
	$(TEST) $(call nested,Tools) --filter '^OutboxKillTests\.'

# The tests of github.com/http-tests/cache-tests, as data; TESTS is your own table, exported as Tests/Checks/Conformance/run --help says.
# To see a failure's reason: CONFORMANCE=--list. It runs the build of the command's tests.
conformance: system ## the public HTTP caching suite against reactor proxy, in fifteen seconds: make conformance TESTS=tests.json
	$(if $(SKIP_BUILD),,$(BUILD) $(call nested,Tools) --product reactor)
	python3 Tests/Checks/Conformance/run "$$(swift build $(call nested,Tools) --show-bin-path)/reactor" $(if $(TESTS),--tests '$(TESTS)') $(CONFORMANCE)

slow-clients: system ## the cost of clients that do not read, or send large bodies, to reactor proxy: a thousand compared with ten
	$(if $(SKIP_BUILD),,$(BUILD) $(call nested,Tools) --product reactor)
	python3 Tests/Checks/SlowClients/run "$$(swift build $(call nested,Tools) --show-bin-path)/reactor"

# Not in CI: it downloads a gigabyte of other people's programs, whose next version may differ. Nothing is installed or built.
seen: ## real servers against the guides that describe them, in nine minutes; SEEN="Django nginx" for some, SEEN=QUERY for searches with a body, SEEN=Live for change feeds, CACHES=1 for the caches of Rules.md
	$(PYTHON) Tests/Checks/Seen/run $(if $(CACHES),--caches) $(SEEN)

# Optimized, as in a release, and next to the program that is weighed, which shares its modules.
OPTIMIZED = -c release --scratch-path '$(SCRATCH)/optimized'
build-simulation: swift
	$(BUILD) $(OPTIMIZED) --product Simulate

test-simulation: build-simulation ## 1,000 seeds of each world, optimized
	REACTOR_SEED="$${REACTOR_SEED:-2026}" "$$(swift build $(OPTIMIZED) --show-bin-path)/Simulate" 1000

# Compiled incrementally, and only the test targets that FILTER names: the target of that name, else the targets whose files contain the name.
FILTER ?= ReactorCoreTests
ONLY = $(if $(wildcard Tests/$(FILTER) Tests/Unit/$(FILTER)),$(FILTER),$(shell grep -rlE --include='*.swift' -- '$(FILTER)' Tests | sed 's,^Tests/Unit/,Tests/,' | cut -d/ -f2 | sort -u | paste -sd,))
test-only: system ## some tests after a change, compiled as far as needed: make test-only FILTER=ReactorCoreTests, or a suite's name
	REACTOR_TESTS=$(ONLY) $(BUILD) --product ReactorPackageTests --traits SQLite --scratch-path '$(SCRATCH)'
	REACTOR_TESTS=$(ONLY) swift test --traits SQLite --scratch-path '$(SCRATCH)' --skip-build --filter '$(FILTER)'

# In a separate directory, with a quarter of an hour to build. The optimizer has miscompiled code that passed the unoptimized tests.
test-release: system ## the tests of this package, optimized as in a release
	$(BUILD) -c release -Xswiftc -enable-testing --build-tests --traits Server --scratch-path .build/tested
	@for suites in "--skip $(FAULTS)|$(CORE)" "--filter $(CORE)" "--filter $(FAULTS)"; do \
	  swift test -c release -Xswiftc -enable-testing --traits Server --scratch-path .build/tested --skip-build $$suites; \
	done

test-newsroom: system ## the tests of the newsroom's parts
	$(if $(SKIP_BUILD),,$(BUILD) --build-tests $(call nested,$(NEWSROOM)))
	$(TEST) $(call nested,$(NEWSROOM)) --filter '^NewsroomTests\.'

test-gateway: system ## the tests of the gateway
	$(if $(SKIP_BUILD),,$(BUILD) --build-tests $(call nested,$(GATEWAY)))
	$(TEST) $(call nested,$(GATEWAY)) --filter '^GatewayTests\.'

# Debian's Python, since only it has Debian's packages.
PYTHON ?= /usr/bin/python3
# Skipped with a message if Chromium is not installed; CI installs it first.
test-browser: system ## the newsroom in a headless Chromium, if that is installed
	@if ! $(MAKE) --no-print-directory browser 2>/dev/null; then \
	  echo "skipped: the newsroom in a browser, which needs Chromium; run: sudo make install-browser"; [ -z "$${CI:-}" ]; exit; \
	fi; \
	$(if $(SKIP_BUILD),,$(BUILD) $(call nested,$(NEWSROOM)) --product newsroom;) \
	NEWSROOM="$$(swift build $(call nested,$(NEWSROOM)) --show-bin-path)/newsroom" PYTHONDONTWRITEBYTECODE=1 \
	  $(PYTHON) $(NEWSROOM)/BrowserTests/run

screenshots: browser ## pictures of the newsroom, into Documentation/Images
	$(BUILD) $(call nested,$(NEWSROOM)) --product newsroom
	mkdir -p Documentation/Images
	NEWSROOM="$$(swift build $(call nested,$(NEWSROOM)) --show-bin-path)/newsroom" PYTHONDONTWRITEBYTECODE=1 \
	  $(PYTHON) $(NEWSROOM)/BrowserTests/screenshots.py Documentation/Images

browser: system
	@missing=""; \
	[ -x /usr/bin/chromium ] || missing="$$missing chromium"; \
	[ -x /usr/bin/chromedriver ] || missing="$$missing chromium-driver"; \
	$(PYTHON) -c 'import selenium' 2>/dev/null || missing="$$missing python3-selenium"; \
	if [ -n "$$missing" ]; then echo "error: the browser tests need Debian's packages$$missing; run: sudo make install-browser" >&2; exit 1; fi

install-browser: ## install Chromium, its driver and Selenium with apt-get, for test-browser; as root
	apt-get update && apt-get install -y --no-install-recommends chromium chromium-driver python3-selenium

# Without it, the tests of ReactorValkey are skipped.
redis:
	@command -v redis-server >/dev/null || { echo "error: redis-server is missing; run: sudo make install-redis" >&2; exit 1; }

install-redis: ## install redis-server with apt-get, for the tests of ReactorValkey; as root
	apt-get update && apt-get install -y --no-install-recommends redis-server

SEEDS ?= 10000
simulate: swift ## the long run of the simulation: make simulate SEEDS=1000000, from REACTOR_SEED or a random seed
	swift run -c release Simulate $(SEEDS)

loop: system ## what a change costs: make test from nothing, and make test-only, compared with a build of only ReactorCore; minutes
	@Benchmarks/loop

mutants: swift ## faults put into the core and the outbox, and which tests notice them; hours: MUTANTS="3 7" for some
	Tests/Long/Mutants/run $(MUTANTS)

CHAOS ?= 60
load: swift redis ## eight proxies with a Redis and a server that fail, every answer checked: make load CHAOS=600 for ten minutes of it
	$(BUILD) -c release --product reactor --package-path Tools
	Tests/Long/Load/run "$$($(BUILD) -c release --product reactor --package-path Tools --show-bin-path)/reactor" --seconds $(CHAOS)

gateway_programs = $(BUILD) -c release --package-path $(GATEWAY)
gateway-load: swift redis ## the gateway under wrk, with its APIs up and down: make gateway-load MEMORY=600 for ten minutes of it
	$(gateway_programs) --product gateway
	$(gateway_programs) --product shop
	$(GATEWAY)/load "$$($(gateway_programs) --show-bin-path)" $(if $(MEMORY),--memory $(MEMORY))

SOAK ?= 3600
soak: swift redis ## two gateways and a proxy under changing load and faults for an hour; fails if memory, files or requests grow
	$(gateway_programs) --product gateway
	$(gateway_programs) --product shop
	$(BUILD) -c release --product reactor --package-path Tools
	Tests/Long/Soak/run "$$($(gateway_programs) --show-bin-path)" \
	  "$$($(BUILD) -c release --product reactor --package-path Tools --show-bin-path)/reactor" --seconds $(SOAK)

SECONDS_EACH ?= 60
fuzz: swift ## random bytes for every parser of outside data; make fuzz SECONDS_EACH=600 TARGETS="JSON Records"
	SECONDS_EACH=$(SECONDS_EACH) Tests/Long/Fuzz/run $(TARGETS)

sanitize: system ## every test under Thread Sanitizer, then under Address Sanitizer; SANITIZERS=address for one
	for sanitizer in $(or $(SANITIZERS),thread address); do Tests/Long/Sanitizers/run $$sanitizer; done

coverage: system ## every test, and the share of lines that ran, by folder
	Tests/Long/Coverage/run

# Two at a time: while one processor compiles a module of the first for a minute, the other compiles packages of the second.
build: system ## everything, tests included
	@$(MAKE) --no-print-directory --jobs 2 build-quick build-server

build-quick: swift
	$(BUILD) --build-tests $(QUICK)

build-server: swift
	REACTOR_TESTS=$(ADAPTERS) $(BUILD) --build-tests $(SERVER) --traits Server
	$(BUILD) --build-tests $(call nested,Tools)
	$(BUILD) --build-tests $(call nested,$(NEWSROOM))
	$(BUILD) --build-tests $(call nested,$(GATEWAY))

format: swift ## rewrite the sources in the house style
	$(SOURCES) | xargs -0 swift format --in-place --parallel

lint: swift ## check the style, the comments and the links of the guides; fails on the first file that differs
	$(SOURCES) | xargs -0 swift format lint --strict --parallel
	Tests/Checks/Prose/run
	Tests/Checks/Links/run
	Tests/Checks/Limits/run
	Tests/Checks/House/run
	Tests/Checks/Version/run
	Tests/Checks/Apple/privacy

consumers: system ## build and run packages that use this one, README.md's code among them
	SCRATCH='$(SCRATCH)' QUICKLY='$(QUICKLY)' Tests/Checks/Consumers/check $(CONSUMER)

# The modules of make test are what they import.
apple: system ## type-check what is for Apple systems alone, against stand-ins of what it uses there; seconds after a build
	$(if $(SKIP_BUILD),,REACTOR_TESTS=none $(BUILD) $(QUICK))
	PYTHONDONTWRITEBYTECODE=1 Tests/Checks/Apple/run "$$(swift build $(QUICK) --show-bin-path)"

# docc comes with the toolchain, without a command of swift's own. A link to a symbol that does not exist is an error.
doc: system ## the documentation of each product, in .build/documentation
	$(if $(SKIP_BUILD),,REACTOR_TESTS=none $(BUILD) $(SERVER) --traits Server)
	Documentation/build "$$(swift build $(SERVER) --traits Server --show-bin-path)" '$(SCRATCH)/server/checkouts' $(notdir $(basename $(wildcard Sources/*/*.docc)))

# For static hosting, below any path. From what make doc has left, if SKIP_BUILD is set. SOURCE=https://… links the files of the repository.
SITE := .build/site
site: python-markdown $(if $(SKIP_BUILD),,doc) ## the documentation as one site of static files, in .build/site
	docc="$$(command -v docc || xcrun --find docc 2>/dev/null || echo "$$(dirname "$$(command -v swift)")/docc")"; \
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) Documentation/Site/build .build/documentation $(SITE) --docc "$$docc" --source "$(SOURCE)"

test-site: browser ## its links, and each of its pages in a headless Chromium, wide and narrow, light and dark
	SITE=$(SITE) PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(NEWSROOM)/BrowserTests $(PYTHON) -m unittest discover -s Tests/Checks/Site

python-markdown:
	@$(PYTHON) -c 'import markdown, pygments' 2>/dev/null || { \
	  echo "error: the site needs Debian's packages python3-markdown and python3-pygments; run: sudo make install-python-markdown" >&2; exit 1; }

install-python-markdown: ## install what make site needs with apt-get; as root
	apt-get update && apt-get install -y --no-install-recommends python3-markdown python3-pygments

api: doc ## renew Documentation/API, the text of the public API, after a change of it that is meant
	Tests/Checks/API/check --renew

test-api: swift ## the public API against Documentation/API, from what make doc left, and the tests of that check
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Checks/API/test_check.py
	Tests/Checks/API/check

PREFIX ?= /usr/local
command := $(BUILD) -c release --product reactor --package-path Tools
install: system ## the command reactor and its completions into PREFIX=/usr/local; an optimized build of ten minutes
	@Tools/install check '$(DESTDIR)$(PREFIX)'
	$(command)
	@Tools/install add '$(DESTDIR)$(PREFIX)' "$$($(command) --show-bin-path)/reactor"

uninstall: ## remove what make install has put into PREFIX
	@Tools/install remove '$(DESTDIR)$(PREFIX)'

release: swift ## make the version VERSION=0.2.0, up to its tag; CHECKED=1 if .ci/run has passed. Nothing is pushed
	@.ci/release "$(VERSION)"

clean: ## remove what was built
	rm -rf .build .build-* Benchmarks/.build Tools/.build $(NEWSROOM)/.build Tests/Long/Fuzz/.build Tests/Checks/Consumers/*/.build Tests/Checks/Consumers/Readme/Package.swift Tests/Checks/Consumers/Readme/View.swift Tests/Checks/Consumers/Readme/Sources

# The trait SQLite needs libsqlite3-dev on Linux; other systems have it. Root, or who has sudo without a password, gets it installed.
system: swift
	@if [ "$$(uname)" = Linux ] && [ ! -e /usr/include/sqlite3.h ]; then \
	  if ! command -v apt-get >/dev/null; then \
	    echo "error: the headers of SQLite are missing; install your system's package of them (sqlite-devel, sqlite3-dev)" >&2; exit 1; \
	  elif [ "$$(id -u)" = 0 ]; then as_root=; \
	  elif sudo -n true 2>/dev/null; then as_root="sudo -n"; \
	  else echo "error: the headers of SQLite are missing; run: sudo make install-system" >&2; exit 1; fi; \
	  echo "The headers of SQLite are missing: installing libsqlite3-dev with apt-get."; \
	  log="$$(mktemp)"; $$as_root $(MAKE) --no-print-directory install-system >"$$log" 2>&1 || { tail -n 5 "$$log" >&2; \
	    echo "error: libsqlite3-dev could not be installed; the lines above are apt-get's" >&2; exit 1; }; rm "$$log"; \
	fi

install-system: ## install SQLite's headers with apt-get, which a build on Linux needs; as root
	apt-get update && apt-get install -y libsqlite3-dev

swift:
	@command -v swift >/dev/null || { echo "error: Swift $(SWIFT_MINIMUM) or newer is needed, and there is no swift in PATH; see https://www.swift.org/install" >&2; exit 1; }
	@version="$$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')"; \
	if [ "$$(printf '%s\n' "$(SWIFT_MINIMUM)" "$$version" | sort -V | head -n 1)" != "$(SWIFT_MINIMUM)" ]; then \
	  echo "error: Swift $(SWIFT_MINIMUM) or newer is needed, this is $${version:-of an unknown version}; see https://www.swift.org/install" >&2; exit 1; \
	fi
