//! How long ago something was.

use sessionlog::Timestamp;

/// `just now`, `5 min ago`, `3 h ago`, `2 d ago`, then the date.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = (now.as_millis() - at.as_millis()) / 1000;
    match seconds {
        // Clocks differ: what is a little ahead is now, what is far ahead has a date.
        -59..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        DAY..2_592_000 => format!("{} d ago", seconds / DAY),
        _ => date(at),
    }
}

/// The day, in UTC.
fn date(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_do() {
        let at: Timestamp = "2026-05-04T08:00:00Z".parse().unwrap();
        for (now, told) in [
            ("2026-05-04T08:00:59Z", "just now"),
            ("2026-05-04T07:59:30Z", "just now"),
            ("2026-05-04T08:05:00Z", "5 min ago"),
            ("2026-05-04T11:10:00Z", "3 h ago"),
            ("2026-05-06T08:00:01Z", "2 d ago"),
            ("2027-05-06T08:00:01Z", "2026-05-04"),
            ("2026-05-03T08:00:00Z", "2026-05-04"),
        ] {
            assert_eq!(ago(at, now.parse().unwrap()), told);
        }
    }
}
