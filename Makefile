# Everything a person or CI runs. `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export CGO_ENABLED ?= 1
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
# gRPC's own trace pages bring html/template along, and we never serve them.
TAGS := grpcnotrace
COMMANDS := $(notdir $(wildcard cmd/*))
LOCAL := go run -C test/local .
comma := ,

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## Build every command into bin/
	@mkdir -p bin
	for c in $(COMMANDS); do CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/$$c ./cmd/$$c; done

.PHONY: demo
demo: ## Roll a real etcd on a real control plane, beside the native rolling update
	go run ./test/demo

.PHONY: pictures
pictures: ## The demo's rolls as pictures, in docs/pictures
	go run ./test/demo --plain --pictures docs/pictures

.PHONY: test
test: test-unit test-sim test-local test-e2e test-scale ## Run every test

.PHONY: test-unit
test-unit: ## Unit and property tests
	go vet ./...
	go test -timeout 30m ./pkg/guard/ ./pkg/fn/... ./pkg/events/... ./pkg/trigger/... ./pkg/kubectl/... ./pkg/otlp/ ./cmd/... ./test/abuse/ ./test/bench/... ./test/cases/ ./test/chaos/... ./test/demo/ ./test/dependencies/ ./test/docs/... ./test/e2e/cmd/footprint/ ./test/monitoring/ ./test/plot/ ./test/waits/
	go test -C test/kind ./...
	go test -C test/docs/schemas ./...
	go test -C test/gitops/engines ./...

.PHONY: test-mutations
test-mutations: ## Take rules out of the product one by one; a test must fail each time
	go test -count=1 -timeout 30m ./test/mutations/

.PHONY: test-race
test-race: ## The concurrent parts under the race detector
	CGO_ENABLED=1 go test -race -timeout 30m ./pkg/fn/ ./pkg/fn/apiserver/ ./pkg/fn/serve/ ./pkg/trigger/... ./pkg/guard/etcdprobe/

.PHONY: test-differential
test-differential: ## The simulation's StatefulSet controller against the real one's code
	go test -C test/differential -timeout 20m ./...

.PHONY: test-sim
test-sim: test-differential ## Random walks over a model of the world (20,000)
	go test -timeout 30m ./test/sim/

.PHONY: local-binaries
local-binaries: ## Build the control plane and etcd for the local cluster (cached)
	$(LOCAL) build

.PHONY: test-local
test-local: local-binaries ## The local cluster's own tests, and etcd probes on real members
	go test -C test/local -timeout 60m ./...
	ETCDROLL_ETCD="$$(for v in v3.5.35 v3.6.16 v3.7.3; do printf '%s=%s,' $$v "$$($(LOCAL) build --print etcd-$$v)"; done)" \
	  go test -timeout 30m ./pkg/guard/etcdprobe/...

.PHONY: test-e2e
test-e2e: local-binaries ## Rolls of real etcd on the real control plane
	go test -timeout 60m $(E2E_FLAGS) ./test/e2e/... ./test/config/...
	ETCDROLL_E2E_FEATURE_GATES=MaxUnavailableStatefulSet=false go test -timeout 20m $(E2E_FLAGS) ./test/e2e/ -run 'TestSS09|TestSS10'

.PHONY: test-scale
test-scale: local-binaries ## Two hundred sets: an outage of the API server, five places in the fleet, memory
	go test -timeout 15m ./test/scale/...

.PHONY: bench-scale
bench-scale: local-binaries ## What the trigger costs at 100, 1,000 and 10,000 sets (SIZES=100,1000); writes docs/scale.md
	go run ./test/scale/cmd/scale -sizes $(or $(SIZES),100$(comma)1000$(comma)10000)

.PHONY: chaos
chaos: local-binaries ## Rolls while everything breaks (ROUNDS=20 SEED=1 PARALLEL=5 CSV=file); a round that fails is made again by its seed
	go run ./test/chaos -rounds $(or $(ROUNDS),20) -seed $(or $(SEED),1) -parallel $(or $(PARALLEL),5) $(if $(CSV),-csv $(CSV))

.PHONY: chaos-bites
chaos-bites: local-binaries ## Takes safety rules out of the function one by one; chaos must find each (ROUNDS=6 SEED=1 PARALLEL=2 WITHOUT=all)
	go run ./test/chaos -without $(or $(WITHOUT),all) -rounds $(or $(ROUNDS),6) -seed $(or $(SEED),1) -parallel $(or $(PARALLEL),2)

.PHONY: bench
bench: local-binaries ## Beside the native update and scripts, in turns; goes on where it stopped; writes docs/benchmarks.md (RUNS= VARIANTS= GRACE= FOR= FRESH=1)
	$(LOCAL) build --knative
	go run ./test/bench/cmd/bench $(if $(RUNS),-runs $(RUNS)) $(if $(VARIANTS),-variants $(VARIANTS)) $(if $(GRACE),-grace $(GRACE)) $(if $(FOR),-for $(FOR)) $(if $(FRESH),-fresh)

.PHONY: kind-up kind-e2e kind-down
kind-up: ## With Docker: a kind cluster with both images (KUBERNETES=newest or oldest)
	test/kind/kind.sh up $(or $(KUBERNETES),newest)
kind-e2e: ## With Docker: the first roll with real images, then the end-to-end tests, on that cluster
	test/kind/kind.sh e2e $(E2E_FLAGS)
kind-down: ## With Docker: remove the kind cluster
	test/kind/kind.sh down

.PHONY: test-gitops
test-gitops: local-binaries ## Argo CD's, Flux's, Helm's and Terraform's way on the real control plane; the documents' commands
	go test -timeout 30m $(E2E_FLAGS) ./test/gitops/

.PHONY: abuse
abuse: ## 100,000 hostile requests at the running function
	go test -timeout 30m ./test/abuse/ -count=1 -v -requests=100000

.PHONY: test-alerts
test-alerts: ## Alert rules under promtool (taken from Debian's package if there is none)
	PROMTOOL="$$(test/monitoring/promtool.sh)" go test ./test/monitoring/

.PHONY: test-knative
test-knative: ## The real Knative Eventing and Serving: rolls through both, config/ as it is installed
	@echo 'test-knative: 1 manifests before the types of Knative; 2 Eventing: rolls and faults through the broker; 3 Serving: from zero and back, and the documented commands'
	@$(LOCAL) build --knative --missing || echo 'test-knative: THESE ARE BUILT FIRST, about 15 minutes on two cores'
	$(LOCAL) build --knative
	go vet -C test/knative/admission ./...
	go test -C test/knative/admission ./...
	go test -timeout 30m -p 1 ./test/knative/...

.PHONY: knative-cached
knative-cached: ## Does make test-knative have everything it needs in the cache? Fails if not
	@$(LOCAL) build --knative --missing

.PHONY: test-npm
test-npm: ## The npm package for Pulumi: build and unit tests
	cd pulumi && npm ci --ignore-scripts --no-audit --no-fund && npm run build && npm test

.PHONY: test-pulumi
test-pulumi: local-binaries test-npm ## Rolls through the real Pulumi (its first build takes 40 CPU minutes)
	go run -C test/pulumi/build . > /dev/null
	go test -C test/pulumi/build/provider ./test/waits/
	go test -timeout 30m ./test/pulumi/

.PHONY: sim
sim: ## Simulate TICKS ticks on all cores (default 10000000)
	go test ./test/sim/ -run TestAtScale -count=1 -v -timeout 0 -args -sim.ticks=$(or $(TICKS),10000000)

.PHONY: bench-footprint
bench-footprint: local-binaries image ## Start, answers, steps, memory, reads, sizes and allocations of the function; writes docs/footprint.md
	go run ./test/e2e/cmd/footprint

.PHONY: fuzz
fuzz: ## Fuzz every parser and the decision, 60 s each
	@for p in $$(grep -rl --include='*_test.go' '^func Fuzz' pkg | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go | sed 's/func //'); do \
	    echo "$$p $$f"; go test ./$$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),60s) -fuzzminimizetime 3s; done; done

TOOL := go tool -modfile=$(CURDIR)/tools/release/go.mod
IMAGES := trigger roll-fn kubectl-etcdroll
PLATFORMS := linux/amd64 linux/arm64

.PHONY: image
image: ## Reproducible OCI layouts of the images in dist/, without a registry
	@mkdir -p dist
	for name in $(IMAGES); do args=(); for platform in $(PLATFORMS); do \
	    file=dist/$$name-$${platform/\//-}; \
	    CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath -buildvcs=false -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $$file ./cmd/$$name; \
	    args+=("$$platform=$(CURDIR)/$$file"); done; \
	  go run -C tools/release ./oci --name $$name --version $(VERSION) --commit $(COMMIT) \
	    --created "$$(git log -1 --format=%ct 2>/dev/null || echo 0)" --out $(CURDIR)/dist/$$name.oci "$${args[@]}"; done

.PHONY: image-push
image-push: ## Build and push the images with ko on distroless-static (set KO_DOCKER_REPO)
	VERSION=$(VERSION) COMMIT=$(COMMIT) go run github.com/google/ko@v0.18.0 build --base-import-paths --platform=linux/amd64,linux/arm64 --sbom=spdx $(IMAGES:%=./cmd/%)

.PHONY: sbom
sbom: build ## CycloneDX lists of what is in each command, in dist/
	@mkdir -p dist
	for c in $(COMMANDS); do $(TOOL) cyclonedx-gomod bin -json -licenses=false -output dist/$$c.cdx.json bin/$$c; done

.PHONY: release
release: ## Archives, images, manifests, SBOMs and checksums in dist/release (VERSION=v1.2.3)
	rm -rf dist/release
	deploy/release.sh $(VERSION) dist/release

.PHONY: dependencies
dependencies: ## Write docs/dependencies: the modules and licences in each command
	go test ./test/dependencies/ -run TestWhatIsInEachCommandIsListed -count=1 -args -update

.PHONY: vulncheck
vulncheck: ## Known vulnerabilities that our code reaches (asks vuln.go.dev, or the mirror in VULNDB)
	$(TOOL) govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...

.PHONY: generate
generate: ## Write the generated documents (gates, reasons, configuration, cases, mutations)
	go test ./pkg/fn/roll/ -run TestDocuments -count=1 -args -update
	go test ./pkg/fn/ -run TestDocument -count=1 -args -update
	go test ./test/cases/ -count=1 -args -update
	go test ./test/mutations/ -short -count=1 -args -update

.PHONY: lint
lint: ## gofmt, vet and staticcheck (exceptions: staticcheck.conf)
	@test -z "$$(gofmt -l cmd pkg test)" || { gofmt -l cmd pkg test; echo 'run gofmt -w on these'; exit 1; }
	go vet ./...
	for m in local kind differential docs/schemas gitops/engines knative/admission; do go vet -C test/$$m ./...; done
	go tool -modfile=tools/go.mod staticcheck ./...

.PHONY: verify
verify: lint vulncheck ## What a pull request must pass besides the tests
	go mod verify
	go mod tidy -diff
	go test ./pkg/fn/roll/ -run TestDocuments -count=1

.PHONY: clean
clean: ## Remove what the targets made in this checkout
	rm -rf bin dist .local
