//! Figures as people read them.

/// A number in at most four or five characters: `950`, `12.3k`, `4.1M`.
pub(crate) fn count(n: u64) -> String {
    scaled(n, 1000, &["", "k", "M", "G", "T"], "")
}

/// A number of bytes: `950 B`, `12.3 KiB`.
pub(crate) fn bytes(n: u64) -> String {
    scaled(n, 1024, &["B", "KiB", "MiB", "GiB", "TiB"], " ")
}

fn scaled(n: u64, step: u64, units: &[&str], gap: &str) -> String {
    let mut unit = 0;
    let mut size = 1_u64;
    while unit + 1 < units.len() && n / size >= step {
        size = size.saturating_mul(step);
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    let tenths = (n % size).saturating_mul(10) / size;
    if unit == 0 {
        format!("{n}{gap}{name}")
    } else {
        format!("{}.{tenths}{gap}{name}", n / size)
    }
}

/// A recorded cost, or `n/a`: none is ever invented.
pub(crate) fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(|| "n/a".to_owned(), |cost| format!("${cost:.4}"))
}

/// `1 event`, `2 events`.
pub(crate) fn plural(n: u64, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(count(999), "999");
        assert_eq!(count(12_345), "12.3k");
        assert_eq!(count(u64::MAX), "18446744.0T");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(7), "7 B");
        assert_eq!(dollars(None), "n/a");
        assert_eq!(plural(1, "event"), "1 event");
        assert_eq!(plural(0, "event"), "0 events");
    }
}
