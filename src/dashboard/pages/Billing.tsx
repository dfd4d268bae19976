import { useEffect, useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { Card } from "../components/Card.tsx"
import { PackCredits } from "../components/PackCredits.tsx"
import { PageHeader } from "../components/PageHeader.tsx"
import { PlanOffers } from "../components/PlanOffers.tsx"
import { PresentPlan } from "../components/PresentPlan.tsx"
import { askEveryMs, PurchaseReturn, type Stage } from "../components/PurchaseReturn.tsx"
import { Loaded } from "../components/States.tsx"
import { announce } from "../components/Toast.tsx"
import { changed, useFresh } from "../freshness.ts"
import { type Billing, recall } from "../purchase.ts"
import { lastOf, useRoute } from "../resource.ts"
import { place, setQuery } from "../router.ts"
import { loadSession } from "../session.ts"

/** The plan and packs of the account. Money moves on the pages of the payment provider alone. */

const Closed = ({ billing }: { readonly billing: Billing }) => (
  <p class="notice info">
    <strong>Nothing can be bought here at the moment.</strong>{" "}
    {billing.subscription === null
      ? "What you have keeps working."
      : "Your subscription and your packs keep working, and the portal is open."}
  </p>
)

/** The page that the person comes from: the address names the checkout, and this tab remembers the errand. */
const readReturn = () => ({ checkoutId: place.peek().query.get("checkout_id"), errand: recall() })

export const BillingPage = () => {
  const resource = useRoute("GET /v1/billing", {})
  const usage = useRoute("GET /v1/usage", {})
  const [{ checkoutId, errand }] = useState(readReturn)
  // "none" without a purchase, and after the next change, which makes its words old.
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
    // The portal may have changed the subscription a moment ago, before its delivery is here.
    if (errand?._tag !== "portal") return undefined
    const ask = () => call("POST /v1/billing/sync", { body: {} }).then(reload)
    void ask()
    // The first may be answered from the books, where the provider was asked shortly before.
    const timer = setTimeout(() => void ask(), askEveryMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <>
      <PageHeader title="Billing" lead="Your plan, your packs, and what they cost." />
      <div class="stack">
        {checkoutId !== null && stage !== "none" && (
          <PurchaseReturn checkoutId={checkoutId} errand={errand} onStage={onStage} />
        )}
        <h2 class="hidden">Plan and packs</h2>
        <Loaded resource={resource} height={640}>
          {(billing) => (
            // Nothing is bought twice while the first purchase is not booked yet.
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
