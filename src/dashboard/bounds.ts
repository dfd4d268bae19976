import type { Key } from "./api/routes.ts"
import { now } from "./app/clock.ts"
import { targetText } from "./components/search/TargetName.tsx"
import { formatDayAndYear, plural } from "./format.ts"

type Budget = NonNullable<Key["budget"]>

export interface BoundsText {
  /** `YYYY-MM-DDTHH:MM` in the browser's time zone; empty if the key does not expire. */
  readonly expires: string
  readonly credits: string
  readonly period: string
  readonly networks: string
  /** Empty allows every target. */
  readonly targets: ReadonlyArray<string>
}

export const periodOptions: ReadonlyArray<{ readonly value: Budget["period"]; readonly text: string }> = [
  { value: "month", text: "each month (UTC)" },
  { value: "day", text: "each day (UTC)" },
  { value: "life", text: "in total" }
]

/** The value of a `datetime-local` field in the browser's time zone, without seconds. `at` is in Unix milliseconds. */
export const toLocal = (at: number): string =>
  new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

type Bounds = Partial<Pick<Key, "budget" | "expires_at" | "networks" | "targets">>

export const textOf = (key: Bounds | undefined): BoundsText => ({
  expires: key?.expires_at ? toLocal(Date.parse(key.expires_at)) : "",
  credits: key?.budget ? String(key.budget.credits) : "",
  period: key?.budget?.period ?? "month",
  networks: key?.networks?.join(" ") ?? "",
  targets: key?.targets ?? []
})

export const readText = (form: HTMLFormElement): BoundsText => {
  const data = new FormData(form)
  const text = (name: string): string => String(data.get(name) ?? "").trim()
  return {
    expires: text("expires"),
    credits: text("credits"),
    period: text("period"),
    networks: text("networks"),
    targets: data.getAll("targets").map(String)
  }
}

const listOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((item) => item !== "")

/** The request body that changes `before` into `after`. Unchanged times are left out: the form drops their seconds. */
export const changeOf = (before: BoundsText, after: BoundsText) => {
  const isSameBudget = before.credits === after.credits && (after.credits === "" || before.period === after.period)
  // The API rejects unknown values, and the form shows its message.
  const period = after.period as Budget["period"]
  const targets = after.targets as NonNullable<Key["targets"]>
  return {
    ...(before.expires === after.expires
      ? {}
      : { expires_at: after.expires === "" ? null : new Date(after.expires).toISOString() }),
    ...(isSameBudget ? {} : { budget: after.credits === "" ? null : { credits: Number(after.credits), period } }),
    ...(before.networks === after.networks ? {} : { networks: after.networks === "" ? null : listOf(after.networks) }),
    ...(before.targets.join() === after.targets.join() ? {} : { targets: targets.length === 0 ? null : targets })
  }
}

export const periodWords: Readonly<Record<Budget["period"], string>> = {
  day: "today",
  month: "this month",
  life: "in total"
}

export const describeBounds = ({
  expires_at: expires = null,
  networks = null,
  targets = null
}: Bounds): ReadonlyArray<string> => [
  ...(expires === null
    ? []
    : [Date.parse(expires) > now() ? `Expires ${formatDayAndYear(expires)}` : `Expired ${formatDayAndYear(expires)}`]),
  ...(targets === null ? [] : [targets.map(targetText).join(", ")]),
  ...(networks === null
    ? []
    : [`From ${networks.length > 2 ? plural(networks.length, "network") : networks.join(", ")}`])
]

/** True while the key still works; a rotated key works until its grace period ends. */
export const isOpen = ({ revoked_at: at }: Key): boolean => at === null || Date.parse(at) > now()
