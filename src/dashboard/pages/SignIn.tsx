import { call, explain } from "../api/client.ts"
import { hasPasswords, signUpMode } from "../app/facts.ts"
import { signInWithPasskey } from "../app/passkeys.ts"
import { enter } from "../app/session.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { EmailField, nextOf, otherEntry, ProviderButtons } from "../components/Entry.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Field } from "../components/ui/Field.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"

const texts: Readonly<Record<string, string>> = {
  "Email not verified": "This email address is not confirmed yet. Open the link we just sent to it.",
  "Invalid email or password": "Incorrect email or password."
}

const PasswordSignIn = () => {
  const { busy, error, run } = useForm()
  const submit = (form: HTMLFormElement): void => {
    const { email = "", password = "" } = fieldsOf(form)
    run(
      () => call("POST /api/auth/sign-in/email", { body: { email, password, callbackURL: nextOf() } }),
      ({ twoFactorRedirect, url = "" }) => (twoFactorRedirect ? location.assign(url) : enter())
    )
  }
  return (
    <>
      {error && <Notice text={texts[error.message] ?? explain(error)} />}
      <form onSubmit={submitting(submit)}>
        <EmailField autofocus />
        <Field
          label="Password"
          name="password"
          type="password"
          input={{ autocomplete: "current-password", required: true, maxLength: 128 }}
        />
        <Button kind="primary" type="submit" busy={busy}>
          {busy ? "Signing in" : "Sign in"}
        </Button>
      </form>
      <div class="providers">
        <p class="or">or</p>
        <Button busy={busy} onClick={() => run(signInWithPasskey, enter)}>
          Sign in with a passkey
        </Button>
      </div>
      <p class="foot">
        <a href={otherEntry("forgot-password")}>Forgot your password?</a>
      </p>
      {signUpMode !== "closed" && (
        <p class="foot">
          New to Quarry? <a href={otherEntry("sign-up")}>Create an account</a>
        </p>
      )}
    </>
  )
}

export const SignInPage = () => (
  <>
    <PageHeader title="Sign in" lead="to your Quarry account" />
    <ProviderButtons />
    {hasPasswords && <PasswordSignIn />}
  </>
)
