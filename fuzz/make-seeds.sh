#!/usr/bin/env bash
# Makes the files of fuzz/seeds again, with ffmpeg 5.1: one for each family of boxes or elements that is
# parsed. Each is below 4 KiB, so that a mutation is likely to hit parsed bytes. A new family needs one more
# line here.
set -euo pipefail
cd "$(dirname "$0")/seeds"

ff() { ffmpeg -hide_banner -loglevel error -y -nostdin -fflags +bitexact "$@"; }
picture='-f lavfi -i testsrc2=s=32x18:r=10:d=0.8'
sound='-f lavfi -i sine=f=440:r=16000:d=0.8'
# Without the encoder's description, which needs more bytes than the frames.
h264='-c:v libx264 -preset veryfast -crf 51 -g 4 -bf 2 -sc_threshold 0 -pix_fmt yuv420p -flags:v +bitexact -bsf:v filter_units=remove_types=6'
h265='-c:v libx265 -preset ultrafast -crf 51 -x265-params log-level=none:keyint=4:info=0 -pix_fmt yuv420p'
aac='-c:a aac -b:a 8k -ac 1 -flags:a +bitexact'
fragmented='-movflags +frag_keyframe+empty_moov+default_base_moof'

ff $picture $sound $h264 $aac h264_aac.mp4
ff -i h264_aac.mp4 -c copy -movflags +faststart faststart.mp4
ff -i h264_aac.mp4 -c copy -timecode 01:00:00:00 timecode.mov
ff -i h264_aac.mp4 -map 0:v -c copy -aspect 4:3 -metadata:s:v:0 rotate=90 -movflags +negative_cts_offsets rotated.mp4
ff -i h264_aac.mp4 -map 0:a -c copy audio.m4a
ff -i h264_aac.mp4 -c copy $fragmented fragmented.mp4
ff -i h264_aac.mp4 -c copy -movflags +frag_keyframe+delay_moov+dash+global_sidx fragmented_sidx.mp4
ff -i h264_aac.mp4 -map 0:v -map 0:a -map 0:a -t 0.4 -c copy -metadata:s:a:0 language=deu two_languages.mp4
ff $picture $h265 -tag:v hvc1 hevc.mp4
ff $picture $h265 -tag:v hev1 $fragmented hevc_fragmented.mp4
ff $picture -c:v libaom-av1 -cpu-used 8 -crf 63 -g 5 av1.mp4
ff $sound -c:a libopus -b:a 6k opus.mp4
ff -i h264_aac.mp4 -c copy h264_aac.mkv
ff -i h264_aac.mp4 -map 0:v -c copy -f matroska -live 1 - >live.mkv
ff $picture $sound -c:v libvpx -crf 63 -b:v 10k -g 5 -c:a libopus -b:a 6k vp8_opus.webm
ff $sound -c:a libmp3lame -b:a 8k mp3.mka

# The subtitle seeds, *.srt and *.vtt, are written by hand.

find . -size +4095c | { ! grep . ; } # none may be larger
