import { randomInt } from "node:crypto"
import { closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Below the range for outgoing connections, one of which could take a port that was found free. */
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

/** Reserves a port against other test processes on this machine, which may check it before our server starts. */
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

/** A free loopback port, for a server that the test starts. */
export const freePort = async (): Promise<number> => {
  const port = randomInt(lowest, highest)
  return claim(port) && (await isFree(port)) ? port : freePort()
}
