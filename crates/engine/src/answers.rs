//! What an ffmpeg says of itself: its version, encoders and filters.
//!
//! The answers depend on the program file alone, so they may be stored between processes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Between the parts of a stored file. ffmpeg prints no form feed.
const SEPARATOR: char = '\x0c';

/// The output of `ffmpeg -version`, `-encoders` and `-filters`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) version: String,
    pub(crate) encoders: String,
    pub(crate) filters: String,
}

impl Answers {
    /// The answers stored in `file` for the program as it is now. `None` when the program has changed since,
    /// or the file is missing or damaged: then ask.
    pub(crate) fn load(file: &Path, program: &Path) -> Option<Self> {
        let stored = fs::read_to_string(file).ok()?;
        let parts: [&str; 4] = stored.split(SEPARATOR).collect::<Vec<_>>().try_into().ok()?;
        let [of, version, encoders, filters] = parts.map(str::to_owned);
        (of == identity(program).ok()?).then_some(Self { version, encoders, filters })
    }

    /// Stores the answers. Processes may do so at once: each file is complete before it gets its name.
    pub(crate) fn store(&self, file: &Path, program: &Path) -> io::Result<()> {
        let Self { version, encoders, filters } = self;
        let parts = [identity(program)?.as_str(), version, encoders, filters].join(&SEPARATOR.to_string());
        let unfinished = file.with_extension(std::process::id().to_string());
        fs::write(&unfinished, parts)?;
        fs::rename(&unfinished, file)
    }
}

/// Path, size and time of the last change: another ffmpeg differs in one of them.
fn identity(program: &Path) -> io::Result<String> {
    let file = program.metadata()?;
    let changed = file.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(format!("{} {} {changed}", program.display(), file.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_hold_for_the_same_program_file_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, file) = (folder.path().join("ffmpeg"), folder.path().join("answers"));
        fs::write(&program, "one").expect("written");
        let answers = Answers { version: "5.1".into(), encoders: "png".into(), filters: "scale".into() };

        assert_eq!(Answers::load(&file, &program), None, "nothing is stored yet");
        answers.store(&file, &program).expect("stored");
        assert_eq!(Answers::load(&file, &program), Some(answers));

        fs::write(&program, "another").expect("written");
        assert_eq!(Answers::load(&file, &program), None, "the program has changed");
        fs::write(&file, "damaged").expect("written");
        assert_eq!(Answers::load(&file, &program), None, "the file is damaged");
    }
}
