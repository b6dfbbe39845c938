//! Converts the markup of SRT files to that of WebVTT.
//!
//! No standard has it: players support bold, italic and underlined text as in HTML, colours and font faces,
//! and commands of SubStation Alpha in braces. WebVTT has the first three.

/// Bytes of the longest tag or command that is parsed; longer ones are text.
const TAG_LEN_MAX: usize = 256;

/// One line with WebVTT's tags and escapes.
pub(super) fn srt_to_webvtt(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let consumed = match letter {
            '<' => tag(rest, &mut out),
            '{' => command(rest),
            '&' => entity(rest, &mut out),
            _ => None,
        };
        let consumed_len = consumed.unwrap_or_else(|| {
            match letter {
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                letter => out.push(letter),
            }
            letter.len_utf8()
        });
        rest = &rest[consumed_len..];
    }
    out
}

/// The text up to and including `end`, if it is near.
fn text_through(text: &str, end: u8) -> Option<&str> {
    let at = text.bytes().take(TAG_LEN_MAX).position(|byte| byte == end)?;
    Some(&text[..=at])
}

/// Parses a tag that is copied, or one that WebVTT does not have and that is dropped. Returns its length.
fn tag(text: &str, out: &mut String) -> Option<usize> {
    let tag_text = text_through(text, b'>')?;
    // The name follows at once: `a < b > c` has no tag.
    let inner = &tag_text[1..tag_text.len() - 1];
    let (slash, name) = inner.strip_prefix('/').map_or(("", inner), |name| ("/", name));
    let name = name.split(|letter: char| letter.is_whitespace() || letter == '=').next().unwrap_or("");
    match name.to_ascii_lowercase().as_str() {
        copied @ ("b" | "i" | "u") => {
            out.push('<');
            out.push_str(slash);
            out.push_str(copied);
            out.push('>');
        }
        "font" | "s" | "strike" | "br" | "span" | "c" => {}
        _ => return None,
    }
    Some(tag_text.len())
}

/// A command of SubStation Alpha, `{\i1}`, which is left out. Alignment commands were removed before.
fn command(text: &str) -> Option<usize> {
    text.starts_with("{\\").then(|| text_through(text, b'}').map(str::len))?
}

/// An escape that WebVTT has.
fn entity(text: &str, out: &mut String) -> Option<usize> {
    const KNOWN: [&str; 6] = ["&amp;", "&lt;", "&gt;", "&nbsp;", "&lrm;", "&rlm;"];
    let escape = KNOWN.into_iter().find(|known| text.starts_with(known))?;
    out.push_str(escape);
    Some(escape.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srt_tags_unknown_to_webvtt_become_text() {
        let check = |line, expected| assert_eq!(srt_to_webvtt(line), expected, "{line}");
        check("plain “text” – ü", "plain “text” – ü");
        check("<i>a</i> <B>b</b > <u >c</u>", "<i>a</i> <b>b</b> <u>c</u>");
        check("< b>b</ b>", "&lt; b&gt;b&lt;/ b&gt;");
        check("<font color=\"#ff0000\">red</font>", "red");
        check("{\\an8}above {not a command} {\\i1}x{\\i0}", "above {not a command} x");
        check("a < b > c & d", "a &lt; b &gt; c &amp; d");
        check("R&B &amp; &lt;x&gt; &copy;", "R&amp;B &amp; &lt;x&gt; &amp;copy;");
        check("a --> b", "a --&gt; b");
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("<b", "&lt;b");
        check("{\\never closed", "{\\never closed");
        let long = format!("<b {}>", "x".repeat(TAG_LEN_MAX));
        assert_eq!(srt_to_webvtt(&long), long.replace('<', "&lt;").replace('>', "&gt;"));
    }
}
