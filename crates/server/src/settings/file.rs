//! The configuration file.

use std::path::{Path, PathBuf};

use super::SettingsArgs;
use crate::command::CommandError;

/// The file that is read by default, if it exists.
const FILE: &str = "kinora.toml";
/// A configuration file has some lines.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The settings of the file, and its path.
pub(super) fn read_file(named: Option<&Path>) -> Result<(SettingsArgs, Option<PathBuf>), CommandError> {
    let path = named.unwrap_or(Path::new(FILE));
    if named.is_none() && !path.exists() {
        return Ok((SettingsArgs::default(), None));
    }
    let shown = path.display();
    let size = std::fs::metadata(path)
        .map_err(|error| CommandError::with_cause(format!("cannot read {shown}"), error))?;
    if size.len() > FILE_BYTES_MAX {
        return Err(CommandError::new(format!(
            "{shown} is larger than {FILE_BYTES_MAX} bytes, the limit of a configuration file"
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::with_cause(format!("cannot read {shown}"), error))?;
    let args = toml::from_str(&text)
        .map_err(|error| CommandError::new(format!("{shown} is not a valid configuration: {error}")))?;
    Ok((args, Some(path.to_owned())))
}
