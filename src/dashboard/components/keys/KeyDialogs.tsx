import { useEffect, useRef, useState } from "preact/hooks"
import { type ApiError, call, explain, type Result } from "../../api/client.ts"
import type { Answer, Input, Key } from "../../api/routes.ts"
import { now } from "../../app/clock.ts"
import { place } from "../../app/router.ts"
import { fieldsOf, submitting, useForm } from "../../app/useForm.ts"
import { changeOf, readText, textOf } from "../../bounds.ts"
import { type KeyTemplate, keyTemplates } from "../../keyTemplates.ts"
import { showSecret } from "../SecretDialog.tsx"
import { Choice } from "../ui/Choice.tsx"
import { type ChangeDialogProps, ConfirmDialog, Dialog, DialogActions } from "../ui/Dialog.tsx"
import { Field, SelectField } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"
import { BoundsFields } from "./BoundsFields.tsx"

type IssuedKey = Answer<"POST /v1/api-keys">

export interface OneKeyDialogProps extends ChangeDialogProps {
  readonly subject: Key
  /** Announces a change after the dialog was closed. */
  readonly onChange: (text: string) => void
  readonly onGone: () => void
}

const isGone = ({ code }: ApiError): boolean => code === "not_found"

const useGone = (error: ApiError | undefined, onGone: () => void): void =>
  useEffect(() => {
    if (error && isGone(error)) onGone()
  }, [error])

const wordsOf = (error: ApiError): string =>
  isGone(error) ? "This key was already revoked, perhaps in another tab." : explain(error)

const showKey = (title: string, { secret }: IssuedKey): void =>
  showSecret({
    title,
    secret,
    reason: "Quarry stores only a hash of it and cannot show it again.",
    snippets: [
      { title: ".env", what: "the line for .env", text: `QUARRY_API_KEY=${secret}` },
      {
        title: "Try it in a shell",
        what: "the command",
        text: `curl -H 'Authorization: Bearer ${secret}' \\\n  '${location.origin}/v1/query?query=http+caching'`
      }
    ]
  })

type NewKeyBody = Input<"POST /v1/api-keys">["body"]

/**
 * Creates a key. If no response arrives, the server may have created it, and its secret is lost. The list tells; such a
 * key is revoked before the next attempt, so that retrying leaves no second key behind.
 */
const useCreation = () => {
  const lost = useRef<Key>(undefined)
  return async (body: NewKeyBody): Promise<Result<IssuedKey>> => {
    if (lost.current !== undefined) await call("DELETE /v1/api-keys/{id}", { params: { id: lost.current.id } })
    lost.current = undefined
    const startedAt = now()
    const result = await call("POST /v1/api-keys", { body })
    if (result.ok || result.error.status !== 0) return result
    const list = await call("GET /v1/api-keys", {})
    lost.current = list.ok
      ? list.value.api_keys.find((key) => key.name === body.name && Date.parse(key.created_at) >= startedAt - slackMs)
      : undefined
    if (lost.current === undefined) return result
    const message = `The key ${body.name} was created, but the response with its secret was lost. Create it again: the first one is then revoked.`
    return { ...result, error: { ...result.error, code: "response_lost", message } }
  }
}

const types = [
  { value: "live", text: "Live, for production" },
  { value: "test", text: "Test, for development" }
] as const

/** `created_at` may be a little before the request by the browser's reckoning of the server's clock. */
const slackMs = 3_000

const maxNameCharacters = 100

const hasBoundsIssue = (error: ApiError | undefined): boolean =>
  Object.keys(error?.issues ?? {}).some((path) => /^(?:expires_at|budget|networks|targets)\b/.test(path))

const templateIn = (): KeyTemplate =>
  keyTemplates.find(({ value }) => value === place.peek().query.get("create")) ?? keyTemplates[0]

