import type { Received } from "./UpstreamServer.ts"

type Fields = ReadonlyMap<string, string>

const flatten = (value: unknown, name = ""): ReadonlyArray<readonly [string, string]> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([key, item]) => flatten(item, name === "" ? key : `${name}.${key}`))
    : [[name, typeof value === "string" ? value : JSON.stringify(value)]]

const fieldsOf = ({ body, path, query }: Received): Fields =>
  new Map([["path", path], ...(body === "" ? query : flatten(JSON.parse(body)))])

/** What a request has that another has not, as the documentation lists it: `name=value`, or `name removed`. */
export const differences = (plain: Received, other: Received): ReadonlyArray<string> => {
  const [before, after] = [fieldsOf(plain), fieldsOf(other)]
  const changed = [...after]
    .filter(([name, value]) => before.get(name) !== value)
    .map(([name, value]) => `${name}=${value}`)
  const removed = [...before.keys()].filter((name) => !after.has(name)).map((name) => `${name} removed`)
  return [...changed, ...removed]
}
