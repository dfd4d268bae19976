import type { ApiKey } from "../../../domain/keys/ApiKey.ts"
import { toMomentOrNull } from "../../../domain/requests/fields.ts"

export const budgetJson = ({ bounds: { budget }, spending }: Pick<ApiKey, "bounds" | "spending">) =>
  budget === undefined ? null : { ...budget, spent: spending?.credits ?? 0 }

export const keyJson = (key: ApiKey) => ({
  id: key.id,
  account_id: key.accountId,
  label: key.label,
  mode: key.mode,
  hint: key.hint,
  created_at: toMomentOrNull(key.createdAt),
  created_by: key.createdBy ?? null,
  last_used_at: toMomentOrNull(key.lastUsedAt),
  revoked_at: toMomentOrNull(key.revokedAt),
  expires_at: toMomentOrNull(key.bounds.expiresAt),
  budget: budgetJson(key),
  targets: key.bounds.targets ?? null,
  networks: key.bounds.networks ?? null
})
