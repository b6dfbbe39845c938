//! The stored form of an overlay.

use crate::bytes::{Reader, Writer};
use crate::index::{OVERLAY_SIDE_MAX, Overlay, OverlayAlign, OverlayLength};

/// Alignments.
const START: u8 = 0;
const MIDDLE: u8 = 1;
const END: u8 = 2;
/// Kinds of length.
const ABSENT: u8 = 0;
const PERCENT: u8 = 1;
const PIXELS: u8 = 2;

pub(super) fn write(overlay: &Overlay, writer: &mut Writer) {
    writer.bytes.extend_from_slice(&overlay.image);
    writer.varint(overlay.image_size.0.into());
    writer.varint(overlay.image_size.1.into());
    for (align, margin) in [(overlay.x_align, overlay.x_margin), (overlay.y_align, overlay.y_margin)] {
        writer.u8(match align {
            OverlayAlign::Start => START,
            OverlayAlign::Middle => MIDDLE,
            OverlayAlign::End => END,
        });
        write_length(Some(margin), writer);
    }
    write_length(overlay.width, writer);
    write_length(overlay.height, writer);
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<Overlay> {
    let image = reader.array()?;
    let image_size = (read_side(reader)?, read_side(reader)?);
    let (x_align, x_margin) = (read_align(reader)?, read_length(reader)??);
    let (y_align, y_margin) = (read_align(reader)?, read_length(reader)??);
    let (width, height) = (read_length(reader)?, read_length(reader)?);
    Some(Overlay { image, image_size, x_align, x_margin, y_align, y_margin, width, height })
}

fn read_side(reader: &mut Reader<'_>) -> Option<u16> {
    let side = u16::try_from(reader.varint()?).ok()?;
    (1..=OVERLAY_SIDE_MAX).contains(&side).then_some(side)
}

fn read_align(reader: &mut Reader<'_>) -> Option<OverlayAlign> {
    match reader.u8()? {
        START => Some(OverlayAlign::Start),
        MIDDLE => Some(OverlayAlign::Middle),
        END => Some(OverlayAlign::End),
        _ => None,
    }
}

fn write_length(length: Option<OverlayLength>, writer: &mut Writer) {
    let (kind, value) = match length {
        None => return writer.u8(ABSENT),
        Some(OverlayLength::Percent(hundredths)) => (PERCENT, hundredths),
        Some(OverlayLength::Pixels(pixels)) => (PIXELS, pixels),
    };
    writer.u8(kind);
    writer.varint(value.into());
}

#[expect(clippy::option_option, reason = "the outer one is damage, as everywhere in the stored form")]
fn read_length(reader: &mut Reader<'_>) -> Option<Option<OverlayLength>> {
    let kind = reader.u8()?;
    if kind == ABSENT {
        return Some(None);
    }
    let value = u16::try_from(reader.varint()?).ok()?;
    match kind {
        PERCENT if value <= OverlayLength::PERCENT_MAX => Some(Some(OverlayLength::Percent(value))),
        PIXELS => Some(Some(OverlayLength::Pixels(value))),
        _ => None,
    }
}
