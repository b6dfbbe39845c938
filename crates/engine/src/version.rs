//! The version of ffmpeg.

use std::fmt;

/// The oldest supported libavutil: the one of ffmpeg 5.1, Debian 12's.
///
/// The library's number decides because builds from git (`N-110072-g...`) and of distributions (`n6.0`)
/// spell their own version freely, while this one is always two numbers that only grow.
const LIBAVUTIL_MIN: (u32, u32) = (57, 28);

/// Longest version string that is stored, for display.
const NAME_CHARS_MAX: usize = 64;

/// The version output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    name: String,
    libavutil: (u32, u32),
}

impl Version {
    /// Parses the output of `ffmpeg -version`. `None` if it is not ffmpeg's.
    pub(crate) fn parse(output: &str) -> Option<Self> {
        let name = output.lines().next()?.strip_prefix("ffmpeg version ")?.split_whitespace().next()?;
        let name = name.chars().filter(|c| c.is_ascii_graphic()).take(NAME_CHARS_MAX).collect();
        // "libavutil      57. 28.100 / 57. 28.100": built against / running with. The second one decides.
        let line = output.lines().find_map(|line| line.strip_prefix("libavutil"))?;
        let mut numbers = line.split_once('/')?.1.split('.').map(|number| number.trim().parse::<u32>());
        let libavutil = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some(Self { name, libavutil })
    }

    /// Whether this version is supported (5.1 or newer).
    pub(crate) fn is_supported(&self) -> bool {
        LIBAVUTIL_MIN <= self.libavutil
    }
}

/// The version as ffmpeg spells it, such as `5.1.9-0+deb12u1`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Names of the encoders in the output of `ffmpeg -encoders`.
pub(crate) fn parse_encoders(output: &str) -> impl Iterator<Item = &str> {
    // " V..... libx264              H.264 / AVC ...", below a legend that ends in " ------".
    output
        .lines()
        .skip_while(|line| line.trim() != "------")
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(1))
}

/// Flags and names of the decoders in the output of `ffmpeg -decoders`, which looks like that of `-encoders`.
pub(crate) fn parse_decoders(output: &str) -> impl Iterator<Item = (&str, &str)> {
    let listed = output.lines().skip_while(|line| line.trim() != "------").skip(1);
    listed.filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((fields.next()?, fields.next()?))
    })
}

/// Names of the filters in the output of `ffmpeg -filters`.
pub(crate) fn parse_filters(output: &str) -> impl Iterator<Item = &str> {
    // " TSC scale             V->V       Scale the input video size ...", below a legend of lines such as
    // "  T.. = Timeline".
    let fields = output.lines().map(|line| line.split_whitespace());
    fields.filter_map(|mut fields| {
        let name = fields.nth(1)?;
        fields.next()?.contains("->").then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: Option<(&str, bool)>) {
        let found = Version::parse(output).map(|version| (version.to_string(), version.is_supported()));
        assert_eq!(found, expected.map(|(name, enough)| (name.to_owned(), enough)), "{output}");
    }

    #[test]
    fn version_is_parsed_from_release_distribution_and_git_builds() {
        check(
            "ffmpeg version 5.1.9-0+deb12u1 Copyright (c) 2000-2026 the FFmpeg developers\nbuilt with gcc\n\
             libavutil      57. 28.100 / 57. 28.100\nlibavcodec     59. 37.100 / 59. 37.100\n",
            Some(("5.1.9-0+deb12u1", true)),
        );
        check(
            "ffmpeg version n7.1 Copyright\nlibavutil      59. 39.100 / 59. 39.100\n",
            Some(("n7.1", true)),
        );
        check(
            "ffmpeg version N-110072-g073ec3b9da\nlibavutil 58. 3.100 / 58. 3.100\n",
            Some(("N-110072-g073ec3b9da", true)),
        );
        check("ffmpeg version 5.0.1\nlibavutil      57. 17.100 / 57. 17.100\n", Some(("5.0.1", false)));
        check("ffmpeg version 4.4.2\nlibavutil      56. 70.100 / 56. 70.100\n", Some(("4.4.2", false)));
        // The library it runs with decides, not the one it was built against.
        check("ffmpeg version 5.1\nlibavutil      57. 28.100 / 57. 17.100\n", Some(("5.1", false)));
    }

    #[test]
    fn output_of_other_programs_has_no_version() {
        check("", None);
        check("ffprobe version 5.1 Copyright\nlibavutil 57. 28.100 / 57. 28.100\n", None);
        check("ffmpeg version 5.1\n", None);
        check("ffmpeg version 5.1\nlibavutil 57\n", None);
        check("ffmpeg version 5.1\nlibavutil 57. 28.100 / x. 28.100\n", None);
        check("ffmpeg version \nlibavutil 57. 28.100 / 57. 28.100\n", None);
    }

    #[test]
    fn encoders_are_listed_below_the_legend() {
        let output = "Encoders:\n V..... = Video\n A..... = Audio\n ------\n V....D libx264   H.264\n A....D aac  AAC\n\n";
        assert_eq!(parse_encoders(output).collect::<Vec<_>>(), ["libx264", "aac"]);
        assert_eq!(parse_encoders("no such list").count(), 0);
    }

    #[test]
    fn decoders_are_listed_with_their_flags() {
        let output = "Decoders:\n V..... = Video\n ------\n VFS..D h264   H.264\n A..X.D sonic  Sonic\n\n";
        assert_eq!(parse_decoders(output).collect::<Vec<_>>(), [("VFS..D", "h264"), ("A..X.D", "sonic")]);
    }

    #[test]
    fn filter_list_is_parsed_without_its_legend() {
        let output = "Filters:\n  T.. = Timeline support\n  | = Source or sink filter\n ... acopy             A->A       Copy\n \
                      .SC zscale            V->V       Apply\n ..C amix              N->A       Mix\n";
        assert_eq!(parse_filters(output).collect::<Vec<_>>(), ["acopy", "zscale", "amix"]);
        assert_eq!(parse_filters("no such list").count(), 0);
    }
}
