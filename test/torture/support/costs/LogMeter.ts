/** Lines that are kept, and characters of each. */
const maxKept = 5
const maxShown = 300

/** What was logged, without what was different each time. */
const gistOf = (line: string): string => {
  const { cause, message }: { readonly cause?: string; readonly message?: unknown } = JSON.parse(line)
  const [reason = ""] = (cause ?? "").split("\n", 1)
  return `${String(message).slice(0, 60)} ${reason.slice(0, 60)}`.trim()
}

/** How much a server logs, without keeping it. */
export const make = () => {
  const meter = {
    lines: 0,
    bytes: 0,
    longest: 0,
    /** How often each error was logged. */
    errors: new Map<string, number>(),
    /** The last lines, cut: why a process ended. */
    latest: [] as Array<string>,
    take: (line: string): void => {
      const bytes = Buffer.byteLength(line) + 1
      meter.lines++
      meter.bytes += bytes
      meter.longest = Math.max(meter.longest, bytes)
      // Not the native stack, which is all that would be left of a process that has no memory.
      if (!/^ *\d+: 0x|^$/.test(line)) meter.latest.push(line.slice(0, maxShown))
      if (meter.latest.length > maxKept) meter.latest.shift()
      if (!line.includes('"level":"ERROR"')) return
      const gist = gistOf(line)
      meter.errors.set(gist, (meter.errors.get(gist) ?? 0) + 1)
    }
  }
  return meter
}
