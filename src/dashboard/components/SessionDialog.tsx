import { useState } from "preact/hooks"
import { call, explain } from "../api/client.ts"
import { hasPasswords } from "../app/facts.ts"
import { signInWithPasskey } from "../app/passkeys.ts"
import { confirmation, isExpired, me, ownEmail, resumeEverywhere, signInAddress } from "../app/session.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { Button } from "./ui/Button.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { Field } from "./ui/Field.tsx"
import { Notice } from "./ui/Notice.tsx"

interface FormProps {
  readonly lead: string
  readonly onDone: () => void
}

const Form = ({ lead, onDone }: FormProps) => {
  const email = ownEmail.value

  const { busy, error, run } = useForm({ isSignIn: true })
  const [asksForCode, setAsksForCode] = useState(false)
  const submit = (form: HTMLFormElement): void => {
    const { code = "", password = "" } = fieldsOf(form)
    const route = /^[\d\s]+$/.test(code) ? "verify-totp" : "verify-backup-code"
    if (asksForCode) run(() => call(`POST /api/auth/two-factor/${route}`, { body: { code } }), onDone)
    else
      run(
        () => call("POST /api/auth/sign-in/email", { body: { email, password } }),
        ({ twoFactorRedirect }) => (twoFactorRedirect ? setAsksForCode(true) : onDone())
      )
  }
  return (
    <form onSubmit={submitting(submit)}>
      <p>
        Sign in again as <strong>{email}</strong>. {lead}
      </p>
      {error && (
        <Notice text={error.message === "Invalid email or password" ? "Incorrect password." : explain(error)} />
      )}
      <input type="hidden" name="username" autocomplete="username" value={email} />
      {asksForCode && (
        <Field
          key="code"
          label="Code from your app, or a recovery code"
          name="code"
          input={{ autocomplete: "one-time-code", required: true, maxLength: 32, autofocus: true }}
        />
      )}
      {hasPasswords && !asksForCode && (
        <Field
          key="password"
          label="Password"
          name="password"
          type="password"
          input={{ autocomplete: "current-password", required: true, maxLength: 128, autofocus: true }}
        />
      )}
      <div class="actions">
        {hasPasswords && (
          <Button busy={busy} onClick={() => run(signInWithPasskey, onDone)}>
            Use a passkey
          </Button>
        )}
        {/* With a target, the router leaves the link to the browser. */}
        <a class="button plain" href={signInAddress()} target="_self">
          {hasPasswords ? "Sign in another way" : "Sign in"}
        </a>
        {hasPasswords && (
          <Button kind="primary" type="submit" busy={busy}>
            Continue
          </Button>
        )}
      </div>
    </form>
  )
}

/** Asks for the password over the page, so that a draft on it is not lost. */
export const SessionDialog = () => {
  const confirm = confirmation.value
  if (isExpired.value && me.value !== undefined) {
    const resume = (): void => {
      // The session may end while a confirmation waits for the code.
      confirm?.(true)
      void resumeEverywhere()
    }
    return (
      <Dialog title="Your session has ended" isSticky onClose={() => undefined}>
        <Form lead="Nothing that you typed on this page is lost." onDone={resume} />
      </Dialog>
    )
  }
  return confirm ? (
    <Dialog title="Confirm that it is you" onClose={() => confirm(false)}>
      <Form lead="This action needs a sign-in within the last ten minutes." onDone={() => confirm(true)} />
    </Dialog>
  ) : null
}
