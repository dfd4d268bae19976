import { fileURLToPath } from "node:url"
import { Effect, Layer, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { OperatorError } from "../domain/OperatorError.ts"
import * as NewStore from "../layers/sql/NewStore.ts"
import { AppConfig } from "../settings/Settings.ts"
import { Secrets } from "./Secrets.ts"

/** The embedded store could not be made; the message says why and what to do. */
export class StoreNotMade extends OperatorError("StoreNotMade") {}

const program = fileURLToPath(new URL("./makeStore.ts", import.meta.url))

/** The most of the child's complaint that is kept. */
const maxComplaintCharacters = 8_192

/** A child that does not end after a signal is killed: a store that is not complete is thrown away anyway. */
const forceKillAfter = "5 seconds"

/**
 * Makes the embedded store before it is opened, when the data directory has none. Another process does it, because
 * making a database and loading the starter index leave memory behind that a process never gives back.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { databaseUrl, dataDir } = yield* AppConfig
    if (databaseUrl !== undefined || dataDir === "memory:") return
    // They find out whether the directory is a store at all, and are there before anything else is.
    yield* Secrets
    if (!NewStore.isMade(dataDir)) yield* makeElsewhere(dataDir)
  })
).pipe(Layer.provide(Secrets.layer))

const makeElsewhere = Effect.fnUntraced(function* (dataDir: string) {
  const child = yield* ChildProcess.make(process.execPath, [program, dataDir], {
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
  if (code === 0 && NewStore.isMade(dataDir)) return
  return yield* explain(dataDir, complaint)
}, Effect.scoped)

/** The child's own line, which names the fault; a child that was killed says nothing. */
const explain = (dataDir: string, complaint: string) => {
  const lines = complaint.split("\n").filter((line) => line.startsWith("quarry: "))
  if (lines.length > 0) {
    return new StoreNotMade({ message: lines.map((line) => line.slice("quarry: ".length)).join("\n") })
  }
  if (complaint !== "") return Effect.die(new Error(`The embedded store was not made:\n${complaint}`))
  return new StoreNotMade({
    message: `The process that makes the database in ${dataDir} was killed before its end, perhaps for want of memory. Start again.`
  })
}
