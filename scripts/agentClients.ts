import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"

/*
 * npm run agent-clients
 *
 * Updates the clients that test/agents and test/mcp connect with to their latest versions, lets them live through a day,
 * and prints what changed. `npm run agent-clients -- --check` changes nothing.
 *
 * `npm run agent-clients -- --earlier` lets earlier versions of the SDK, in a folder of their own, live through the same
 * day.
 */

const clients = ["@modelcontextprotocol/client", "@modelcontextprotocol/sdk", "@langchain/core", "ai"]

/** From the first version that refreshes tokens with the transport's own `fetch` to the one in package.json. */
const earlier = ["1.17.5", "1.20.2", "1.23.1", "1.25.3", "1.29.0", "1.31.0"]

/** Outside the checkout, so that no version finds the packages of another. */
const install = (version: string): string => {
  const folder = join(tmpdir(), `quarry-agent-clients/${version}`)
  mkdirSync(folder, { recursive: true })
  execFileSync("npm", ["install", "--prefix", folder, "--no-save", `@modelcontextprotocol/sdk@${version}`], {
    stdio: "inherit"
  })
  return folder
}

if (process.argv.includes("--earlier")) {
  execFileSync("npx", ["vitest", "run", "test/agents/clients.system.test.ts"], {
    stdio: "inherit",
    env: { ...process.env, AGENT_SDKS: earlier.map(install).join(delimiter) }
  })
  process.exit()
}

const manifest = (): Readonly<Record<string, string>> => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"))
  return { ...devDependencies, ...dependencies }
}

const npm = (...args: ReadonlyArray<string>) => execFileSync("npm", args, { encoding: "utf8" }).trim()

const pinned = manifest()
const latest = clients.map((name) => [name, npm("view", name, "version")] as const)
const changed = latest.filter(([name, version]) => pinned[name] !== version)

for (const [name, version] of latest)
  console.log(`${name}: ${pinned[name]}${pinned[name] === version ? "" : ` -> ${version}`}`)

if (changed.length > 0 && !process.argv.includes("--check")) {
  // Keeps each package among the dependencies where it is.
  execFileSync("npm", ["install", "--save-exact", ...changed.map(([name, version]) => `${name}@${version}`)], {
    stdio: "inherit"
  })
  execFileSync("npx", ["vitest", "run", "test/agents", "test/mcp"], { stdio: "inherit" })
}
