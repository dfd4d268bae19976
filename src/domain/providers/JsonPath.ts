/** Member names and list indexes, from the outside in. */
export type JsonPath = ReadonlyArray<string>

export const maxPathCharacters = 200

/** Excludes the characters of expressions, so that `$.items[*]` is a mistake and not a path that finds nothing. */
const memberName = /^(?!\$$)[^[\](){}*?"'\p{Cc}]+$/u

/** Undefined if the text is not a dotted path. The empty path is the whole value. */
export const parsePath = (text: string): JsonPath | undefined => {
  if (text === "") return []
  const names = text.split(".")
  const isPath = names.every((name) => memberName.test(name) && name.trim() === name)
  return isPath && text.length <= maxPathCharacters ? names : undefined
}

const step = (value: unknown, name: string): unknown => {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
  // A list has only indexes: `length` is not part of the JSON.
  if (Array.isArray(value)) return /^\d+$/.test(name) ? value[Number(name)] : undefined
  return Object.getOwnPropertyDescriptor(value, name)?.value
}

export const valueAt = (json: unknown, path: JsonPath): unknown => path.reduce(step, json)

const maxMembers = 20

export interface Missing {
  /** The part of the path that finds something; empty for the whole value. */
  readonly found: string
  /** The names at that place. The next part of the path is not one of them. */
  readonly members: ReadonlyArray<string>
}

const membersOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  const names = Array.isArray(value) ? value.map((_, index) => `${index}`) : Object.keys(value)
  return names.slice(0, maxMembers).map((name) => name.slice(0, maxPathCharacters))
}

/** Follows a path as far as it leads, and returns the members at the place where it ends. */
export const missingAt = (json: unknown, path: JsonPath): Missing => {
  let value = json
  let depth = 0
  for (const name of path) {
    const next = step(value, name)
    if (next === undefined || next === null) break
    value = next
    depth += 1
  }
  return { found: path.slice(0, depth).join("."), members: membersOf(value) }
}
