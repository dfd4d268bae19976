import { spawn } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Options } from "../World.ts"
import type { Mutation, TestedMutation } from "./Mutation.ts"
import { sqlMutations } from "./sqlMutations.ts"

type StoreName = NonNullable<Options["store"]>

const root = join(import.meta.dirname, "../..")

const limiter = "src/layers/memory/RateLimiterMemory.ts"

export const mutations: ReadonlyArray<TestedMutation> = [
  {
    name: "the window ends a millisecond late",
    file: limiter,
    test: "test/layers/memory/RateLimiterMemory.test.ts",
    from: "+ windowMs <= now",
    to: "+ windowMs < now"
  },
  {
    name: "one request too many a minute",
    file: limiter,
    test: "test/layers/memory/RateLimiterMemory.test.ts",
    from: "log.count < limit",
    to: "log.count <= limit"
  },
  {
    name: "denied requests count",
    file: limiter,
    test: "test/layers/memory/RateLimiterMemory.test.ts",
    from: "if (admitted) log.add(now)",
    to: "log.add(now)"
  },
  {
    name: "a limit of half as many requests",
    file: "src/domain/credits/Plan.ts",
    test: "test/domain/accounts/Principal.test.ts",
    from: "concurrency * 60",
    to: "concurrency * 30"
  },
  {
    name: "a cache key without the locale",
    file: "src/services/search/ResultCache.ts",
    test: "test/layers/memory/ResultCacheMemory.test.ts",
    from: "[target, query, geo, locale, page, num, safe]",
    to: "[target, query, geo, page, num, safe]"
  },
  {
    name: "what comes back fills the quota first",
    file: "src/domain/credits/Allowance.ts",
    test: "test/domain/credits/Allowance.test.ts",
    from: "Math.min(unspent, hold.fromBalance)",
    to: "Math.max(0, unspent - hold.fromQuota)"
  },
  {
    name: "packs are spent first",
    file: "src/domain/credits/Allowance.ts",
    test: "test/domain/credits/Allowance.test.ts",
    from: "Math.min(credits, remaining(allowance))",
    to: "Math.max(0, credits - allowance.balance)"
  },
  {
    name: "a cycle on the 31st that drifts to the 28th",
    file: "src/domain/credits/Plan.ts",
    test: "test/domain/credits/Plan.test.ts",
    from: "end: renewal(start, count + 1)",
    to: "end: renewal(DateTime.makeUnsafe(renewal(start, count)), 1)"
  },
  {
    name: "failed searches are free",
    file: "src/services/search/DispatchedSearch.ts",
    test: "test/http/search/search.test.ts",
    from: 'credits: principal._tag === "demo" ? 0 : 1',
    to: 'credits: principal._tag === "demo" || Result.isFailure(answer) ? 0 : 1'
  },
  {
    name: "charge what was not sent",
    file: "src/services/search/Search.ts",
    test: "test/services/search/Unsent.test.ts",
    from: "const unsent = unsentSearch(end)",
    to: "const unsent = unsentSearch(end) && undefined"
  },
  {
    name: "charge a row that was not sent",
    file: "src/services/search/Bulk.ts",
    test: "test/services/search/Unsent.test.ts",
    from: "const unsent = unsentSearch(end)",
    to: "const unsent = unsentSearch(end) && undefined"
  },
  {
    name: "a pace of twice as many calls",
    file: "src/services/providers/Pacer.ts",
    test: "test/layers/memory/PacerMemory.test.ts",
    from: "1_000 / perSecond + marginMs(perSecond)",
    to: "500 / perSecond + marginMs(perSecond)"
  },
  {
    name: "a row is written before it is charged",
    file: "src/services/charging/Batches.ts",
    test: "test/services/BulkStream.test.ts",
    from: "const settlement = hold.settlePart(row.entry)",
    to: "const settlement = Effect.asVoid(Effect.forkDetach(hold.settlePart(row.entry)))"
  },
  {
    name: "a suspended account that works",
    file: "src/services/accounts/Credentials.ts",
    test: "test/http/accounts/credentials.test.ts",
    from: "principal.account.suspendedAt === undefined",
    to: "principal.account.createdAt >= 0"
  },
  {
    name: "a header of the quota after the search",
    file: "src/http/responses/headers.ts",
    test: "test/http/responses/headers.test.ts",
    from: "String(before.used)",
    to: "String(before.used + creditsUsed)"
  },
  {
    name: "a refund rounded in the customer's favor",
    file: "src/domain/billing/Purchase.ts",
    test: "test/domain/billing/Purchase.test.ts",
    from: "Math.ceil((credits * refundedCents) / netCents)",
    to: "Math.floor((credits * refundedCents) / netCents)"
  },
  {
    name: "an upgrade that gives the whole quota at once",
    file: "src/domain/billing/PlanHistory.ts",
    test: "test/layers/memory/Memory.test.ts",
    from: "Number((BigInt(difference) * BigInt(left)) / BigInt(length))",
    to: "difference"
  },
  {
    name: "a sweep that does not ask for refunds",
    file: "src/services/billing/Reconciler.ts",
    test: "test/layers/memory/Memory.test.ts",
    from: "alsoTakenBack ? yield* provider.refundedSince(since) : []",
    to: "alsoTakenBack ? [] : []"
  },
  {
    name: "a sweep that does not ask for void orders",
    file: "src/services/billing/Reconciler.ts",
    test: "test/layers/memory/Memory.test.ts",
    from: "alsoTakenBack ? [...made, ...(yield* newlyVoid(deps))] : made",
    to: "alsoTakenBack ? made : made"
  },
  {
    name: "an event with a new id",
    file: "src/services/webhooks/EventWork.ts",
    test: "test/services/webhooks/EventWork.test.ts",
    from: "id: event.id, timestamp, body,",
    to: "id: event.id + timestamp, timestamp, body,"
  },
  {
    name: "expired answers that stay in memory",
    file: "src/layers/memory/BoundedStore.ts",
    test: "test/layers/memory/ResultCacheMemory.test.ts",
    from: "      if (expiresAt > now) return\n      this.remove(key)\n",
    to: "      if (expiresAt > 0 * now) return\n      this.remove(key)\n"
  },
  {
    name: "no grace for a renewal that is not paid",
    file: "src/domain/billing/Subscription.ts",
    test: "test/domain/billing/Subscription.test.ts",
    from: "(pastDueAt ?? period.start) + graceMs",
    to: "(pastDueAt ?? period.start) + 0 * graceMs"
  }
]

