import { Result } from "effect"
import { describeBudget } from "../../domain/credits/Budget.ts"
import type { InvalidRequest } from "../../domain/errors.ts"
import type { ApiKey } from "../../domain/keys/ApiKey.ts"
import { type BoundsChange, toChange } from "../../domain/keys/KeyBounds.ts"
import { optionalText } from "../flags.ts"
import { CommandFailed, time } from "../Output.ts"

export const budgetFlag = (holder: "key" | "member") =>
  optionalText("budget", `Credits that the ${holder} may spend in each period, or none`)

export const targetsFlag = (holder: "key" | "member") =>
  optionalText("targets", `Comma-separated targets that the ${holder} may use, or none to allow all`)

interface BoundsFlags {
  readonly budget: string | undefined
  readonly budgetPeriod: string
  readonly targets: string | undefined
  readonly expires?: string | undefined
  readonly networks?: string | undefined
}

/** The flags as an API request body, so that commands and the API accept the same values. */
export const bodyOf = ({ budget, budgetPeriod, expires, networks, targets }: BoundsFlags) => {
  const field = (name: string, flag: string | undefined, read: (text: string) => unknown) =>
    flag === undefined ? {} : { [name]: flag === "none" ? null : read(flag) }
  const list = (text: string) => text.split(",").map((item) => item.trim())
  return {
    ...field("expires_at", expires, (text) => text),
    ...field("budget", budget, (text) => ({
      credits: /^[0-9]+$/.test(text) ? Number(text) : text,
      period: budgetPeriod
    })),
    ...field("targets", targets, list),
    ...field("networks", networks, list)
  }
}

export const wrongBounds = ({ issues }: InvalidRequest): CommandFailed =>
  new CommandFailed({ message: issues.map(({ field, message }) => `${field} ${message}`.trim()).join("; ") })

export const readBounds = (
  flags: BoundsFlags,
  decode: (body: unknown) => Result.Result<Parameters<typeof toChange>[0], InvalidRequest>
): Result.Result<BoundsChange, CommandFailed> =>
  Result.mapBoth(decode(bodyOf(flags)), { onSuccess: toChange, onFailure: wrongBounds })

type Bounded = Pick<ApiKey, "bounds" | "spending">

/** Empty without bounds. */
export const boundsText = ({ bounds: { budget, expiresAt, networks, targets }, spending }: Bounded): string =>
  [
    expiresAt === undefined ? [] : [`until ${time(expiresAt)}`],
    budget === undefined ? [] : [`${spending?.credits ?? 0} of ${describeBudget(budget)}`],
    targets === undefined ? [] : [targets.join(",")],
    networks === undefined ? [] : [`from ${networks.join(",")}`]
  ]
    .flat()
    .join("; ")
