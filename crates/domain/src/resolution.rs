//! Resolution names (C-32).

/// The name of a rung: the p-number of a video size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    /// 240p: only sources are that small; not a valid `maxResolution`.
    P240,
    /// 360p
    P360,
    /// 480p
    P480,
    /// 720p
    P720,
    /// 1080p
    P1080,
    /// 1440p
    P1440,
    /// 2160p
    P2160,
    /// 4320p: larger than every `maxResolution`.
    P4320,
}

impl Resolution {
    /// All names, smallest first.
    pub const ALL: [Self; 8] =
        [Self::P240, Self::P360, Self::P480, Self::P720, Self::P1080, Self::P1440, Self::P2160, Self::P4320];

    /// The valid values of `maxResolution`: the published ones and 360p, which one published client adds
    /// (C-124).
    pub const CAPS: [Self; 6] = [Self::P360, Self::P480, Self::P720, Self::P1080, Self::P1440, Self::P2160];

    /// The p-number.
    pub fn lines(self) -> u32 {
        match self {
            Self::P240 => 240,
            Self::P360 => 360,
            Self::P480 => 480,
            Self::P720 => 720,
            Self::P1080 => 1080,
            Self::P1440 => 1440,
            Self::P2160 => 2160,
            Self::P4320 => 4320,
        }
    }

    /// The name in responses and rows, `1080p`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::P240 => "240p",
            Self::P360 => "360p",
            Self::P480 => "480p",
            Self::P720 => "720p",
            Self::P1080 => "1080p",
            Self::P1440 => "1440p",
            Self::P2160 => "2160p",
            Self::P4320 => "4320p",
        }
    }

    /// The name with this text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resolution| resolution.as_str() == text)
    }

    /// The name of a display size: max(shorter side, longer side × 9/16), rounded up to the next name with 2
    /// % tolerance.
    ///
    /// Sizes are pixels after rotation and pixel aspect ratio. A size above every name gets the largest
    /// name.
    pub fn of_size(width: u32, height: u32) -> Self {
        let (long, short) = (u64::from(width.max(height)), u64::from(width.min(height)));
        // Sixteenths keep the factor 9/16 exact.
        let sixteenths = (short * 16).max(long * 9);
        Self::ALL
            .into_iter()
            .find(|name| sixteenths * 100 <= u64::from(name.lines()) * 16 * 102)
            .unwrap_or(Self::P4320)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolution_name_ignores_orientation() {
        let check = |width, height, name: &str| assert_eq!(Resolution::of_size(width, height).as_str(), name);
        check(854, 480, "480p");
        check(1920, 800, "1080p");
        check(1080, 1920, "1080p");
        check(1920, 1088, "1080p");
        check(1280, 720, "720p");
        check(640, 360, "360p");
        check(160, 90, "240p");
        check(3840, 2160, "2160p");
        check(4096, 2160, "4320p");
        check(734, 480, "480p");
        check(735, 490, "720p");
        check(8192, 8192, "4320p");
    }

    #[test]
    fn names_round_trip() {
        for name in Resolution::ALL {
            assert_eq!(Resolution::from_text(name.as_str()), Some(name));
        }
        assert_eq!(Resolution::from_text("1080"), None);
    }
}
