//! The dashboard: its page, sessions, links, the own account, the organisation, and the API behind a session.

mod access_tokens;
mod account;
mod audit_log;
mod invitations;
mod last_administrator;
mod links;
mod mount;
mod objects;
mod operations;
mod organisation;
mod origins;
mod page;
mod people;
mod server_state;
mod sessions;
mod sign_in;
mod support;
mod workspaces;
