import type { Member } from "../../accounts/Members.ts"
import { budgetJson } from "./keyJson.ts"

export const memberJson = ({ bounds, email, id, role, spending, status }: Member) => ({
  id,
  email,
  role,
  status,
  targets: bounds.targets ?? null,
  budget: budgetJson({ bounds, spending })
})
