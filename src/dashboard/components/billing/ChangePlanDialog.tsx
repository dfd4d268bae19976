import { call } from "../../api/client.ts"
import { useForm } from "../../app/useForm.ts"
import { formatDayAndYear, formatMoney, formatNumber } from "../../format.ts"
import { type Billing, quotaGain } from "../../purchase.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Refusal } from "../ui/Portal.tsx"

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
  const now = Date.now()
  const price = quotaGain(to.price - from.price, start, end, now)
  const searches = quotaGain(to.requests - from.requests, start, end, now)
  return (
    <div class="prose">
      <p>
        {to.name} begins at once. Your card is charged about <strong>{formatMoney(price)}</strong> now, before tax: the
        difference of the prices for the rest of the period.
      </p>
      <p>
        About <strong>{formatNumber(searches)}</strong> searches are added to this period, which is the same share. What
        you have used stays used.
      </p>
      <p>
        From {formatDayAndYear(subscription.current_period_end)} on it is {formatMoney(to.price)} and{" "}
        {formatNumber(to.requests)} searches a month.
      </p>
    </div>
  )
}

const Down = ({ from, subscription, to }: Pick<ChangePlanDialogProps, "from" | "to" | "subscription">) => (
  <div class="prose">
    <p>
      {to.name} begins on <strong>{formatDayAndYear(subscription.current_period_end)}</strong>, with{" "}
      {formatMoney(to.price)} and {formatNumber(to.requests)} searches a month. Nothing is charged now.
    </p>
    <p>Until then you keep {from.name}, and you can call the change off.</p>
  </div>
)

/** Asks before a plan changes: it says what changes, and when. */
export const ChangePlanDialog = ({ from, isUp, onChange, onClose, subscription, to }: ChangePlanDialogProps) => {
  const { busy, error, run } = useForm()
  const change = (): void =>
    run(
      () => call("POST /v1/billing/plan", { body: { plan: to.plan } }),
      ({ effective_at: at, pending_plan: pending }) => {
        onChange(pending === null ? `Your plan is ${to.name} now.` : `${to.name} begins on ${formatDayAndYear(at)}.`)
        onClose()
      }
    )
  const Words = isUp ? Up : Down
  return (
    <Dialog title={`${isUp ? "Upgrade" : "Change"} to ${to.name}?`} onClose={onClose}>
      <div class="stack">
        <Words from={from} to={to} subscription={subscription} />
        {error && <Refusal error={error} />}
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={busy} onClick={change}>
            {isUp ? "Upgrade now" : "Change at the period’s end"}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
