import { call, explain } from "../api/client.ts"
import { hasPasswords } from "../app/facts.ts"
import { confirmation, isExpired, me, ownEmail, resumeEverywhere, signInAddress } from "../app/session.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { Button, ButtonLink } from "./ui/Button.tsx"
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
  const submit = (form: HTMLFormElement): void => {
    const { password = "" } = fieldsOf(form)
    run(() => call("POST /api/auth/sign-in/email", { body: { email, password } }), onDone)
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
      {hasPasswords && (
        <Field
          label="Password"
          name="password"
          type="password"
          input={{ autocomplete: "current-password", required: true, maxLength: 128, autofocus: true }}
        />
      )}
      <div class="actions">
        <ButtonLink href={signInAddress()} text={hasPasswords ? "Sign in another way" : "Sign in"} />
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
    return (
      <Dialog title="Your session has ended" isSticky onClose={() => undefined}>
        <Form lead="Nothing that you typed on this page is lost." onDone={() => void resumeEverywhere()} />
      </Dialog>
    )
  }
  return confirm ? (
    <Dialog title="Confirm that it is you" onClose={() => confirm(false)}>
      <Form lead="This action needs a sign-in within the last ten minutes." onDone={() => confirm(true)} />
    </Dialog>
  ) : null
}
