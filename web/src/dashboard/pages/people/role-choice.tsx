// One of the roles, with what it may do.

import type { Role } from "../../api/types.js";
import { Choice } from "../../parts/choice.js";
import { text } from "../../text/en.js";
import { peopleText } from "../../text/people.js";

const NAMES: Record<Role, string> = { viewer: text.role("viewer"), member: text.role("member"), admin: text.role("admin") };

export function RoleChoice({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  return <Choice label={peopleText.role.label} hint={peopleText.roleHints[value]} names={NAMES} value={value} onChange={onChange} />;
}
