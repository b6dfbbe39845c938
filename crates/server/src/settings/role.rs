//! The roles of a process.

use clap::ValueEnum;
use kinora_web::roles::Roles;
use serde::Deserialize;

use crate::command::CommandError;

/// One role, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// Serves the JSON API
    Api,
    /// Serves players: manifests, segments, images, pages
    Delivery,
    /// Runs jobs: downloads, event deliveries, sweeps
    Worker,
}

/// The listed roles; all of them for `None`. An empty list is an error.
pub(super) fn roles(listed: Option<Vec<Role>>) -> Result<Roles, CommandError> {
    let Some(listed) = listed else { return Ok(Roles::ALL) };
    if listed.is_empty() {
        return Err(CommandError::new("role must name at least one of api, delivery, worker"));
    }
    let has = |role| listed.contains(&role);
    Ok(Roles { api: has(Role::Api), delivery: has(Role::Delivery), worker: has(Role::Worker) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_all_or_those_that_are_listed() {
        let check = |listed: Option<&[Role]>, expected: &[&str]| {
            let roles = roles(listed.map(<[Role]>::to_vec)).unwrap();
            assert_eq!(roles.names(), expected);
        };
        check(None, &["api", "delivery", "worker"]);
        check(Some(&[Role::Worker]), &["worker"]);
        check(Some(&[Role::Worker, Role::Api, Role::Worker]), &["api", "worker"]);
        let problem = roles(Some(Vec::new())).unwrap_err().to_string();
        assert_eq!(problem, "role must name at least one of api, delivery, worker");
    }
}
