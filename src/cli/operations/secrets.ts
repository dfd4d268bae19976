import { Effect } from "effect"
import { Command } from "effect/cli"
import { SecretRotation, type SecretStatus } from "../../services/operations/SecretRotation.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { requireYes, toggle, yes } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table } from "../Output.ts"
import { audited } from "./audited.ts"

const printStatus = (statuses: ReadonlyArray<SecretStatus>) =>
  print(
    {
      secrets: statuses.map((status) => ({
        name: status.name,
        state: status.state,
        processes: status.processes,
        processes_without: status.processesWithout,
        remaining: status.remaining
      }))
    },
    table([
      ["SECRET", "STATE", "PROCESSES", "WITHOUT NEW", "ON OLD VALUE"],
      ...statuses.map((status) => [
        status.name,
        status.state,
        `${status.processes}`,
        `${status.processesWithout}`,
        `${status.remaining}`
      ])
    ])
  )

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
).pipe(Command.withDescription("Show the progress of a KEY_PEPPER or AUTH_SECRET rotation"))

const rotate = Command.make(
  "rotate",
  {},
  Effect.fn(function* () {
    yield* printStatus(yield* change("secrets rotate", (yield* SecretRotation).rotate))
  })
).pipe(Command.withDescription("Start using the new values of KEY_PEPPER and AUTH_SECRET once every process has them"))

const finish = Command.make(
  "finish",
  {
    force: toggle("force", "End API keys and sessions that still depend on the old value")
  },
  Effect.fn(function* (options) {
    yield* printStatus(yield* change("secrets finish", (yield* SecretRotation).finish(options), options))
  })
).pipe(Command.withDescription("Remove the old values once nothing depends on them"))

const adopt = Command.make(
  "adopt",
  { yes },
  Effect.fn(function* ({ yes }) {
    yield* requireYes(yes, "This ends all API keys and sessions created with other secrets.")
    yield* printStatus(yield* change("secrets adopt", (yield* SecretRotation).adopt))
  })
).pipe(Command.withDescription("Adopt the configured secrets if the previous ones are lost"))

export const secrets = <E, R>(layers: CommandLayers<E, R>) =>
  Command.make("secrets").pipe(
    Command.withDescription("Rotate KEY_PEPPER and AUTH_SECRET"),
    Command.withSubcommands([
      status.pipe(writesNothing, Command.provide(layers.secrets)),
      rotate.pipe(writesMore, Command.provide(layers.secrets)),
      finish.pipe(writesMore, Command.provide(layers.secrets)),
      adopt.pipe(writesMore, Command.provide(layers.secrets))
    ])
  )
