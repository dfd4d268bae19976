import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { join } from "node:path"

/**
 * Runs a command, then the server with one search, so that the folder of compiled code has what a start needs. The
 * Dockerfile calls it as the image's user, because Node keeps such code for each user apart.
 */

const bin = join(import.meta.dirname, "../bin")

/** A free port, because a build may share its machine's network. */
const listener = createServer().listen(0, "127.0.0.1")
await once(listener, "listening")
const address = listener.address()
const port = typeof address === "object" ? `${address?.port}` : ""
listener.close()
await once(listener, "close")

const command = spawnSync(join(bin, "quarry"), ["--version"], { stdio: ["ignore", "ignore", "inherit"] })
if (command.status !== 0) throw new Error(`quarry --version ended with ${command.status}`)

const server = spawn(join(bin, "quarry-server"), [], {
  env: {
    PATH: process.env.PATH,
    DATA_DIR: "memory:",
    PORT: port,
    ADMIN_PORT: "0",
    DRAIN_DELAY: "0",
    LOG_FORMAT: "json"
  },
  stdio: ["ignore", "pipe", "inherit"]
})
const ended = once(server, "exit")

let log = ""
for await (const chunk of server.stdout.setEncoding("utf8")) {
  log += chunk
  const key = /sk_live_\w+/.exec(log)?.[0]
  if (key === undefined) continue
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`http://127.0.0.1:${port}/v1/query?query=http+caching`, { headers })
  if (answer.status !== 200) throw new Error(`the search was answered ${answer.status}`)
  server.kill("SIGTERM")
  break
}
const [code] = await ended
if (code !== 0) throw new Error(`the server ended with ${code}:\n${log}`)
