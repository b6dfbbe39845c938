"""H.264 with frames of two coded fields each (PAFF), as AVCHD cameras and broadcasters send it.

ffmpeg's encoders do not write it. Each field is one slice: uncompressed grey macroblocks, or a repeat of the
last field. ISO/IEC 14496-10, 7.3; ISO/IEC 13818-1, 2.4.
"""

import pathlib

FRAMES = 100
GOP = 12
WIDTH_MBS = 8
HEIGHT_MBS = 4
"""Of one field."""
TICKS = 3600
"""From one frame to the next, of 90 000 a second."""
DELIMITER = b"\0\0\0\1\x09\xf0"


class Bits:
    def __init__(self) -> None:
        self.text = ""

    def u(self, width: int, value: int) -> "Bits":
        self.text += f"{value:0{width}b}"
        return self

    def ue(self, *values: int) -> "Bits":
        for value in values:
            self.text += "0" * ((value + 1).bit_length() - 1) + f"{value + 1:b}"
        return self

    def align(self) -> "Bits":
        self.text += "0" * (-len(self.text) % 8)
        return self

    def unit(self, kind: int, reference: int) -> bytes:
        """A NAL unit of a byte stream, with its emulation prevention."""
        self.u(1, 1).align()
        unit, zeros = bytearray([0, 0, 0, 1, reference << 5 | kind]), 0
        for byte in int(self.text, 2).to_bytes(len(self.text) // 8, "big"):
            if zeros >= 2 and byte <= 3:
                unit.append(3)
                zeros = 0
            unit.append(byte)
            zeros = 0 if byte else zeros + 1
        return bytes(unit)


def parameter_sets() -> bytes:
    sequence = Bits().u(8, 77).u(8, 0).u(8, 30).ue(0, 0, 0, 4, 1).u(1, 0).ue(WIDTH_MBS - 1, HEIGHT_MBS - 1)
    # Fields, no cropping; the VUI has only the timing, whose tick is a field.
    sequence.u(5, 0b00101).u(4, 0).u(1, 1).u(32, TICKS // 2).u(32, 90_000).u(1, 1).u(4, 0)
    picture = Bits().ue(0, 0).u(2, 0).ue(0, 0, 0).u(3, 0).ue(0, 0, 0).u(3, 0b100)
    return sequence.unit(7, 3) + picture.unit(8, 3)


def field(frame: int, second: bool, intra: bool) -> bytes:
    number = frame % GOP
    is_idr = number == 0 and not second
    bits = Bits().ue(0, 7 if intra else 5, 0).u(4, number).u(1, 1).u(1, second)
    if is_idr:
        bits.ue(frame // GOP % 2)
    bits.u(8, 2 * number + second)
    if not intra:
        bits.u(2, 0)
    bits.u(2 if is_idr else 1, 0).ue(0, 1)
    if not intra:
        bits.ue(WIDTH_MBS * HEIGHT_MBS)
    for block in range(WIDTH_MBS * HEIGHT_MBS if intra else 0):
        grey = 40 + (frame * 2 + block * 5) % 180
        bits.ue(25).align()
        bits.text += f"{grey:08b}" * 256 + f"{128:08b}" * 128
    return bits.unit(5 if is_idr else 1, 3 if number == 0 else 2)


def crc(section: bytes) -> bytes:
    value = 0xFFFFFFFF
    for byte in section:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & 0xFFFFFFFF
    return value.to_bytes(4, "big")


class Transport:
    def __init__(self) -> None:
        self.packets = bytearray()
        self.counters: dict[int, int] = {}

    def put(self, pid: int, data: bytes, clock: int | None = None) -> None:
        is_first = True
        while data or is_first:
            counter = self.counters.get(pid, 0)
            self.counters[pid] = (counter + 1) & 15
            extra = b"\x10" + (clock << 15 | 0x7E00).to_bytes(8, "big")[2:] if is_first and clock is not None else b""
            capacity = 184 - (len(extra) + 1 if extra else 0)
            now, data = data[:capacity], data[capacity:]
            padding = capacity - len(now)
            if extra or padding > 1:
                extra = extra + b"\xff" * padding if extra else b"\0" + b"\xff" * (padding - 2)
            has_extra = bool(extra) or padding > 0
            head = [0x47, (0x40 if is_first else 0) | pid >> 8, pid & 0xFF, (0x30 if has_extra else 0x10) | counter]
            self.packets += bytes(head) + (bytes([len(extra)]) + extra if has_extra else b"") + now
            is_first = False

    def tables(self) -> None:
        programs = b"\0\xb0\x0d\0\1\xc1\0\0\0\1\xe1\0"
        program = b"\2\xb0\x12\0\1\xc1\0\0\xe1\1\xf0\0\x1b\xe1\1\xf0\0"
        for pid, table in ((0, programs), (0x100, program)):
            self.put(pid, (b"\0" + table + crc(table)).ljust(184, b"\xff"))


def transport_stream(target: pathlib.Path, timestamps_a_frame: int) -> None:
    """Writes the stream; both fields of a frame have a timestamp, or only the first."""
    stream = Transport()
    for frame in range(FRAMES):
        is_key = frame % GOP == 0
        if is_key:
            stream.tables()
        for second in (False, True):
            intra = not second and (is_key or frame % 3 == 0)
            unit = DELIMITER + (parameter_sets() if is_key and not second else b"") + field(frame, second, intra)
            time = 90_000 + frame * TICKS + second * TICKS // 2
            if second and timestamps_a_frame == 1:
                stream.put(0x101, b"\0\0\1\xe0\0\0\x80\0\0" + unit)
                continue
            parts = [0x21 | time >> 29 & 14, time >> 22 & 255, 1 | time >> 14 & 254, time >> 7 & 255, 1 | time << 1 & 254]
            head = b"\0\0\1\xe0\0\0\x80\x80\5" + bytes(parts)
            stream.put(0x101, head + unit, None if second else time - 9000)
    target.write_bytes(stream.packets)
