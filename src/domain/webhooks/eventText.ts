import { describeUserAgent } from "../accounts/userAgent.ts"
import type { EmailBody } from "../emails/EmailBody.ts"
import { momentText } from "../emails/EmailBody.ts"
import type { Requester } from "../requests/CurrentRequester.ts"
import type { AnyEventType, Event } from "./Event.ts"

interface EventText extends Pick<EmailBody, "subject" | "paragraphs"> {
  readonly ifUnexpected?: string
  /** The page of the dashboard where the reader can act, and what the button to it says. */
  readonly page: readonly [path: string, button: string]
}

type Data = Event["data"]

const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? `${value}` : "")

const count = (value: unknown): string => (typeof value === "number" ? value.toLocaleString("en-US") : "0")

/** A time of the event's data, as people write it. */
const moment = (iso: unknown): string => (typeof iso === "string" ? momentText(iso) : "")

/** Empty on the trial, which never resets. */
const reset = ({ resets_at: at }: Data): ReadonlyArray<string> =>
  typeof at === "string" ? [`The quota resets on ${moment(at)}.`] : []

const toBilling = ["/dashboard/billing", "Open billing"] as const
const toKeys = ["/dashboard/keys", "Review your API keys"] as const

const low = (data: Data): EventText =>
  data.source === "balance"
    ? {
        subject: `Fewer than ${count(data.threshold_credits)} pack credits left`,
        paragraphs: [`You have ${count(data.balance)} pack credits left.`, ...reset(data)],
        page: toBilling
      }
    : {
        subject: `${text(data.threshold_percent)}% of your quota is used`,
        paragraphs: [
          `You have used ${count(data.used)} of ${count(data.quota)} searches in this period and have ` +
            `${count(data.balance)} pack credits left.`,
          ...reset(data)
        ],
        page: toBilling
      }

const keyName = (data: Data): string => `"${text(data.name)}" (${text(data.hint)})`

const revokeKey =
  "If you or your team did not do this, revoke the key, change your password, and sign out everywhere on the account page."

const texts: { readonly [T in AnyEventType]: (data: Data) => EventText } = {
  "credits.low": low,
  "credits.exhausted": (data) => ({
    subject: "You are out of credits",
    paragraphs: [
      "Your quota and pack credits are used up. Searches fail with status 402 until you have credits again.",
      ...reset(data)
    ],
    page: toBilling
  }),
  "quota.reset": (data) => ({
    subject: "A new billing period has started",
    paragraphs: [`You have ${count(data.quota)} searches in this period.`, ...reset(data)],
    page: ["/dashboard/usage", "View your usage"]
  }),
  "plan.changed": (data) => ({
    subject: `Your plan is now ${text(data.plan)}`,
    paragraphs: [`Your plan changed from ${text(data.previous_plan)} to ${text(data.plan)}.`],
    page: toBilling
  }),
  "pack.granted": (data) => ({
    subject: data.credits === 1 ? "1 credit was added" : `${count(data.credits)} credits were added`,
    paragraphs: [`You now have ${count(data.balance)} pack credits.`],
    page: toBilling
  }),
  "payment.past_due": (data) => ({
    subject: "Payment failed",
    paragraphs: [
      `The payment to renew your ${text(data.plan)} plan failed. Update your card on the billing page to keep the plan.`
    ],
    page: toBilling
  }),
  "key.created": (data) => ({
    subject: `API key "${text(data.name)}" was created`,
    paragraphs: [`The API key ${keyName(data)} was created.`],
    ifUnexpected: revokeKey,
    page: toKeys
  }),
  "key.rotated": (data) => ({
    subject: `API key "${text(data.name)}" was rotated`,
    paragraphs: [`The API key ${keyName(data)} replaced an older key.`],
    ifUnexpected: revokeKey,
    page: toKeys
  }),
  "key.revoked": (data) => ({
    subject: `API key "${text(data.name)}" was revoked`,
    paragraphs: [`The API key ${keyName(data)} no longer works.`],
    ifUnexpected:
      "If you or your team did not do this, change your password and sign out everywhere on the account page.",
    page: toKeys
  }),
  "key.expiring": (data) => ({
    subject: `API key "${text(data.name)}" expires soon`,
    paragraphs: [`The API key ${keyName(data)} expires on ${moment(data.expires_at)}. Rotate it or change its expiry.`],
    page: toKeys
  }),
  "webhook.test": () => ({
    subject: "Test event",
    paragraphs: ["This is a test event."],
    page: ["/dashboard/webhooks", "Open webhooks"]
  })
}

/** The person, address and browser behind the event, as far as they are known. */
const originOf = ({ actor, address, browser }: Requester = {}): EmailBody["facts"] =>
  (
    [
      ["By", actor === "operator" ? "the operator of this server" : actor],
      ["From", address],
      ["Browser", browser && describeUserAgent(browser)]
    ] as const
  ).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value] as const]))

/** `links` are added below the email, such as the one to unsubscribe. */
export const eventEmail = (
  { createdAt, data, requester, type }: Event,
  origin: string,
  links: EmailBody["links"]
): EmailBody => {
  const { ifUnexpected, page, paragraphs, subject } = texts[type](data)
  const [path, button] = page
  return {
    subject: `Quarry: ${subject}`,
    paragraphs,
    facts: [["When", momentText(createdAt)], ...originOf(requester)],
    button: { text: button, href: `${origin}${path}` },
    ifUnexpected,
    links
  }
}
