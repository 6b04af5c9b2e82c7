//! Running the binary with a pseudo-terminal of a given width as its standard output.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// What the binary prints on a terminal of so many columns, without colours, and its exit code.
pub(crate) fn shown(folder: &Path, columns: u16, args: &[&str]) -> (Option<i32>, String) {
    let (terminal, end) = open(columns);
    let mut child = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(args)
        .current_dir(folder)
        .env_remove("KUBECONFIG")
        .env_remove("COLUMNS")
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(end)
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut bytes = Vec::new();
    // Linux reports an error instead of an end when the last writer closes its end.
    let _ = File::from(terminal).read_to_end(&mut bytes);
    let code = child.wait().expect("the binary ends").code();
    let text = String::from_utf8(bytes).expect("the binary prints UTF-8");
    let text = text.replace('\r', "");
    (code, anstream::adapter::strip_str(&text).to_string())
}

fn open(columns: u16) -> (OwnedFd, Stdio) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&terminal).expect("a pseudo-terminal of our own");
    unlockpt(&terminal).expect("a pseudo-terminal that can be opened");
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).expect("a terminal has a size");
    let name = ptsname(&terminal, Vec::new()).expect("a pseudo-terminal has a name");
    let end = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other end");
    (terminal, end.into())
}
