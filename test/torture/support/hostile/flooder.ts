import { request as send } from "node:http"
import type { Tally } from "./attacks.ts"
import { type FloodMeans, type FloodRequest, floods } from "./floods.ts"

/** Sends one flood at its pace, as a process of its own. Its last line of output counts what came of the requests. */
const {
  flood,
  isHarmless,
  seconds,
  ...means
}: FloodMeans & {
  readonly flood: keyof typeof floods
  readonly isHarmless: boolean
  readonly seconds: number
} = JSON.parse(process.argv[2] ?? "")

/** Requests without an answer at the same time: a server that stands still gets no more. */
const maxOpen = 32
/** The demo and routes without a credential are limited by address. */
const addresses = 64
/** For answers that are on their way. */
const leaveMs = 1000

const { perSecond, requests } = floods[flood]
const all = requests(means, isHarmless)
const tally: Tally = {}
let open = 0

const count = (what: string): void => {
  tally[what] = (tally[what] ?? 0) + 1
}

const start = (asked: FloodRequest, n: number): void => {
  if (open >= maxOpen) {
    count("not sent")
    return
  }
  open++
  const { body, headers, method, path } = asked
  let outcome = "no answer"
  send({
    method,
    path,
    headers: { ...headers, "content-length": String(Buffer.byteLength(body ?? "")) },
    host: "127.0.0.1",
    port: means.port,
    localAddress: `127.0.2.${(n % addresses) + 1}`,
    agent: false
  })
    .on("response", (response) => {
      outcome = String(response.statusCode)
      response.resume()
    })
    .on("error", () => undefined)
    .on("close", () => {
      open--
      count(outcome)
    })
    .end(body)
}

let sent = 0
const timer = setInterval(() => {
  const asked = all[sent % all.length]
  if (asked !== undefined) start(asked, sent)
  if (++sent < perSecond * seconds) return
  clearInterval(timer)
  setTimeout(() => {
    if (open > 0) tally["no answer"] = (tally["no answer"] ?? 0) + open
    console.log(JSON.stringify(tally))
    process.exit()
  }, leaveMs)
}, 1000 / perSecond)
