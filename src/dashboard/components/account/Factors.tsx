import { useState } from "preact/hooks"
import { describeUserAgent } from "../../../domain/accounts/userAgent.ts"
import { call, explain, type Result } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { addPasskey } from "../../app/passkeys.ts"
import { useRoute } from "../../app/resource.ts"
import { fieldsOf, submitting, useForm } from "../../app/useForm.ts"
import { formatMoment } from "../../format.ts"
import { Button } from "../ui/Button.tsx"
import { CodeBlock } from "../ui/CodeBlock.tsx"
import { ConfirmDialog, Dialog, DialogActions } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"
import { Loaded } from "../ui/States.tsx"
import { actionHead, Table } from "../ui/Table.tsx"

type Setup = Answer<"POST /api/auth/two-factor/enable">
type Passkey = Answer<"GET /api/auth/passkey/list-user-passkeys">[number]

interface SetupProps {
  readonly setup: Setup
  readonly onDone: () => void
  readonly onClose: () => void
}

const SetupDialog = ({ onClose, onDone, setup }: SetupProps) => {
  const { busy, error, run } = useForm()
  const secret = new URL(setup.totpURI).searchParams.get("secret") ?? ""
  const submit = (form: HTMLFormElement): void => {
    const { code = "" } = fieldsOf(form)
    run(() => call("POST /api/auth/two-factor/verify-totp", { body: { code } }), onDone)
  }
  return (
    <Dialog title="Set up an authenticator app" onClose={onClose}>
      <form onSubmit={submitting(submit)}>
        <p>Scan this code with your app, or type the secret into it.</p>
        <img class="qr" src={setup.qrCode} alt="QR code of the secret" width="200" height="200" />
        <code translate={false}>{secret.replaceAll(/.{4}(?=.)/g, "$& ")}</code>
        {error && <Notice text={explain(error)} />}
        <Field
          label="Code from the app"
          name="code"
          input={{ autocomplete: "one-time-code", inputMode: "numeric", required: true, maxLength: 8, autofocus: true }}
        />
        <DialogActions action="Continue" kind="primary" busy={busy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

const CodesDialog = ({ codes, onClose }: { readonly codes: ReadonlyArray<string>; readonly onClose: () => void }) => (
  <Dialog title="Save your recovery codes" onClose={onClose} isSticky>
    <p>Each code signs you in once if you do not have your phone. They are shown only now.</p>
    <CodeBlock title="Recovery codes" what="the recovery codes" text={codes.join("\n")} />
    <div class="actions">
      <Button kind="primary" onClick={onClose}>
        I have saved them
      </Button>
    </div>
  </Dialog>
)

const PasskeyTable = ({
  list,
  onRemove
}: {
  readonly list: ReadonlyArray<Passkey>
  readonly onRemove: (id: string) => void
}) => (
  <Table
    caption="Passkeys"
    rows={list}
    keyOf={({ id }) => id}
    columns={[
      { name: "Passkey", isHeader: true, cell: ({ name }) => name ?? "Passkey" },
      { name: "Added", cell: ({ createdAt }) => formatMoment(createdAt) },
      {
        ...actionHead,
        cell: ({ id }) => (
          <Button small onClick={() => onRemove(id)}>
            Remove passkey
          </Button>
        )
      }
    ]}
  />
)

/** A removal that waits for a confirmation. */
interface Removal {
  readonly name: "authenticator app" | "passkey"
  readonly request: () => Promise<Result<unknown>>
}

const RemovalDialog = ({
  name,
  ...dialog
}: Removal & { readonly onDone: () => void; readonly onClose: () => void }) => (
  <ConfirmDialog title={`Remove this ${name}?`} action={`Remove ${name}`} {...dialog}>
    <p>You can no longer sign in with it. Recovery codes belong to the app, and end with it.</p>
  </ConfirmDialog>
)

/** `onReady` is called after a factor was added. */
export const Factors = ({ onReady }: { readonly onReady?: () => void }) => {
  const person = useRoute("GET /api/auth/get-session", {})
  const passkeys = useRoute("GET /api/auth/passkey/list-user-passkeys", {})
  const { busy, error, run } = useForm()
  const [setup, setSetup] = useState<Setup>()
  const [codes, setCodes] = useState<ReadonlyArray<string>>()
  const [removal, setRemoval] = useState<Removal>()
  const read = (): void => {
    setCodes(undefined)
    setRemoval(undefined)
    person.reload()
    passkeys.reload()
  }
  const added = (): void => {
    read()
    onReady?.()
  }
  const start = (): void => run(() => call("POST /api/auth/two-factor/enable", { body: {} }), setSetup)
  const renew = (): void =>
    run(
      () => call("POST /api/auth/two-factor/generate-backup-codes", { body: {} }),
      ({ backupCodes }) => setCodes(backupCodes)
    )
  const add = (): void => run(() => addPasskey(describeUserAgent(navigator.userAgent)), added)
  const removeApp = (): void =>
    setRemoval({ name: "authenticator app", request: () => call("POST /api/auth/two-factor/disable", { body: {} }) })
  const removePasskey = (id: string): void =>
    setRemoval({ name: "passkey", request: () => call("POST /api/auth/passkey/delete-passkey", { body: { id } }) })
  return (
    <div class="stack">
      {error && <Notice text={explain(error)} />}
      <Loaded resource={person} height={44}>
        {(open) => (
          <div class="actions">
            {open?.user.twoFactorEnabled ? (
              <>
                <Button onClick={renew}>Create new recovery codes</Button>
                <Button onClick={removeApp}>Remove authenticator app</Button>
              </>
            ) : (
              <Button onClick={start}>Set up an authenticator app</Button>
            )}
            <Button busy={busy} onClick={add}>
              Add a passkey
            </Button>
          </div>
        )}
      </Loaded>
      <Loaded resource={passkeys} height={44}>
        {(list) => (list.length === 0 ? null : <PasskeyTable list={list} onRemove={removePasskey} />)}
      </Loaded>
      {setup && (
        <SetupDialog
          setup={setup}
          onClose={() => setSetup(undefined)}
          onDone={() => {
            setSetup(undefined)
            setCodes(setup.backupCodes)
          }}
        />
      )}
      {codes && <CodesDialog codes={codes} onClose={added} />}
      {removal && <RemovalDialog {...removal} onDone={read} onClose={() => setRemoval(undefined)} />}
    </div>
  )
}
