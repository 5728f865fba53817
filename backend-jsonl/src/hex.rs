//! Hexadecimal digits, read without a branch: checksums and ids are noise to a branch predictor.

use sessionlog_core::{EventId, Sum};

/// The value of a lower-case digit; 0xff for anything else.
const VALUES: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut rest: &[u8] = b"0123456789abcdef";
    let mut value = 0;
    while let [digit, behind @ ..] = rest {
        #[expect(clippy::indexing_slicing, reason = "a byte is within 256")]
        {
            table[*digit as usize] = value;
        }
        value += 1;
        rest = behind;
    }
    table
};

/// The number that some digits are, at most 16 of them.
fn number(digits: &[u8]) -> Option<u64> {
    let (number, seen) = digits.iter().fold((0, 0), |(number, seen), digit| {
        let value = VALUES.get(usize::from(*digit)).copied().unwrap_or(0xff);
        (number << 4 | u64::from(value & 0x0f), seen | value)
    });
    (seen < 0x10).then_some(number)
}

/// As [`Sum::from_text`].
pub(crate) fn sum(text: &[u8]) -> Option<Sum> {
    let text: &[u8; Sum::TEXT_LEN] = text.try_into().ok()?;
    number(text).map(Sum::from_u64)
}

/// As [`EventId::from_text`].
pub(crate) fn id(text: &[u8]) -> Option<EventId> {
    let text: &[u8; EventId::TEXT_LEN] = text.try_into().ok()?;
    let (a, rest) = text.split_at_checked(8)?;
    let (b, rest) = rest.strip_prefix(b"-")?.split_at_checked(4)?;
    let (c, rest) = rest.strip_prefix(b"-")?.split_at_checked(4)?;
    let (d, rest) = rest.strip_prefix(b"-")?.split_at_checked(4)?;
    let e = rest.strip_prefix(b"-")?;
    let high = number(a)? << 32 | number(b)? << 16 | number(c)?;
    let low = number(d)? << 48 | number(e)?;
    let id = u128::from(high) << 64 | u128::from(low);
    Some(EventId::from_bytes(id.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_core(bytes: [u8; 16], n: u64, at in 0_usize..36, byte: u8) {
            let mut text = EventId::from_bytes(bytes).to_text();
            prop_assert_eq!(id(&text), Some(EventId::from_bytes(bytes)));
            text[at] = byte;
            prop_assert_eq!(id(&text), EventId::from_text(&text));
            let mut text = Sum::from_u64(n).to_text();
            prop_assert_eq!(sum(&text), Some(Sum::from_u64(n)));
            text[at % 16] = byte;
            prop_assert_eq!(sum(&text), Sum::from_text(&text));
        }
    }
}
