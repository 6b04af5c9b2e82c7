//! A run of the binary whose standard output is a terminal of a given width.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The lines that the binary prints on a terminal, without colours. It must end by itself.
pub(crate) fn lines(folder: &Path, args: &[&str], columns: u16) -> Vec<String> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&master).expect("the terminal is ours");
    unlockpt(&master).expect("the terminal can be opened");
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).expect("a terminal has a size");
    let name = ptsname(&master, Vec::new()).expect("a terminal has a name");
    let name = name.to_str().expect("the name of a terminal is text");
    let slave = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .expect("the terminal opens");
    let mut child = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(args)
        .current_dir(folder)
        // The terminal's own width counts, whatever this says.
        .env("COLUMNS", "500")
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(slave)
        .spawn()
        .expect("the binary starts");
    let mut master = std::fs::File::from(master);
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    // When the last one who has it open goes, reading from a terminal fails instead of ending.
    while let Ok(length @ 1..) = master.read(&mut chunk) {
        text.extend_from_slice(&chunk[..length]);
    }
    assert!(child.wait().expect("it can be waited for").success());
    let text = String::from_utf8(text).expect("the binary prints UTF-8");
    let plain = strip_colours(&text);
    plain.lines().map(str::to_owned).collect()
}

/// Without what colours text: `ESC [ … m`.
fn strip_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}
