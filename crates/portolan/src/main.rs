//! The `portolan` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    portolan::main()
}
