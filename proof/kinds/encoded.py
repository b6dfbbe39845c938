"""Sources whose video or audio is encoded for the viewer, in containers that are read in place."""

from kinds.kind import AAC, FASTSTART, X264, SourceKind, both, made, test_video

VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -row-mt 1 -b:v 1M -g 120"
VP8 = "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 1M -g 120"
OPEN_GOP = "-x264-params open-gop=1:keyint=60:min-keyint=60:bframes=3:b-adapt=0:scenecut=0"
PCM = "-c:a pcm_s16le"

KINDS = (
    SourceKind("H.264 with open GOPs", "open-gop.mp4", made(both(), X264, OPEN_GOP, AAC, FASTSTART), "C", "open GOP"),
    SourceKind(
        "H.264 with GOPs over 20 s",
        "gop-24s.mp4",
        made(both(size="320x180", seconds=24), X264, "-g 9999 -keyint_min 9999", AAC),
        "C",
        "without a keyframe",
    ),
    SourceKind("H.264, 10-bit", "h264-10bit.mp4", made(both(), X264, "-pix_fmt yuv420p10le", AAC), "C", "10-bit"),
    SourceKind("H.264, 4:2:2", "h264-422.mp4", made(both(), X264, "-pix_fmt yuv422p", AAC), "C", "4:2:2"),
    SourceKind(
        "H.264, interlaced",
        "h264-interlaced.mp4",
        made(both(rate="25"), X264, "-flags +ilme+ildct -x264opts tff=1", AAC),
        "C",
        "interlaced",
    ),
    SourceKind(
        "above `maxResolution`",
        "above-max.mp4",
        made(both(size="1280x720"), X264, AAC),
        "C",
        "maxResolution",
        request_fields={"maxResolution": "480p"},
    ),
    SourceKind("VP9 and Opus in WebM", "vp9.webm", made(both(), VP9, "-c:a libopus"), "C", "VP9"),
    SourceKind("VP9 in MP4", "vp9.mp4", made(both(), VP9, AAC), "C", "VP9"),
    SourceKind(
        "VP9 of odd size", "odd.webm", made(both(size="320x180"), "-vf scale=321:181", VP9, "-c:a libopus"), "C", "VP9"
    ),
    SourceKind("VP8 and Vorbis in WebM", "vp8.webm", made(both(), VP8, "-c:a libvorbis"), "C", "VP8"),
    SourceKind(
        "ProRes and PCM in QuickTime",
        "prores.mov",
        made(both(), "-c:v prores_ks -profile:v 2 -pix_fmt yuv422p10le", PCM),
        "C",
        "ProRes",
    ),
    SourceKind(
        "DNxHD and PCM in QuickTime",
        "dnxhd.mov",
        made(both(size="1280x720", rate="25", seconds=2), "-c:v dnxhd -b:v 60M -pix_fmt yuv422p", PCM),
        "C",
        "DNxHD",
    ),
    SourceKind("MPEG-4 ASP in MP4", "asp.mp4", made(both(), "-c:v mpeg4 -q:v 4 -bf 2", AAC), "C", "MPEG-4"),
    SourceKind("MPEG-2 in Matroska", "mpeg2.mkv", made(both(), "-c:v mpeg2video -q:v 4 -c:a ac3"), "C", "MPEG-2"),
    SourceKind(
        "FFV1 in Matroska",
        "ffv1.mkv",
        made(test_video(size="320x180"), "-c:v ffv1 -pix_fmt yuv420p -c:a flac"),
        "C E",
    ),
    SourceKind("H.264 and AC-3 in MP4", "ac3.mp4", made(both(), X264, "-c:a ac3"), "A"),
    SourceKind("H.264 and E-AC-3 in MP4", "eac3.mp4", made(both(), X264, "-c:a eac3"), "A"),
    SourceKind("H.264 and AC-3 in Matroska", "ac3.mkv", made(both(), X264, "-c:a ac3"), "A"),
    SourceKind("H.264 and E-AC-3 in Matroska", "eac3.mkv", made(both(), X264, "-c:a eac3"), "A"),
    SourceKind("H.264 and MP3 in MP4", "mp3.mp4", made(both(), X264, "-c:a libmp3lame"), "A"),
    SourceKind("H.264 and FLAC in Matroska", "flac.mkv", made(both(), X264, "-c:a flac"), "A"),
    SourceKind("H.264 and PCM in QuickTime", "pcm.mov", made(both(), X264, PCM), "A"),
    SourceKind("H.264 and 5.1 AAC in MP4", "surround.mp4", made(both(), X264, "-c:a aac -b:a 256k -ac 6"), "A"),
)
