/** Maximum lines kept, and characters of each. */
const maxKept = 5
const maxShown = 300

/** Removes parts of a log line that differ each time. */
const gistOf = (line: string): string => {
  const { cause, message }: { readonly cause?: string; readonly message?: unknown } = JSON.parse(line)
  const [reason = ""] = (cause ?? "").split("\n", 1)
  return `${String(message).slice(0, 60)} ${reason.slice(0, 60)}`.trim()
}

/** Measures how much a server logs, without keeping it. */
export const make = () => {
  const meter = {
    lines: 0,
    bytes: 0,
    longest: 0,
    errors: new Map<string, number>(),
    /** The last lines, truncated, which show why a process ended. */
    latest: [] as Array<string>,
    take: (line: string): void => {
      const bytes = Buffer.byteLength(line) + 1
      meter.lines++
      meter.bytes += bytes
      meter.longest = Math.max(meter.longest, bytes)
      // Skips the native stack, which would otherwise be all that is left of an out-of-memory crash.
      if (!/^ *\d+: 0x|^$/.test(line)) meter.latest.push(line.slice(0, maxShown))
      if (meter.latest.length > maxKept) meter.latest.shift()
      if (!line.includes('"level":"ERROR"')) return
      const gist = gistOf(line)
      meter.errors.set(gist, (meter.errors.get(gist) ?? 0) + 1)
    }
  }
  return meter
}
