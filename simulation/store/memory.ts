/** A collection of a process, and what it held when the process began. */
interface Kept {
  readonly collection: Map<unknown, unknown> | Set<unknown>
  readonly atStart: number
}

/**
 * The most that a collection may have gained when nobody has asked for anything in hours. A replica makes up to 128
 * attempts of deliveries at once, and after a fault their timeouts wait for the next round of its loops.
 */
export const maxGained = 160

type Collection = Kept["collection"]

/** Notes everything that is made of a type. */
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
 * The maps and sets that services make while they are built: what a process keeps is in them, or hangs on them. Those of
 * a single request are made later.
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

/** The collection that has gained most; undefined where none has. */
export const fullest = (kept: ReadonlyArray<Kept>): { readonly gained: number; readonly keys: string } | undefined => {
  let most: Kept | undefined
  for (const it of kept) if (gainOf(it) > (most === undefined ? 0 : gainOf(most))) most = it
  if (most === undefined) return undefined
  return { gained: gainOf(most), keys: most.collection.keys().take(3).toArray().map(String).join(", ") }
}

const gainOf = ({ atStart, collection }: Kept): number => collection.size - atStart
