//! The dashboard: its page, sessions, links, the own account, the organisation, and the API behind a session.

mod access_tokens;
mod account;
mod audit_log;
mod find;
mod invitations;
mod last_administrator;
mod links;
mod media_events;
mod mount;
mod objects;
mod operations;
mod organisation;
mod origins;
mod page;
mod pass;
mod people;
mod playback_check;
mod playing;
mod renditions;
mod server_state;
mod sessions;
mod sign_in;
mod still_image;
mod support;
mod workspace_operations;
mod workspaces;
