//! Prints a media: for people, and for scripts.

use kinora_domain::{
    AddedTrack, AddedTrackState, AudioLevels, Media, MediaFacts, MediaState, PlaybackReport, TrackKind,
};
use kinora_web::playback_report::PlaybackReportView;
use serde_json::{Value, json};

use super::player_url;
use crate::command::CommandContext;
use crate::command::print::table;

/// Prints one media.
pub(in crate::command) fn show(context: &CommandContext, media: &Media) {
    let mut lines = vec![
        format!("media     {}", media.id),
        format!("status    {}", media.state.name()),
        format!("created   {}", media.created_at),
    ];
    if let Some(title) = &media.settings.title {
        lines.push(format!("title     {title}"));
    }
    match &media.state {
        MediaState::Ready { facts, .. } => push_facts(&mut lines, facts),
        MediaState::Failed { failure, .. } => {
            lines.push(format!("error     {}: {}", failure.code.as_str(), failure.message));
        }
        MediaState::Created | MediaState::Downloading { .. } => {}
    }
    lines.extend(media.added_tracks.iter().map(added_track_line));
    for playback in &media.playback_ids {
        lines.push(format!("playback  {} ({})", playback.id, playback.policy.as_str()));
        lines.push(format!("player    {}", player_url(context, playback.id)));
        lines.push(format!("manifest  {}/{}.m3u8", context.settings.stream_url, playback.id));
    }
    if let Some(report) = media.playback_report() {
        lines.extend(report.audio_levels.map(|levels| format!("loudness  {}", levels_for_people(levels))));
        lines.push(String::new());
        lines.push(report_for_people(&report));
    }
    context.print(&view(context, media), &lines.join("\n"));
}

/// A line for a track that was added to those of the file.
fn added_track_line(track: &AddedTrack) -> String {
    let why = match &track.state {
        AddedTrackState::Failed { failure } => format!(": {}: {}", failure.code.as_str(), failure.message),
        _ => String::new(),
    };
    let (kind, name) = (track.spec.kind.as_str(), &track.spec.language_name);
    format!("{kind}  {name} ({}, {}{why})", track.spec.language_code, track.state.name())
}

fn push_facts(lines: &mut Vec<String>, facts: &MediaFacts) {
    lines.push(format!("duration  {}", facts.duration));
    if let Some(container) = &facts.container {
        lines.push(format!("file      {container}"));
    }
    lines.extend(facts.tracks.iter().map(|track| match &track.kind {
        TrackKind::Video { width, height, frame_rate } => {
            let rate = frame_rate.map(|rate| format!(", {rate} frames a second")).unwrap_or_default();
            format!("video     {width}x{height}{rate}")
        }
        TrackKind::Audio { language_name, .. } => format!("audio     {language_name}"),
    }));
    if facts.does_not_decode {
        lines.push("note      the video does not decode and is not offered".to_owned());
    }
    for track in &facts.left_out {
        let kind = if track.is_video { "video" } else { "audio" };
        lines.push(format!("left out  {kind}: {}", track.detail));
    }
    if facts.is_truncated {
        lines.push("note      the source is truncated; its playable part plays".to_owned());
    }
}

fn levels_for_people(levels: AudioLevels) -> &'static str {
    match levels {
        AudioLevels::NoAudio => "no audio to level",
        AudioLevels::Pending => "not measured yet",
        AudioLevels::Levelled => "levelled",
        AudioLevels::Unchanged => "at the target already",
        AudioLevels::NotMeasured => "could not be measured",
    }
}

/// The renditions as a table. A track that players do not get as a copy has a row of its own, with the
/// reason.
fn report_for_people(report: &PlaybackReport) -> String {
    let kind = |is_video| if is_video { "video" } else { "audio" }.to_owned();
    let not_copied = report.not_copied.iter().map(|withheld| {
        let source = "source".to_owned();
        vec![source, kind(withheld.is_video), "not copied".to_owned(), withheld.why.detail.clone()]
    });
    let offered = report.renditions.iter().map(|rendition| {
        let made = if rendition.is_encoded { "encoded on demand" } else { "copied" };
        let name = rendition.name.clone();
        vec![name, kind(rendition.resolution.is_some()), made.to_owned(), String::new()]
    });
    let broken = report.broken_renditions.iter().map(|name| {
        let kind = kind(!name.starts_with('a'));
        let (made, why) = if name.ends_with(" in part") {
            ("still or silent", "the source does not decode there")
        } else {
            ("not offered", "it could not be encoded")
        };
        vec![name.clone(), kind, made.to_owned(), why.to_owned()]
    });
    let mut rows: Vec<_> = not_copied.chain(offered).chain(broken).collect();
    rows.sort_by_key(|row| row[1] != "video");
    table(&["RENDITION", "TYPE", "MADE", "WHY"], &rows)
}

/// A media as JSON, with the fields that scripts need.
pub(super) fn view(context: &CommandContext, media: &Media) -> Value {
    let (facts, failure) = match &media.state {
        MediaState::Ready { facts, .. } => (Some(facts), None),
        MediaState::Failed { failure, .. } => (None, Some(failure)),
        _ => (None, None),
    };
    let playback: Vec<_> = media
        .playback_ids
        .iter()
        .map(|playback| {
            json!({
                "id": playback.id.to_string(),
                "accessPolicy": playback.policy.as_str(),
                "player": player_url(context, playback.id),
                "manifest": format!("{}/{}.m3u8", context.settings.stream_url, playback.id),
            })
        })
        .collect();
    let mut view = json!({
        "id": media.id.to_string(),
        "workspaceId": media.workspace.to_string(),
        "status": media.state.name(),
        "title": media.settings.title,
        "duration": facts.map(|facts| facts.duration.to_string()),
        "createdAt": media.created_at.to_string(),
        "updatedAt": media.updated_at.to_string(),
        "playbackIds": playback,
    });
    if let Some(report) = PlaybackReportView::of(media) {
        view["playbackReport"] = json!(report);
    }
    if let Some(failure) = failure {
        view["error"] = json!({"code": failure.code.as_str(), "message": failure.message});
    }
    view
}

#[cfg(test)]
mod tests {
    use kinora_domain::{
        NotCopied, NotCopiedReason, NotCopiedTrack, OfferedRendition, Random, Resolution, Timestamp, TrackId,
    };

    use super::*;

    struct Zeros;

    impl Random for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    #[test]
    fn playback_report_is_a_table_with_reasons() {
        let track = TrackId::new(Timestamp::from_micros(0), &Zeros);
        let offered = |name: &str, resolution, is_encoded| OfferedRendition {
            name: name.to_owned(),
            track,
            resolution,
            is_encoded,
        };
        let report = PlaybackReport {
            is_truncated: false,
            left_out: Vec::new(),
            does_not_decode: false,
            audio_levels: None,
            broken_renditions: vec!["480p".into()],
            renditions: vec![
                offered("360p", Some(Resolution::P360), true),
                offered("240p", Some(Resolution::P240), true),
                offered("audio", None, false),
            ],
            not_copied: vec![NotCopiedTrack {
                track,
                is_video: true,
                why: NotCopied { reason: NotCopiedReason::OpenGop, detail: "open GOP".into() },
            }],
        };
        let expected = "\
RENDITION  TYPE   MADE               WHY
source     video  not copied         open GOP
360p       video  encoded on demand
240p       video  encoded on demand
480p       video  not offered        it could not be encoded
audio      audio  copied";
        assert_eq!(report_for_people(&report), expected);
    }
}
