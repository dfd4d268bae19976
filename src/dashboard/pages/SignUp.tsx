import { useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { deliversEmails, hasPasswords, signUpMode } from "../app/facts.ts"
import { enter } from "../app/session.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { EmailField, nextOf, otherEntry, ProviderButtons } from "../components/Entry.tsx"
import { LinkSent } from "../components/LinkSent.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Field } from "../components/ui/Field.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"

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

const unguessableBytes = 24

/** If emails are delivered, the confirmation link asks for a password. Until then the password is random. */
const unguessable = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(unguessableBytes)), (byte) =>
    byte.toString(16).padStart(2, "0")
  ).join("")

const signUp = (email: string, password: string) => {
  // Better Auth requires a name. Quarry does not use it.
  const body = { email, password, name: email.split("@", 1).join(""), callbackURL: nextOf() }
  return call("POST /api/auth/sign-up/email", { body })
}

const PasswordField = ({ issue }: { readonly issue: string | undefined }) => (
  <Field
    label="Password"
    name="password"
    type="password"
    hint="At least 8 characters."
    error={issue && `The password ${issue}.`}
    input={{ autocomplete: "new-password", required: true, minLength: 8, maxLength: 128 }}
  />
)

const SignUpForm = ({ onSent }: { readonly onSent: (email: string) => void }) => {
  const { busy, error, run } = useForm()
  const submit = (form: HTMLFormElement): void => {
    const { email = "", password = unguessable() } = fieldsOf(form)
    run(
      () => signUp(email, password),
      ({ signed_in }) => (signed_in ? enter() : onSent(email))
    )
  }
  const { email, password, ...others } = error?.issues ?? {}
  return (
    <>
      {error && email === undefined && password === undefined && (
        <Notice text={Object.values(others).length > 0 ? Object.values(others).join(". ") : error.message} />
      )}
      <form onSubmit={submitting(submit)}>
        <EmailField error={email && `The address ${email}.`} />
        {!deliversEmails && <PasswordField issue={password} />}
        <Button kind="primary" type="submit" busy={busy}>
          {busy ? "Creating the account" : "Create account"}
        </Button>
      </form>
      {deliversEmails && <p class="foot">We will email you a link to confirm your address and choose a password.</p>}
    </>
  )
}

export const SignUpPage = () => {
  const [sentTo, setSentTo] = useState<string>()
  if (signUpMode === "closed") return <SignUpClosed />
  if (sentTo !== undefined) {
    // Identical for an address that already has an account, so it does not reveal which addresses do.
    return (
      <LinkSent
        title="Check your email"
        email={sentTo}
        resend={() => signUp(sentTo, unguessable())}
        onOtherAddress={() => setSentTo(undefined)}
      >
        We sent a link to this address. Open it within one hour to choose your password and sign in.
      </LinkSent>
    )
  }
  return (
    <>
      <PageHeader title="Create an account" lead={leads[signUpMode]} />
      <ProviderButtons />
      {hasPasswords && <SignUpForm onSent={setSentTo} />}
      <p class="foot">
        Already have an account? <a href={otherEntry("sign-in")}>Sign in</a>
      </p>
    </>
  )
}
