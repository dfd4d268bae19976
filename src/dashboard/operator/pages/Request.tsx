import type { Answer, LoggedSearch } from "../../api/routes.ts"
import { useRoute } from "../../app/resource.ts"
import { navigate } from "../../app/router.ts"
import { fieldsOf, submitting } from "../../app/useForm.ts"
import { Attempts, Story } from "../../components/search/EntryDetails.tsx"
import { Button } from "../../components/ui/Button.tsx"
import { Card } from "../../components/ui/Card.tsx"
import { Field } from "../../components/ui/Field.tsx"
import { PageHeader } from "../../components/ui/PageHeader.tsx"
import { Loaded } from "../../components/ui/States.tsx"
import { plural } from "../../format.ts"
import { commandText, requestPath } from "../console.ts"
import { AsCommand, Details, RecordTable } from "../parts.tsx"

type Found = Answer<"GET /v1/operator/requests/{id}">
type Entry = Found["entries"][number]

/** The entry in the form of the account's own log, whose sentences explain it. */
const asLogged = (entry: Entry): LoggedSearch => ({
  ...entry,
  created_at: entry.at,
  kind: entry.host === null ? "search" : "page",
  status: entry.outcome,
  // The cast is safe: the sentences also have words for the reasons that only operators see.
  attempts: entry.refusals as LoggedSearch["attempts"],
  options: null
})

const EntryCard = ({ entry }: { readonly entry: Entry }) => {
  const logged = asLogged(entry)
  const { query, refusals: _, request_id: request, ...facts } = entry
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  const link = request === null ? {} : { request_id: <a href={requestPath(request)}>{request}</a> }
  return (
    <Card title={query || "(erased)"}>
      <Story entry={logged} />
      <Attempts attempts={logged.attempts} />
      <Details of={{ ...Object.fromEntries(known), ...link }} />
    </Card>
  )
}

const commands: Readonly<Record<string, string>> = { query: "query show", page: "query show", batch: "batch show" }

const Result = ({ id }: { readonly id: string }) => (
  <Loaded resource={useRoute("GET /v1/operator/requests/{id}", { params: { id } })} height={420}>
    {(found) => (
      <div class="stack">
        <AsCommand line={commandText(commands[found.kind] ?? "request show", { id })} />
        <p>
          {plural(found.entries.length, "entry", "entries")} in the log{found.truncated && ", and possibly more"}.
        </p>
        {found.entries.map((entry) => (
          <EntryCard key={entry.id} entry={entry} />
        ))}
        <Card title="Ledger">
          <RecordTable caption="Ledger" rows={found.ledger} none="Nothing was charged" />
        </Card>
      </div>
    )}
  </Loaded>
)

const show = (form: HTMLFormElement): void => navigate(requestPath((fieldsOf(form).id ?? "").trim()))

export const RequestPage = ({ id }: { readonly id?: string }) => (
  <>
    <PageHeader title="One request" lead="Why it ended as it did, who sent it, and what it cost." />
    <div class="stack">
      <form class="controls" onSubmit={submitting(show)}>
        <Field
          label="Id of a search, batch, request or trace"
          name="id"
          value={id}
          input={{ required: true, pattern: ".*\\S.*", autofocus: id === undefined, autocomplete: "off" }}
        />
        <Button type="submit" kind="primary">
          Show
        </Button>
      </form>
      {id === undefined ? (
        <p class="soft">
          Customers find it in their log, in <code>request_id</code> of each error, and in <code>X-Request-Id</code> of
          each response. The database does not have requests that were refused before their search began, such as with
          401, 402 or 429.
        </p>
      ) : (
        <Result key={id} id={id} />
      )}
    </div>
  </>
)
