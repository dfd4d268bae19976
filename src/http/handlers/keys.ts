import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { unauthorized } from "../../domain/errors.ts"
import type { ApiKey } from "../../domain/keys/ApiKey.ts"
import { toChange } from "../../domain/keys/KeyBounds.ts"
import { type IssuedKey, KeyStore } from "../../services/keys/KeyStore.ts"
import { Api } from "../Api.ts"
import { currentAccount, currentSession } from "../Gates.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fn(function* (handlers) {
    const keys = yield* KeyStore

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { api_keys: (yield* keys.list((yield* currentAccount).id)).map(toKey) }
      }),
      create: Effect.fnUntraced(function* ({ payload: { name, type = "live", ...bounds } }) {
        const { account, personId } = yield* currentSession
        // An account deleted after authentication has no valid credential.
        const issued = keys
          .create(account.id, { label: name, mode: type, bounds: toChange(bounds), createdBy: personId })
          .pipe(Effect.catchTag("not_found", () => Effect.fail(unauthorized)))
        return toIssued(yield* issued)
      }),
      bind: Effect.fnUntraced(function* ({ params, payload }) {
        return toKey(yield* keys.bindOwn((yield* currentAccount).id, params.id, toChange(payload)))
      }),
      rotate: Effect.fnUntraced(function* ({ params, payload }) {
        return toIssued(yield* keys.rotateOwn((yield* currentAccount).id, params.id, payload.grace_seconds))
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        yield* keys.revokeOwn((yield* currentAccount).id, params.id)
      })
    })
  })
)

export const toKey = (key: ApiKey) => ({
  id: key.id,
  name: key.label,
  type: key.mode,
  hint: key.hint,
  created_at: key.createdAt,
  created_by: key.createdBy ?? null,
  last_used_at: key.lastUsedAt ?? null,
  revoked_at: key.revokedAt ?? null,
  expires_at: key.bounds.expiresAt ?? null,
  budget: toBudget(key),
  targets: key.bounds.targets ?? null,
  networks: key.bounds.networks ?? null
})

export const toBudget = ({ bounds: { budget }, spending }: Pick<ApiKey, "bounds" | "spending">) =>
  budget === undefined ? null : { ...budget, spent: spending?.credits ?? 0, resets_at: spending?.resetsAt ?? null }

const toIssued = ({ key, secret }: IssuedKey) => ({ ...toKey(key), secret: Redacted.value(secret) })
