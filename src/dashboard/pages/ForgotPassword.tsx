import { useState } from "preact/hooks"
import { call, explain } from "../api/client.ts"
import { deliversEmails, hasPasswords } from "../app/facts.ts"
import { fieldsOf, submitting, useForm } from "../app/useForm.ts"
import { EmailField, nextOf, otherEntry } from "../components/Entry.tsx"
import { LinkSent } from "../components/LinkSent.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { SignInPage } from "./SignIn.tsx"

const requestLink = (email: string) => {
  const redirectTo = `/oauth/confirm?${new URLSearchParams({ callbackURL: nextOf() })}`
  return call("POST /api/auth/request-password-reset", { body: { email, redirectTo } })
}

export const ForgotPasswordPage = () => {
  const { busy, error, run } = useForm()
  const [sentTo, setSentTo] = useState<string>()
  if (!hasPasswords) return <SignInPage />
  if (sentTo !== undefined) {
    // Identical for every address, so it does not reveal which addresses have an account.
    return (
      <LinkSent
        title={deliversEmails ? "Check your email" : "Ask the operator for the link"}
        email={sentTo}
        resend={() => requestLink(sentTo)}
        onOtherAddress={() => setSentTo(undefined)}
      >
        {deliversEmails
          ? "If this address has an account, we sent a link to it. The link works for one hour."
          : "This deployment does not send email. If this address has an account, the operator can find a link in the server log. The link works for one hour."}
      </LinkSent>
    )
  }
  const submit = (form: HTMLFormElement): void => {
    const { email = "" } = fieldsOf(form)
    run(
      () => requestLink(email),
      () => setSentTo(email)
    )
  }
  return (
    <>
      <PageHeader title="Forgot your password?" lead="We will send you a link to choose a new one." />
      {error && <Notice text={explain(error)} />}
      <form onSubmit={submitting(submit)}>
        <EmailField />
        <Button kind="primary" type="submit" busy={busy}>
          Send link
        </Button>
      </form>
      <p class="foot">
        Remembered it? <a href={otherEntry("sign-in")}>Sign in</a>
      </p>
    </>
  )
}
