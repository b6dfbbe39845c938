// The duration of a media, such as "41:07" or "1:02:30".

/** `hh:mm:ss` of the API as seconds. */
export function secondsOf(duration: string): number {
  return duration.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Without the zeros in front that say nothing. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** `value` is `hh:mm:ss`, as the API sends it. */
export function Duration({ value }: { value: string }) {
  const seconds = secondsOf(value);
  return <time dateTime={`PT${seconds}S`}>{clock(seconds)}</time>;
}
