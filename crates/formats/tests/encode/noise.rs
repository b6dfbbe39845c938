//! What a rung announces to take of a line is not exceeded, by no picture.

use kinora_formats::{
    encode::{ladder_without_copy, rate_of_rung},
    hls::Rate,
    index::Index,
};

use crate::{Clip, encoder::made};

/// The highest rate of any segment, and that of all together.
fn measured(index: &Index, lens: &[usize]) -> Rate {
    let timescale = f64::from(index.video().unwrap().0.timescale);
    let seconds: Vec<f64> =
        index.plan.encoded_video.iter().map(|segment| segment.duration() as f64 / timescale).collect();
    let rates = lens.iter().zip(&seconds).map(|(len, seconds)| *len as f64 * 8.0 / seconds);
    let bits = 8.0 * lens.iter().sum::<usize>() as f64;
    Rate {
        peak: rates.fold(0.0, f64::max).ceil() as u64,
        average: (bits / seconds.iter().sum::<f64>()).ceil() as u64,
    }
}

fn check(name: &str, source: &str) {
    let clip = Clip::made_by(&format!(
        "{source} -c:v libx264 -preset ultrafast -crf 10 -pix_fmt yuv420p -g 30 -keyint_min 30"
    ));
    let rungs = ladder_without_copy(&clip.index, 360);
    assert_eq!(rungs.len(), 2);
    let count = clip.index.plan.encoded_video.len() as u32;
    let made = made(&clip.index, &clip.bytes, &rungs, 0..count);
    for rung in &rungs {
        let own = made.segments.iter().filter(|segment| segment.rung == rung.name);
        let lens: Vec<usize> = own.map(|segment| segment.outcome.as_ref().unwrap().len()).collect();
        assert_eq!(lens.len() as u32, count);
        let (announced, measured) = (rate_of_rung(&clip.index, rung), measured(&clip.index, &lens));
        assert!(measured.peak <= announced.peak, "{name} {}: {measured:?} of {announced:?}", rung.name);
    }
}

#[test]
fn a_clip_of_noise_stays_below_the_announced_peak() {
    check("strong noise", "-f lavfi -i color=gray:s=640x360:r=30:d=7.5 -vf noise=alls=100:allf=t+u");
    check("film grain", "-f lavfi -i testsrc2=s=640x360:r=30:d=7.5 -vf noise=alls=30:allf=t");
    check(
        "noise after a still",
        "-f lavfi -i color=gray:s=640x360:r=30:d=7.5 -vf noise=alls=100:allf=t+u:enable=gt(t\\,3)",
    );
}
