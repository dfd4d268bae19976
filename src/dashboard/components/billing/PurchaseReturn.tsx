import { useEffect, useState } from "preact/hooks"
import { type ApiError, call } from "../../api/client.ts"
import { formatNumber } from "../../format.ts"
import { type Billing, type Errand, isBooked, planName } from "../../purchase.ts"
import { Button } from "../ui/Button.tsx"
import { Refusal } from "./Portal.tsx"

export interface PurchaseReturnProps {
  readonly checkoutId: string
  readonly errand: Errand | undefined
  readonly onStage: (stage: Stage) => void
}

type State =
  | { readonly _tag: "waiting" }
  | { readonly _tag: "booked"; readonly billing: Billing }
  | { readonly _tag: "asked" }
  | { readonly _tag: "late" }
  | { readonly _tag: "failed"; readonly error: ApiError }

export type Stage = State["_tag"]

/** Quarry asks the provider at most once in 5 seconds for an account (R42). */
export const askEveryMs = 5_200
/** About 50 seconds. After that, the user decides when to ask again. */
const maxAsks = 10

const bookedText = (errand: Errand | undefined, billing: Billing): string =>
  errand?._tag === "plan"
    ? `Your plan is now ${planName(billing, errand.plan)}.`
    : errand?._tag === "pack"
      ? `${formatNumber(errand.credits)} credits were added to your balance.`
      : "Your purchase is complete."

const texts = {
  waiting: {
    title: "Waiting for the payment to be confirmed",
    text: "This can take a minute after you pay. This page updates automatically."
  },
  asked: {
    title: "Your account is up to date",
    text: "Everything that the payment provider has confirmed is shown below."
  },
  late: {
    title: "The payment is not confirmed yet",
    text: "If you paid, your purchase arrives as soon as the payment provider confirms it, even if you leave this page. If you did not pay, nothing is charged."
  }
} as const

export const PurchaseReturn = ({ checkoutId, errand, onStage }: PurchaseReturnProps) => {
  const [state, setState] = useState<State>({ _tag: "waiting" })
  const enter = (next: State): void => {
    setState(next)
    onStage(next._tag)
  }
  const [round, setRound] = useState(0)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let hasLeft = false
    const ask = async (asked: number): Promise<void> => {
      const result = await call("POST /v1/billing/sync", { body: { checkout_id: checkoutId } })
      if (hasLeft) return
      if (!result.ok) return enter({ _tag: "failed", error: result.error })
      if (errand === undefined) return enter({ _tag: "asked" })
      if (isBooked(errand, result.value)) return enter({ _tag: "booked", billing: result.value })
      if (asked >= maxAsks) return enter({ _tag: "late" })
      timer = setTimeout(() => void ask(asked + 1), askEveryMs)
    }
    enter({ _tag: "waiting" })
    void ask(1)
    return () => {
      hasLeft = true
      clearTimeout(timer)
    }
  }, [round])
  if (state._tag === "booked") {
    return (
      <p class="notice good" role="status">
        {bookedText(errand, state.billing)}
      </p>
    )
  }
  const again = <Button onClick={() => setRound(round + 1)}>Check again</Button>
  if (state._tag === "failed") {
    return (
      <div class="stack" role="status">
        <Refusal error={state.error} />
        <div class="actions">{again}</div>
      </div>
    )
  }
  const { text, title } = texts[state._tag]
  return (
    <div class="notice info return" role="status" aria-busy={state._tag === "waiting"}>
      <p>
        <strong>{title}</strong>
      </p>
      <p>{text}</p>
      {state._tag === "late" && <div class="actions">{again}</div>}
    </div>
  )
}
