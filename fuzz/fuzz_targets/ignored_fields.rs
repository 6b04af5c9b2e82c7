#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| portolan_fuzz::ignored_fields(data));
