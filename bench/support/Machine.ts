import { execFileSync } from "node:child_process"
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os"

const firstLine = (command: string, ...args: ReadonlyArray<string>): string => {
  try {
    return execFileSync(command, [...args], { encoding: "utf8" }).split("\n")[0] ?? ""
  } catch {
    return "unknown"
  }
}

/** Load average of the last minute. If it is high before a benchmark, other programs are using the machine. */
export const load = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10

/** Describes the machine. */
export const machine = () => ({
  cpu: cpus()[0]?.model ?? "unknown",
  cores: availableParallelism(),
  memoryGb: Math.round(totalmem() / 2 ** 30),
  system: `${platform()} ${release()} ${arch()}`,
  node: process.version,
  redis: firstLine("redis-server", "--version").split(" sha=")[0] ?? ""
})
