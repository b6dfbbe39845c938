// How far an upload is, as a bar.

interface Props {
  label: string;
  /** 0 to 1. */
  share: number;
}

export function Bar({ label, share }: Props) {
  const percent = Math.floor(share * 100);
  return (
    <div className="bar" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}
