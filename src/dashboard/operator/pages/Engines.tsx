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
import { formatDuration, formatPercent, formatRelative } from "../../format.ts"
import { ActButton } from "../acts.tsx"
import type { Provider } from "../api.ts"
import { useLive } from "../console.ts"
import { pauseProvider } from "../offers.ts"
import { AsCommand, RecordTable, When } from "../parts.tsx"

const State = ({
  cool_down: coolDown,
  last_refusal: refusal,
  last_success_at: success,
  paused,
  replicas
}: Provider) => {
  if (paused !== null) {
    return (
      <>
        <Badge kind="slow" text="paused" /> Since <When at={paused.since} />, by <bdi>{paused.by}</bdi>: {paused.reason}
      </>
    )
  }
  if (replicas.open + replicas.half_open === 0) return <Badge kind="ok" text="works" />
  return (
    <>
      <Badge kind={replicas.closed === 0 ? "bad" : "slow"} text={replicas.closed === 0 ? "down" : "partly down"} />{" "}
      {coolDown?.reason ?? refusal?.reason}.{" "}
      {success === null ? (
        "It never answered."
      ) : (
        <>
          Last success: <When at={success} />.
        </>
      )}{" "}
      {coolDown?.until ? `Next attempt ${formatRelative(coolDown.until)}.` : "The next search tries it again."}
    </>
  )
}

const nameOf = ({ engine, provider }: Provider): string => (engine === null ? provider : `${provider}/${engine}`)

const Providers = ({ providers }: { readonly providers: ReadonlyArray<Provider> }) => (
  <RecordTable
    caption="Providers"
    rows={providers}
    keyOf={nameOf}
    columns={{
      Provider: nameOf,
      State: (provider) => <State {...provider} />,
      Succeeded: ({ success_rate: rate }) => rate && formatPercent(rate),
      "95th percentile": ({ p95_ms: ms }) => ms && formatDuration(ms),
      "Last success": ({ last_success_at: at }) => at,
      "Last refusal": ({ last_refusal: refusal }) => refusal
    }}
    action={(provider) => <ActButton isInRow offer={pauseProvider(provider)} />}
  />
)

const check = { command: "providers check" }

interface Check {
  readonly serves: unknown
}

/** Asks every provider once, and shows what came back. Observers may too. */
const TestSearch = () => {
  const { busy, error, run } = useForm()
  const [found, setFound] = useState<ReadonlyArray<object>>()
  const start = (): void =>
    run(
      () => call("POST /v1/operator/acts", { body: check }),
      // The cast is safe: the command prints its results as a list of records.
      ({ providers }) => setFound((providers as ReadonlyArray<Check>).map(({ serves: _, ...result }) => result))
    )
  const button = (
    <Button busy={busy} onClick={start}>
      Search once on each
    </Button>
  )
  return (
    <Card title="Test search" isWide action={button}>
      <div class="stack">
        <AsCommand line={commandLine(check)} />
        <p class="soft">One search for “web search” on every provider and engine. No customer pays for it.</p>
        {error && <Notice text={explain(error)} />}
        {found && <RecordTable caption="Results of the test search" rows={found} />}
      </div>
    </Card>
  )
}

export const EnginesPage = () => {
  const resource = useRoute("GET /v1/operator/engines", {})
  useLive(resource)
  return (
    <>
      <PageHeader title="Engines" lead="The targets and the providers behind them, read every 15 seconds." />
      <Loaded resource={resource} height={480}>
        {({ providers, targets }) => (
          <div class="grid">
            <Card title="Providers" isWide>
              <Providers providers={providers} />
            </Card>
            <Card title="Targets and the order of their providers" isWide>
              <RecordTable caption="Targets" rows={targets} />
            </Card>
            <TestSearch />
          </div>
        )}
      </Loaded>
    </>
  )
}
