import { useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { signUpMode } from "../app/facts.ts"
import { enter } from "../app/session.ts"
import { fieldsOf, useForm } from "../app/useForm.ts"
import { EmailField, nextOf, otherEntry, ProviderButtons } from "../components/Entry.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Field } from "../components/ui/Field.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"

/** Identical for an address that already has an account, so it does not reveal which addresses do. */
const ConfirmationSent = () => (
  <>
    <PageHeader title="Check your email" />
    <p class="lead">We sent you a link. Open it to confirm your email address and sign in.</p>
  </>
)

const SignUpClosed = () => (
  <>
    <PageHeader title="Sign-up is closed" lead="Ask the operator of this server for an account." />
    <p class="foot">
      Already have an account? <a href={otherEntry("sign-in")}>Sign in</a>
    </p>
  </>
)

const leads = {
  open: "Start with free searches. No card required.",
  invite: "Sign-up is by invitation. Use the email address that the operator invited."
}

export const SignUpPage = () => {
  const { busy, error, run } = useForm()
  const [isSent, setSent] = useState(false)
  if (signUpMode === "closed") return <SignUpClosed />
  if (isSent) return <ConfirmationSent />
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault()
    const { email = "", password = "" } = fieldsOf(event.currentTarget)
    // Better Auth requires a name. Quarry does not use it.
    const body = { email, password, name: email.split("@", 1).join(""), callbackURL: nextOf() }
    run(
      () => call("POST /api/auth/sign-up/email", { body }),
      ({ signed_in }) => (signed_in ? enter() : setSent(true))
    )
  }
  const { email, password, ...others } = error?.issues ?? {}
  return (
    <>
      <PageHeader title="Create an account" lead={leads[signUpMode]} />
      {error && email === undefined && password === undefined && (
        <Notice text={Object.values(others).length > 0 ? Object.values(others).join(". ") : error.message} />
      )}
      <ProviderButtons />
      <form onSubmit={submit}>
        <EmailField error={email && `The address ${email}.`} />
        <Field
          label="Password"
          name="password"
          type="password"
          hint="At least 8 characters."
          error={password && `The password ${password}.`}
          input={{ autocomplete: "new-password", required: true, minLength: 8, maxLength: 128 }}
        />
        <Button kind="primary" type="submit" busy={busy}>
          {busy ? "Creating the account" : "Create account"}
        </Button>
      </form>
      <p class="foot">
        Already have an account? <a href={otherEntry("sign-in")}>Sign in</a>
      </p>
    </>
  )
}
