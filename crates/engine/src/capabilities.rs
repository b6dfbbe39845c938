//! Version, encoders, filters and decoders of an ffmpeg, as it prints them.
//!
//! Processes can share a cache file. It is for tests: it is invalidated when the program file changes, but
//! not when a library of the program does.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Separates the parts of a cache file. ffmpeg prints no form feed.
const SEPARATOR: char = '\x0c';

/// The output of `ffmpeg -version`, `-encoders`, `-filters` and `-decoders`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) version: String,
    pub(crate) encoders: String,
    pub(crate) filters: String,
    pub(crate) decoders: String,
}

impl Capabilities {
    /// Reads the cache file of this program. `None` when it is missing, damaged, or of another program file.
    pub(crate) fn load(file: &Path, program: &Path) -> Option<Self> {
        let stored = fs::read_to_string(file).ok()?;
        let parts: [&str; 5] = stored.split(SEPARATOR).collect::<Vec<_>>().try_into().ok()?;
        let [stored_identity, version, encoders, filters, decoders] = parts.map(str::to_owned);
        (stored_identity == identity(program).ok()?).then_some(Self { version, encoders, filters, decoders })
    }

    /// Writes the cache file. Concurrent processes may do so: each renames a complete file of its own.
    pub(crate) fn store(&self, file: &Path, program: &Path) -> io::Result<()> {
        let Self { version, encoders, filters, decoders } = self;
        let parts =
            [identity(program)?.as_str(), version, encoders, filters, decoders].join(&SEPARATOR.to_string());
        let thread = std::thread::current().id();
        let temporary = file.with_extension(format!("{}-{thread:?}", std::process::id()));
        fs::write(&temporary, parts)?;
        fs::rename(&temporary, file)
    }
}

/// Path, size and modification time: another ffmpeg differs in one of them.
fn identity(program: &Path) -> io::Result<String> {
    let file = program.metadata()?;
    let changed = file.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(format!("{} {} {changed}", program.display(), file.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_is_valid_for_one_program_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, file) = (folder.path().join("ffmpeg"), folder.path().join("capabilities"));
        fs::write(&program, "one").expect("written");
        let capabilities = Capabilities {
            version: "5.1".into(),
            encoders: "png".into(),
            filters: "scale".into(),
            decoders: "h264".into(),
        };

        assert_eq!(Capabilities::load(&file, &program), None, "nothing is stored yet");
        capabilities.store(&file, &program).expect("stored");
        assert_eq!(Capabilities::load(&file, &program), Some(capabilities));

        fs::write(&program, "another").expect("written");
        assert_eq!(Capabilities::load(&file, &program), None, "the program has changed");
        fs::write(&file, "damaged").expect("written");
        assert_eq!(Capabilities::load(&file, &program), None, "the file is damaged");
    }
}
