//! Hexadecimal digits, read without a branch: checksums and ids are noise to a branch predictor.

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

/// The number that some digits are, lower case, at most 16 of them.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    let (number, seen) = digits.iter().fold((0, 0), |(number, seen), digit| {
        let value = VALUES.get(usize::from(*digit)).copied().unwrap_or(0xff);
        (number << 4 | u64::from(value & 0x0f), seen | value)
    });
    (seen < 0x10).then_some(number)
}

/// The 16 bytes of a UUID in its lower-case form with dashes.
pub(crate) fn uuid(text: &[u8; 36]) -> Option<[u8; 16]> {
    let (a, rest) = text.split_at_checked(8)?;
    let (b, rest) = rest.strip_prefix(b"-")?.split_at_checked(4)?;
    let (c, rest) = rest.strip_prefix(b"-")?.split_at_checked(4)?;
    let (d, rest) = rest.strip_prefix(b"-")?.split_at_checked(4)?;
    let e = rest.strip_prefix(b"-")?;
    let high = number(a)? << 32 | number(b)? << 16 | number(c)?;
    let low = number(d)? << 48 | number(e)?;
    Some((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_libraries(bytes: [u8; 16], n: u64, at in 0_usize..36, byte: u8) {
            let mut text: [u8; 36] =
                uuid::Uuid::from_bytes(bytes).to_string().into_bytes().try_into().unwrap();
            prop_assert_eq!(super::uuid(&text), Some(bytes));
            text[at] = byte;
            let theirs = std::str::from_utf8(&text).ok()
                .filter(|t| !t.bytes().any(|b| b.is_ascii_uppercase()))
                .and_then(|t| t.parse::<uuid::Uuid>().ok());
            prop_assert_eq!(super::uuid(&text), theirs.map(uuid::Uuid::into_bytes));
            let mut text = format!("{n:016x}").into_bytes();
            prop_assert_eq!(number(&text), Some(n));
            text[at % 16] = byte;
            let theirs = std::str::from_utf8(&text).ok()
                .filter(|t| t.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
                .and_then(|t| u64::from_str_radix(t, 16).ok());
            prop_assert_eq!(number(&text), theirs);
        }
    }
}
