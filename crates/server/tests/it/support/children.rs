//! The child processes of a process, from `/proc` (proc(5)).

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::until;

/// A child process. Linux may reuse its id; the id and the start time identify it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    id: i32,
    /// Clock ticks since boot.
    started: u64,
}

/// The fields of `/proc/{id}/stat`.
struct Stat {
    state: char,
    parent: i32,
    started: u64,
}

impl Stat {
    /// `None` when there is no such process or thread.
    fn read(path: &str) -> Option<Self> {
        let line = fs::read_to_string(path).ok()?;
        // The program name is in brackets and may contain any character.
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            // Field 22 of all; two fields are before this list.
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether it is not a zombie: an ended process that its parent has not waited for.
    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

impl Child {
    /// All running children of a process that already run another program.
    ///
    /// A fork that has not called exec yet still counts as part of the parent. Suspended in that state, it
    /// would keep the inherited files open, and no test would find it.
    pub(crate) fn all_of(parent: u32) -> Vec<Self> {
        let program = |id: &dyn std::fmt::Display| fs::read_link(format!("/proc/{id}/exe")).ok();
        let of_parent = program(&parent);
        let ids = fs::read_dir("/proc").expect("Linux has it");
        let ids = ids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let child = |id: i32| {
            let stat = Stat::read(&format!("/proc/{id}/stat"))?;
            let is_child = u32::try_from(stat.parent) == Ok(parent) && stat.is_alive();
            let is_another = is_child && program(&id).is_some_and(|own| Some(own) != of_parent);
            is_another.then_some(Self { id, started: stat.started })
        };
        ids.filter_map(child).collect()
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(self) -> bool {
        let stat = Stat::read(&format!("/proc/{}/stat", self.id));
        stat.is_some_and(|stat| stat.started == self.started && stat.is_alive())
    }

    /// Suspends it. It runs again only when a test ends or continues it.
    pub(crate) fn suspend(self) {
        send(self.id, Signal::STOP);
    }
}

/// Suspends a process, so that it starts no more children, and returns its children. It can still be killed.
pub(crate) async fn stop_and_list(id: u32) -> Vec<Child> {
    let leader = i32::try_from(id).expect("Linux has smaller ones");
    send(leader, Signal::STOP);
    until("all its threads stand still", async || {
        let threads = fs::read_dir(format!("/proc/{id}/task")).expect("it is there");
        let mut threads = threads.filter_map(|thread| Stat::read(thread.ok()?.path().join("stat").to_str()?));
        threads.all(|thread| thread.state == 'T').then_some(())
    })
    .await;
    Child::all_of(id)
}

fn send(id: i32, signal: Signal) {
    let id = Pid::from_raw(id).expect("no process has the number 0");
    // An error means that it has ended meanwhile, which is fine.
    let _ = kill_process(id, signal);
}
