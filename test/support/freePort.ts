import { randomInt } from "node:crypto"
import { createServer } from "node:net"

/** Below the ports that the system gives to outgoing connections, one of which could take a port found free here. */
const lowest = 15_000
const highest = 30_000

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

/** A port on loopback that nobody listens on, for a server that the test starts. */
export const freePort = async (): Promise<number> => {
  const port = randomInt(lowest, highest)
  return (await isFree(port)) ? port : freePort()
}
