import { call } from "../../api/client.ts"
import { useForm } from "../../app/useForm.ts"
import { formatMoney, formatNumber, plural } from "../../format.ts"
import { type Billing, remember } from "../../purchase.ts"
import { Button } from "../ui/Button.tsx"
import { Stat } from "../ui/Stat.tsx"
import { actionHead, Table } from "../ui/Table.tsx"
import { Refusal } from "./Portal.tsx"

type Pack = Billing["packs"][number]

const whyNone = ({ plan, subscription }: Billing): string =>
  subscription?.status === "past_due"
    ? "You can buy packs again after the payment succeeds."
    : plan === "custom"
      ? "The operator of this service has not set a price for packs on your plan. Ask the operator."
      : subscription !== null
        ? "Your plan has no credit packs."
        : "Packs are available with a subscription, because the plan sets their price."

const Offers = ({ billing }: { readonly billing: Billing }) => {
  const { busy, error, run } = useForm()
  const buy = ({ credits }: Pack): void =>
    run(
      () => call("POST /v1/billing/packs", { body: { credits } }),
      ({ checkout_url: url }) => {
        remember({ _tag: "pack", credits, before: billing.balance - billing.owed })
        location.assign(url)
      }
    )
  return (
    <>
      <Table
        caption="Packs"
        rows={billing.packs}
        keyOf={({ credits }) => String(credits)}
        columns={[
          { name: "Pack", isHeader: true, cell: ({ credits }) => `${formatNumber(credits)} credits` },
          { name: "Price", isFigure: true, cell: ({ price }) => formatMoney(price) },
          {
            ...actionHead,
            cell: (pack) => (
              <Button small busy={busy} label={`Buy ${formatNumber(pack.credits)} credits`} onClick={() => buy(pack)}>
                Buy
              </Button>
            )
          }
        ]}
      />
      {error && <Refusal error={error} />}
    </>
  )
}

export const PackCredits = ({ billing }: { readonly billing: Billing }) => {
  const { balance, open, owed, packs } = billing
  return (
    <div class="stack">
      <dl class="stats">
        <Stat
          name="Balance"
          value={formatNumber(balance)}
          note="credits that never expire and are spent after the quota"
        />
        {owed > 0 && <Stat name="Owed" value={formatNumber(owed)} note="for a refunded pack" />}
      </dl>
      {owed > 0 && (
        <p class="soft">
          {`A pack was refunded after ${plural(owed, "credit")} of it had been spent. They are deducted from the next credits you receive.`}
        </p>
      )}
      {packs.length > 0 ? <Offers billing={billing} /> : open && <p class="soft">{whyNone(billing)}</p>}
    </div>
  )
}
