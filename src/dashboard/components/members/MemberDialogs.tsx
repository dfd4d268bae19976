import { useState } from "preact/hooks"
import { call, explain } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { deliversEmails } from "../../app/facts.ts"
import { type Role, roleTexts } from "../../app/roles.ts"
import { loadSession, membership } from "../../app/session.ts"
import { fieldsOf, submitting, useForm } from "../../app/useForm.ts"
import { changeOf, readText, textOf } from "../../bounds.ts"
import { BoundsFields } from "../keys/BoundsFields.tsx"
import { type ChangeDialogProps, ConfirmDialog, Dialog, DialogActions } from "../ui/Dialog.tsx"
import { Field, SelectField } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"

export interface OneMemberDialogProps extends ChangeDialogProps {
  readonly subject: Answer<"GET /v1/members">["members"][number]
}

const RoleField = ({ value, onChange }: { readonly value: Role; readonly onChange: (role: Role) => void }) => (
  <SelectField
    label="Role"
    name="role"
    value={value}
    hint={roleTexts.find(([role]) => role === value)?.[1]}
    options={roleTexts.map(([role]) => ({ value: role, text: role }))}
    onChange={(chosen) => onChange(roleTexts.find(([role]) => role === chosen)?.[0] ?? value)}
  />
)

export const InviteDialog = ({ onClose, onDone }: ChangeDialogProps) => {
  const { busy, error, run } = useForm()
  const [role, setRole] = useState<Role>("developer")
  const invite = (form: HTMLFormElement): void => {
    const { email = "" } = fieldsOf(form)
    run(
      () => call("POST /v1/members", { body: { email, role } }),
      (member) => onDone(`Invited ${member.email}.`)
    )
  }
  const issue = error?.issues.email
  return (
    <Dialog title="Invite a person" onClose={onClose}>
      <form onSubmit={submitting(invite)}>
        <p class="soft">
          {deliversEmails
            ? "They get an email with a link that works once, within seven days."
            : "This server sends no email. The link is in its log, from which the operator can pass it on."}
        </p>
        {error && issue === undefined && <Notice text={explain(error)} />}
        <Field
          label="Email address"
          name="email"
          type="email"
          error={issue && `This address ${issue}.`}
          input={{ required: true, maxLength: 254, autocomplete: "off", autofocus: true }}
        />
        <RoleField value={role} onChange={setRole} />
        <DialogActions action="Invite" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

export const RoleDialog = ({ onClose, onDone, subject: { email, id, role: before } }: OneMemberDialogProps) => {
  const { busy, error, run } = useForm()
  const [role, setRole] = useState<Role>(before)
  const change = (): void =>
    run(
      () => call("PATCH /v1/members/{id}", { params: { id }, body: { role } }),
      () => {
        onDone(`${email} is now ${role}.`)
        // The page is for owners only.
        if (id === membership.value?.member_id) void loadSession()
      }
    )
  return (
    <Dialog title={`Role of ${email}`} onClose={onClose}>
      <form onSubmit={submitting(change)}>
        {error && <Notice text={explain(error)} />}
        <RoleField value={role} onChange={setRole} />
        <DialogActions action="Change role" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

export const LimitsDialog = ({ onClose, onDone, subject }: OneMemberDialogProps) => {
  const { busy, error, run } = useForm()
  const { email, id } = subject
  const initial = textOf(subject)
  const save = (form: HTMLFormElement): void => {
    const { budget, targets } = changeOf(initial, { ...readText(form), period: initial.period })
    const body = {
      ...(budget === undefined ? {} : { budget: budget && { credits: budget.credits, period: "month" as const } }),
      ...(targets === undefined ? {} : { targets })
    }
    run(
      () => call("PATCH /v1/members/{id}", { params: { id }, body }),
      () => onDone(`Saved the limits of ${email}.`)
    )
  }
  const hasIssue = Object.keys(error?.issues ?? {}).some((path) => /^(?:budget|targets)\b/.test(path))
  return (
    <Dialog title={`Limits of ${email}`} onClose={onClose}>
      <form onSubmit={submitting(save)}>
        <p class="soft">
          They limit everything that the member uses together: the playground, connected apps, and the keys that they
          created. Empty fields set no limit. Keys follow a change within 10 seconds.
        </p>
        {error && !hasIssue && <Notice text={explain(error)} />}
        <BoundsFields holder="member" initial={initial} issues={error?.issues ?? {}} />
        <DialogActions action="Save limits" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

export const RemoveDialog = ({ onClose, onDone, subject: { email, id, status } }: OneMemberDialogProps) => {
  const isInvited = status === "invited"
  return (
    <ConfirmDialog
      title={isInvited ? `Cancel the invitation of ${email}?` : `Remove ${email}?`}
      action={isInvited ? "Cancel invitation" : "Remove member"}
      request={() => call("DELETE /v1/members/{id}", { params: { id } })}
      onDone={() => onDone(isInvited ? `Canceled the invitation of ${email}.` : `Removed ${email}.`)}
      onClose={onClose}
    >
      {isInvited ? (
        <p>The link in the email stops working.</p>
      ) : (
        <>
          <p>Their sessions and connected apps in this account end immediately.</p>
          <p>API keys that they created keep working, within their limits. Revoke them on the page API keys.</p>
        </>
      )}
    </ConfirmDialog>
  )
}
