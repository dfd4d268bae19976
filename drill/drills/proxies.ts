import { Effect } from "effect"
import { Findings } from "../../torture/support/Findings.ts"
import type { Drill } from "../Drill.ts"
import * as Deployment from "../support/Deployment.ts"
import type { Front } from "../support/Front.ts"
import { checkBooks, summary } from "../support/Observation.ts"

/** Ten rounds of five rows: the plan of the account lets five run at a time (R20). */
const rows = 50
const rounds = 10
const batchSeconds = { short: 5, full: 58 }

/** A proxy that gives up before the batch's budget ends leaves a caller without what was charged. */
const longBatch = (front: Front): Drill => ({
  name: `batch-${front}`,
  failure: `A batch of ${batchSeconds.full} s through ${front}`,
  mayFail: 0,
  needs: { [front]: front },
  run: Effect.fnUntraced(function* ({ short }) {
    const findings = yield* Findings
    const deployment = yield* Deployment.make({ database: yield* Deployment.postgres, front, concurrency: 5 })
    const { client, customers, fronts } = deployment
    const waitMs = ((short ? batchSeconds.short : batchSeconds.full) * 1000) / rounds
    const queries = Array.from({ length: rows }, (_, index) => `batch ${index} wait${waitMs}`)
    const startedAt = performance.now()
    const answer = yield* client.batch(fronts[0]?.url ?? "", customers[0]?.secret ?? "", queries)
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10
    const delivered = answer.asked.filter(({ outcome }) => outcome === "ok").length
    if (delivered < rows) yield* findings.violation(`${delivered} of ${rows} rows were delivered`)
    yield* checkBooks(deployment, [answer], { short })
    const notes = [`${delivered} rows after ${seconds} s, ${answer.creditsUsed} credits`]
    return { ...summary([answer], performance.now()), notes }
  })
})

export const proxyDrills: ReadonlyArray<Drill> = [longBatch("haproxy"), longBatch("nginx"), longBatch("caddy")]
