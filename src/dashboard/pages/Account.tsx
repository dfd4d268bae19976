import { describeUserAgent } from "../../domain/accounts/userAgent.ts"
import { call, explain } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { hasPasswords } from "../app/facts.ts"
import { type Resource, useRoute } from "../app/resource.ts"
import { isOneOf } from "../app/roles.ts"
import { leave, me, ownEmail, role } from "../app/session.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { Factors } from "../components/account/Factors.tsx"
import { LeaveDialog } from "../components/LeaveDialog.tsx"
import { Badge } from "../components/ui/Badge.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { ConfirmDialog, DialogButton } from "../components/ui/Dialog.tsx"
import { Field } from "../components/ui/Field.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { Loaded } from "../components/ui/States.tsx"
import { actionHead, Table } from "../components/ui/Table.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { formatMoment, formatRelative } from "../format.ts"

type Sessions = Answer<"GET /v1/sessions">
type Session = Sessions["sessions"][number]

const EndButton = ({ session, sessions }: { readonly session: Session; readonly sessions: Resource<Sessions> }) => {
  const { busy, run } = useForm()
  const name = describeUserAgent(session.user_agent)
  const end = (): void =>
    run(
      async () => {
        const result = await call("DELETE /v1/sessions/{session_id}", { params: { session_id: session.id } })
        if (!result.ok) announce(`The session could not be ended. ${result.error.message}`)
        return result
      },
      () => {
        announce(`Signed out ${name}.`)
        sessions.reload()
      }
    )
  return (
    <Button small busy={busy} label={`Sign out ${name}, signed in ${formatMoment(session.created_at)}`} onClick={end}>
      Sign out
    </Button>
  )
}

const SessionTable = ({
  list,
  sessions
}: {
  readonly list: ReadonlyArray<Session>
  readonly sessions: Resource<Sessions>
}) => (
  <Table
    caption="Sessions"
    rows={list}
    keyOf={({ id }) => id}
    columns={[
      {
        name: "Browser",
        isHeader: true,
        cell: (session) => <span title={session.user_agent ?? undefined}>{describeUserAgent(session.user_agent)}</span>
      },
      { name: "Signed in", cell: (session) => formatMoment(session.created_at) },
      { name: "Expires", cell: (session) => `${formatRelative(session.expires_at)} if not used` },
      {
        ...actionHead,
        cell: (session) =>
          session.is_current ? (
            <Badge kind="ok" text="this browser" />
          ) : (
            <EndButton session={session} sessions={sessions} />
          )
      }
    ]}
  />
)

const EverywhereDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <ConfirmDialog
    title="Sign out everywhere?"
    action="Sign out everywhere"
    request={() => call("POST /api/auth/revoke-sessions", { body: {} })}
    onDone={leave}
    onClose={onClose}
  >
    <p>All sessions end, including this one, and all connected apps are disconnected.</p>
    <p>API keys keep working.</p>
  </ConfirmDialog>
)

const SessionsCard = () => {
  const sessions = useRoute("GET /v1/sessions", {})
  return (
    <Card
      title="Sessions"
      isWide
      action={
        <DialogButton small dialog={EverywhereDialog}>
          Sign out everywhere
        </DialogButton>
      }
    >
      <Loaded resource={sessions} height={110}>
        {({ sessions: list }) => <SessionTable list={list} sessions={sessions} />}
      </Loaded>
    </Card>
  )
}

const PasswordCard = () => {
  const { busy, error, run } = useForm()
  const submit = (form: HTMLFormElement): void => {
    const { currentPassword = "", newPassword = "" } = fieldsOf(form)
    run(
      () => call("POST /api/auth/change-password", { body: { currentPassword, newPassword } }),
      () => {
        form.reset()
        announce("Password changed. All other sessions were ended and all connected apps were disconnected.")
      }
    )
  }
  const { currentPassword, newPassword } = error?.issues ?? {}
  return (
    <Card title="Password">
      <form onSubmit={submitting(submit)}>
        <input type="hidden" name="username" autocomplete="username" value={ownEmail.value} />
        <Field
          label="Current password"
          name="currentPassword"
          type="password"
          error={currentPassword && `This ${currentPassword}.`}
          input={{ autocomplete: "current-password", required: true, maxLength: 128 }}
        />
        <Field
          label="New password"
          name="newPassword"
          type="password"
          hint="At least 8 characters. Changing it ends all other sessions and disconnects all apps."
          error={newPassword && `The new password ${newPassword}.`}
          input={{ autocomplete: "new-password", required: true, minLength: 8, maxLength: 128 }}
        />
        {error && currentPassword === undefined && newPassword === undefined && <Notice text={explain(error)} />}
        <div class="actions">
          <Button type="submit" busy={busy}>
            Change password
          </Button>
        </div>
      </form>
    </Card>
  )
}

const DataCard = () => (
  <Card title="Your data">
    <div class="prose">
      <p>Download your account, your API keys without their secrets, and your complete search log as a JSON file.</p>
      <div class="actions">
        <a class="button" href="/v1/account/export" download="quarry-account.json">
          Export
        </a>
      </div>
    </div>
  </Card>
)

const DeleteDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <ConfirmDialog
    title="Delete your account?"
    name={me.value?.email ?? ""}
    action="Delete account"
    request={() => call("DELETE /v1/account", {})}
    onDone={leave}
    onClose={onClose}
  >
    <p>All API keys, sessions, and connected apps stop working within 10 seconds.</p>
    <p>Your email address, the names of your keys, and the text of your searches are deleted. This cannot be undone.</p>
    <p>You lose your remaining credits, and this email address cannot start another trial.</p>
  </ConfirmDialog>
)

const DeleteCard = () => (
  <Card title="Delete account">
    <div class="prose">
      <p>
        Revokes your keys, ends your sessions, disconnects your apps, and deletes your data. Records of charges are kept
        without your name.
      </p>
      <div class="actions">
        <DialogButton kind="danger" disabled={me.value === undefined} dialog={DeleteDialog}>
          Delete account
        </DialogButton>
      </div>
    </div>
  </Card>
)

const LeaveCard = () => (
  <Card title="Leave account">
    <div class="prose">
      <p>
        {`You are a ${role.value} of ${me.value?.email ?? "this account"}. Only an owner can export or delete the account.`}
      </p>
      <div class="actions">
        <DialogButton kind="danger" dialog={LeaveDialog}>
          Leave account
        </DialogButton>
      </div>
    </div>
  </Card>
)

export const AccountPage = () => (
  <>
    <PageHeader title="Account" lead={ownEmail.value} />
    <div class="grid">
      <SessionsCard />
      <Card title="Second factors" isWide>
        <Factors />
      </Card>
      {hasPasswords && <PasswordCard />}
      <div class="stack">
        {isOneOf("ownerOnly") ? (
          <>
            <DataCard />
            <DeleteCard />
          </>
        ) : (
          <LeaveCard />
        )}
      </div>
    </div>
  </>
)
