import { fileURLToPath } from "node:url"
import { Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { OperatorError } from "../../domain/OperatorError.ts"
import { isMade } from "../../layers/sql/store/DirectoryLock.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { tell } from "../lifecycle/Greeting.ts"
import { Secrets } from "../secrets/Secrets.ts"

export class StoreNotMade extends OperatorError("StoreNotMade") {}

const program = fileURLToPath(new URL("./makeStore.ts", import.meta.url))

const maxComplaintCharacters = 8_192

/** Killing the child is safe: an incomplete store is discarded. */
const forceKillAfter = "5 seconds"

/** Creates the store in a child process, because this process would never release the memory for it. */
export const makeMissing = Effect.gen(function* () {
  const { databaseUrl, dataDir, embeddedSync } = yield* AppConfig
  if (databaseUrl !== undefined || dataDir === "memory:") return
  // Checks that the directory may be used as a store, before anything else is written to it.
  yield* Secrets
  if (isMade(dataDir)) return
  yield* tell(`Creating the database in ${dataDir}. Only the first start does this.`)
  yield* makeElsewhere(dataDir, embeddedSync)
}).pipe(Effect.provide(Secrets.layer))

const makeElsewhere = Effect.fnUntraced(function* (dataDir: string, sync: "on" | "off") {
  // Disables WebAssembly's optimizing compiler, which would take CPU from the server's start for seconds.
  const child = yield* ChildProcess.make(process.execPath, ["--liftoff-only", program, dataDir, sync], {
    stdin: "ignore",
    stdout: "ignore",
    forceKillAfter
  })
  const [complaint, code] = yield* Effect.all(
    [
      Stream.runFold(
        Stream.decodeText(child.stderr),
        () => "",
        (text, more) => (text + more).slice(0, maxComplaintCharacters)
      ),
      Effect.catch(child.exitCode, () => Effect.succeed(undefined))
    ],
    { concurrency: "unbounded" }
  )
  if (code === 0 && isMade(dataDir)) return
  return yield* explain(dataDir, complaint)
}, Effect.scoped)

const explain = (dataDir: string, complaint: string) => {
  const lines = complaint.split("\n").filter((line) => line.startsWith("quarry: "))
  if (lines.length > 0) {
    return new StoreNotMade({ message: lines.map((line) => line.slice("quarry: ".length)).join("\n") })
  }
  if (complaint !== "") return Effect.die(new Error(`The embedded store was not made:\n${complaint}`))
  return new StoreNotMade({
    message: `The process that creates the database in ${dataDir} was killed, perhaps because memory ran out. Start Quarry again.`
  })
}
