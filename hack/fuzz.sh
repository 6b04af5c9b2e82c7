#!/usr/bin/env bash
# Runs fuzz targets with libFuzzer, without a nightly toolchain: hack/fuzz.sh [TARGET…] [--seconds N]
#
# Without a target, all of them, one after the other; without a time, 600 seconds each. Starts from the inputs in
# fuzz/corpus and keeps new ones in fuzz/target/corpus. Prints the executions of each target, and fails on a finding; the input
# that led to it is then in fuzz/target/findings.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

seconds=600
targets=()
while (($#)); do
    case $1 in
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        -h | --help) sed -n '2,6s/^# \{0,1\}//p' ../hack/fuzz.sh; exit ;;
        -*) echo "$1 is no option; accepted: --seconds N" >&2; exit 2 ;;
        *) [ -f "fuzz_targets/$1.rs" ] || { echo "there is no target $1; accepted: $(basename -s .rs fuzz_targets/*.rs | paste -sd' ')" >&2; exit 2; }
            targets+=("$1"); shift ;;
    esac
done
((${#targets[@]})) || mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)

# Coverage as `cargo fuzz` asks for it. Each flag is one that a stable compiler takes; sanitizers are not among them, and
# without unsafe code of our own they would find nothing that a panic does not show. A target is named, so that build scripts
# and macros are built without all this.
host=$(rustc -vV | sed -n 's/^host: //p')
coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares)
checks=(--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=16 -Cdebuginfo=line-tables-only)
export CARGO_TARGET_DIR=$PWD/target CARGO_INCREMENTAL=0 RUSTFLAGS="${coverage[*]} ${checks[*]}"
build=(cargo build --release --locked --target "$host")
for target in "${targets[@]}"; do build+=(--bin "$target"); done
"${build[@]}"

failed=()
for target in "${targets[@]}"; do
    new=target/corpus/$target findings=target/findings/$target log=target/$target.log
    mkdir -p "$new" "$findings"
    run=("target/$host/release/$target" -max_total_time="$seconds" -max_len=4096 -timeout=25 -rss_limit_mb=4096
        -print_final_stats=1 -artifact_prefix="$findings/")
    [ -f "dictionaries/$target.dict" ] && run+=(-dict="dictionaries/$target.dict")
    begun=$SECONDS
    "${run[@]}" "$new" "corpus/$target" >"$log" 2>&1 || failed+=("$target")
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
    printf '%-16s %10s executions in %4d s' "$target" "${executions:-?}" $((SECONDS - begun))
    case " ${failed[*]-} " in
        *" $target "*) printf ', a finding: fuzz/%s, fuzz/%s\n' "$findings" "$log" ;;
        *) printf ', no finding\n' ;;
    esac
done
((${#failed[@]} == 0))
