//! Opens a data file with a library that panics on some kinds of damage.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread reads a file whose damage is reported as an error.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `open` returns, or the words of its panic. Nothing is printed about the panic: the caller reports the error.
pub(super) fn guarded<T>(open: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
    GUARDED.set(true);
    // The panic drops the unfinished state of `open`.
    let opened = catch_unwind(AssertUnwindSafe(open));
    GUARDED.set(false);
    opened.map_err(|panic| words(panic.as_ref()))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it cannot be read").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_words_and_the_next_one_is_shown_again() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(guarded(|| -> u8 { panic!("page 8") }), Err("page 8".to_owned()));
        assert!(!GUARDED.get());
    }
}
