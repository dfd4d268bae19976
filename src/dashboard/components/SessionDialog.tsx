import { call, explain } from "../api/client.ts"
import { isExpired, me, resumeEverywhere, signInAddress } from "../app/session.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { Button, ButtonLink } from "./ui/Button.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { Field } from "./ui/Field.tsx"
import { Notice } from "./ui/Notice.tsx"

const Form = ({ email }: { readonly email: string }) => {
  const { busy, error, run } = useForm({ isSignIn: true })
  const submit = (form: HTMLFormElement): void => {
    const { password = "" } = fieldsOf(form)
    run(
      () => call("POST /api/auth/sign-in/email", { body: { email, password } }),
      () => void resumeEverywhere()
    )
  }
  return (
    <form onSubmit={submitting(submit)}>
      <p>
        Sign in again as <strong>{email}</strong>. Nothing that you typed on this page is lost.
      </p>
      {error && (
        <Notice text={error.message === "Invalid email or password" ? "Incorrect password." : explain(error)} />
      )}
      <input type="hidden" name="username" autocomplete="username" value={email} />
      <Field
        label="Password"
        name="password"
        type="password"
        input={{ autocomplete: "current-password", required: true, maxLength: 128, autofocus: true }}
      />
      <div class="actions">
        <ButtonLink href={signInAddress()} text="Sign in another way" />
        <Button kind="primary" type="submit" busy={busy}>
          Continue
        </Button>
      </div>
    </form>
  )
}

/** Asks for the password over the page, so that a draft on it is not lost. */
export const SessionDialog = () =>
  isExpired.value && me.value !== undefined ? (
    <Dialog title="Your session has ended" isSticky onClose={() => undefined}>
      <Form email={me.value.email} />
    </Dialog>
  ) : null
