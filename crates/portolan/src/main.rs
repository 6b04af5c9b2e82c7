//! The `portolan` command.

use std::process::ExitCode;

/// Decisions are thousands of short strings that come and go with every change; with the system's allocator a quarter
/// of the controllers' time went into keeping account of them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    portolan::main()
}
