import { execFile, spawn } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { createServer, request } from "node:http"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { freePort, spawned, temporaryDirectory, watch } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

/** The official conformance suite of the protocol, run against the server as its command line runs it. */

const suite = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url)
)

const earlier = "2025-11-25"
const current = "2026-07-28"

/** The scenarios of servers that apply, with the revisions at which they run. */
const applicable: Readonly<Record<string, ReadonlyArray<string>>> = {
  "server-initialize": [earlier],
  ping: [earlier],
  "tools-list": [earlier, current],
  "dns-rebinding-protection": [earlier, current],
  "server-session-lifecycle": [earlier],
  "server-stateless": [current],
  "server-sse-multiple-streams": [current],
  "http-header-validation": [current],
  caching: [current]
}

const noTool = "calls a tool of the suite's own reference server by its name, which no other server has"
const noPrompts = "Quarry offers no prompts"
const noResources = "Quarry offers no resources"
const noRequests = "Quarry sends no requests to its clients"

/** Why the others do not apply: a scenario, or the beginning of the names of several. */
const inapplicable: ReadonlyArray<readonly [string, string]> = [
  ["tools-call-", noTool],
  ["json-schema-2020-12", noTool],
  ["http-custom-header-server-validation", "no tool has parameters that are repeated in headers"],
  ["server-sse-polling", "streams are not resumed: each answers one request"],
  ["logging-set-level", "Quarry sends no log messages to its clients"],
  ["completion-complete", "there is nothing to complete without prompts and resource templates"],
  ["prompts-", noPrompts],
  ["resources-", noResources],
  ["sep-2164-resource-not-found", noResources],
  ["sep-2640-skills-", noResources],
  ["elicitation-", noRequests],
  ["input-required-result-", noRequests],
  ["tasks-", "an optional extension: searches end within their request"]
]

/** Checks that fail in scenarios that apply, because they ask for what the server does not declare. */
const inapplicableChecks: Readonly<Record<string, string>> = {
  "sep-2575-server-rejects-undeclared-capability": noTool,
  "sep-2575-missing-capability-http-400": noTool,
  "sep-2575-http-server-no-independent-requests-on-stream": noTool,
  "sep-2575-server-no-log-without-loglevel": noTool,
  "sep-2549-prompts-list-caching-hints": noPrompts,
  "sep-2549-resources-list-caching-hints": noResources,
  "sep-2549-resources-templates-list-caching-hints": noResources
}

/** The scenarios of authorization servers, which all apply. */
const authorizationScenarios = ["authorization-server-metadata-endpoint", "authorization-code-grant"]

interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO"
  readonly errorMessage?: string
}

const run = (args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    promisify(execFile)(process.execPath, [suite, ...args]).then(
      ({ stdout }) => stdout,
      // A scenario with a failed check ends with an error; its checks say which.
      (error: { readonly stdout: string }) => error.stdout
    )
  )

/** The checks of each scenario that the suite has written to a directory. */
const checksIn = (directory: string, output: string) => {
  const files = globSync("*/checks.json", { cwd: directory })
  assert.isNotEmpty(files, output)
  // A scenario's directory has its name between the kind of the tested program and the time.
  return files.map((file) => {
    const [, name = ""] = /^(?:authorization-server-|server-)?(.+)-\d{4}-\d\d-\d\dT/.exec(file) ?? []
    const checks: ReadonlyArray<Check> = JSON.parse(readFileSync(`${directory}/${file}`, "utf8"))
    return { name, checks }
  })
}

/** Runs a command of the suite, and returns the checks of each of its scenarios. */
const runScenarios = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const directory = yield* temporaryDirectory
  const output = yield* run([...args, "--output-dir", directory])
  return checksIn(directory, output)
})

/** Signs a person up and allows the app whose address the suite wrote, as a browser does. */
const allowInBrowser = async (url: string, asked: string): Promise<void> => {
  const person = { email: "ada@example.com", password: "correct horse battery staple", name: "Ada" }
  const send = (path: string, body: string, headers: Record<string, string>) =>
    fetch(`${url}${path}`, { method: "POST", redirect: "manual", body, headers: { origin: url, ...headers } })
  const signedUp = await send("/api/auth/sign-up/email", JSON.stringify(person), { "content-type": "application/json" })
  const cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(";", 1).join(""))
    .join("; ")
  const consent = await fetch(asked, { redirect: "manual", headers: { cookie } })
  const query = new URL(consent.headers.get("location") ?? "", url).search.slice(1)
  const form = new URLSearchParams({ request: query, decision: "allow" })
  const allowed = await send("/oauth/consent", String(form), {
    cookie,
    "content-type": "application/x-www-form-urlencoded"
  })
  await (await fetch(allowed.headers.get("location") ?? "")).text()
}

