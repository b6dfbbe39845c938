//! No segment of a rung exceeds its announced bandwidth, even for noise.

use kinora_formats::encode::ladder_without_copy;
use kinora_hls::{Bandwidth, bandwidth_of_rung};
use kinora_index::Index;

use crate::{
    Clip,
    encoder::{ffmpeg, made},
};

/// The highest rate of any segment, and that of all together.
fn measured(index: &Index, lens: &[usize]) -> Bandwidth {
    let timescale = f64::from(index.video().unwrap().0.timescale);
    let seconds: Vec<f64> =
        index.plan.encoded_video.iter().map(|segment| segment.duration() as f64 / timescale).collect();
    let rates = lens.iter().zip(&seconds).map(|(len, seconds)| *len as f64 * 8.0 / seconds);
    let bits = 8.0 * lens.iter().sum::<usize>() as f64;
    Bandwidth {
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
        let (announced, measured) = (bandwidth_of_rung(&clip.index, rung), measured(&clip.index, &lens));
        assert!(measured.peak <= announced.peak, "{name} {}: {measured:?} of {announced:?}", rung.name);
    }
}

#[test]
fn noise_stays_below_announced_peak_bandwidth() {
    check("strong noise", "-f lavfi -i color=gray:s=640x360:r=30:d=5 -vf noise=alls=100:allf=t+u");
    check("film grain", "-f lavfi -i testsrc2=s=640x360:r=30:d=5 -vf noise=alls=30:allf=t");
    check(
        "noise after a still",
        "-f lavfi -i color=gray:s=640x360:r=30:d=5 -vf noise=alls=100:allf=t+u:enable=gt(t\\,2)",
    );
}

/// The lengths of AAC frames in ADTS. ISO/IEC 13818-7, 6.2.
fn frames_of_adts(mut bytes: &[u8]) -> Vec<usize> {
    let mut lens = Vec::new();
    while let [0xff, _, _, high, middle, low, ..] = bytes {
        let len = usize::from(high & 3) << 11 | usize::from(*middle) << 3 | usize::from(low >> 5);
        lens.push(len);
        bytes = &bytes[len..];
    }
    lens
}

#[test]
fn encoded_audio_noise_stays_below_announced_bandwidth() {
    const FRAMES_A_SECOND: usize = 47;
    for noise in ["white", "pink", "brown"] {
        let arguments = format!(
            "-f lavfi -i anoisesrc=d=20:c={noise}:r=48000:a=1 -c:a aac -b:a 128k -ac 2 -f adts pipe:1"
        );
        let lens = frames_of_adts(&ffmpeg(&arguments, Vec::new()));
        assert!(900 < lens.len());
        // With 16 bytes of container for each frame.
        let bits = |lens: &[usize]| lens.iter().map(|len| 8 * (len + 16) as u64).sum::<u64>();
        let peak = lens.windows(FRAMES_A_SECOND).map(bits).max().unwrap();
        assert!(peak <= Bandwidth::ENCODED_AUDIO.peak, "{noise}: {peak}");
        let average = bits(&lens) * FRAMES_A_SECOND as u64 / lens.len() as u64;
        assert!(average <= Bandwidth::ENCODED_AUDIO.average * 105 / 100, "{noise}: {average}");
    }
}
