//! Times as RFC 3339 writes them. Go clients read no others: one object with another form would make a whole list unreadable.

/// Whether the text is a time such as `2026-01-02T03:04:05Z` or `2026-01-02T03:04:05.678+01:00`.
pub(super) fn is_date_time(text: &str) -> bool {
    has_form(text) && text.parse::<jiff::Timestamp>().is_ok()
}

/// The parser takes more than RFC 3339: a space for the T, no seconds, no separators, signs before years, zones in brackets.
fn has_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(time), Some(rest)) = (bytes.get(..19), bytes.get(19..)) else {
        return false;
    };
    let rest = match rest.strip_prefix(b".") {
        None => rest,
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match digits {
                0 => return false,
                _ => &fraction[digits..],
            }
        }
    };
    // A minute of 61 seconds has no place in Go.
    let has_sixty_seconds = time[17] >= b'6';
    let is_zone = rest == b"Z" || fits(rest, b"+00:00") || fits(rest, b"-00:00");
    fits(time, b"0000-00-00T00:00:00") && !has_sixty_seconds && is_zone
}

/// Whether the text has digits where the form has zeros, and is like the form otherwise.
fn fits(text: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_go_cannot_read_is_none() {
        for time in [
            "2026-11-17T08:00:00Z",
            "2026-11-17T08:00:00.123456Z",
            "0001-01-01T00:00:00Z",
            "2026-11-17T08:00:00+01:30",
            "2026-11-17T08:00:00-07:00",
        ] {
            assert!(is_date_time(time), "{time}");
        }
        for time in [
            "",
            "now",
            "2026-11-17",
            "20261117T080000Z",
            "2026-11-17 08:00:00Z",
            "2026-11-17T08Z",
            "2026-11-17T08:00Z",
            "-009999-01-02T01:59:59Z",
            "2026-11-17T08:00:00Z[u-ca=japanese]",
            "2026-11-17t08:00:00z",
            "2026-11-17T08:00:00",
            "2026-11-17T08:00:00.Z",
            "2026-11-17T08:00:60Z",
            "2026-13-17T08:00:00Z",
            "2026-11-17T08:00:00+0100",
            "2026-11-17T08:00:0\u{0660}Z",
        ] {
            assert!(!is_date_time(time), "{time}");
        }
    }
}
