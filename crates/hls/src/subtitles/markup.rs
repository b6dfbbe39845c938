//! The markup of SRT files as that of WebVTT.
//!
//! No standard has it: players know bold, italic and underlined text as HTML has them, colours and faces of
//! fonts, and commands of SubStation Alpha in braces. WebVTT has the first three.

/// Bytes of the longest tag or command that is looked for; whatever is longer is text.
const TAG_LEN_MAX: usize = 256;

/// One line with WebVTT's tags and escapes.
pub(super) fn of_srt(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '<' => tag(rest, &mut out),
            '{' => command(rest),
            '&' => entity(rest, &mut out),
            _ => None,
        };
        let taken = taken.unwrap_or_else(|| {
            match letter {
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                letter => out.push(letter),
            }
            letter.len_utf8()
        });
        rest = &rest[taken..];
    }
    out
}

/// Up to and with `end`, if it comes soon.
fn until(text: &str, end: u8) -> Option<&str> {
    let at = text.bytes().take(TAG_LEN_MAX).position(|byte| byte == end)?;
    Some(&text[..=at])
}

/// A tag that is kept, or one that WebVTT does not have and nobody wants to read. Answers how long it is.
fn tag(text: &str, out: &mut String) -> Option<usize> {
    let whole = until(text, b'>')?;
    // The name stands right behind: `a < b > c` has no tag.
    let inner = &whole[1..whole.len() - 1];
    let (slash, name) = inner.strip_prefix('/').map_or(("", inner), |name| ("/", name));
    let name = name.split(|letter: char| letter.is_whitespace() || letter == '=').next().unwrap_or("");
    match name.to_ascii_lowercase().as_str() {
        kept @ ("b" | "i" | "u") => {
            out.push('<');
            out.push_str(slash);
            out.push_str(kept);
            out.push('>');
        }
        "font" | "s" | "strike" | "br" | "span" | "c" => {}
        _ => return None,
    }
    Some(whole.len())
}

/// A command of SubStation Alpha, `{\i1}`, which is left out. Those that align were taken before.
fn command(text: &str) -> Option<usize> {
    text.starts_with("{\\").then(|| until(text, b'}').map(str::len))?
}

/// An escape that WebVTT knows.
fn entity(text: &str, out: &mut String) -> Option<usize> {
    const KNOWN: [&str; 6] = ["&amp;", "&lt;", "&gt;", "&nbsp;", "&lrm;", "&rlm;"];
    let known = KNOWN.into_iter().find(|known| text.starts_with(known))?;
    out.push_str(known);
    Some(known.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_webvtt_knows_is_kept_and_the_rest_is_text() {
        let check = |line, expected| assert_eq!(of_srt(line), expected, "{line}");
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
        assert_eq!(of_srt(&long), long.replace('<', "&lt;").replace('>', "&gt;"));
    }
}