export const CreateKeyDialog = ({ onClose, onDone }: ChangeDialogProps) => {
  const { busy, error, run } = useForm()
  const send = useCreation()
  const [template, setTemplate] = useState(templateIn)
  const [type, setType] = useState<string>(template.type)
  const initial = { ...textOf(undefined), ...template.bounds(now()) }
  const create = (form: HTMLFormElement): void => {
    const { name = "" } = fieldsOf(form)
    const bounds = changeOf(textOf(undefined), readText(form))
    const body = { name, type: type === "test" ? "test" : "live", ...bounds } as const
    run(
      () => send(body),
      (key) => {
        showKey(`Secret of ${key.name}`, key)
        onDone(`Created ${key.name}.`)
      }
    )
  }
  const { name: nameIssue } = error?.issues ?? {}
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form onSubmit={submitting(create)}>
        {error && nameIssue === undefined && !hasBoundsIssue(error) && <Notice text={explain(error)} />}
        <Choice
          legend="Used by"
          value={template.value}
          options={keyTemplates}
          onChange={(value) => {
            const next = keyTemplates.find((other) => other.value === value) ?? keyTemplates[0]
            setTemplate(next)
            setType(next.type)
          }}
        />
        <p class="hint">{template.hint}</p>
        <Field
          label="Name"
          name="name"
          hint="Where the key is used, such as “production” or “Ada’s laptop”."
          error={nameIssue && `The name ${nameIssue}.`}
          input={{ required: true, maxLength: maxNameCharacters, autocomplete: "off", dir: "auto", autofocus: true }}
        />
        <Choice legend="Type" value={type} options={types} onChange={setType} />
        <p class="hint">The type is only a label: both types spend credits. Each key has its own rate limit.</p>
        <details class="more" open={hasBoundsIssue(error)}>
          <summary>{`Limits (${template.limits})`}</summary>
          <BoundsFields key={template.value} initial={initial} issues={error?.issues ?? {}} />
        </details>
        <DialogActions action="Create key" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

export const BindKeyDialog = ({ onChange, onClose, onDone, onGone, subject }: OneKeyDialogProps) => {
  const { busy, error, run } = useForm()
  useGone(error, onGone)
  const { id, name } = subject
  const initial = textOf(subject)
  const bind = (form: HTMLFormElement): void => {
    const given = readText(form)
    const change = (body: Input<"PATCH /v1/api-keys/{id}">["body"]) =>
      call("PATCH /v1/api-keys/{id}", { params: { id }, body })
    const undo = async (): Promise<void> => {
      const result = await change(changeOf(given, initial))
      onChange(result.ok ? `Restored the limits of ${name}.` : `The limits were not restored. ${result.error.message}`)
    }
    run(
      () => change(changeOf(initial, given)),
      () => onDone(`Saved the limits of ${name}.`, undo)
    )
  }
  return (
    <Dialog title={`Limits of ${name}`} onClose={onClose}>
      <form onSubmit={submitting(bind)}>
        <p class="soft">Empty fields set no limit. Changes take effect within 10 seconds.</p>
        {error && !hasBoundsIssue(error) && <Notice text={wordsOf(error)} />}
        <BoundsFields initial={initial} issues={error?.issues ?? {}} />
        <DialogActions action="Save limits" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

const graces = [
  { value: "86400", text: "in 24 hours" },
  { value: "21600", text: "in 6 hours" },
  { value: "3600", text: "in 1 hour" },
  { value: "0", text: "immediately" }
]

export const RotateKeyDialog = ({ onClose, onDone, onGone, subject: { hint, id, name } }: OneKeyDialogProps) => {
  const { busy, error, run } = useForm()
  useGone(error, onGone)
  const [grace, setGrace] = useState("86400")
  const rotate = (): void =>
    run(
      () => call("POST /v1/api-keys/{id}/rotate", { params: { id }, body: { grace_seconds: Number(grace) } }),
      (key) => {
        showKey(`New secret of ${name}`, key)
        onDone(`Rotated ${key.name}.`)
      }
    )
  return (
    <Dialog title={`Rotate ${name}?`} onClose={onClose}>
      <div class="stack">
        <div class="prose">
          <p>
            You get a new secret. The name, the limits, and the remaining budget stay the same. Use the grace period to
            replace the old secret, <code>{hint}</code>, everywhere.
          </p>
          <p>
            {grace === "0"
              ? "Requests with the old secret fail with status 401 within 10 seconds."
              : "After the grace period, requests with the old secret fail with status 401."}
          </p>
        </div>
        <SelectField label="Old secret stops working" name="grace" value={grace} options={graces} onChange={setGrace} />
        {error && <Notice text={wordsOf(error)} />}
        <DialogActions
          action="Rotate key"
          kind={grace === "0" ? "danger" : "primary"}
          busy={busy}
          onClose={onClose}
          onAct={rotate}
        />
      </div>
    </Dialog>
  )
}

export const RevokeKeyDialog = ({ onClose, onDone, onGone, subject: { hint, id, name } }: OneKeyDialogProps) => (
  <ConfirmDialog
    title={`Revoke ${name}?`}
    name={name}
    action="Revoke key"
    request={async () => {
      const result = await call("DELETE /v1/api-keys/{id}", { params: { id } })
      if (!result.ok && isGone(result.error)) onGone()
      return result
    }}
    wordsOf={wordsOf}
    onDone={() => onDone(`Revoked ${name}.`)}
    onClose={onClose}
  >
    <p>
      The key <code>{hint}</code> and any older secret still in its grace period permanently stop working within 10
      seconds. Requests that use them fail with status 401.
    </p>
    <p>Its searches stay in your log and usage.</p>
  </ConfirmDialog>
)
