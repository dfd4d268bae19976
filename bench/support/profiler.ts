import { renameSync, writeFileSync } from "node:fs"
import { Session } from "node:inspector/promises"
import { tmpdir } from "node:os"
import { isMainThread } from "node:worker_threads"

/*
 * Loaded into a measured process by `--import`. The first SIGUSR2 starts a CPU profile, the second writes it and starts
 * to sample allocations, and the third writes these.
 */

/** The files of a process. Each exists once it is complete. */
export const profileFiles = (pid: number) => {
  const file = (kind: string) => `${tmpdir()}/quarry-bench-${pid}.${kind}`
  return { cpu: file("cpuprofile"), heap: file("heapprofile") }
}

const write = (file: string, profile: object): void => {
  writeFileSync(`${file}.part`, JSON.stringify(profile))
  renameSync(`${file}.part`, file)
}

const cpuIntervalUs = 400
const heapIntervalBytes = 16 * 1024

if (isMainThread && process.env.NODE_OPTIONS?.includes(import.meta.filename)) {
  const session = new Session()
  session.connect()
  const files = profileFiles(process.pid)
  const steps = [
    async () => {
      await session.post("Profiler.enable")
      await session.post("Profiler.setSamplingInterval", { interval: cpuIntervalUs })
      await session.post("Profiler.start")
    },
    async () => {
      write(files.cpu, (await session.post("Profiler.stop")).profile)
      await session.post("HeapProfiler.startSampling", {
        samplingInterval: heapIntervalBytes,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true
      })
    },
    async () => write(files.heap, (await session.post("HeapProfiler.stopSampling")).profile)
  ]
  process.on("SIGUSR2", () => void steps.shift()?.())
}
