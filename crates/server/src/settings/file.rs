//! The configuration file.

use std::path::{Path, PathBuf};

use super::Given;
use crate::command::Problem;

/// The file that is read when there is one and none was named.
const FILE: &str = "kinora.toml";
/// A configuration file has some lines.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What the file sets, and which file it was.
pub(super) fn read_file(named: Option<&Path>) -> Result<(Given, Option<PathBuf>), Problem> {
    let path = named.unwrap_or(Path::new(FILE));
    if named.is_none() && !path.exists() {
        return Ok((Given::default(), None));
    }
    let shown = path.display();
    let size = std::fs::metadata(path)
        .map_err(|error| Problem::with_cause(format!("cannot read {shown}"), error))?;
    if size.len() > FILE_BYTES_MAX {
        return Err(Problem::new(format!(
            "{shown} is larger than a configuration file may be ({FILE_BYTES_MAX} bytes)"
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::with_cause(format!("cannot read {shown}"), error))?;
    let given = toml::from_str(&text)
        .map_err(|error| Problem::new(format!("{shown} is not a valid configuration: {error}")))?;
    Ok((given, Some(path.to_owned())))
}
