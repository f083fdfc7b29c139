PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PEERS := $(VENV)/peers
BUILDER := $(VENV)/build
FRAMEWORKS := build/frameworks
LIBRARIES := discord.py disnake nextcord py-cord
PYRIGHT := tests/clients/pyright/node_modules/.package-lock.json
PUBLISHED := tests/published/node_modules/.package-lock.json
PUBLISHED_PYTHON := build/published/requirements.stamp
NODE_CLIENT := clients/node/node_modules/.package-lock.json
NODE_VERSIONS := clients/node/versions/node_modules/.package-lock.json
EXPRESS := bench/peers/express/node_modules/.package-lock.json
GENERATORS := build/generators

.PHONY: help run dev demo fleet binary binary-test wheel build-packages test-packages pages screens surface test test-long site coverage faults fuzz generators processes clients clients-node clients-python crash soak lint pythons messages bench bench-tools bench-packages bench-state bench-pages bench-votes bench-webhooks bench-clients bench-fleet lock vendor system-packages clean

help:            ## list all targets
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

run: $(VENV)/run.stamp  ## serve on 127.0.0.1:8080 beside a stand-in for the chat platform; create a demo bot if data/ is empty
	@$(BIN)/python examples/with_chat_platform.py --config config.yaml --demo --allow-private-targets

dev: $(VENV)/run.stamp  ## serve a demo bot for developers of bots; print every request and delivery (docs/dev.md)
	@$(BIN)/python server.py dev

demo: $(VENV)/run.stamp  ## serve a platform with listings of all kinds and the votes of 90 days, beside the stand-in
	@$(BIN)/python -m demo

fleet: $(VENV)/run.stamp $(if $(shell command -v redis-server),,$(VENV)/redis.stamp) ## run two gateways and a Redis, on ports 8080 and 8081
	@$(BIN)/python examples/two_nodes.py

# Hundreds of processes start, and pytest rewrites each module of tests: none does what another has done.
export PYTHONDONTWRITEBYTECODE :=
FAULTS := tests/system/faults tests/system/fleet
FUZZ := tests/openapi/test_schemathesis.py tests/wire/test_fuzz.py tests/wire/test_differential.py tests/decoder/test_fuzz.py
SITE := tests/web tests/pages
OF_BINARY := tests/release/test_binary.py
OF_LIBRARIES := tests/clients/test_libraries.py
PROCESSES := tests/test_server.py $(addprefix tests/,system/processes cli clients/frameworks deploy docs published release)
# Each of four processes would import schemathesis for a plugin that FUZZ alone uses, and tests that it does not run.
test: $(VENV)/dev.stamp ## run the tests, but for those of the targets below (3 minutes)
	@$(BIN)/python -m pytest -p no:schemathesis $(addprefix --ignore=,tests/browser tests/generated_clients $(SITE) $(FAULTS) $(FUZZ) $(PROCESSES) $(OF_LIBRARIES) $(ELSEWHERE))

site: $(VENV)/dev.stamp ## test the pages as they are served, without a browser (2 minutes)
	@$(BIN)/python -m pytest -p no:schemathesis $(SITE)

processes: $(VENV)/dev.stamp $(FRAMEWORKS).stamp build/clients/discord.py.stamp $(if $(shell command -v npm),$(PUBLISHED) $(NODE_CLIENT)) $(PUBLISHED_PYTHON) ## test what runs as a program: the command line, what documents say, packages (1 minute)
	@test ! -e $(NODE_CLIENT) || { cd clients/node && npm run --silent build; }
	@$(BIN)/python -m pytest -p no:schemathesis --ignore=$(OF_BINARY) $(PROCESSES)
	@test ! -e $(NODE_CLIENT) || { cd clients/node && npm test --silent; }

# Each target builds a package for bots, installs it into an empty folder, and tests it there with each library.
clients: clients-node clients-python ## test the packages for bots as users install them (3 minutes)

clients-node: $(VENV)/dev.stamp $(NODE_CLIENT) $(NODE_VERSIONS)
	@cd clients/node && npm run --silent build && npm run --silent test-long
	@for node in clients/node/versions/node_modules/node*/bin; do \
	  echo "Node $$($$node/node --version)" && (cd clients/node && PATH="$(CURDIR)/$$node:$$PATH" npm test --silent) || exit; \
	done

faults: $(VENV)/dev.stamp ## test a gateway and a fleet while disks, Redis and processes fail (2 minutes)
	@$(BIN)/python -m pytest -p no:schemathesis $(FAULTS)

fuzz: $(VENV)/dev.stamp ## send made-up requests and bytes, and compare with the document and with Tornado (1 minute)
	@$(BIN)/python -m pytest $(FUZZ)

