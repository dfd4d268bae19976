import { randomInt } from "node:crypto"
import { closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Below the ports that the system gives to outgoing connections, one of which could take a port found free here. */
const lowest = 15_000
const highest = 30_000

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

const claims = join(tmpdir(), "quarry-test-ports")
const claimMs = 3_600_000

/** Keeps a port from the other test processes of this machine, which may look between our look and our server's start. */
const claim = (port: number): boolean => {
  const file = join(claims, `${port}`)
  try {
    mkdirSync(claims, { recursive: true })
    if (Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > claimMs) rmSync(file)
    closeSync(openSync(file, "wx"))
    return true
  } catch {
    return false
  }
}

/** A port on loopback that nobody listens on, for a server that the test starts. */
export const freePort = async (): Promise<number> => {
  const port = randomInt(lowest, highest)
  return claim(port) && (await isFree(port)) ? port : freePort()
}
