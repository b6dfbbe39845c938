// The mark of Kinora.

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="7" fill="#3350c8" />
      <path d="M7.6 6.2v11.6" stroke="#fff" strokeWidth="2.6" strokeLinecap="round" />
      <path d="M17.2 6.6 11.6 12l5.6 5.4z" fill="#fff" stroke="#fff" strokeWidth="1.6" strokeLinejoin="round" />
    </svg>
  );
}
