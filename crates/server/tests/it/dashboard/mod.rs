//! The dashboard: its page, sessions, links, the own account, and the API behind a session.

mod account;
mod links;
mod mount;
mod origins;
mod page;
mod sessions;
mod sign_in;
mod support;
