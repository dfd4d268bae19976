import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { copyWith, type Mutation } from "../../simulation/mutations.ts"

/** A fault that the scenario `cost` must find. */
export interface CostMutation extends Mutation {
  /** What the run is told, beside its seed. */
  readonly rounds: number
  /** The violation that must be among its output. */
  readonly finds: RegExp
}

/** Puts a declaration before the one that is there, under whose name the other is known. */
const instead = (declaration: string, other: string) => ({
  from: declaration,
  to: `${other}\n\n${declaration.replace(/\w+ = $/, "replaced = ")}`
})

const post =
  'post: Effect.fn("WebhookClient.post", { kind: "client" })(function* ({ body, id, secrets, timestamp, url }) {'

/** Faults that the service once had. Each text needs little of its module, so that it fits the module as it changes. */
export const mutations: ReadonlyArray<CostMutation> = [
  {
    name: "a list that is copied for each repetition of a parameter",
    file: "src/http/query.ts",
    ...instead(
      "export const parseQuery = ",
      `export const parseQuery = (query: string) => {
  const parameters = Object.create(null)
  for (const pair of query.split("&")) {
    const end = (pair + "=").indexOf("=")
    const [name, value] = [decode(pair.slice(0, end)), decode(pair.slice(end + 1))]
    const before = parameters[name]
    if (pair !== "") parameters[name] = before === undefined ? value : [before, value].flat()
  }
  const empty: any = replaced("")
  return empty._tag === "Success" ? Object.assign(empty, { success: parameters }) : parameters
}`
    ),
    rounds: 5,
    finds: /VIOLATION: [\d.]+ ms of CPU .*(?:repeated|ampersands)/
  },
  {
    name: "a receiver of webhooks that sends interim responses without end",
    file: "src/layers/webhooks/WebhookClientNode.ts",
    from: post,
    to: `${post}
        return yield* Effect.callback<any>((resume) => {
          const { request } = process.getBuiltinModule("node:http")
          const sent = request(url, { method: "POST", agent: false }, (answer) => {
            resume(Effect.succeed({ status: answer.statusCode ?? 0, retryAfterMs: 0 }))
            answer.destroy()
          })
          sent.on("error", () => {})
          sent.end(body)
          return Effect.sync(() => sent.destroy())
        })`,
    rounds: 0,
    finds: /VIOLATION: \d+ ms of CPU .* receiver of interim-flood/
  },
  {
    name: "an issue for each wrong value of a list",
    file: "src/domain/fields.ts",
    ...instead(
      "export const decoder = ",
      `export const decoder = (schema: any): any => {
  const decode = Schema.decodeUnknownResult(schema, reportAll)
  return (input: unknown) =>
    Result.mapError(decode(input), ({ issue }) => InvalidRequest.fromIssues(issuesOf(issue, input)))
}`
    ),
    rounds: 5,
    finds: /VIOLATION: (?:[\d.]+ ms of CPU|an answer of) .*a list of/
  }
]

interface Found {
  readonly isFound: boolean
  readonly output: string
  readonly seconds: number
}

/** Runs `cost` on a copy of the sources with the fault in it, up to its first violation. */
export const tryMutation = async (mutation: CostMutation): Promise<Found> => {
  const directory = copyWith(mutation, ["src", "simulation", "test", "clients"])
  const startedAt = performance.now()
  const args = [
    "test/torture/torture.ts",
    "--scenario",
    "cost",
    "--seed",
    "1",
    "--first",
    "--rounds",
    String(mutation.rounds)
  ]
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] })
  let output = ""
  child.stdout.on("data", (chunk) => {
    output += chunk
  })
  await new Promise((resolve) => child.once("close", resolve))
  rmSync(directory, { recursive: true })
  return { isFound: mutation.finds.test(output), output, seconds: Math.round((performance.now() - startedAt) / 1000) }
}

const shownCharacters = 200

/** True if all of them are found. */
export const checkMutations = async (): Promise<boolean> => {
  let missed = 0
  for (const mutation of mutations) {
    const { isFound, output, seconds } = await tryMutation(mutation)
    if (!isFound) missed++
    const violation = mutation.finds.exec(output)?.[0].slice(0, shownCharacters)
    console.log(`${mutation.name}: ${isFound ? violation : `NOT FOUND\n${output}`} (${seconds} s)`)
  }
  console.log(`${mutations.length - missed} of ${mutations.length} faults were found`)
  return missed === 0
}