# The generators clash with packages of the tests, so that they have an environment of their own.
generators: $(VENV)/dev.stamp $(GENERATORS)/stamp ## make clients from the OpenAPI document with five generators, and call a gateway (1 minute)
	@$(BIN)/python -m pytest -p no:schemathesis -n 2 --dist load tests/generated_clients $(CHOSEN)

MEASURED := $(addprefix tests/,core grammars votes listings people ratelimit snapshot webhook outbound)
coverage: $(VENV)/dev.stamp ## measure branch coverage of the core rooms by their own tests: at least 95%
	@$(BIN)/python -m pytest --cov --cov-report=term:skip-covered $(MEASURED)

lint: $(VENV)/dev.stamp ## check format, lint, types, imports and English
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy .
	@$(BIN)/python -m pytest -q -n 0 tests/test_architecture.py tests/test_english.py

# Each in an environment of its own, build/python-3.12 and so on. Without an interpreter, one is only named.
PYTHONS := 3.11 3.12 3.13
pythons: $(PYTHONS:%=python-%)  ## run `make test` on Python 3.11, 3.12 and 3.13, as far as they are here

python-%:
	@for found in python$* $(HOME)/.pyenv/versions/$*.*/bin/python missing; do \
	  $$found -c "" 2> /dev/null && break; \
	done; \
	if [ $$found = missing ]; then echo "Python $* is missing"; exit $(if $(CI),1,0); fi; \
	echo "Python $*: $$found" && $(MAKE) --no-print-directory test VENV=build/python-$* PYTHON=$$found

ROUNDS := 1000
crash: $(VENV)/dev.stamp ## kill a loaded gateway ROUNDS=1000 times (5 minutes)
	@$(BIN)/python -m tests.system.faults.crash --rounds $(ROUNDS)

soak: SECONDS := 150
soak: $(VENV)/dev.stamp ## break everything around a fleet, SECONDS=150, and restart workers 20 times (6 minutes)
	@$(BIN)/python -m tests.system.fleet.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m pytest -m long -p no:schemathesis -n 0 tests/workers

pages: $(VENV)/dev.stamp ## test the pages in Debian's chromium (3 minutes)
	@$(BIN)/python -m pytest -m pages -n 2 tests/browser $(CHOSEN)

screens: $(VENV)/dev.stamp ## write the screenshots of docs/screens/ again
	@$(BIN)/python -m tests.browser.screens

# OUT is emptied first. Two records of one commit are equal, so `diff -r` shows the changes of a refactoring.
surface: $(VENV)/dev.stamp ## record what users see into the folder OUT: pages, answers, help (1 minute)
	@$(BIN)/python -m tests.surface.record $(or $(OUT),build/surface)

