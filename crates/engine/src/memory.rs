//! The memory that this machine, or the container we run in, gives us.

use std::fs;
use std::path::Path;

/// Bytes we may use: the smallest limit of the control groups above us, at most the memory of the machine.
///
/// `root` is `/`, or a test tree. `None` if neither can be read.
pub(crate) fn limit_bytes(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups.lines().filter_map(|line| group_limit(root, line)).chain(machine_total(root)).min()
}

/// The smallest limit from the group of one line of `/proc/self/cgroup` (`id:controllers:path`) up to the
/// top.
fn group_limit(root: &Path, line: &str) -> Option<u64> {
    let (_, line) = line.split_once(':')?;
    let (controllers, path) = line.split_once(':')?;
    // An empty list of controllers is the unified hierarchy (version 2).
    let (top, file) = if controllers.is_empty() {
        (root.join("sys/fs/cgroup"), "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        (root.join("sys/fs/cgroup/memory"), "memory.limit_in_bytes")
    } else {
        return None;
    };
    // "max" and unreadable files set no limit. In a container the path may be visible on the host only;
    // walking up still ends at the group that is mounted as our top.
    let group = top.join(path.trim_start_matches('/'));
    let groups = group.ancestors().take_while(|folder| folder.starts_with(&top));
    groups.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).min()
}

fn machine_total(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:        4096 kB\nMemFree: 1 kB\n");

    fn check(files: &[(&str, &str)], expected: Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(limit_bytes(root.path()), expected, "{files:?}");
    }

    #[test]
    fn smallest_cgroup_memory_limit_applies() {
        check(&[], None);
        check(&[MACHINE], Some(4096 * 1024));
        let unified = ("proc/self/cgroup", "0::/system.slice/kinora.service\n");
        check(&[MACHINE, unified], Some(4096 * 1024));
        check(
            &[
                MACHINE,
                unified,
                ("sys/fs/cgroup/system.slice/kinora.service/memory.max", "max\n"),
                ("sys/fs/cgroup/system.slice/memory.max", "1048576\n"),
            ],
            Some(1_048_576),
        );
        check(&[MACHINE, unified, ("sys/fs/cgroup/memory.max", "2097152\n")], Some(2_097_152));
        check(&[MACHINE, unified, ("sys/fs/cgroup/memory.max", "99999999999\n")], Some(4096 * 1024));
        check(&[unified, ("sys/fs/cgroup/memory.max", "nonsense\n")], None);
    }

    #[test]
    fn limits_of_the_older_hierarchy_count_too() {
        let groups = ("proc/self/cgroup", "12:cpu,cpuacct:/a\n7:memory:/a\n0::/a\n");
        check(
            &[MACHINE, groups, ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4194304\n")],
            Some(4096 * 1024),
        );
        check(
            &[MACHINE, groups, ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "524288\n")],
            Some(524_288),
        );
        check(&[MACHINE, groups, ("sys/fs/cgroup/cpu/a/memory.limit_in_bytes", "1\n")], Some(4096 * 1024));
    }
}
