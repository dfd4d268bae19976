import type { Plan } from "../../domain/credits/Plan.ts"
import { roleTexts } from "../app/roles.ts"
import type { ActField, Offer } from "./acts.tsx"
import type { Account, Act, Key, Member, Provider, WebhookQueue } from "./api.ts"

/** The words of the button that opens the dialog of a command, and of the button in it. */
const texts = {
  "account grant": "Give credits",
  "account adjust": "Correct credits",
  "account set-plan": "Change plan and limits",
  "account set-email": "Change email address",
  "account suspend": "Suspend",
  "account resume": "Restore",
  "account delete": "Delete account",
  "sessions end": "End all sessions",
  "key revoke": "Revoke",
  "member role": "Change role",
  "member remove": "Remove",
  "person resend-email": "Resend email",
  "person reset-factors": "Reset second factors",
  "webhooks pause": "Pause",
  "webhooks resume": "Resume",
  "webhooks drop": "Drop pending deliveries",
  "providers pause": "Pause",
  "providers resume": "Resume",
  "index remove": "Remove documents",
  "replica forget": "Forget"
} as const

type Command = keyof typeof texts

/** The effect of each command, for the person who is about to run it. */
const leads: Readonly<Record<Command, string>> = {
  "account grant": "They are added to the pack balance, and do not expire with the period.",
  "account adjust": "Writes a correction into the ledger. A negative number takes credits away.",
  "account set-plan":
    "Takes effect at once. Credits used in this period stay used. Without limits, those of the plan apply.",
  "account set-email": "Changes the address of the account, and of the member who signs in with it.",
  "account suspend": "Every replica rejects its credentials within 10 seconds. Its keys, credits and log are kept.",
  "account resume": "Its credentials work again on every replica within 10 seconds.",
  "account delete": "Deletes the account and its personal data for good. Billing records are kept.",
  "sessions end": "Everybody in the account signs in again, and its apps are disconnected. Keys keep working.",
  "key revoke": "Every replica rejects the key within 10 seconds. It cannot be restored.",
  "member role": "Takes effect at once.",
  "member remove": "Their sessions and apps in this account end at once. Keys that they created keep working.",
  "person resend-email": "Sends the invitation, or the link that confirms the address, again.",
  "person reset-factors":
    "For somebody who lost all of them. Make sure who asks. Their sessions end, and they get an email.",
  "webhooks pause": "Nothing more is sent to it. Pending deliveries are kept.",
  "webhooks resume": "The pending deliveries are sent.",
  "webhooks drop": "The pending deliveries are never sent, and count as failed.",
  "providers pause": "No replica sends searches to it, from its next heartbeat on, until somebody resumes it.",
  "providers resume": "Replicas send searches to it again, from their next heartbeat on.",
  "index remove":
    "Removes the document with an address, or every document of a site, from every target unless you choose one.",
  "replica forget": "Removes a replica that will not come back, so that nothing waits for it."
}

const dangers: ReadonlySet<Command> = new Set<Command>([
  "account suspend",
  "account delete",
  "sessions end",
  "key revoke",
  "member remove",
  "person reset-factors",
  "webhooks drop",
  "providers pause",
  "index remove",
  "replica forget"
])

type Known = Omit<Act, "command">

/** `known` are the flags that the page knows; the person fills in the fields. */
const offer = (command: Command, about: string, known: Known, fields: ReadonlyArray<ActField> = []): Offer => ({
  text: texts[command],
  about,
  lead: leads[command],
  act: { command, ...known },
  fields,
  isDanger: dangers.has(command)
})

const optionOf = (value: string) => ({ value, text: value })

export const plans = (["trial", "starter", "growth", "business", "custom"] satisfies ReadonlyArray<Plan>).map(optionOf)

const reason: ActField = { name: "reason", label: "Reason", hint: "It is kept in the records." }
const credits: ActField = { name: "credits", label: "Credits", type: "number" }
const quota: ActField = { name: "quota", label: "Quota (optional)", type: "number", isOptional: true }
const concurrency: ActField = { name: "concurrency", label: "Concurrency (optional)", type: "number", isOptional: true }
const places = [
  { value: "balance", text: "Pack balance" },
  { value: "quota", text: "Quota of this period" }
]

export const giveCredits = ({ account_id: id, email }: Account): Offer =>
  offer("account grant", email || id, { id }, [credits, reason])

export const suspend = ({ account_id: id, email, suspended_at: at }: Account): Offer =>
  at === null
    ? offer("account suspend", email || id, { id }, [reason])
    : offer("account resume", email || id, { id }, [{ ...reason, isOptional: true }])

export const accountOffers = ({ account_id: id, email, plan }: Account): ReadonlyArray<Offer> => {
  const about = email || id
  const planField = { name: "plan", label: "Plan", options: plans, value: plan }
  return [
    offer("account adjust", about, { id }, [credits, { name: "to", label: "Where", options: places }, reason]),
    offer("account set-plan", about, { id }, [planField, quota, concurrency]),
    offer("account set-email", about, { id }, [{ name: "email", label: "New email address", type: "email" }]),
    offer("sessions end", about, { account: id }),
    { ...offer("account delete", about, { id, yes: true }), name: id }
  ]
}

const roles = roleTexts.map(([name]) => optionOf(name))

export const memberOffers = (account: string, { email, role: value, status }: Member): ReadonlyArray<Offer> => [
  offer("member role", email, { account, email }, [{ name: "role", label: "Role", options: roles, value }]),
  offer("person resend-email", email, { email }),
  ...(status === "invited" ? [] : [offer("person reset-factors", email, { email }, [reason])]),
  offer("member remove", email, { account, email })
]

export const revokeKey = ({ id, name }: Key): Offer => offer("key revoke", name, { id })

export const webhookOffers = (account: string, { id: endpoint, paused_at: at, url }: WebhookQueue) => [
  offer(at === null ? "webhooks pause" : "webhooks resume", url, { account, endpoint }),
  offer("webhooks drop", url, { account, endpoint })
]

export const pauseProvider = ({ engine, paused, provider }: Provider): Offer => {
  const about = engine === null ? provider : `${provider}/${engine}`
  const names = { provider, ...(engine !== null && { engine }) }
  return paused === null ? offer("providers pause", about, names, [reason]) : offer("providers resume", about, names)
}

export const forgetReplica = (id: string): Offer => offer("replica forget", id, { id })

const targets = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"].map((name) => optionOf(`${name}_search`))

export const targetOptions = [{ value: "", text: "All targets" }, ...targets]

export const removeDocuments = offer("index remove", "the index", {}, [
  { name: "url", label: "Address of one document", isOptional: true },
  { name: "site", label: "Or host of a site", isOptional: true },
  { name: "target", label: "Target", options: [{ value: "", text: "Every target" }, ...targets], isOptional: true }
])
