import type { Package } from "./Packages.ts"

export type Kind = "method" | "property"

/** The kinds of an interface's members. Compatibility data has only their names, but page titles need the kinds. */
export type Kinds = ReadonlyMap<string, ReadonlyMap<string, Kind>>

type MutableKinds = Map<string, Map<string, Kind>>

const note = (kinds: MutableKinds, owner: string, member: string, kind: Kind): void => {
  const members = kinds.get(owner) ?? new Map<string, Kind>()
  if (!members.has(member)) members.set(member, kind)
  kinds.set(owner, members)
}

const withoutAttributes = (declaration: string): string => {
  let rest = declaration.trim()
  while (rest.startsWith("[")) {
    let depth = 0
    let end = 0
    for (; end < rest.length; end++) {
      if (rest[end] === "[") depth++
      if (rest[end] === "]" && --depth === 0) break
    }
    rest = rest.slice(end + 1).trim()
  }
  return rest
}

const collections: Readonly<Record<string, ReadonlyArray<string>>> = {
  iterable: ["entries", "forEach", "keys", "values"],
  maplike: ["clear", "delete", "entries", "forEach", "get", "has", "keys", "set", "values"],
  setlike: ["add", "clear", "delete", "entries", "forEach", "has", "keys", "values"]
}

const idlMember = (kinds: MutableKinds, owner: string, isDictionary: boolean, declaration: string): void => {
  const member = withoutAttributes(declaration)
  const collection = /\b(iterable|maplike|setlike)\s*</.exec(member)?.[1]
  if (collection !== undefined) {
    for (const name of collections[collection] ?? []) note(kinds, owner, name, "method")
    if (collection !== "iterable") note(kinds, owner, "size", "property")
    return
  }
  const property = isDictionary
    ? /([\w-]+)\s*(?:=.*)?$/s.exec(member)?.[1]
    : (/\battribute\b.*?([\w-]+)$/s.exec(member)?.[1] ?? /^const\b.*?(\w+)\s*=/s.exec(member)?.[1])
  const method = /(\w+)\(/.exec(member)?.[1]
  if (property !== undefined) note(kinds, owner, property, "property")
  else if (method !== undefined) note(kinds, owner, method, "method")
}

export interface Idl {
  readonly kinds: Kinds
  readonly parents: ReadonlyMap<string, string>
}

/** Parses only enough WebIDL to distinguish attributes from operations. */
export const readIdl = (webref: Package): Idl => {
  const kinds: MutableKinds = new Map()
  const parents = new Map<string, string>()
  const includes: Array<readonly [string, string]> = []
  const block =
    /\b(interface mixin|callback interface|interface|dictionary|namespace)\s+(\w+)\s*(?::\s*(\w+)\s*)?\{((?:[^{}]|\{\})*)\}\s*;/g
  for (const path of webref.paths.filter((name) => name.endsWith(".idl"))) {
    const idl = webref
      .text(path)
      .replace(/\/\*.*?\*\//gs, "")
      .replace(/\/\/.*$/gm, "")
    for (const [, type, owner = "", parent, body = ""] of idl.matchAll(block)) {
      if (parent !== undefined) parents.set(owner, parent)
      for (const member of body.split(";")) idlMember(kinds, owner, type === "dictionary", member)
    }
    for (const [, target = "", mixin = ""] of idl.matchAll(/^\s*(\w+)\s+includes\s+(\w+)\s*;/gm)) {
      includes.push([target, mixin])
    }
  }
  for (const [target, mixin] of includes) {
    for (const [member, kind] of kinds.get(mixin) ?? []) note(kinds, target, member, kind)
  }
  return { kinds, parents }
}

const tsMember = /^\s*(?:readonly |get |set )*(?:\[Symbol\.(\w+)\]|(\w+))\??(\(|<|:)/

const readLib = (kinds: MutableKinds, lib: string): void => {
  const scope: Array<string> = []
  let depth = 0
  const opened: Array<number> = []
  for (const line of lib
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\/\/.*$/gm, "")
    .split("\n")) {
    const owner = /^\s*(?:declare |export )*(?:namespace|interface)\s+(\w+)/.exec(line)?.[1]
    const isInside = opened.length > 0 && depth === opened.at(-1)
    const member = owner === undefined && isInside ? tsMember.exec(line) : null
    if (member !== null) {
      const name = member[1] === undefined ? (member[2] ?? "") : `Symbol.${member[1]}`
      const isAccessor = /^\s*(?:get|set) /.test(line)
      note(kinds, scope.join("."), name, member[3] === ":" || isAccessor ? "property" : "method")
    }
    depth += (line.match(/\{/g) ?? []).length
    if (owner !== undefined && line.includes("{")) {
      scope.push(owner)
      opened.push(depth)
    }
    depth -= (line.match(/\}/g) ?? []).length
    while (opened.length > 0 && depth < (opened.at(-1) ?? 0)) {
      scope.pop()
      opened.pop()
    }
  }
}

/** Members of the ECMAScript built-ins, by owner: `Array` holds the prototype, `ArrayConstructor` the statics. */
export const readEcmaScript = (typescript: Package): Kinds => {
  const kinds: MutableKinds = new Map()
  for (const path of typescript.paths.filter((name) => /^lib\/lib\.(?:es\d+|esnext)\b.*\.d\.ts$/.test(name))) {
    readLib(kinds, typescript.text(path))
  }
  return kinds
}
