import { Effect, type Layer } from "effect"
import { Command, Flag } from "effect/cli"
import type { Audit } from "../services/Audit.ts"
import { SecretRotation, type SecretStatus } from "../services/SecretRotation.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { audited } from "./audited.ts"
import { requireYes, yes } from "./flags.ts"
import { print, table } from "./Output.ts"

const printStatus = (statuses: ReadonlyArray<SecretStatus>) =>
  print(
    {
      secrets: statuses.map((it) => ({
        name: it.name,
        state: it.state,
        processes: it.processes,
        processes_without: it.processesWithout,
        remaining: it.remaining
      }))
    },
    table([
      ["SECRET", "STATE", "PROCESSES", "WITHOUT NEW", "ON OLD VALUE"],
      ...statuses.map((it) => [it.name, it.state, `${it.processes}`, `${it.processesWithout}`, `${it.remaining}`])
    ])
  )

/** A step of a rotation with its audit entry. */
const change = <A, E, R>(
  command: string,
  step: Effect.Effect<A, E, R>,
  options: Readonly<Record<string, boolean>> = {}
) => audited(step, () => ({ command, subject: undefined, arguments: options }))

const status = Command.make(
  "status",
  {},
  Effect.fn(function* () {
    yield* printStatus(yield* (yield* SecretRotation).status)
  })
).pipe(Command.withDescription("Show how far a rotation of KEY_PEPPER or AUTH_SECRET is"))

const rotate = Command.make(
  "rotate",
  {},
  Effect.fn(function* () {
    yield* printStatus(yield* change("secrets rotate", (yield* SecretRotation).rotate))
  })
).pipe(
  Command.withDescription("Take the new values of KEY_PEPPER and AUTH_SECRET into use, once every process has them")
)

const finish = Command.make(
  "finish",
  {
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("End the API keys and sessions that only the old value opens"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* (options) {
    yield* printStatus(yield* change("secrets finish", (yield* SecretRotation).finish(options), options))
  })
).pipe(Command.withDescription("Forget the old values, when nothing needs them any more"))

const adopt = Command.make(
  "adopt",
  { yes },
  Effect.fn(function* ({ yes }) {
    yield* requireYes(yes, "This ends all API keys and sessions that were made with other secrets.")
    yield* printStatus(yield* change("secrets adopt", (yield* SecretRotation).adopt))
  })
).pipe(Command.withDescription("Use the secrets of the settings, where the ones before are lost"))

export const secrets = <E, R>(rotation: Layer.Layer<AppConfig | Audit | SecretRotation, E, R>) =>
  Command.make("secrets").pipe(
    Command.withDescription("KEY_PEPPER and AUTH_SECRET, and their rotation"),
    Command.withSubcommands([
      status.pipe(Command.provide(rotation)),
      rotate.pipe(Command.provide(rotation)),
      finish.pipe(Command.provide(rotation)),
      adopt.pipe(Command.provide(rotation))
    ])
  )