/** Runs the scenarios of authorization servers, in which a person takes part, with an app of this redirect. */
const runAuthorization = Effect.fnUntraced(function* (url: string) {
  const [directory, port] = [yield* temporaryDirectory, yield* freePort]
  const registered = yield* Effect.promise(() =>
    fetch(`${url}/api/auth/oauth2/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "The suite", redirect_uris: [`http://127.0.0.1:${port}/callback`] })
    }).then((answer) => answer.json() as Promise<{ readonly client_id: string }>)
  )
  const args = ["--url", `${url}/api/auth`, "--client-id", registered.client_id, "--resource", `${url}/mcp`]
  const command = [suite, "authorization", ...args, "--port", `${port}`, "--output-dir", directory]
  const child = spawn(process.execPath, command)
  const { ended, said } = yield* Effect.acquireRelease(
    Effect.sync(() => watch(child)),
    () => Effect.sync(() => child.kill("SIGKILL"))
  )
  const [asked = ""] = /http\S+oauth2\/authorize\?\S+/.exec(yield* said("Waiting up to")) ?? []
  yield* Effect.promise(() => allowInBrowser(url, asked))
  const { stdout } = yield* ended
  return checksIn(directory, stdout)
})

const failures = (checks: ReadonlyArray<Check>, excused: Readonly<Record<string, string>>) =>
  checks.filter(({ id, status }) => (status === "FAILURE" || status === "WARNING") && !Object.hasOwn(excused, id))

/** A proxy that adds the key to each message: the suite sends no credentials to a server. */
const proxy = (port: number, target: number, secret: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer((incoming, response) => {
          const { method, url } = incoming
          const isMcp = url?.startsWith("/mcp") === true
          const headers = { ...incoming.headers, ...(isMcp ? { authorization: `Bearer ${secret}` } : {}) }
          const outgoing = request({ port: target, path: url, method, headers }, (answer) => {
            response.writeHead(answer.statusCode ?? 502, answer.headers)
            answer.pipe(response)
          })
          outgoing.on("error", () => response.destroy())
          incoming.pipe(outgoing)
        })
        // The suite keeps its connections while a person decides.
        server.keepAliveTimeout = 120_000
        await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    )
  )

const namesIn = (list: string, heading: string): ReadonlyArray<string> => {
  const [, section = ""] = list.split(heading)
  const [names = ""] = section.split("\n\n")
  return [...names.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name)
}

describe("the official conformance suite", () => {
  it.live("has no scenario of servers about which nothing is decided", () =>
    Effect.gen(function* () {
      const list = yield* run(["list"])
      assert.deepStrictEqual(namesIn(list, "Authorization server scenarios"), authorizationScenarios)
      const names = namesIn(list, "Server scenarios")
      assert.isAbove(names.length, 50)
      const known = (name: string) =>
        Object.hasOwn(applicable, name) || inapplicable.some(([start]) => name.startsWith(start))
      assert.deepStrictEqual(
        names.filter((name) => !known(name)),
        []
      )
    })
  )

  it.live(
    "finds nothing that applies and fails",
    () =>
      Effect.gen(function* () {
        const [port, proxyPort] = [yield* freePort, yield* freePort]
        const server = yield* spawned("src/main.ts", [], {
          BASE_URL: `http://localhost:${proxyPort}`,
          DATA_DIR: yield* EmbeddedStore.directory,
          LOG_FORMAT: "json",
          PORT: `${port}`
        })
        const [secret = ""] = /sk_live_\w+/.exec(yield* server.said("curl")) ?? []
        yield* proxy(proxyPort, port, secret)
        const url = `http://localhost:${proxyPort}`
        for (const revision of [earlier, current]) {
          const options = ["--url", `${url}/mcp`, "--suite", "all", "--spec-version", revision]
          const ran = new Map((yield* runScenarios(["server", ...options])).map(({ checks, name }) => [name, checks]))
          for (const [scenario, revisions] of Object.entries(applicable)) {
            if (!revisions.includes(revision)) continue
            const checks = ran.get(scenario) ?? []
            assert.isNotEmpty(checks, `${scenario} ran at ${revision}`)
            assert.deepStrictEqual(failures(checks, inapplicableChecks), [], `${scenario} at ${revision}`)
          }
        }
        const authorization = yield* runAuthorization(url)
        assert.sameMembers(
          authorization.map(({ name }) => name),
          authorizationScenarios
        )
        for (const { checks, name } of authorization) {
          assert.isNotEmpty(checks, name)
          assert.deepStrictEqual(
            checks.filter(({ status }) => status !== "SUCCESS"),
            [],
            name
          )
        }
      }).pipe(Effect.scoped),
    180_000
  )
})
