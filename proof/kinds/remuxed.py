"""Sources in containers that are remuxed once before they are read."""

from kinds.kind import AAC, X264, SourceKind, both, made

INTERLACED = "-flags +ilme+ildct -top 1"

KINDS = (
    SourceKind(
        "MPEG-2, interlaced, in a transport stream",
        "mpeg2-interlaced.ts",
        made(both(size="720x576", rate="25"), "-c:v mpeg2video -q:v 4", INTERLACED, "-c:a mp2"),
        "F C",
        "MPEG-2",
    ),
    SourceKind(
        "MPEG-2 in a program stream",
        "mpeg2.mpg",
        made(both(size="720x576", rate="25"), "-f dvd -c:v mpeg2video -q:v 4 -c:a mp2"),
        "F C",
        "MPEG-2",
    ),
    SourceKind(
        "HEVC in a transport stream",
        "hevc.ts",
        made(both(), "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=60", AAC),
        "F B",
    ),
    SourceKind(
        "MPEG-4 ASP and MP3 in AVI",
        "asp.avi",
        made(both(), "-c:v mpeg4 -vtag XVID -q:v 4 -c:a libmp3lame"),
        "F C",
        "MPEG-4",
    ),
    SourceKind("H.264 with B-frames in AVI, no presentation times", "h264.avi", made(both(), X264, "-c:a libmp3lame"), "F A"),
    SourceKind(
        "MJPEG and PCM in AVI",
        "mjpeg.avi",
        made(both(size="320x180"), "-c:v mjpeg -q:v 5 -c:a pcm_s16le"),
        "F C",
        "JPEG",
    ),
    SourceKind("WMV and WMA", "wmv.wmv", made(both(), "-c:v wmv2 -b:v 1M -c:a wmav2"), "F C", "WMV"),
    SourceKind("H.264 and AAC in FLV", "h264.flv", made(both(), X264, AAC), "F A"),
    SourceKind(
        "Sorenson H.263 and MP3 in FLV",
        "flv1.flv",
        made(both(size="320x180"), "-c:v flv -q:v 5 -c:a libmp3lame -ar 44100"),
        "F C",
    ),
    SourceKind(
        "Theora and Vorbis in Ogg", "theora.ogv", made(both(), "-c:v libtheora -q:v 6 -c:a libvorbis"), "F C", "Theora"
    ),
    SourceKind(
        "DNxHD and PCM in MXF",
        "dnxhd.mxf",
        made(both(size="1280x720", rate="25", seconds=2), "-c:v dnxhd -b:v 60M -pix_fmt yuv422p -c:a pcm_s16le"),
        "F C",
        "DNxHD",
    ),
    SourceKind(
        "MPEG-2 and PCM in MXF",
        "mpeg2.mxf",
        made(both(size="720x576", rate="25"), "-c:v mpeg2video -q:v 4 -c:a pcm_s16le"),
        "F C",
        "MPEG-2",
    ),
)
