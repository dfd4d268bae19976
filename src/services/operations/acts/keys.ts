import { Effect } from "effect"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { KeyStore } from "../../keys/KeyStore.ts"
import { audited } from "../audited.ts"

export const revoke = Effect.fnUntraced(function* ({ id }: FieldsOf<"key revoke">) {
  const store = yield* KeyStore
  return yield* audited(store.revoke(id), ({ accountId, id }) => ({
    command: "key revoke",
    subject: id,
    arguments: { account: accountId }
  }))
})
