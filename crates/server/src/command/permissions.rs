//! Whether files of the data folder are private to the user of the server.

/// The kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    /// No other user may write into it.
    DataFolder,
    /// No other user may read it.
    SecretKey,
}

/// A path with its metadata in the file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathPermissions {
    pub(super) kind: PathKind,
    /// Its permission bits.
    pub(super) mode: u32,
    /// The user that owns it.
    pub(super) owner: u32,
    /// The user of this process; 0 is root.
    pub(super) user: u32,
}

impl PathPermissions {
    /// The problem and its remedy; `None` when the path is private.
    pub(super) fn problem(&self, path: &str) -> Option<String> {
        let Self { kind, mode, owner, user } = *self;
        // Root may check the files of other users, and files of root are safe from all of them.
        if owner != user && owner != 0 && user != 0 {
            return Some(format!("{path} belongs to user {owner}, who can change it: chown {user} {path}"));
        }
        let (others, what, remedy) = match kind {
            PathKind::DataFolder => (0o022, "other users may write into", "700"),
            PathKind::SecretKey => (0o066, "other users may read or change", "600"),
        };
        (mode & others != 0).then(|| format!("{what} {path} (mode {mode:03o}): chmod {remedy} {path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_readable_or_folder_writable_by_others_is_reported() {
        let check = |kind, mode, owner, user, expected: Option<&str>| {
            let found = PathPermissions { kind, mode, owner, user }.problem("/data");
            assert_eq!(found.as_deref(), expected, "{kind:?} {mode:o} of {owner} for {user}");
        };
        use PathKind::{DataFolder, SecretKey};
        for (kind, mode) in
            [(DataFolder, 0o700), (DataFolder, 0o755), (DataFolder, 0o750), (SecretKey, 0o600)]
        {
            check(kind, mode, 1000, 1000, None);
            check(kind, mode, 1000, 0, None);
            check(kind, mode, 0, 1000, None);
        }
        check(SecretKey, 0o400, 1000, 1000, None);
        for mode in [0o640, 0o604, 0o620, 0o602] {
            let expected = format!("other users may read or change /data (mode {mode:o}): chmod 600 /data");
            check(SecretKey, mode, 1000, 1000, Some(&expected));
        }
        for mode in [0o720, 0o702, 0o777, 0o1777] {
            let expected = format!("other users may write into /data (mode {mode:o}): chmod 700 /data");
            check(DataFolder, mode, 1000, 1000, Some(&expected));
        }
        let of_another = "/data belongs to user 1001, who can change it: chown 1000 /data";
        check(DataFolder, 0o700, 1001, 1000, Some(of_another));
        check(SecretKey, 0o600, 1001, 1000, Some(of_another));
    }
}
