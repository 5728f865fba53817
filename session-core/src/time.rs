//! The time of an event: data, never an order.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted, in the years 0 to 9999.
///
/// Written as RFC 3339 in UTC with six digits of fraction: `2026-05-04T08:00:00.100000Z`, always
/// 27 characters. The clock says when something happened; the order of a log is its positions
/// and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// The epoch.
    pub const EPOCH: Self = Self(0);
    /// 0000-01-01T00:00:00.000000Z.
    pub const MIN: Self = Self(-62_167_219_200_000_000);
    /// 9999-12-31T23:59:59.999999Z.
    pub const MAX: Self = Self(253_402_300_799_999_999);
    /// The length of the text form.
    pub const TEXT_LEN: usize = 27;

    /// The clock of this machine, now.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// A time from microseconds since the epoch; `None` outside the years 0 to 9999.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < Self::MIN.0 || micros > Self::MAX.0 {
            None
        } else {
            Some(Self(micros))
        }
    }

    /// A time from milliseconds since the epoch; `None` outside the years 0 to 9999.
    pub const fn from_millis(millis: i64) -> Option<Self> {
        match millis.checked_mul(1000) {
            Some(micros) => Self::from_micros(micros),
            None => None,
        }
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The text form, without an allocation.
    pub fn to_text(self) -> [u8; Self::TEXT_LEN] {
        let mut out = *b"0000-00-00T00:00:00.000000Z";
        let (year, month, day) = civil(self.0.div_euclid(86_400_000_000));
        let mut rest = self.0.rem_euclid(86_400_000_000).unsigned_abs();
        let micros = rest % 1_000_000;
        rest /= 1_000_000;
        for (at, width, value) in [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, rest / 3600),
            (14, 2, rest / 60 % 60),
            (17, 2, rest % 60),
            (20, 6, micros),
        ] {
            digits(out.get_mut(at..at + width).unwrap_or_default(), value);
        }
        out
    }

    /// Reads the text form and nothing else: each time has exactly one. `None` for any other text.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let text: &[u8; Self::TEXT_LEN] = text.try_into().ok()?;
        let fixed = [
            (4, b'-'),
            (7, b'-'),
            (10, b'T'),
            (13, b':'),
            (16, b':'),
            (19, b'.'),
            (26, b'Z'),
        ];
        if fixed.iter().any(|(at, byte)| text.get(*at) != Some(byte)) {
            return None;
        }
        let field = |at: usize, width: usize| number(text.get(at..at + width)?);
        let (year, month, day) = (field(0, 4)?, field(5, 2)?, field(8, 2)?);
        let (hour, minute, second) = (field(11, 2)?, field(14, 2)?, field(17, 2)?);
        let micros = field(20, 6)?;
        if !(1..=12).contains(&month)
            || !(1..=days_in(year, month)).contains(&day)
            || hour > 23
            || minute > 59
            || second > 59
        {
            return None;
        }
        let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        Some(Self(seconds * 1_000_000 + micros))
    }
}

fn digits(out: &mut [u8], mut value: u64) {
    for slot in out.iter_mut().rev() {
        *slot = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
    }
}

fn number(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0_i64, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0'))
    })
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since the epoch, by Hinnant's `days_from_civil`: `jiff` does the same behind checks that
/// cost more than the rest of an envelope.
/// <https://howardhinnant.github.io/date_algorithms.html>
fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days`], Hinnant's `civil_from_days`.
fn civil(days: i64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (
        year.unsigned_abs(),
        month.unsigned_abs(),
        day.unsigned_abs(),
    )
}

impl From<SystemTime> for Timestamp {
    /// Rounded down to a microsecond, and kept within the years 0 to 9999.
    fn from(time: SystemTime) -> Self {
        let micros = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_nanos().div_ceil(1000)).map_or(i64::MIN, |n| -n)
            }
        };
        Self(micros.clamp(Self::MIN.0, Self::MAX.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.to_text()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// Any RFC 3339 time, with any offset; digits behind the microsecond are cut.
    fn from_str(text: &str) -> Result<Self> {
        if let Some(time) = Self::from_text(text.as_bytes()) {
            return Ok(time);
        }
        let time: jiff::Timestamp = text.parse().map_err(|e| {
            Error::invalid(format!("not an RFC 3339 time: {text:?}")).with_source(e)
        })?;
        let micros = i64::try_from(time.as_nanosecond().div_euclid(1000)).ok();
        micros
            .and_then(Self::from_micros)
            .ok_or_else(|| Error::invalid(format!("outside the years 0 to 9999: {text:?}")))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_jiff_on_known_times() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2000-02-29T23:59:59.5Z",
            "2026-05-04T10:00:00+02:00",
        ] {
            let ours: Timestamp = text.parse().unwrap();
            let theirs: jiff::Timestamp = text.parse().unwrap();
            assert_eq!(ours.as_micros(), theirs.as_microsecond(), "{text}");
        }
        assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999999Z");
        for bad in [
            "2026-02-29T00:00:00.000000Z",
            "2026-13-01T00:00:00.000000Z",
            "",
            "yesterday",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(micros in Timestamp::MIN.0..=Timestamp::MAX.0) {
            let time = Timestamp::from_micros(micros).unwrap();
            prop_assert_eq!(Timestamp::from_text(&time.to_text()), Some(time));
            prop_assert_eq!(jiff::Timestamp::from_microsecond(micros).unwrap().as_microsecond(),
                time.to_string().parse::<jiff::Timestamp>().unwrap().as_microsecond());
        }
    }
}
