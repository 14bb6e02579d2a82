# The commands of this project. `make help` lists them.

# Terraform's own update check and a developer's CLI configuration would make results depend on the machine.
unexport TF_CLI_CONFIG_FILE
export CHECKPOINT_DISABLE := 1
export TF_IN_AUTOMATION := 1

VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
TOOL := go tool -modfile=tools/go.mod
# Not among the tools of tools/go.mod, where the others decide over their dependencies.
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER := go run github.com/goreleaser/goreleaser/v2@v2.16.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-20s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## Build provider and emulator into bin/
	@command -v go >/dev/null || { echo "Go 1.26 or newer is needed: https://go.dev/dl/" >&2; exit 1; }
	@mkdir -p bin
	go build -ldflags '$(LDFLAGS)' -o bin/terraform-provider-resilientjob .
	go build -ldflags '$(LDFLAGS)' -o bin/resilientjob-emulator ./cmd/resilientjob-emulator

.PHONY: quickstart
quickstart: ## Run the main job on the emulator: apply, be interrupted, resume, finish, destroy
	@command -v python3 >/dev/null || { echo "make quickstart needs python3 (3.9 or newer): the training program is written in it" >&2; exit 1; }
	@echo "==> Building provider and emulator (a minute or more the first time)"
	@$(MAKE) --no-print-directory --silent build
	@python3 examples/quickstart/run.py

.PHONY: test
test: ## Run every test, unit and acceptance (needs terraform and python3)
	@command -v terraform >/dev/null || [ -n "$$TF_ACC_TERRAFORM_PATH" ] || { echo "make test needs the terraform command: https://developer.hashicorp.com/terraform/install" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "make test needs python3 (3.9 or newer) for the example program's tests" >&2; exit 1; }
	@for client in node gcloud; do command -v $$client >/dev/null || echo "NOT TESTED: $$client is not installed, so it does not judge the emulator" >&2; done
	@[ -d internal/emulator/conformance/node/node_modules ] || echo "NOT TESTED: Google's Node.js packages do not judge the emulator; make conformance installs them" >&2
	python3 -m unittest discover -q -s examples/apps/checkpointed-training
	python3 -m unittest discover -q -s examples/guides/make-your-program-resumable
	TF_ACC=1 go test ./... -timeout 20m $(TESTARGS)

.PHONY: testrace
testrace: ## The Go tests with the race detector
	TF_ACC=1 go test -race ./... -timeout 40m $(TESTARGS)

.PHONY: sweep
sweep: ## Let every call of the resources' lives go wrong in every way, and compare with the kept matrix (minutes)
	RESILIENTJOB_SWEEP=all go test ./internal/sweep -run TestSweep -count=1 -timeout 30m -v

.PHONY: bench
bench: ## Measure start, apply, plan and destroy of 1 and 100 jobs as whole processes (BENCHARGS='-jobs 1000' for more)
	go run ./internal/bench $(BENCHARGS)

.PHONY: conformance
conformance: ## Hold the emulator against Google's own clients (Go, Node.js, gcloud)
	cd internal/emulator/conformance/node && npm ci --silent
	go test ./internal/emulator/conformance/ -count=1 -v

.PHONY: testacc-gcp
testacc-gcp: ## The acceptance tests against a real project (GOOGLE_PROJECT, GOOGLE_REGION, credentials)
	TF_ACC=1 RESILIENTJOB_ACC_TARGET=gcp go test ./internal/provider/... -timeout 120m -parallel 4 $(TESTARGS)

.PHONY: clean-gcp
clean-gcp: ## Delete what acceptance tests left in that project (everything named tfacc-…)
	go run ./internal/leftovers

.PHONY: lint
lint: ## Vet, format and lint
	go vet ./...
	$(TOOL) golangci-lint run ./...
	$(ACTIONLINT)
	$(ACTIONLINT) examples/ci/github-workflow.yml
	@! ls changes | grep -vE '^(\+[a-z0-9-]+|[0-9]+)\.(breaking|security|feature|change|fix)(\.[0-9]+)?\.md$$|^template\.md\.jinja$$' || { echo "changes/ has files that the changelog would pass over: CONTRIBUTING.md says how they are named" >&2; exit 1; }
	terraform fmt -check -recursive examples

.PHONY: fmt
fmt: ## Format Go and Terraform files
	gofmt -w $$(git ls-files '*.go')
	terraform fmt -recursive examples

# What internal/pages and tools/overheadplot write.
PLOT := images/overhead-over-interval.png
PAGES := templates/guides/limits-and-gpu-types.md.tmpl templates/guides/troubleshooting.md.tmpl templates/guides/choosing-timeout-retries-and-interval.md.tmpl $(PLOT)

.PHONY: generate
generate: ## Write docs/ from the schema, the tables, templates and examples
	@mkdir -p bin/generate
	go run ./internal/pages templates
	go build -o bin/generate/terraform-provider-resilientjob .
	cd tools && go build -o ../bin/generate/ ./schemajson ./overheadplot
	go run ./internal/pages -plot > bin/generate/plot.json
	bin/generate/overheadplot $(PLOT) < bin/generate/plot.json
	tools/schema.sh bin/generate > bin/generate/schema.json
	$(TOOL) tfplugindocs generate --provider-name resilientjob --providers-schema bin/generate/schema.json --rendered-provider-name resilientjob
	$(TOOL) tfplugindocs validate --provider-name resilientjob --providers-schema bin/generate/schema.json

.PHONY: check-generated
check-generated: generate ## Fail when a generated file is stale
	@test -z "$$(git status --porcelain docs $(PAGES))" || { git --no-pager diff -- docs $(PAGES); git status --short docs $(PAGES); echo "docs/ is stale: run make generate and commit the result" >&2; exit 1; }

.PHONY: snapshot
snapshot: ## Make what a release would publish, in dist/ (minutes; signed when GPG_FINGERPRINT names a key)
	$(GORELEASER) release --snapshot --clean $(if $(GPG_FINGERPRINT),,--skip=sign)

.PHONY: snapshot-quickstart
snapshot-quickstart: ## The quickstart with the archives of make snapshot, installed from a mirror of the registry
	@QUICKSTART_RELEASE=dist python3 examples/quickstart/run.py

.PHONY: changelog
changelog: ## Show what the next release brings; RELEASE=0.1.0 moves it from changes/ to CHANGELOG.md
	@command -v towncrier >/dev/null || { echo "make changelog needs towncrier (22.12 or newer): https://towncrier.readthedocs.io" >&2; exit 1; }
	@towncrier build $(if $(RELEASE),--yes --version $(RELEASE),--draft --version 'The next version')

.PHONY: release
release: ## Publish the tag that is checked out; .github/workflows/release.yml does it
	@mkdir -p bin
	@awk -v title="## $(VERSION:v%=%) " 'index($$0, title) == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md > bin/release-notes.md
	@[ -s bin/release-notes.md ] || { echo "CHANGELOG.md has no $(VERSION:v%=%): make changelog RELEASE=$(VERSION:v%=%), commit, and set the tag there" >&2; exit 1; }
	$(GORELEASER) release --clean --release-notes bin/release-notes.md

.PHONY: clean
clean: ## Remove what the build made
	rm -rf bin dist .quickstart
