import { type Cause, Console, Effect, Ref } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import * as errors from "../domain/errors.ts"
import { version } from "../domain/version.ts"
import { account } from "./accounts/account.ts"
import { member } from "./accounts/member.ts"
import { operator } from "./accounts/operator.ts"
import { person } from "./accounts/person.ts"
import { sessions } from "./accounts/sessions.ts"
import { billing } from "./billing/billing.ts"
import { holds } from "./credits/holds.ts"
import { ledger } from "./credits/ledger.ts"
import { usage } from "./credits/usage.ts"
import { writesMore, writesNothing } from "./effects.ts"
import { failureOf } from "./exit.ts"
import { documents } from "./index/documents.ts"
import { key } from "./keys/key.ts"
import type { CommandLayers } from "./layers.ts"
import { Json, NotFound, Printed, presenter } from "./Output.ts"
import { audit } from "./operations/audit.ts"
import { backup, restore } from "./operations/backup.ts"
import { config } from "./operations/config.ts"
import { migrate } from "./operations/migrate.ts"
import { By } from "./operations/operator.ts"
import { replica } from "./operations/replica.ts"
import { retention } from "./operations/retention.ts"
import { secrets } from "./operations/secrets.ts"
import { status } from "./operations/status.ts"
import { providers } from "./providers/providers.ts"
import { batch } from "./search/batch.ts"
import { query } from "./search/query.ts"
import { request } from "./search/request.ts"
import { webhooks } from "./webhooks/webhooks.ts"

const printFailure = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  const failure = failureOf(cause)
  if (failure === undefined || (yield* Ref.get(yield* Printed))) return
  yield* Console.log(JSON.stringify(failure))
})

export const commands = <E, R>(layers: CommandLayers<E, R>) =>
  Command.make("quarry").pipe(
    Command.withDescription("Operate Quarry, a web search API"),
    Command.withSubcommands([
      status(layers),
      account(layers),
      member(layers),
      person(layers),
      operator(layers),
      key(layers),
      sessions(layers),
      audit(layers),
      documents(layers),
      ledger(layers),
      billing(layers),
      webhooks(layers),
      replica(layers),
      holds(layers),
      query(layers),
      batch(layers),
      request(layers),
      usage(layers),
      secrets(layers),
      providers(layers),
      retention(layers),
      backup.pipe(Command.provide(layers.backups)),
      restore.pipe(Command.provide(layers.backups)),
      migrate.pipe(writesMore, Command.provide(layers.database)),
      config.pipe(writesNothing, Command.provide(layers.settings))
    ]),
    Command.withGlobalFlags([Json, By])
  )

export const make = <E, R>(layers: CommandLayers<E, R>) => {
  const run = Command.runWith(commands(layers), { version })
  return (args: ReadonlyArray<string>) =>
    run(args).pipe(
      Effect.mapError((error) => (error instanceof errors.NotFound ? new NotFound({ message: error.message }) : error)),
      // Reads the raw arguments, because a command line that does not parse has no flags.
      Effect.tapCause((cause) => (args.includes("--json") ? printFailure(cause) : Effect.void)),
      Effect.provideServiceEffect(Printed, Ref.make(false)),
      Effect.provide(CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] })),
      Effect.provide(CliOutput.layerPresenter(presenter))
    )
}
