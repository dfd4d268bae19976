import { useEffect, useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { changed, useFresh } from "../app/freshness.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { place, setQuery } from "../app/router.ts"
import { loadSession } from "../app/session.ts"
import { PackCredits } from "../components/billing/PackCredits.tsx"
import { PlanOffers } from "../components/billing/PlanOffers.tsx"
import { PresentPlan } from "../components/billing/PresentPlan.tsx"
import { askEveryMs, PurchaseReturn, type Stage } from "../components/billing/PurchaseReturn.tsx"
import { Card } from "../components/ui/Card.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { Loaded } from "../components/ui/States.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { type Billing, recall } from "../purchase.ts"

const Closed = ({ billing }: { readonly billing: Billing }) => (
  <p class="notice info">
    <strong>Purchases are currently unavailable.</strong>{" "}
    {billing.subscription === null
      ? "Your plan and credits keep working. Ask the operator of this server for more credits."
      : "Your subscription and packs keep working, and you can still open the portal."}
  </p>
)

const readReturn = () => ({ checkoutId: place.peek().query.get("checkout_id"), errand: recall() })

export const BillingPage = () => {
  const resource = useRoute("GET /v1/billing", {})
  const usage = useRoute("GET /v1/usage", {})
  const [{ checkoutId, errand }] = useState(readReturn)
  // "none" if there was no purchase, or if a later change made the message outdated.
  const [stage, setStage] = useState<Stage | "none">(checkoutId === null ? "none" : "waiting")
  const reload = (): void => {
    resource.reload()
    usage.reload()
  }
  useFresh("billing", reload)
  const onChange = (text: string): void => {
    announce(text)
    if (stage !== "waiting") setStage("none")
    changed("billing")
    reload()
    void loadSession()
  }
  const onStage = (stage: Stage): void => {
    setStage(stage)
    if (stage !== "booked" && stage !== "asked") return
    setQuery({ checkout_id: undefined })
    changed("billing")
    reload()
    void loadSession()
  }
  useEffect(() => {
    // The subscription may have changed in the portal before its webhook arrives.
    if (errand?._tag !== "portal") return undefined
    const ask = () => call("POST /v1/billing/sync", { body: {} }).then(reload)
    void ask()
    // Within 5 s of a sync, the API answers another from its own data, so a second sync follows.
    const timer = setTimeout(() => void ask(), askEveryMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <>
      <PageHeader title="Billing" lead="Your plan, your credit packs, and their prices." />
      <div class="stack">
        {checkoutId !== null && stage !== "none" && (
          <PurchaseReturn checkoutId={checkoutId} errand={errand} onStage={onStage} />
        )}
        <h2 class="hidden">Plan and packs</h2>
        <Loaded resource={resource} height={640}>
          {(billing) => (
            // Disabled until the purchase is recorded, so that nothing is bought twice.
            <fieldset class="stack" disabled={stage === "waiting"}>
              {!billing.open && <Closed billing={billing} />}
              <Card title="Your plan">
                <PresentPlan billing={billing} usage={lastOf(usage.state.value)} onChange={onChange} />
              </Card>
              {billing.open && billing.plan !== "custom" && (
                <Card title="Plans">
                  <PlanOffers billing={billing} onChange={onChange} />
                </Card>
              )}
              <Card title="Credit packs">
                <PackCredits billing={billing} />
              </Card>
            </fieldset>
          )}
        </Loaded>
      </div>
    </>
  )
}
