import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

/*
 * npm run agent-clients
 *
 * Updates the clients that test/agents and test/mcp connect with to their latest versions, lets them live through a day,
 * and prints what changed. `npm run agent-clients -- --check` changes nothing.
 */

const clients = ["@modelcontextprotocol/client", "@modelcontextprotocol/sdk", "@langchain/core", "ai"]

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
