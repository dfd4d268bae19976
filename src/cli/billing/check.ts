import { Effect } from "effect"
import { Command } from "effect/cli"
import { PaymentProvider } from "../../services/billing/PaymentProvider.ts"
import { CommandFailed, print, table } from "../Output.ts"

export const check = Command.make(
  "check",
  {},
  Effect.fn(function* () {
    const provider = yield* PaymentProvider
    const findings = yield* provider.check.pipe(
      Effect.mapError(({ reason }) => new CommandFailed({ message: `${reason}.` }))
    )
    const failed = findings.filter(({ ok }) => !ok).length
    yield* print(
      { ok: failed === 0, findings },
      table([
        ["SUBJECT", "RESULT", "FOUND"],
        ...findings.map(({ message, ok, subject }) => [subject, ok ? "ok" : "wrong", message])
      ])
    )
    if (failed > 0) return yield* new CommandFailed({ message: `${failed} of ${findings.length} checks failed.` })
  })
).pipe(Command.withDescription("Check the token, products, and webhook endpoint at the payment provider"))
