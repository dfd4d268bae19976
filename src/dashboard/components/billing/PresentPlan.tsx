import { call } from "../../api/client.ts"
import type { Usage } from "../../api/routes.ts"
import { now } from "../../app/clock.ts"
import { useForm } from "../../app/useForm.ts"
import { formatDayAndYear, formatMoment, formatMoney, formatNumber, formatRelative, plural } from "../../format.ts"
import { type Billing, type Cost, costOf, planName } from "../../purchase.ts"
import { Button } from "../ui/Button.tsx"
import { Meter } from "../ui/Meter.tsx"
import { Stat } from "../ui/Stat.tsx"
import type { Subscription } from "./ChangePlanDialog.tsx"
import { PortalButton, Refusal } from "./Portal.tsx"

export interface PresentPlanProps {
  readonly billing: Billing
  readonly usage: Usage | undefined
  readonly onChange: (text: string) => void
}

interface NewsProps {
  readonly billing: Billing
  readonly subscription: Subscription
  readonly onChange: (text: string) => void
}

const KeepButton = ({ billing, onChange, subscription: { plan } }: NewsProps) => {
  const name = planName(billing, plan)
  const { busy, error, run } = useForm()
  const keep = (): void =>
    run(
      () => call("POST /v1/billing/plan", { body: { plan } }),
      () => onChange(`You keep ${name}.`)
    )
  return (
    <>
      <Button busy={busy} onClick={keep}>
        Keep {name}
      </Button>
      {error && <Refusal error={error} />}
    </>
  )
}

const PastDue = ({ billing, subscription: { grace_until: grace, past_due_since: since, plan } }: NewsProps) => {
  const name = planName(billing, plan)
  const isOver = grace !== null && Date.parse(grace) <= now()
  return (
    <div class="notice news" role="alert">
      <p>
        <strong>The payment for {name} failed</strong>
        {since !== null && ` on ${formatDayAndYear(since)}`}.
      </p>
      <p>
        {isOver
          ? `${name} has ended because of this. Pay in the portal to restore the plan with your previous usage. Until then you can spend your packs.`
          : `You keep the plan until ${grace === null ? "the grace period ends" : formatMoment(grace)}. Check your card in the portal. The payment is retried automatically.`}
      </p>
      <PortalButton text="Open the portal" />
    </div>
  )
}

const Pending = (props: NewsProps) => {
  const { pending_at: at, pending_plan: pending, plan } = props.subscription
  return (
    <div class="notice info news">
      <p>
        <strong>
          {pending !== null && planName(props.billing, pending)} starts{at !== null && ` on ${formatDayAndYear(at)}`}.
        </strong>{" "}
        Until then you have {planName(props.billing, plan)}.
      </p>
      <KeepButton {...props} />
    </div>
  )
}

const Canceled = (props: NewsProps) => {
  const { current_period_end: end, plan } = props.subscription
  return (
    <div class="notice info news">
      <p>
        <strong>Your subscription ends on {formatDayAndYear(end)}.</strong> You have {planName(props.billing, plan)}{" "}
        until then, and the trial terms after that. You keep your packs.
      </p>
      <KeepButton {...props} />
    </div>
  )
}

const News = (props: NewsProps) => {
  const { cancel_at_period_end: ends, pending_plan: pending, status } = props.subscription
  return (
    <>
      {status === "past_due" && <PastDue {...props} />}
      {ends && status === "active" && <Canceled {...props} />}
      {pending !== null && !ends && status === "active" && <Pending {...props} />}
    </>
  )
}

const withoutSubscription = ({ plan }: Billing): string =>
  plan === "trial"
    ? "Free searches, granted once. They do not renew."
    : plan === "custom"
      ? "You agreed on this plan with the operator of this service. Ask the operator to change it."
      : "The operator of this service gave you this plan. There is no subscription."

const priceOf = ({ plan, plans, subscription }: Billing): string | undefined => {
  const offer = subscription !== null ? plans.find((offer) => offer.plan === plan) : undefined
  return offer && `${formatMoney(offer.price)} a month, before tax`
}

const elapsedOf = (usage: Usage | undefined): number => {
  const { end, start } = usage?.period ?? { start: null, end: null }
  if (start === null || end === null) return 0
  return (now() - Date.parse(start)) / (Date.parse(end) - Date.parse(start))
}

const forecastNote = ({ bought, forecast, over }: Cost): string => {
  if (forecast === undefined) return "too early to tell"
  if (over === 0) return "enough searches at this pace"
  const needed = `${plural(over, "search", "searches")} beyond the quota at this pace`
  return bought > 0 ? `with ${formatNumber(bought)} pack credits, for ${needed}` : needed
}

/** What this month costs, and what is charged next. */
const Costs = ({ billing, usage }: { readonly billing: Billing; readonly usage: Usage | undefined }) => {
  const cost = costOf(billing, usage?.used ?? 0, elapsedOf(usage))
  const { forecast, next, soFar } = cost
  const isFree = billing.subscription === null
  return (
    <dl class="stats">
      <Stat
        name="Cost to date"
        value={formatMoney(soFar)}
        note={isFree ? "no subscription" : "this period, before tax"}
      />
      <Stat
        name="Forecast"
        value={forecast === undefined ? "–" : formatMoney(forecast)}
        note={isFree ? "nothing is charged" : forecastNote(cost)}
      />
      <Stat
        name="Next invoice"
        value={next === undefined ? "None" : formatMoney(next.price)}
        note={next === undefined ? undefined : `on ${formatDayAndYear(next.at)}, before tax`}
      />
    </dl>
  )
}

const Figures = ({ billing, usage }: { readonly billing: Billing; readonly usage: Usage | undefined }) => {
  const { subscription } = billing
  const { quota = null, resets_at: reset = null, used = 0 } = usage ?? {}
  return (
    <>
      <dl class="stats">
        <Stat name="Plan" value={billing.plan_name} note={priceOf(billing)} />
        <Stat
          name="Searches used"
          value={usage === undefined ? "…" : formatNumber(used)}
          note={quota === null ? "" : `of ${formatNumber(quota)}`}
        />
        {subscription !== null ? (
          <Stat
            name={
              subscription.status === "past_due" ? "Period ends" : subscription.cancel_at_period_end ? "Ends" : "Renews"
            }
            value={formatDayAndYear(subscription.current_period_end)}
            note={`period started ${formatDayAndYear(subscription.current_period_start)}`}
          />
        ) : (
          reset !== null && <Stat name="Renews" value={formatDayAndYear(reset)} note={formatRelative(reset)} />
        )}
      </dl>
      {quota !== null && <Meter label="Quota used" used={used} of={quota} />}
      <Costs billing={billing} usage={usage} />
    </>
  )
}

export const PresentPlan = ({ billing, onChange, usage }: PresentPlanProps) => {
  const { subscription } = billing
  return (
    <div class="stack">
      {subscription !== null && <News billing={billing} subscription={subscription} onChange={onChange} />}
      <div>
        <Figures billing={billing} usage={usage} />
      </div>
      {subscription === null ? (
        <div class="portal">
          <p class="soft">{withoutSubscription(billing)}</p>
          {(billing.balance > 0 || billing.owed > 0) && <PortalButton text="Invoices" />}
        </div>
      ) : (
        subscription.status === "active" && (
          <div class="portal">
            <PortalButton text="Cards, invoices, and cancellation" />
            <p class="soft">Opens the payment provider’s portal.</p>
          </div>
        )
      )}
    </div>
  )
}
