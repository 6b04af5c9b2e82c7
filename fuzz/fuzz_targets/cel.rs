#![no_main]
#[path = "../entry/mod.rs"]
mod entry;
libfuzzer_sys::fuzz_target!(|data: &[u8]| entry::cel(data));
