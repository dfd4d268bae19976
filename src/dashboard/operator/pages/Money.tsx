import { useState } from "preact/hooks"
import { commandLine } from "../../../domain/operations/commandLine.ts"
import { call, explain } from "../../api/client.ts"
import { useRoute } from "../../app/resource.ts"
import { useForm } from "../../app/useForm.ts"
import { Badge } from "../../components/ui/Badge.tsx"
import { Button } from "../../components/ui/Button.tsx"
import { Card } from "../../components/ui/Card.tsx"
import { Notice } from "../../components/ui/Notice.tsx"
import { PageHeader } from "../../components/ui/PageHeader.tsx"
import { Loaded } from "../../components/ui/States.tsx"
import type { Verification } from "../api.ts"
import { AsCommand, Details, RecordTable, Verified } from "../parts.tsx"

const verify = { command: "ledger verify" }

/** Observers may verify too, because it changes no figure. */
const Ledger = ({ last }: { readonly last: Verification | null }) => {
  const { busy, error, run } = useForm()
  const [found, setFound] = useState<ReadonlyArray<object>>()
  const start = (): void =>
    run(
      () => call("POST /v1/operator/acts", { body: verify }),
      // The cast is safe: the command prints a list of discrepancies.
      ({ discrepancies }) => setFound(discrepancies as ReadonlyArray<object>)
    )
  const button = (
    <Button busy={busy} onClick={start}>
      Verify the ledger
    </Button>
  )
  return (
    <Card title="Ledger" action={button}>
      <div class="stack">
        <AsCommand line={commandLine(verify)} />
        {error && <Notice text={explain(error)} />}
        <div role="status">
          {found === undefined ? (
            <Verified last={last} />
          ) : found.length === 0 ? (
            <p>
              <Badge kind="ok" text="clean" /> All accounts match their records.
            </p>
          ) : (
            <RecordTable caption="Discrepancies" rows={found} />
          )}
        </div>
      </div>
    </Card>
  )
}

const Found = ({
  rows,
  none,
  title
}: {
  readonly title: string
  readonly rows: ReadonlyArray<object>
  readonly none: string
}) => (
  <Card title={title}>
    <RecordTable caption={title} rows={rows} none={none} />
  </Card>
)

export const MoneyPage = () => (
  <>
    <PageHeader title="Money" lead={<AsCommand line="quarry billing check" />} />
    <Loaded resource={useRoute("GET /v1/operator/money", {})} height={640}>
      {({ drift, plans, revenue, second_subscriptions: second, unpaid, ...figures }) => (
        <div class="stack">
          <Ledger last={drift} />
          <Card title="Revenue of the last 30 days">
            <div class="stack">
              <RecordTable caption="Revenue" rows={revenue.orders} none="No orders" />
              <Details of={{ since: revenue.since, ...figures }} />
            </div>
          </Card>
          <Found title="Unpaid renewals" rows={unpaid} none="Every renewal is paid" />
          <Found title="Second subscriptions" rows={second} none="No account has two" />
          <Found title="Plans" rows={plans} none="No plans" />
        </div>
      )}
    </Loaded>
  </>
)
