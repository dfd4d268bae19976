import { Effect } from "effect"
import { isPageCharged } from "../Model.ts"
import { paths, textAt } from "../world/Sites.ts"
import { credits } from "./Client.ts"
import { judgeReplay, leaving, newKeyed } from "./Habits.ts"
import type { Person } from "./Person.ts"

const addressOf = ({ chance }: Person): string => `https://site-${chance.between(1, 3)}.test${chance.pick(paths)}`

const pathOf = (url: string): string => `/v1/page?${new URLSearchParams({ url })}`

interface Page {
  readonly url: string
  readonly final_url: string
  readonly content: string
}

/** R60: the text, from a copy or not, is that of the page that was asked for. */
const judgePage = ({ auditor }: Person, id: string, url: string, page: Page): void => {
  const isRight = page.url === url && page.content === textAt(page.final_url)
  auditor.hold("R60 the text is the page's", isRight, () => `${id} asked for ${url} and got ${JSON.stringify(page)}`)
}

/** One page. Only a page that was read costs a credit. */
export const readPage = Effect.fnUntraced(function* (me: Person) {
  const url = addressOf(me)
  const ended = yield* me.call({ method: "GET", path: pathOf(url), credits: 1, leavesAfterMs: leaving(me) })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  const { id } = ended.request
  const cost = credits(reply)
  me.auditor.hold(
    "R58 the cost",
    cost === (isPageCharged(reply.status) ? 1 : 0),
    () => `${id} is ${reply.status}, ${cost}`
  )
  me.auditor.answered(ended.request, reply, cost)
  if (reply.status === 200) judgePage(me, id, url, JSON.parse(reply.text))
})

/** A page with an idempotency key, which a client asks for again and again. */
export const keyedPage = Effect.fnUntraced(function* (me: Person) {
  const keyed = newKeyed(me)
  const url = addressOf(me)
  const times = me.chance.between(2, 4)
  for (let turn = 0; turn < times; turn++) {
    const headers = { "idempotency-key": keyed.key }
    const ended = yield* me.call({ method: "GET", path: pathOf(url), credits: 1, headers, leavesAfterMs: leaving(me) })
    if (ended?.outcome._tag === "answered") {
      const { reply } = ended.outcome
      judgeReplay(me, ended.request.id, keyed, reply)
      me.auditor.answered(ended.request, reply, credits(reply))
      if (reply.status === 200) judgePage(me, ended.request.id, url, JSON.parse(reply.text))
    }
    me.auditor.group(keyed.key, ended?.request)
    yield* Effect.sleep(me.chance.pick([0, 50, 2_000, 20_000]))
  }
})

type Row = ({ readonly status: "ok" } & Page) | { readonly status: "error"; readonly error: string }

/** A batch of pages. Its cost is that of the pages that were read. */
export const readPages = Effect.fnUntraced(function* (me: Person) {
  const urls = Array.from({ length: me.chance.between(1, 8) }, () => addressOf(me))
  const mistakes = me.chance.isTrue(0.3) ? ["ftp://site.test/"] : []
  const ended = yield* me.call({
    method: "POST",
    path: "/v1/pages",
    body: { urls: [...urls, ...mistakes] },
    credits: urls.length,
    leavesAfterMs: leaving(me)
  })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  const { id } = ended.request
  if (reply.status === 200) {
    const { results }: { results: ReadonlyArray<Row> } = JSON.parse(reply.text)
    const read = results.filter(({ status }) => status === "ok").length
    me.auditor.hold("R61 rows", credits(reply) === read, () => `${id} cost ${credits(reply)}, with ${read} pages`)
    for (const [index, row] of results.entries()) {
      if (row.status === "ok") judgePage(me, id, urls[index] ?? "", row)
    }
  }
  me.auditor.answered(ended.request, reply, credits(reply))
})
