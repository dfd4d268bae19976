/** A collection of a process, with its size at startup. */
interface Kept {
  readonly collection: Map<unknown, unknown> | Set<unknown>
  readonly atStart: number
}

/**
 * Maximum growth of a collection after hours without requests. A replica makes up to 128 delivery attempts at once, and
 * after a fault their timeouts wait for the next run of its loops.
 */
export const maxGained = 160

type Collection = Kept["collection"]

/** Records every instance of a type. */
const counted = <C extends MapConstructor | SetConstructor>(type: C, made: Array<Collection>): C => {
  const proxy: C = new Proxy(type, {
    construct: (target, args, newTarget) => {
      const it: Collection = Reflect.construct(target, args, newTarget === proxy ? target : newTarget)
      made.push(it)
      return it
    }
  })
  return proxy
}

/**
 * The maps and sets that services create while they are built. Everything that a process retains is reachable from
 * them. Collections of a single request are created later.
 */
export const collectionsOf = <A>(build: () => A): readonly [A, ReadonlyArray<Kept>] => {
  const made: Array<Collection> = []
  const own = { Map: globalThis.Map, Set: globalThis.Set }
  globalThis.Map = counted(own.Map, made)
  globalThis.Set = counted(own.Set, made)
  try {
    return [build(), made.map((collection) => ({ collection, atStart: collection.size }))]
  } finally {
    Object.assign(globalThis, own)
  }
}

/** The collection that has grown most. Undefined if none has. */
export const fullest = (kept: ReadonlyArray<Kept>): { readonly gained: number; readonly keys: string } | undefined => {
  let most: Kept | undefined
  for (const it of kept) if (gainOf(it) > (most === undefined ? 0 : gainOf(most))) most = it
  if (most === undefined) return undefined
  return { gained: gainOf(most), keys: most.collection.keys().take(3).toArray().map(String).join(", ") }
}

const gainOf = ({ atStart, collection }: Kept): number => collection.size - atStart
