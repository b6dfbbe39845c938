//! Times of cues in files.

use std::fmt::Write as _;

/// Digits of the longest number of hours: more than a year.
const HOUR_DIGITS_MAX: usize = 4;

/// The separator of the two times of a cue: nowhere else in a WebVTT file, and seldom elsewhere in SRT.
pub(super) const ARROW: &str = "-->";

/// Parses the timing line of a cue: start, end, and the text after the times. `None` without valid times,
/// and if a cue would end before it begins.
///
/// Hours may be missing, and so may fractions; both decimal signs are accepted in both kinds of files.
pub(super) fn read_timing(line: &str) -> Option<(u64, u64, &str)> {
    let (start, rest) = line.split_once(ARROW)?;
    let rest = rest.trim_start();
    let (end, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (start, end) = (read_time(start.trim())?, read_time(end)?);
    (start < end).then_some((start, end, rest.trim()))
}

/// `01:02:03.004` in milliseconds.
pub(super) fn read_time(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let mut parts = whole.rsplit(':');
    let (seconds, minutes) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let hours = parts.next().map_or(Some(0), |hours| number(hours, HOUR_DIGITS_MAX))?;
    if parts.next().is_some() || seconds > 59 || minutes > 59 {
        return None;
    }
    let digits = fraction.len();
    let fraction = number(fraction, 3)?;
    let milliseconds = match digits {
        1 => fraction * 100,
        2 => fraction * 10,
        _ => fraction,
    };
    Some(((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds)
}

/// Parses a number of at most this many digits, and nothing else.
fn number(text: &str, digits_max: usize) -> Option<u64> {
    let is_number = (1..=digits_max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Appends a time in WebVTT format.
pub(super) fn write(text: &mut String, ms: u64) {
    let (seconds, ms) = (ms / 1000, ms % 1000);
    // Writing to a String cannot fail.
    let _ = write!(text, "{:02}:{:02}:{:02}.{ms:03}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_both_formats_write_them() {
        let check = |line, expected| assert_eq!(read_timing(line), expected, "{line}");
        check("00:00:01,000 --> 00:00:02,500", Some((1000, 2500, "")));
        check("00:01.000 --> 01:00:02.500 line:0 align:left", Some((1000, 3_602_500, "line:0 align:left")));
        check("  0:00:01.5-->0:00:02,25\tX1:1  ", Some((1500, 2250, "X1:1")));
        check("00:00:01 --> 00:00:02", Some((1000, 2000, "")));
        check("9999:59:59.999 --> 9999:59:59.999", None);
        check("100:00:00.000 --> 9999:59:59.999", Some((360_000_000, 35_999_999_999, "")));
    }

    #[test]
    fn invalid_time_is_none() {
        for line in [
            "",
            "-->",
            "00:00:01,000",
            "00:00:01,000 -- 00:00:02,000",
            "00:00:02,000 --> 00:00:01,000",
            "00:00:01,000 --> 00:00:01,000",
            "00:00:60,000 --> 00:02:00,000",
            "00:60:00,000 --> 02:00:00,000",
            "1 --> 2",
            "a:00:01,000 --> 00:00:02,000",
            "00:00:01,0000 --> 00:00:02,000",
            "00:00:01, --> 00:00:02,000",
            "+1:00:01,000 --> 02:00:02,000",
            "10000:00:00.000 --> 10000:00:01.000",
            "0:0:0:1.000 --> 0:0:0:2.000",
        ] {
            assert_eq!(read_timing(line), None, "{line}");
        }
    }

    #[test]
    fn cue_time_always_has_hours() {
        let written = |ms| {
            let mut text = String::new();
            write(&mut text, ms);
            text
        };
        assert_eq!(written(0), "00:00:00.000");
        assert_eq!(written(3_723_004), "01:02:03.004");
        assert_eq!(written(35_999_999_999), "9999:59:59.999");
    }
}
