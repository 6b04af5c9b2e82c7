//! Memory as the kernel counts it.
//!
//! The resident set is what a machine must have for the process: it includes what the allocator adds to each piece
//! and does not give back. The allocator's own statistics would leave that out, and a counting allocator would need
//! either unsafe code or a C library in every build.

use anyhow::Context;

/// How the figures of this module come about, for the report.
pub(super) const METHOD: &str = "growth of the resident set (VmRSS in /proc/self/status)";

/// Bytes of the process that are in memory.
pub(super) fn resident_bytes() -> anyhow::Result<u64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("cannot read the memory use of this process")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    Ok(kilobytes.context("no VmRSS in /proc/self/status")? * 1024)
}