BESIDE := clients demo deploy docs generated_clients openapi pages published release replication support surface system wire
ROOMS := $(filter-out $(BESIDE:%=tests/%/),$(dir $(wildcard tests/*/__init__.py)))
test-long: $(VENV)/dev.stamp $(FRAMEWORKS).stamp ## run the tests that take too long for `make test`
	@VOTEGATE_ALL_EXAMPLES=1 $(BIN)/python -m pytest -m long
	@$(MAKE) --no-print-directory binary-test ASKED=tests/system/contract
	@VOTEGATE_ALL_EXAMPLES=1 $(BIN)/python -m pytest $(ROOMS) tests/openapi/test_schemathesis.py tests/replication/test_merge_laws.py tests/system/faults/test_people_crash.py

# The date of a build is that of its commit, so that two builds of one commit are the same.
binary wheel clients-python: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
binary: $(VENV)/build.stamp ## build dist/votegate, one executable that needs no Python (1 minute)
	@$(BUILDER)/bin/python release/binary.py

# The part of the contract that CI asks of the binary; `make test-long` asks all of it.
ASKED := $(addprefix tests/system/contract/test_,authentication.py voters.py votes.py)
binary-test: binary $(VENV)/dev.stamp ## build the binary, test it, and ask a part of the contract of it
	@$(BIN)/python -m pytest $(OF_BINARY) tests/deploy/test_upgrade.py
	@TESTED_VOTEGATE=dist/votegate $(BIN)/python -m pytest $(ASKED)

wheel: $(VENV)/build.stamp dist/constraints.txt ## build dist/votegate-*.whl, which pip installs, and the versions to install beside it
	@$(BUILDER)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# The stories run from the wheel in a folder of its own, and bots of the libraries run with it.
INSTALLED := build/clients/installed
OLDEST := build/clients/python-3.10
clients-python: $(VENV)/dev.stamp $(FRAMEWORKS).stamp $(LIBRARIES:%=build/clients/%.stamp) $(PYRIGHT) ## build dist/votegate_client-*.whl, test it with four libraries of bots, send 10,000 webhooks into each receiver, and check its types (3 minutes)
	@rm -rf $(INSTALLED) dist/votegate_client-*.whl
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --wheel-dir dist ./clients/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --target $(INSTALLED) dist/votegate_client-*.whl
	@$(BIN)/python -m pytest -p no:schemathesis -n 4 --dist load -o pythonpath=$(INSTALLED) $(OF_LIBRARIES) $(addprefix tests/clients/test_,stories.py autoposter.py wheel.py)
	@$(BIN)/python -m pytest -m long -p no:schemathesis -n 2 --dist load tests/clients/frameworks
	@node $(dir $(PYRIGHT))pyright/index.js --project clients/python --pythonpath $(FRAMEWORKS)/bin/python
	@for found in python3.10 $(HOME)/.pyenv/versions/3.10.*/bin/python missing; do \
	  $$found -c "" 2> /dev/null && break; \
	done; \
	if [ $$found = missing ]; then echo "Python 3.10 is missing: the stories did not run there"; exit; fi; \
	$$found -m venv $(OLDEST) && \
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement clients/python/oldest.txt && \
	PYTHONPATH=$(INSTALLED):. $(OLDEST)/bin/python -m tests.clients.oldest

# Without hashes: pip would ask for one of the wheel, too.
%/constraints.txt: requirements.txt
	@mkdir -p $(@D)
	@sed -n 's/^\([^ ]*==[^ ]*\).*/\1/p' $< > $@

build-packages:  ## install what `make binary` needs, on Debian (as root)
	apt-get update --quiet=2
	apt-get install --yes binutils libpython3.11

# RUNLEVEL: no server is started, only its programs are called.
test-packages: build-packages ## install the programs that tests call, such as a browser, on Debian (as root)
	RUNLEVEL=1 apt-get install --yes --no-install-recommends chromium fonts-wqy-microhei prometheus systemd nginx-light caddy nodejs curl

SCALE := 1
bench-state: $(VENV)/dev.stamp ## measure ten million votes, or three sizes up to SCALE=10 times that; tables in bench/results/
	@$(BIN)/python -m $(if $(filter 1,$(SCALE)),bench.state,bench.state_sizes --scale $(SCALE))

SECONDS := 2
bench: bench-tools $(VENV)/dev.stamp $(VENV)/peers.stamp $(EXPRESS) ## compare vote checks with peers, SECONDS=2 each (8 minutes)
	@$(BIN)/python -m bench --seconds $(SECONDS)

bench-pages: bench-tools $(VENV)/dev.stamp ## compare pages for strangers with nginx, SECONDS=2 each (3 minutes)
	@$(BIN)/python -m bench.kept_pages --seconds $(SECONDS)

bench-votes: bench-tools $(VENV)/dev.stamp $(EXPRESS) ## compare votes with Express and Redis, SECONDS=2 each (3 minutes)
	@$(BIN)/python -m bench.votes --seconds $(SECONDS)

bench-webhooks: $(VENV)/dev.stamp ## compare webhooks with clients, SECONDS=2 each (5 minutes)
	@$(BIN)/python -m bench.webhooks --seconds $(SECONDS)

bench-clients: $(VENV)/dev.stamp $(NODE_CLIENT) ## compare the packages for bots with bare aiohttp and bare fetch (2 minutes)
	@cd clients/node && npm run --silent build
	@$(BIN)/python -m bench.clients

bench-fleet: bench-tools $(VENV)/dev.stamp ## measure the nodes of a fleet, SECONDS=2 each (3 minutes)
	@$(BIN)/python -m bench.fleet --seconds $(SECONDS)

bench-tools:
	@$(PYTHON) -m bench.tools

bench-packages:  ## install what `make bench` lacks, on Debian (as root)
	@$(PYTHON) -m bench.tools --packages | xargs --no-run-if-empty apt-get install --yes

lock:            ## pin the packages of all requirements*.in again
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-tools
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --output-file requirements.txt requirements.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --constraint requirements.txt --output-file requirements-redis.txt requirements-redis.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --constraint requirements.txt --constraint requirements-redis.txt --output-file requirements-dev.txt requirements-dev.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --constraint requirements.txt --constraint requirements-dev.txt --output-file requirements-build.txt requirements-build.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --output-file requirements-bench.txt requirements-bench.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --constraint requirements.txt --constraint requirements-dev.txt --output-file clients/python/frameworks.txt clients/python/frameworks.in
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --output-file tests/published/requirements.txt tests/published/requirements.in
	@for each in $(LIBRARIES:%=clients/python/libraries/%); do CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile $(LOCK) --output-file $$each.txt $$each.in || exit; done
	@cd tests/generated_clients && CUSTOM_COMPILE_COMMAND="make lock" $(CURDIR)/$(BIN)/pip-compile $(LOCK) --output-file requirements.txt requirements.in
LOCK := --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

vendor:          ## copy the files of others that pages use, as web/vendor/ pins them
	@cd web/vendor && npm ci --ignore-scripts --no-audit --no-fund --silent
	@cd web/vendor/node_modules && cp htmx.org/dist/htmx.min.js htmx.org/dist/ext/hx-sse.min.js ../../static/vendor/
	@cp web/vendor/node_modules/altcha/dist/workers/pbkdf2.js web/static/vendor/altcha-pbkdf2.js
	@cp web/vendor/node_modules/uplot/dist/uPlot.iife.min.js web/static/vendor/uplot.min.js
	@cp web/vendor/node_modules/uplot/dist/uPlot.min.css web/static/vendor/uplot.min.css
	@rm -r web/vendor/node_modules
	@cd web/static/vendor && sha512sum * > ../../vendor/SHA512SUMS

messages: $(VENV)/dev.stamp ## bring the texts of pages into the catalogs of all languages
	@mkdir -p build
	@$(BIN)/pybabel --quiet extract --mapping-file pyproject.toml --keyword Text --project Votegate $(CATALOG) --output-file build/web.pot $(SPEAKING)
	@$(BIN)/pybabel --quiet update --domain web --input-file build/web.pot --output-dir web/locales $(UPDATE)
SPEAKING := $(wildcard actions forms handlers journal kinds languages mail pages web)
CATALOG := --add-location file --sort-by-file --no-wrap
UPDATE := --no-wrap --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date

system-packages: ## install what a bare Debian machine needs (as root)
	apt-get install --yes python3.11 python3.11-venv make git

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) build dist bench/peers/express/node_modules tests/published/node_modules tests/generated_clients/node_modules clients/node/dist clients/node/node_modules clients/node/versions/node_modules tests/clients/pyright/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# Without --no-deps, pip looks for the newest release of a pinned package's extra, and refuses it for want of a hash.
$(VENV)/run.stamp: requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements-dev.txt
	@touch $@

$(VENV)/redis.stamp: $(VENV)/run.stamp requirements-redis.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements-redis.txt
	@touch $@

# Web frameworks for the receiver of clients/python. The gateway's own packages are not among them.
$(FRAMEWORKS).stamp: clients/python/frameworks.txt
	@test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	@$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

# Libraries of bots, for AutoPoster of clients/python. Some have the same module, so each has its own environment.
build/clients/%.stamp: clients/python/libraries/%.txt
	@test -x build/clients/$*/bin/python || $(PYTHON) -m venv build/clients/$*
	@build/clients/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

$(PYRIGHT): tests/clients/pyright/package-lock.json
	@cd $(<D) && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

$(VENV)/build.stamp: requirements.txt requirements-build.txt
	@test -x $(BUILDER)/bin/python || $(PYTHON) -m venv $(BUILDER)
	@$(BUILDER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements.txt
	@$(BUILDER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements-build.txt
	@touch $@

$(VENV)/peers.stamp: requirements-bench.txt $(VENV)/run.stamp | bench-tools
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements-bench.txt
	@touch $@

$(PUBLISHED): tests/published/package-lock.json
	-@cd tests/published && npm ci --ignore-scripts --no-audit --no-fund --silent && touch ../../$@

$(PUBLISHED_PYTHON): tests/published/requirements.txt
	-@test -x build/published/bin/python || $(PYTHON) -m venv build/published
	-@build/published/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $< && touch $@

$(NODE_CLIENT) $(NODE_VERSIONS): %/node_modules/.package-lock.json: %/package-lock.json
	-@cd $* && npm ci --ignore-scripts --no-audit --no-fund --silent && touch $(CURDIR)/$@

$(GENERATORS)/stamp: tests/generated_clients/package-lock.json tests/generated_clients/requirements.txt
	@cd tests/generated_clients && npm ci --ignore-scripts --no-audit --no-fund --silent
	@test -x $(GENERATORS)/bin/python || $(PYTHON) -m venv $(GENERATORS)
	@$(GENERATORS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement tests/generated_clients/requirements.txt
	@touch $@

$(EXPRESS): bench/peers/express/package-lock.json | bench-tools
	@cd bench/peers/express && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@
