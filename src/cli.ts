import { userInfo } from "node:os"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { codeOf, complain } from "./cli/exit.ts"
import { SystemUser } from "./cli/operations/operator.ts"
import * as Quarry from "./cli/Quarry.ts"
import { exportAccount } from "./http/handlers/exportAccount.ts"
import * as Commands from "./process/Commands.ts"
import * as Stdout from "./process/lifecycle/Stdout.ts"

/** The user's number if it has no name, as in many containers. */
const systemUser = (): string => {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`
  }
}

const quarry = Quarry.make({ ...Commands.layers, exportAccount })

const stdout = Stdout.watch(process.stdout, console.error)

quarry(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  Effect.provideService(SystemUser, systemUser()),
  Effect.tapCause(complain),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, end) => stdout.end(codeOf(exit), end)
  })
)
