import { useState } from "preact/hooks"
import type { EventType } from "../../../domain/webhooks/Event.ts"
import { call, explain } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { submitting, useForm } from "../../app/useForm.ts"
import { showSecret } from "../SecretDialog.tsx"
import { type ChangeDialogProps, ConfirmDialog, Dialog, DialogActions } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"
import { EventChoice } from "./EventChoice.tsx"

export type Webhook = Answer<"GET /v1/webhooks">["webhooks"][number]

export interface OneWebhookDialogProps extends ChangeDialogProps {
  readonly subject: Webhook
  /** Announces a change after the dialog was closed. */
  readonly onChange: (text: string) => void
}

const showWebhookSecret = (title: string, secret: string): void =>
  showSecret({
    title,
    secret,
    reason: "Your receiver uses it to verify events. It cannot be shown again.",
    snippets: []
  })

interface FormProps {
  readonly before: Pick<Webhook, "url" | "events">
  readonly action: string
  readonly form: ReturnType<typeof useForm>
  readonly onSubmit: (url: string, events: ReadonlyArray<EventType>) => void
  readonly onClose: () => void
}

const WebhookForm = ({ action, before, form, onClose, onSubmit }: FormProps) => {
  const [url, setUrl] = useState(before.url)
  const [events, setEvents] = useState(before.events)
  const { busy, error } = form
  const { url: urlIssue } = error?.issues ?? {}
  return (
    <form onSubmit={submitting(() => onSubmit(url, events))}>
      {error && urlIssue === undefined && <Notice text={explain(error)} />}
      <Field
        label="URL"
        name="url"
        hint="An https URL on the public internet that receives events as POST requests."
        value={url}
        onInput={setUrl}
        error={urlIssue && `The URL ${urlIssue}.`}
        input={{ required: true, autocomplete: "off", spellcheck: false, autofocus: true }}
      />
      <EventChoice legend="Events" hint="Select none to receive every event." value={events} onChange={setEvents} />
      <DialogActions action={action} busy={busy} onClose={onClose} />
    </form>
  )
}

export const CreateWebhookDialog = ({ onClose, onDone }: ChangeDialogProps) => {
  const form = useForm()
  const create = (url: string, events: ReadonlyArray<EventType>): void =>
    form.run(
      () => call("POST /v1/webhooks", { body: { url, events } }),
      (issued) => {
        showWebhookSecret("Webhook secret", issued.secret)
        onDone("Added the webhook.")
      }
    )
  return (
    <Dialog title="Add a webhook" onClose={onClose}>
      <WebhookForm
        before={{ url: "", events: [] }}
        action="Add webhook"
        form={form}
        onSubmit={create}
        onClose={onClose}
      />
    </Dialog>
  )
}

export const ChangeWebhookDialog = ({ onChange, onClose, onDone, subject }: OneWebhookDialogProps) => {
  const form = useForm()
  const params = { id: subject.id }
  const change = (url: string, events: ReadonlyArray<EventType>): void => {
    // The API resolves the host of a URL, which fails while the host is unreachable, so an unchanged URL is not sent.
    const bodyOf = (webhook: Pick<Webhook, "url" | "events">) =>
      url === subject.url ? { events: webhook.events } : { url: webhook.url, events: webhook.events }
    const undo = async (): Promise<void> => {
      const result = await call("PATCH /v1/webhooks/{id}", { params, body: bodyOf(subject) })
      onChange(result.ok ? "Undid the change." : `The change could not be undone. ${result.error.message}`)
    }
    form.run(
      () => call("PATCH /v1/webhooks/{id}", { params, body: bodyOf({ url, events }) }),
      () => onDone("Changed the webhook.", undo)
    )
  }
  return (
    <Dialog title="Change the webhook" onClose={onClose}>
      <WebhookForm before={subject} action="Save" form={form} onSubmit={change} onClose={onClose} />
    </Dialog>
  )
}

export const RotateWebhookDialog = ({ onClose, onDone, subject: { id, url } }: OneWebhookDialogProps) => (
  <ConfirmDialog
    title="Rotate the secret?"
    action="Rotate secret"
    request={() => call("POST /v1/webhooks/{id}/rotate", { params: { id }, body: {} })}
    onDone={(issued) => {
      showWebhookSecret("New webhook secret", issued.secret)
      onDone("Rotated the secret.")
    }}
    onClose={onClose}
  >
    <p>
      Events to <bdi>{url}</bdi> are also signed with the old secret for 24 hours.
    </p>
  </ConfirmDialog>
)

export const DeleteWebhookDialog = ({ onClose, onDone, subject: { id, url } }: OneWebhookDialogProps) => (
  <ConfirmDialog
    title="Delete the webhook?"
    action="Delete webhook"
    request={() => call("DELETE /v1/webhooks/{id}", { params: { id } })}
    onDone={() => onDone("Deleted the webhook.")}
    onClose={onClose}
  >
    <p>
      <bdi>{url}</bdi> stops receiving events. Its delivery log is deleted too.
    </p>
  </ConfirmDialog>
)
