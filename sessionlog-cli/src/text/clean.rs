//! What a session holds was written by others: it must not steer the terminal that shows it.

/// Text of several lines with every character that steers a terminal made visible.
///
/// Line breaks and tabs stay. Other control characters become their pictures (`␛` for escape), and
/// those that reorder text become `<U+202E>`.
pub(crate) fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            c => visible(c, &mut out),
        }
    }
    out
}

/// The same on one line: line breaks and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c => visible(c, &mut out),
        }
    }
    out
}

fn visible(c: char, out: &mut String) {
    match c {
        '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + u32::from(c))),
        '\x7f' => out.push('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{061c}' => out.push_str(&format!("<U+{:04X}>", u32::from(c))),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        let evil = "a\x1b[31mred\x1b]0;title\x07\u{9b}2J\r\nnext\ttab\rover\u{202e}txt\x7f\0";
        assert_eq!(
            block(evil),
            "a␛[31mred␛]0;title␇<U+009B>2J\nnext\ttab␍over<U+202E>txt␡␀"
        );
        assert_eq!(line("a\r\nb\tc\x1b"), "a  b c␛");
        assert_eq!(line("ä 漢 é 👩‍💻"), "ä 漢 é 👩‍💻");
    }
}
