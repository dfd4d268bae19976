import { request as send } from "node:http"
import type { Tally } from "./attacks.ts"
import { type FloodMeans, type FloodRequest, floods } from "./floods.ts"

/** Sends one flood at its rate, in a separate process. Its last line of output counts the outcomes. */
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

/** Maximum unanswered requests: a stalled server gets no more. */
const maxOpen = 32
/** Number of client addresses, because the demo and anonymous routes are limited by address. */
const addresses = 64
/** Time to wait for pending responses. */
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
