import type { Replica } from "./Replica.ts"

/** Summarizes a logged error. The innermost message says most. */
const gist = (line: string): string => {
  const messages = [...line.matchAll(/(?:Error|SqlError)[^:\\"]*: ([^\\"]{1,120})/g)].map(([, message]) => message)
  const logged = /"message":"([^"]{1,120})/.exec(line)?.[1] ?? line.slice(0, 120)
  return messages.length === 0 ? logged : `${logged}: ${[...new Set(messages)].slice(-2).join(" <- ")}`
}

/** Counts the errors that replicas logged, most frequent first. */
export const complaints = (replicas: ReadonlyArray<Replica>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const line of replicas.flatMap(({ said }) => said)) {
    if (/Provider .* refused/.test(line)) continue
    const text = gist(line)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, 10)
    .map(([text, count]) => `${count} × ${text}`)
}
