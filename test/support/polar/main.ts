import { parseArgs } from "node:util"
import { FakePolar } from "./FakePolar.ts"

/*
 * The fake as a program: `npm run fake-polar`. Keeps everything in memory and prints the settings for Quarry.
 */

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8787" },
    host: { type: "string", default: "127.0.0.1" },
    webhook: { type: "string", default: "http://localhost:3000/webhooks/billing" }
  }
})

/** Interval for processing renewals that are due. */
const lookEveryMs = 1_000

const fake = await new FakePolar({ webhookUrl: values.webhook }).listen(Number(values.port), values.host)
setInterval(() => fake.model.catchUp(), lookEveryMs).unref()

console.log(`Polar, the fake, listens at ${fake.url} (port ${new URL(fake.url).port}).`)
console.log(`It delivers webhooks to ${values.webhook}. Start Quarry with:\n`)
const settings = Object.entries(fake.environment()).map(([name, value]) => `${name}=${value}`)
console.log(`${settings.join(" \\\n  ")} \\\n  npm start`)
