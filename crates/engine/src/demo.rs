//! Limits of the demonstration clip.
/// Longest clip in seconds.
pub const DEMO_SECONDS_MAX: u32 = 60;
/// Largest clip in bytes.
pub const DEMO_OUTPUT_MAX: u64 = 10 << 20;
