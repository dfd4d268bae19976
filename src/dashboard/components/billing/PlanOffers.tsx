import { useState } from "preact/hooks"
import { call } from "../../api/client.ts"
import { useForm } from "../../app/useForm.ts"
import { formatDayAndYear, formatMoney, formatNumber } from "../../format.ts"
import { type Billing, isUpgrade, recommended, remember } from "../../purchase.ts"
import { Badge } from "../ui/Badge.tsx"
import { Button } from "../ui/Button.tsx"
import { ChangePlanDialog, type Offer } from "./ChangePlanDialog.tsx"
import { Refusal } from "./Portal.tsx"

export interface PlanOffersProps {
  readonly billing: Billing
  readonly onChange: (text: string) => void
}

interface SubscribeProps extends Pick<Offer, "name" | "plan"> {
  readonly isPrimary: boolean
}

const SubscribeButton = ({ isPrimary, name, plan }: SubscribeProps) => {
  const { busy, error, run } = useForm()
  const subscribe = (): void =>
    run(
      () => call("POST /v1/billing/checkout", { body: { plan } }),
      ({ checkout_url: url }) => {
        remember({ _tag: "plan", plan })
        location.assign(url)
      }
    )
  return (
    <>
      <Button kind={isPrimary ? "primary" : "plain"} label={`Subscribe to ${name}`} busy={busy} onClick={subscribe}>
        Subscribe
      </Button>
      {error && <Refusal error={error} />}
    </>
  )
}

/** Also of a plan that the operator gave, without a subscription. */
const isOwn = ({ plan, subscription }: Billing, offer: Offer): boolean => offer.plan === (subscription?.plan ?? plan)

interface ActionProps {
  readonly offer: Offer
  readonly billing: Billing
  readonly onChoose: (offer: Offer) => void
}

const Action = ({ billing, offer, onChoose }: ActionProps) => {
  const { plans, subscription } = billing
  const isPrimary = recommended(billing) === offer.plan
  if (isOwn(billing, offer)) return <Badge kind="ok" text="Your plan" />
  if (subscription === null) return <SubscribeButton {...offer} isPrimary={isPrimary} />
  if (subscription.pending_plan === offer.plan && subscription.pending_at !== null) {
    return <Badge text={`From ${formatDayAndYear(subscription.pending_at)}`} />
  }
  if (subscription.status === "past_due") return null
  const isUp = isUpgrade(plans, subscription.plan, offer.plan)
  return (
    <Button kind={isPrimary ? "primary" : "plain"} onClick={() => onChoose(offer)}>
      {isUp ? "Upgrade" : "Change"} to {offer.name}
    </Button>
  )
}

export const PlanOffers = ({ billing, onChange }: PlanOffersProps) => {
  const [chosen, setChosen] = useState<Offer>()
  const { plans, subscription } = billing
  const present = plans.find(({ plan }) => plan === subscription?.plan)
  return (
    <>
      <ul class="offers">
        {plans.map((offer) => (
          <li key={offer.plan} class={isOwn(billing, offer) ? "offer present" : "offer"}>
            <h3>{offer.name}</h3>
            <p class="price">
              <strong>{formatMoney(offer.price)}</strong> a month
            </p>
            <ul class="terms">
              <li>{formatNumber(offer.requests)} searches a month</li>
              <li>{formatNumber(offer.concurrency)} concurrent searches per batch</li>
              <li>
                {offer.pack_rate > 0 ? `${formatMoney(offer.pack_rate)} for 1,000 pack credits` : "No credit packs"}
              </li>
            </ul>
            <Action offer={offer} billing={billing} onChoose={setChosen} />
          </li>
        ))}
      </ul>
      <p class="soft note">
        Prices are before tax. An upgrade starts immediately; any other change starts at the end of the period.
        {subscription?.status === "past_due" && " You can change the plan after the payment succeeds."}
      </p>
      {chosen && present && subscription && (
        <ChangePlanDialog
          from={present}
          to={chosen}
          isUp={isUpgrade(plans, present.plan, chosen.plan)}
          subscription={subscription}
          onChange={onChange}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}
