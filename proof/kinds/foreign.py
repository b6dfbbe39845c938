"""Sources in containers that are rewritten once before they are read."""

from kinds.kind import AAC, X264, Kind, both, made

INTERLACED = "-flags +ilme+ildct -top 1"

KINDS = (
    Kind(
        "MPEG-2, interlaced, in a transport stream",
        "mpeg2-interlaced.ts",
        made(both(size="720x576", rate="25"), "-c:v mpeg2video -q:v 4", INTERLACED, "-c:a mp2"),
        "F C",
        "MPEG-2",
    ),
    Kind(
        "MPEG-2 in a programme stream",
        "mpeg2.mpg",
        made(both(size="720x576", rate="25"), "-f dvd -c:v mpeg2video -q:v 4 -c:a mp2"),
        "F C",
        "MPEG-2",
    ),
    Kind(
        "HEVC in a transport stream",
        "hevc.ts",
        made(both(), "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=60", AAC),
        "F B",
    ),
    Kind(
        "MPEG-4 ASP and MP3 in AVI",
        "asp.avi",
        made(both(), "-c:v mpeg4 -vtag XVID -q:v 4 -c:a libmp3lame"),
        "F C",
        "MPEG-4",
    ),
    Kind("H.264 with B-frames in AVI, no presentation times", "h264.avi", made(both(), X264, "-c:a libmp3lame"), "F A"),
    Kind(
        "MJPEG and PCM in AVI",
        "mjpeg.avi",
        made(both(size="320x180"), "-c:v mjpeg -q:v 5 -c:a pcm_s16le"),
        "F C",
        "JPEG",
    ),
    Kind("WMV and WMA", "wmv.wmv", made(both(), "-c:v wmv2 -b:v 1M -c:a wmav2"), "F C", "WMV"),
    Kind("H.264 and AAC in FLV", "h264.flv", made(both(), X264, AAC), "F A"),
    Kind(
        "Sorenson H.263 and MP3 in FLV",
        "flv1.flv",
        made(both(size="320x180"), "-c:v flv -q:v 5 -c:a libmp3lame -ar 44100"),
        "F C",
    ),
    Kind(
        "Theora and Vorbis in Ogg", "theora.ogv", made(both(), "-c:v libtheora -q:v 6 -c:a libvorbis"), "F C", "Theora"
    ),
    Kind(
        "DNxHD and PCM in MXF",
        "dnxhd.mxf",
        made(both(size="1280x720", rate="25", seconds=2), "-c:v dnxhd -b:v 60M -pix_fmt yuv422p -c:a pcm_s16le"),
        "F C",
        "DNxHD",
    ),
    Kind(
        "MPEG-2 and PCM in MXF",
        "mpeg2.mxf",
        made(both(size="720x576", rate="25"), "-c:v mpeg2video -q:v 4 -c:a pcm_s16le"),
        "F C",
        "MPEG-2",
    ),
)
