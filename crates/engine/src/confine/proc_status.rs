//! The confinement of a running child, as `/proc` shows it.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::Pid;

use crate::confine::report::Protection;

/// State of a running child in `/proc`.
pub(super) struct ProcStatus {
    pid: Pid,
    status: String,
    limits: String,
    group: Option<Pid>,
    /// The `status` of the measuring thread.
    own_status: String,
}

impl ProcStatus {
    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        let folder = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        Ok(Self {
            pid,
            status: fs::read_to_string(folder.join("status"))?,
            limits: fs::read_to_string(folder.join("limits"))?,
            group: rustix::process::getpgid(Some(pid)).ok(),
            own_status: fs::read_to_string("/proc/thread-self/status")?,
        })
    }

    fn field(&self, name: &str) -> Option<&str> {
        field(&self.status, name)
    }

    /// Whether the child has more filters than this process: in a container, the server itself has one.
    /// Kernels before 5.9 do not count them.
    fn has_filter(&self) -> bool {
        let count = |status| field(status, "Seccomp_filters").and_then(|count| count.parse::<u32>().ok());
        match (count(&self.status), count(&self.own_status)) {
            (Some(theirs), Some(own)) => own < theirs,
            _ => self.field("Seccomp") == Some("2"),
        }
    }

    pub(super) fn privileges(&self) -> Protection {
        let none = |name| self.field(name).is_some_and(|set| set.bytes().all(|digit| digit == b'0'));
        if self.field("NoNewPrivs") != Some("1") {
            Protection::Absent("the child may gain privileges by starting a program".into())
        } else if !["CapEff", "CapPrm", "CapInh", "CapAmb"].into_iter().all(none) {
            Protection::Absent("the child kept capabilities of the server".into())
        } else {
            Protection::InForce
        }
    }

    pub(super) fn limits(&self) -> Protection {
        let names = [
            "Max cpu time",
            "Max file size",
            "Max data size",
            "Max core file size",
            "Max open files",
            "Max address space",
        ];
        // proc_pid_limits(5): the name, the soft limit, the hard limit, the unit.
        let unlimited = names.into_iter().find(|name| {
            let line = self.limits.lines().find_map(|line| line.strip_prefix(name));
            line.is_none_or(|line| line.contains("unlimited"))
        });
        unlimited.map_or(Protection::InForce, |name| Protection::Absent(format!("no limit is set: {name}")))
    }

    pub(super) fn group(&self) -> Protection {
        if self.group != Some(self.pid) {
            Protection::Absent("the child shares the process group of the server".into())
        } else if !self.has_filter() {
            Protection::Absent(
                "a child could leave its group; the kernel accepted no filter of system calls (seccomp)"
                    .into(),
            )
        } else {
            Protection::InForce
        }
    }
}

/// A field of a `status` file: a line of its name, a colon, white space and the value. proc_pid_status(5).
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tffmpeg\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
                          CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                          Max cpu time              10                   10                   seconds   \n\
                          Max file size             0                    0                    bytes     \n\
                          Max data size             268435456            268435456            bytes     \n\
                          Max core file size        0                    0                    bytes     \n\
                          Max open files            64                   64                   files     \n\
                          Max address space         1342177280           1342177280           bytes     \n";

    fn seen(status: &str, limits: &str) -> ProcStatus {
        let pid = Pid::from_raw(100).unwrap();
        ProcStatus {
            pid,
            status: status.into(),
            limits: limits.into(),
            group: Some(pid),
            own_status: "Seccomp:\t0\n".into(),
        }
    }

    fn absent(reason: &str) -> Protection {
        Protection::Absent(reason.into())
    }

    #[test]
    fn confined_child_status_is_recognised() {
        let seen = seen(STATUS, LIMITS);
        assert_eq!(
            [seen.privileges(), seen.limits(), seen.group()],
            [Protection::InForce, Protection::InForce, Protection::InForce]
        );
        assert!(seen.has_filter());
    }

    #[test]
    fn every_missing_part_is_named() {
        let gaining = seen(&STATUS.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0"), LIMITS);
        assert_eq!(gaining.privileges(), absent("the child may gain privileges by starting a program"));
        let capable = seen(&STATUS.replace("CapPrm:\t0000000000000000", "CapPrm:\t0000000000000002"), LIMITS);
        assert_eq!(capable.privileges(), absent("the child kept capabilities of the server"));
        let hungry = seen(
            STATUS,
            &LIMITS.replace("268435456            268435456 ", "268435456            unlimited "),
        );
        assert_eq!(hungry.limits(), absent("no limit is set: Max data size"));
        assert_eq!(seen(STATUS, "").limits(), absent("no limit is set: Max cpu time"));
        let unfiltered = seen(&STATUS.replace("Seccomp:\t2", "Seccomp:\t0"), LIMITS);
        assert!(!unfiltered.has_filter());
        assert!(matches!(unfiltered.group(), Protection::Absent(reason) if reason.contains("seccomp")));
        let filtered = |count| format!("Seccomp:\t2\nSeccomp_filters:\t{count}\n");
        for (theirs, ours, expected) in [(1, 0, true), (1, 1, false), (3, 2, true)] {
            let contained = ProcStatus { own_status: filtered(ours), ..seen(&filtered(theirs), LIMITS) };
            assert_eq!(contained.has_filter(), expected, "{theirs} of which {ours} are ours");
        }
        let shared = ProcStatus { group: Pid::from_raw(99), ..seen(STATUS, LIMITS) };
        assert_eq!(shared.group(), absent("the child shares the process group of the server"));
    }
}