/** Copies some folders with the mistake applied. Fails if the mistake no longer matches the sources. */
export const copyWith = ({ file, from, name, to }: Mutation, rooms: ReadonlyArray<string>): string => {
  const directory = mkdtempSync(join(tmpdir(), "quarry-mutation-"))
  for (const room of [...rooms, "package.json", "package-lock.json"])
    cpSync(join(root, room), join(directory, room), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  const path = join(directory, file)
  const parts = readFileSync(path, "utf8").split(from)
  if (parts.length !== 2) throw new Error(`"${name}" must fit once into ${file}, and fits ${parts.length - 1} times`)
  writeFileSync(path, parts.join(to))
  return directory
}

/** Time during which new seeds are started. Requests take several times as long with the database as in memory. */
const limitSeconds: Readonly<Record<StoreName, number>> = { memory: 60, embedded: 300 }

interface Found {
  /** The broken promise. Undefined if there was none. */
  readonly promise: string | undefined
  /** CPU time of the simulation, which other work on the machine barely affects. */
  readonly cpuSeconds: number
  readonly seconds: number
}

/** Options of the runs that look for a mistake. */
const sizes: Readonly<Record<StoreName, ReadonlyArray<string>>> = {
  memory: ["--customers", "50", "--days", "120", "--requests", "300"],
  embedded: ["--store", "embedded", "--replicas", "2", "--customers", "20", "--days", "100", "--requests", "600"]
}

const tryMutation = async (mutation: Mutation, store: StoreName): Promise<Found> => {
  const directory = copyWith(mutation, ["src", "simulation"])
  const size = ["--seed", "1", ...sizes[store]]
  const args = ["simulation/main.ts", ...size, "--seconds", String(limitSeconds[store]), "--no-shrink"]
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] })
  let output = ""
  child.stdout.on("data", (chunk) => {
    output += chunk
  })
  const code = await new Promise((resolve) => child.once("close", resolve))
  rmSync(directory, { recursive: true })
  const [, cpu, promise] = /breaks a promise after ([\d.]+) s of CPU: (.*)/.exec(output) ?? []
  if (code !== 0 && promise === undefined) throw new Error(`"${mutation.name}" did not run: ${output}`)
  return { promise, cpuSeconds: Number(cpu), seconds: (performance.now() - startedAt) / 1_000 }
}

/** Tries each mistake on its store. Returns true if all are found. */
export const checkMutations = async (store: StoreName, only?: string): Promise<boolean> => {
  const all = store === "embedded" ? sqlMutations : mutations
  const chosen = all.filter(({ name }) => only === undefined || name.includes(only))
  let missed = 0
  for (const mutation of chosen) {
    const { cpuSeconds, promise, seconds } = await tryMutation(mutation, store)
    if (promise === undefined) missed++
    console.log(
      `${mutation.name}: ${promise?.slice(0, 60) ?? "NOT FOUND"} (${cpuSeconds} s of CPU, ${seconds.toFixed(1)} s)`
    )
  }
  console.log(`${chosen.length - missed} of ${chosen.length} mistakes were found`)
  return missed === 0
}
