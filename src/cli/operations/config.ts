import { Effect } from "effect"
import { Command } from "effect/cli"
import { describe } from "../../settings/describe.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { print } from "../Output.ts"

export const config = Command.make(
  "config",
  {},
  Effect.fn(function* () {
    const settings = describe(yield* AppConfig)
    yield* print(
      settings,
      Object.entries(settings).map(([name, value]) => (value === null ? `# ${name} is not set` : `${name}=${value}`))
    )
  })
).pipe(Command.withDescription("Print the effective settings with secrets redacted"))
