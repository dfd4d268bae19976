import type { AnyEventType, Event } from "./Event.ts"

/** An event as the words of an email. */
export interface EventText {
  readonly subject: string
  readonly paragraphs: ReadonlyArray<string>
}

type Data = Event["data"]

const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? `${value}` : "")

const count = (value: unknown): string => (typeof value === "number" ? value.toLocaleString("en-US") : "0")

/** The sentence about the next period; none for a trial, which has no next one. */
const reset = ({ resets_at }: Data): ReadonlyArray<string> =>
  typeof resets_at === "string" ? [`The quota resets on ${resets_at.slice(0, 10)}.`] : []

const low = (data: Data): EventText =>
  data.source === "balance"
    ? {
        subject: `Fewer than ${count(data.threshold_credits)} pack credits are left`,
        paragraphs: [`${count(data.balance)} pack credits are left.`, ...reset(data)]
      }
    : {
        subject: `${text(data.threshold_percent)} % of the quota is used`,
        paragraphs: [
          `${count(data.used)} of ${count(data.quota)} searches of this period are used, and ` +
            `${count(data.balance)} pack credits are left.`,
          ...reset(data)
        ]
      }

const keyName = (data: Data): string => `"${text(data.name)}" (${text(data.hint)})`

const texts: { readonly [T in AnyEventType]: (data: Data) => EventText } = {
  "credits.low": low,
  "credits.exhausted": (data) => ({
    subject: "All credits are used",
    paragraphs: [
      "Quota and pack credits are used up: searches are answered with 402 until there are new ones.",
      ...reset(data)
    ]
  }),
  "quota.reset": (data) => ({
    subject: "A new period has begun",
    paragraphs: [`${count(data.quota)} searches can be used in it.`, ...reset(data)]
  }),
  "plan.changed": (data) => ({
    subject: `The plan is ${text(data.plan)}`,
    paragraphs: [`The account's plan was ${text(data.previous_plan)} and is ${text(data.plan)}.`]
  }),
  "pack.granted": (data) => ({
    subject: `${count(data.credits)} credits were added`,
    paragraphs: [`The account has ${count(data.balance)} pack credits.`]
  }),
  "payment.past_due": (data) => ({
    subject: "A payment did not go through",
    paragraphs: [
      `The renewal of the plan ${text(data.plan)} was not paid. Renew the card on the dashboard's billing page, or the ` +
        "plan ends."
    ]
  }),
  "key.created": (data) => ({
    subject: "An API key was made",
    paragraphs: [`The key ${keyName(data)} was made. If it was not you, revoke it on the dashboard.`]
  }),
  "key.rotated": (data) => ({
    subject: "An API key was replaced",
    paragraphs: [
      `The key ${keyName(data)} took the place of an older one. If it was not you, revoke it on the dashboard.`
    ]
  }),
  "key.revoked": (data) => ({
    subject: "An API key was revoked",
    paragraphs: [`The key ${keyName(data)} is not accepted any more.`]
  }),
  "key.expiring": (data) => ({
    subject: "An API key expires soon",
    paragraphs: [`The key ${keyName(data)} expires at ${text(data.expires_at)}. Replace it, or change its expiry.`]
  }),
  "webhook.test": () => ({ subject: "A test", paragraphs: ["This is a test."] })
}

export const eventText = ({ data, type }: Event): EventText => texts[type](data)
