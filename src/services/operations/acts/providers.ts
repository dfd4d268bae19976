import { Effect } from "effect"
import { NotFound } from "../../../domain/errors.ts"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { isPausedBy, type PausedProvider } from "../../../domain/providers/pauses.ts"
import { ProviderPauses } from "../../providers/ProviderPauses.ts"
import { audited } from "../audited.ts"
import { CurrentOperator } from "../CurrentOperator.ts"
import { sightsOf } from "../Overview.ts"
import { Replicas } from "../Replicas.ts"

const nameOf = ({ engine, provider }: { readonly provider: string; readonly engine?: string | null | undefined }) =>
  engine == null ? provider : `${provider}/${engine}`

/** Fails for a name that no running replica has. Without a running replica, any name is accepted. */
const requireKnown = Effect.fnUntraced(function* (pause: PausedProvider) {
  const replicas = yield* Effect.flatMap(Replicas, ({ all }) => all)
  const names = sightsOf(replicas).map(([sight]) => nameOf(sight))
  if (names.length === 0 || names.some((name) => isPausedBy([pause], { name }))) return
  return yield* new NotFound({ message: `No replica has a provider ${nameOf(pause)}. They have: ${names.join(", ")}.` })
})

const commandOf =
  (command: string, { engine, provider }: PausedProvider, reason?: string) =>
  () => ({
    command,
    subject: undefined,
    arguments: { provider, engine, reason }
  })

/** Searches skip the provider on every replica within a heartbeat, until it is resumed. */
export const pauseProvider = Effect.fnUntraced(function* ({ engine, provider, reason }: FieldsOf<"providers pause">) {
  const pause = { provider, engine, reason }
  yield* requireKnown(pause)
  const by = yield* CurrentOperator
  const pauses = yield* ProviderPauses
  return yield* audited(pauses.pause({ ...pause, by }), commandOf("providers pause", pause, pause.reason))
})

/** Returns the pauses that ended. Fails if there was none. */
export const resumeProvider = Effect.fnUntraced(function* ({ engine, provider }: FieldsOf<"providers resume">) {
  const paused = { provider, engine }
  const pauses = yield* ProviderPauses
  const resumed = Effect.filterOrFail(
    pauses.resume(paused),
    (ended) => ended.length > 0,
    () => new NotFound({ message: `${nameOf(paused)} is not paused. See the pauses with: providers paused` })
  )
  return yield* audited(resumed, commandOf("providers resume", paused))
})
