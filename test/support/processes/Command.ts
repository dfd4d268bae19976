import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, Sink, Stdio } from "effect"
import { TestConsole } from "effect/testing"
import { codeOf, complain } from "../../../src/cli/exit.ts"
import { SystemUser } from "../../../src/cli/operations/operator.ts"
import * as Quarry from "../../../src/cli/Quarry.ts"
import { exportAccount } from "../../../src/http/handlers/exportAccount.ts"
import * as Commands from "../../../src/process/Commands.ts"
import type { Ended } from "./Spawned.ts"

const run = Quarry.make({ ...Commands.layers, exportAccount })

const text = (lines: ReadonlyArray<unknown>) => lines.map((line) => `${line}\n`).join("")

/**
 * Runs one of the operator's commands with `src/cli.ts`'s own composition, but inside this process: a process of its own
 * costs more than a second of CPU time. Use `spawned` where the process itself is the subject.
 */
export const command = (env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>): Effect.Effect<Ended> =>
  Effect.suspend(() => {
    const pieces: Array<string | Uint8Array> = []
    const write = (piece: string | Uint8Array) => Effect.sync(() => void pieces.push(piece))
    const stdio = Stdio.layerTest({ stdout: () => Sink.forEach(write) })
    return Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.tapCause(run(args), complain))
      const [out, err] = [yield* TestConsole.logLines, yield* TestConsole.errorLines]
      // A command either streams its output in pieces or prints lines.
      return { code: codeOf(exit), stdout: pieces.map(String).join("") + text(out), stderr: text(err) }
    }).pipe(
      Effect.provideService(SystemUser, "tests"),
      Effect.provide([
        TestConsole.layer,
        NodeServices.layer,
        stdio,
        ConfigProvider.layer(ConfigProvider.fromEnv({ env: { ADMIN_PORT: "0", ...env } }))
      ])
    )
  })
