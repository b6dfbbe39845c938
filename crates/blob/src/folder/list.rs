//! Lists objects page by page, in the order of their names.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use kinora_domain::Timestamp;

use super::absent_as_none;
use crate::{Entry, ObjectKey, Prefix};

/// No key has more parts. A folder of another program may be deeper.
const DEPTH_MAX: usize = 4;

pub(super) fn page(
    root: &Path,
    prefix: Prefix,
    after: Option<ObjectKey>,
    limit: usize,
) -> io::Result<Vec<Entry>> {
    let prefix = prefix.to_string();
    let after = after.map(|key| key.to_string());
    // The bound steers the walk only while the parts of the prefix equal those of the key.
    let bound: Vec<&str> = match &after {
        None => Vec::new(),
        Some(key) => match key.strip_prefix(&prefix).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => rest.split('/').collect(),
            None if *key < prefix => Vec::new(),
            None => return Ok(Vec::new()), // everything below the prefix comes before the key
        },
    };
    let mut scan = PageScan { root, limit, page: Vec::new() };
    if limit > 0 {
        // Breaks when the page is full.
        let _ = scan.scan_folder(&prefix, &bound)?;
    }
    Ok(scan.page)
}

struct PageScan<'a> {
    root: &'a Path,
    limit: usize,
    page: Vec<Entry>,
}

impl PageScan<'_> {
    /// Adds the objects of one folder whose names, below it, come after the parts in `bound`.
    fn scan_folder(&mut self, folder: &str, bound: &[&str]) -> io::Result<ControlFlow<()>> {
        let Some(entries) = absent_as_none(fs::read_dir(self.root.join(folder)))? else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is not UTF-8 is not ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();

        let first = bound.first().copied().unwrap_or_default();
        for name in names.iter().skip_while(|name| name.as_str() < first) {
            let path = format!("{folder}/{name}");
            let bound = if name == first { bound.get(1..).unwrap_or_default() } else { &[] };
            let is_bound = name == first && bound.is_empty();
            let Some(metadata) = absent_as_none(fs::symlink_metadata(self.root.join(&path)))? else {
                continue; // deleted meanwhile
            };
            if metadata.is_dir() {
                if path.split('/').count() < DEPTH_MAX && self.scan_folder(&path, bound)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            } else if metadata.is_file() && !is_bound {
                // Another program created a file whose name is no key. It is ignored.
                let Ok(key) = path.parse() else { continue };
                self.page.push(Entry { key, len: metadata.len(), modified: modified(&metadata)? });
                if self.page.len() == self.limit {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn modified(metadata: &fs::Metadata) -> io::Result<Timestamp> {
    let modified = metadata.modified()?;
    let micros = match modified.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    };
    Ok(Timestamp::from_micros(micros))
}
