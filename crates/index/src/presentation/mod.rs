//! Presentations that are more than one whole source.

mod sound;
