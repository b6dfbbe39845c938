//! What a person chooses for themselves in the dashboard.

/// The settings of a person. They change nothing for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonSettings {
    /// Light or dark.
    pub theme: Theme,
    /// The time zone of times.
    pub times: TimeZoneChoice,
    /// The view of the library.
    pub library: LibraryView,
    /// Whether keyboard shortcuts of single letters work.
    pub keys: bool,
}

impl Default for PersonSettings {
    fn default() -> Self {
        Self { theme: Theme::System, times: TimeZoneChoice::Local, library: LibraryView::Grid, keys: true }
    }
}

/// Settings to change; the others stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// Light or dark.
    pub theme: Option<Theme>,
    /// The time zone of times.
    pub times: Option<TimeZoneChoice>,
    /// The view of the library.
    pub library: Option<LibraryView>,
    /// Whether keyboard shortcuts of single letters work.
    pub keys: Option<bool>,
}

impl SettingsChange {
    /// These settings with the changes.
    #[must_use]
    pub fn apply(self, settings: PersonSettings) -> PersonSettings {
        PersonSettings {
            theme: self.theme.unwrap_or(settings.theme),
            times: self.times.unwrap_or(settings.times),
            library: self.library.unwrap_or(settings.library),
            keys: self.keys.unwrap_or(settings.keys),
        }
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),*
        }

        impl $name {
            /// All names, in JSON and in rows.
            pub const NAMES: &[&str] = &[$($text),*];

            /// The name in JSON and in rows.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// The choice with this name.
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

choice!(/// The colours of the dashboard.
Theme {
    /// As the system of the browser.
    System = "system",
    /// Dark text on light.
    Light = "light",
    /// Light text on dark.
    Dark = "dark",
});
choice!(/// The time zone in which times are shown.
TimeZoneChoice {
    /// That of the browser.
    Local = "local",
    /// UTC.
    Utc = "utc",
});
choice!(/// How the library shows media.
LibraryView {
    /// As a grid of thumbnails.
    Grid = "grid",
    /// As rows of a table.
    List = "list",
});
