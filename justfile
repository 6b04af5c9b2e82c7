# The small commands that people type. `just` lists them; https://just.systems runs them, and each is one line to paste.

# Lists the commands
default:
    @just --list

# A hub, controllers and a simulated fleet
demo:
    cargo run -- up --demo

# What is quick: format, lint, shape, links, unit tests
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    python3 hack/shape.py --check
    python3 hack/check-links.py
    cargo test --locked --workspace --lib

# Everything that `cargo test` has
test:
    cargo test --locked

# One crate: just test-crate engine
test-crate crate:
    cargo test --locked -p portolan-{{crate}}

# The suites on a real API server, which is built at the first call
real-server:
    KUBEBUILDER_ASSETS="$(hack/kube-apiserver.sh)" cargo test --locked --workspace --test server --test suite --test stream --test definition --test join --test mistakes

# Writes the CRDs, and the answers that docs/ and examples/ show
generate:
    UPDATE_CRDS=1 cargo test --locked -p portolan-api
    PORTOLAN_UPDATE_PAGES=1 cargo test --locked --workspace --test pages
    python3 hack/reference.py

# The documentation as a book, in target/book (needs mdbook)
book:
    mdbook build

# Measures the engine against the floors in bench/
bench:
    cargo run --release --locked -p portolan-bench -- engine --check

# Fuzzes one target: just fuzz cel 60
fuzz target seconds="60":
    hack/fuzz.sh {{target}} --seconds {{seconds}}

# What a change must pass
ci:
    .ci/run
