//! How long ago something was, as `kubectl` says it.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Two units while the second one matters, one after that.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    let pair = |large: i64, small: i64, units: [&str; 2]| match seconds % large / small {
        0 => format!("{}{}", seconds / large, units[0]),
        rest => format!("{}{}{rest}{}", seconds / large, units[0], units[1]),
    };
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 => pair(MINUTE, 1, ["m", "s"]),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => pair(HOUR, MINUTE, ["h", "m"]),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => pair(DAY, HOUR, ["d", "h"]),
        _ => format!("{}d", seconds / DAY),
    }
}

/// The first whole second that is not before the time.
pub(crate) fn whole_second(time: Timestamp) -> Timestamp {
    let seconds = time.as_second() + i64::from(time.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_writes_them() {
        let now = Timestamp::from_second(10_000_000).unwrap();
        let ago = |seconds: i64| age(Timestamp::from_second(10_000_000 - seconds).unwrap(), now);
        assert_eq!(
            [-5, 0, 119, 150, 180, 3_000, 11_000, 30_000, 180_000, 9_000_000].map(ago),
            [
                "0s", "0s", "119s", "2m30s", "3m", "50m", "3h3m", "8h", "2d2h", "104d"
            ]
        );
    }
}
