import { call } from "../../api/client.ts"
import { now } from "../../app/clock.ts"
import { useForm } from "../../app/useForm.ts"
import { formatDayAndYear, formatMoney, formatNumber } from "../../format.ts"
import { type Billing, quotaGain } from "../../purchase.ts"
import { Dialog, DialogActions } from "../ui/Dialog.tsx"
import { Refusal } from "./Portal.tsx"

export type Offer = Billing["plans"][number]
export type Subscription = NonNullable<Billing["subscription"]>

export interface ChangePlanDialogProps {
  readonly from: Offer
  readonly to: Offer
  readonly isUp: boolean
  readonly subscription: Subscription
  readonly onChange: (text: string) => void
  readonly onClose: () => void
}

const Up = ({ from, subscription, to }: Pick<ChangePlanDialogProps, "from" | "to" | "subscription">) => {
  const [start, end] = [Date.parse(subscription.current_period_start), Date.parse(subscription.current_period_end)]
  const price = quotaGain(to.price - from.price, start, end, now())
  const searches = quotaGain(to.requests - from.requests, start, end, now())
  return (
    <div class="prose">
      <p>
        {to.name} starts immediately. Your card is charged about <strong>{formatMoney(price)}</strong> now, before tax.
        This is the price difference for the rest of the period.
      </p>
      <p>
        About <strong>{formatNumber(searches)}</strong> searches are added to this period, in the same proportion. Your
        usage so far still counts.
      </p>
      <p>
        From {formatDayAndYear(subscription.current_period_end)}, the plan costs {formatMoney(to.price)} for{" "}
        {formatNumber(to.requests)} searches a month.
      </p>
    </div>
  )
}

const Down = ({ from, subscription, to }: Pick<ChangePlanDialogProps, "from" | "to" | "subscription">) => (
  <div class="prose">
    <p>
      {to.name} starts on <strong>{formatDayAndYear(subscription.current_period_end)}</strong>, for{" "}
      {formatMoney(to.price)} and {formatNumber(to.requests)} searches a month. Nothing is charged now.
    </p>
    <p>Until then you keep {from.name}, and you can cancel the change.</p>
  </div>
)

export const ChangePlanDialog = ({ from, isUp, onChange, onClose, subscription, to }: ChangePlanDialogProps) => {
  const { busy, error, run } = useForm()
  const change = (): void =>
    run(
      () => call("POST /v1/billing/plan", { body: { plan: to.plan } }),
      ({ effective_at: at, pending_plan: pending }) => {
        onChange(pending === null ? `Your plan is now ${to.name}.` : `${to.name} starts on ${formatDayAndYear(at)}.`)
        onClose()
      }
    )
  const Words = isUp ? Up : Down
  return (
    <Dialog title={`${isUp ? "Upgrade" : "Change"} to ${to.name}?`} onClose={onClose}>
      <div class="stack">
        <Words from={from} to={to} subscription={subscription} />
        {error && <Refusal error={error} />}
        <DialogActions
          action={isUp ? "Upgrade now" : "Change at the end of the period"}
          busy={busy}
          onClose={onClose}
          onAct={change}
        />
      </div>
    </Dialog>
  )
}
