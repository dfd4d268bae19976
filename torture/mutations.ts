import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import type { Mutation } from "../simulation/mutations/Mutation.ts"
import { copyWith } from "../simulation/mutations/mutations.ts"

/** A fault that the scenario `cost` must find. */
export interface CostMutation extends Mutation {
  readonly rounds: number
  /** Matches the violation in the output. */
  readonly finds: RegExp
}

/** Declares `faulty` under the name of an existing declaration, and renames that one to `replaced`. */
const replace = (declaration: string, faulty: string) => ({
  from: declaration,
  to: `${faulty}\n\n${declaration.replace(/\w+ = $/, "replaced = ")}`
})

const post =
  'post: Effect.fn("WebhookClient.post", { kind: "client" })(function* ({ body, id, secrets, timestamp, url }) {'

/** Faults that the service once had. They use little of their modules, so that they still fit when those change. */
export const mutations: ReadonlyArray<CostMutation> = [
  {
    name: "a list is copied for each repetition of a parameter",
    file: "src/http/requests/query.ts",
    ...replace(
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
    finds: /VIOLATION: CPU time.*(?:repeated|ampersands).*/
  },
  {
    name: "a webhook delivery reads interim responses without end",
    file: "src/layers/webhooks/WebhookClientNode.ts",
    from: post,
    to: `${post}
        return yield* Effect.callback<any>((resume) => {
          const { request } = process.getBuiltinModule("node:http")
          const sent = request(url, { method: "POST", agent: false }, (response) => {
            resume(Effect.succeed({ status: response.statusCode ?? 0, retryAfterMs: 0 }))
            response.destroy()
          })
          sent.on("error", () => {})
          sent.end(body)
          return Effect.sync(() => sent.destroy())
        })`,
    rounds: 0,
    finds: /VIOLATION: a delivery to a receiver of (?:interim|continue|hints)-flood.*/
  },
  {
    name: "each wrong value of a list makes an issue",
    file: "src/domain/requests/fields.ts",
    ...replace(
      "export const decoder = ",
      `export const decoder = (schema: any): any => {
  const decode = Schema.decodeUnknownResult(schema, reportAll)
  return (input: unknown) =>
    Result.mapError(decode(input), ({ issue }) => InvalidRequest.fromIssues(issuesOf(issue, input)))
}`
    ),
    rounds: 5,
    finds: /VIOLATION: (?:CPU time|a response of).*a list of.*/
  }
]

interface Tried {
  /** The violation; undefined if the fault was not found. */
  readonly violation: string | undefined
  readonly output: string
  readonly seconds: number
}

const shownCharacters = 200

/** Runs `cost` on a copy of the sources with the fault in it, up to the first violation. */
export const tryMutation = async (mutation: CostMutation): Promise<Tried> => {
  const directory = copyWith(mutation, ["src", "simulation", "test", "torture", "clients"])
  const startedAt = performance.now()
  const options = ["--scenario", "cost", "--seed", "1", "--first", "--rounds", String(mutation.rounds)]
  const child = spawn(process.execPath, ["torture/torture.ts", ...options], {
    cwd: directory,
    stdio: ["ignore", "pipe", "inherit"]
  })
  let output = ""
  child.stdout.on("data", (chunk) => {
    output += chunk
  })
  await new Promise((resolve) => child.once("close", resolve))
  rmSync(directory, { recursive: true })
  const violation = mutation.finds.exec(output)?.[0].slice(0, shownCharacters)
  return { violation, output, seconds: Math.round((performance.now() - startedAt) / 1000) }
}

/** Returns true if all faults are found. */
export const checkMutations = async (): Promise<boolean> => {
  let missed = 0
  for (const mutation of mutations) {
    const { output, seconds, violation } = await tryMutation(mutation)
    if (violation === undefined) missed++
    console.log(`${mutation.name}: ${violation ?? `NOT FOUND\n${output}`} (${seconds} s)`)
  }
  console.log(`${mutations.length - missed} of ${mutations.length} faults were found`)
  return missed === 0
}
