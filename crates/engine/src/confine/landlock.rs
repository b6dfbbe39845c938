//! The files and sockets that a child may use: Landlock rules, as far as this kernel supports them.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};

use crate::confine::Sandbox;
use crate::job::Files;

/// The newest Landlock version of these rules. Older kernels enforce those that they support: files from
/// 5.13 on, truncation from 6.2, TCP from 6.7, signals and abstract sockets from 6.12. Debian 12 has 6.1.
const LANDLOCK_ABI: ABI = ABI::V6;

/// Folders of a program's loader and libraries. Those that do not exist on a system are skipped.
const LIBRARIES: [&str; 8] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
];

/// Files that libraries read when they start: the number of processors, and randomness for hash tables.
const SYSTEM_FILES: [&str; 3] = ["/sys/devices/system/cpu", "/dev/urandom", "/dev/random"];

/// Restricts the calling thread, and every child that it starts.
///
/// A kernel without Landlock restricts nothing, and that is no error: the confinement report states it.
pub(crate) fn restrict_this_thread(sandbox: &Sandbox, files: &Files) -> io::Result<()> {
    let rules = rules(sandbox, files).map_err(io::Error::other)?;
    rules.restrict_self().map_err(io::Error::other)?;
    Ok(())
}

fn rules(sandbox: &Sandbox, files: &Files) -> Result<RulesetCreated, RulesetError> {
    let execute = make_bitflags!(AccessFs::{Execute | ReadFile});
    let read = make_bitflags!(AccessFs::{ReadFile});
    // The file exists already: it may be truncated and written, but not created. A muxer that moves its
    // index to the front reads its own output again.
    let write = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});

    // All TCP, all abstract sockets, all signals to processes outside are handled and none is granted.
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK_ABI))?
        .handle_access(AccessNet::from_all(LANDLOCK_ABI))?
        .scope(Scope::from_all(LANDLOCK_ABI))?
        .create()?;
    rules = grant(rules, &sandbox.program, execute)?;
    for path in LIBRARIES.iter().map(Path::new).chain(sandbox.readable.iter().map(AsRef::as_ref)) {
        rules = grant(rules, path, AccessFs::from_read(LANDLOCK_ABI))?;
    }
    for path in SYSTEM_FILES {
        rules = grant(rules, Path::new(path), AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    rules = grant(rules, Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile)?;
    for path in &files.read {
        rules = grant(rules, path, read)?;
    }
    if let Some(path) = &files.write {
        rules = grant(rules, path, write)?;
    }
    Ok(rules)
}

/// Grants `access` to `path` and everything below it. A path that cannot be opened grants nothing.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(metadata) = path.metadata() else { return Ok(rules) };
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    // Directory rights are invalid for a file, and the kernel rejects them.
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(LANDLOCK_ABI) };
    rules.add_rule(PathBeneath::new(opened, access))
}
