import { useState } from "preact/hooks"
import { call, explain } from "../../api/client.ts"
import { useRoute } from "../../app/resource.ts"
import { readAgain } from "../../app/session.ts"
import { submitting } from "../../app/useForm.ts"
import { Badge } from "../../components/ui/Badge.tsx"
import { Button } from "../../components/ui/Button.tsx"
import { Card } from "../../components/ui/Card.tsx"
import { FieldFrame, SelectField } from "../../components/ui/Field.tsx"
import { Meter } from "../../components/ui/Meter.tsx"
import { Notice } from "../../components/ui/Notice.tsx"
import { PageHeader } from "../../components/ui/PageHeader.tsx"
import { Loaded } from "../../components/ui/States.tsx"
import { plural } from "../../format.ts"
import { ActButton } from "../acts.tsx"
import { commandText, mayAct } from "../console.ts"
import { removeDocuments, targetOptions } from "../offers.ts"
import { AsCommand, RecordTable } from "../parts.tsx"
import { addPiece, type Counted, lastLineOf, piecesOf } from "../pieces.ts"

interface Progress extends Counted {
  readonly sent: number
  readonly size: number
}

const Report = ({ failed, problems, removed, sent, size, written }: Progress) => (
  <>
    <Meter label="Sent bytes" used={sent} of={size} isHarmless />
    <p role="status">
      {sent === size ? "Loaded" : "Loading:"} {plural(written, "document")}, removed {removed}, refused {failed}.
    </p>
    {problems.length > 0 && <RecordTable caption="Refused lines" rows={problems} />}
  </>
)

const LoadForm = () => {
  const [file, setFile] = useState<File>()
  const [target, setTarget] = useState("")
  const [progress, setProgress] = useState<Progress>()
  const [problem, setProblem] = useState<string>()
  const isBusy = progress !== undefined && problem === undefined && progress.sent < progress.size
  const load = async (): Promise<void> => {
    if (file === undefined || isBusy) return
    let all: Progress = { sent: 0, size: file.size, written: 0, failed: 0, removed: 0, problems: [] }
    setProblem(undefined)
    setProgress(all)
    for await (const piece of piecesOf(file)) {
      const result = await call("POST /v1/operator/index/documents", { body: piece, query: { target } })
      if (!result.ok) return setProblem(explain(result.error))
      const last = lastLineOf(result.value)
      if ("message" in last) return setProblem(last.message)
      all = { ...all, ...addPiece(all, last), sent: all.sent + piece.size }
      setProgress(all)
    }
    readAgain()
  }
  return (
    <form onSubmit={submitting(() => void load())}>
      <FieldFrame label="File" hint="One JSON object a line, with url, title and description, as for index load">
        {({ describedBy, id }) => (
          <input
            id={id}
            type="file"
            required
            aria-describedby={describedBy}
            onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])}
          />
        )}
      </FieldFrame>
      <SelectField label="Target" value={target} options={targetOptions} onChange={setTarget} />
      <AsCommand line={commandText("index load", { source: file?.name ?? "documents.jsonl", target })} />
      {problem !== undefined && <Notice text={problem} />}
      {progress && <Report {...progress} />}
      <div class="actions">
        <Button kind="primary" type="submit" busy={isBusy}>
          Load
        </Button>
      </div>
    </form>
  )
}

export const IndexPage = () => (
  <>
    <PageHeader
      title="Index"
      lead={<AsCommand line="quarry index stats" />}
      actions={<ActButton offer={removeDocuments} />}
    />
    <div class="grid">
      <Card title="Documents">
        <Loaded resource={useRoute("GET /v1/operator/index", {})} height={240}>
          {({ counts, loading }) => (
            <div class="stack">
              {loading && (
                <p>
                  <Badge kind="slow" text="loading" /> Answers may lack documents, and are not cached.
                </p>
              )}
              <RecordTable caption="Documents" rows={counts} none="The index is empty" />
            </div>
          )}
        </Loaded>
      </Card>
      {mayAct.value && (
        <Card title="Load documents">
          <LoadForm />
        </Card>
      )}
    </div>
  </>
)
