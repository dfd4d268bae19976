import type { AnyEventType, Event } from "./Event.ts"

export interface EventText {
  readonly subject: string
  readonly paragraphs: ReadonlyArray<string>
}

type Data = Event["data"]

const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? `${value}` : "")

const count = (value: unknown): string => (typeof value === "number" ? value.toLocaleString("en-US") : "0")

/** Empty on the trial, which never resets. */
const reset = ({ resets_at }: Data): ReadonlyArray<string> =>
  typeof resets_at === "string" ? [`The quota resets on ${resets_at.slice(0, 10)}.`] : []

const low = (data: Data): EventText =>
  data.source === "balance"
    ? {
        subject: `Fewer than ${count(data.threshold_credits)} pack credits left`,
        paragraphs: [`You have ${count(data.balance)} pack credits left.`, ...reset(data)]
      }
    : {
        subject: `${text(data.threshold_percent)}% of your quota is used`,
        paragraphs: [
          `You have used ${count(data.used)} of ${count(data.quota)} searches in this period and have ` +
            `${count(data.balance)} pack credits left.`,
          ...reset(data)
        ]
      }

const keyName = (data: Data): string => `"${text(data.name)}" (${text(data.hint)})`

const texts: { readonly [T in AnyEventType]: (data: Data) => EventText } = {
  "credits.low": low,
  "credits.exhausted": (data) => ({
    subject: "You are out of credits",
    paragraphs: [
      "Your quota and pack credits are used up. Searches fail with status 402 until you have credits again.",
      ...reset(data)
    ]
  }),
  "quota.reset": (data) => ({
    subject: "A new billing period has started",
    paragraphs: [`You have ${count(data.quota)} searches in this period.`, ...reset(data)]
  }),
  "plan.changed": (data) => ({
    subject: `Your plan is now ${text(data.plan)}`,
    paragraphs: [`Your plan changed from ${text(data.previous_plan)} to ${text(data.plan)}.`]
  }),
  "pack.granted": (data) => ({
    subject: data.credits === 1 ? "1 credit was added" : `${count(data.credits)} credits were added`,
    paragraphs: [`You now have ${count(data.balance)} pack credits.`]
  }),
  "payment.past_due": (data) => ({
    subject: "Payment failed",
    paragraphs: [
      `The payment to renew your ${text(data.plan)} plan failed. Update your card on the dashboard's billing page to ` +
        "keep the plan."
    ]
  }),
  "key.created": (data) => ({
    subject: "An API key was created",
    paragraphs: [`The API key ${keyName(data)} was created. If you did not expect this, revoke it in the dashboard.`]
  }),
  "key.rotated": (data) => ({
    subject: "An API key was rotated",
    paragraphs: [
      `The API key ${keyName(data)} replaced an older key. If you did not expect this, revoke it in the dashboard.`
    ]
  }),
  "key.revoked": (data) => ({
    subject: "An API key was revoked",
    paragraphs: [`The API key ${keyName(data)} no longer works.`]
  }),
  "key.expiring": (data) => ({
    subject: "An API key expires soon",
    paragraphs: [`The API key ${keyName(data)} expires at ${text(data.expires_at)}. Rotate it or change its expiry.`]
  }),
  "webhook.test": () => ({ subject: "Test event", paragraphs: ["This is a test event."] })
}

export const eventText = ({ data, type }: Event): EventText => texts[type](data)
