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
import { addPiece, type Counted, lastLineOf, maxBytes, piecesOf } from "../pieces.ts"

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

const Check = ({ isOn, onChange, text }: { isOn: boolean; onChange: (isOn: boolean) => void; text: string }) => (
  <label class="actions">
    <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
    <span>{text}</span>
  </label>
)

const LoadForm = () => {
  const [file, setFile] = useState<File>()
  const [target, setTarget] = useState("")
  const [replace, setReplace] = useState(false)
  /** Undefined until the server asks for it. */
  const [yes, setYes] = useState<boolean>()
  const [progress, setProgress] = useState<Progress>()
  const [problem, setProblem] = useState<string>()
  const isBusy = progress !== undefined && problem === undefined && progress.sent < progress.size
  const flags = { target, replace, yes: replace && yes === true }
  const load = async (): Promise<void> => {
    if (file === undefined || isBusy) return
    if (replace && file.size > maxBytes) return setProblem("To replace with more than 16 MiB, use the command.")
    let all: Progress = { sent: 0, size: file.size, written: 0, failed: 0, removed: 0, problems: [] }
    setProblem(undefined)
    setProgress(all)
    for await (const piece of piecesOf(file, replace ? maxBytes : undefined)) {
      const query = { target, replace: String(replace), yes: String(flags.yes) }
      const result = await call("POST /v1/operator/index/documents", { body: piece, query })
      if (!result.ok) {
        if ("yes" in result.error.issues) setYes(false)
        return setProblem(explain(result.error))
      }
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
      <Check isOn={replace} onChange={setReplace} text="Remove the sites' other documents" />
      {replace && yes !== undefined && <Check isOn={yes} onChange={setYes} text="Remove as many as that" />}
      <AsCommand line={commandText("index load", { source: file?.name ?? "documents.jsonl", ...flags })} />
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
              <p class="soft">
                Of the built-in index. A provider of type opensearch has an index of its own, which{" "}
                <code>quarry index load --provider</code> fills, and whose documents are neither counted nor removed
                here.
              </p>
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
