import { useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { Button } from "../components/Button.tsx"
import { EmailField, nextOf, otherEntry } from "../components/Entry.tsx"
import { Notice } from "../components/Notice.tsx"
import { PageHeader } from "../components/PageHeader.tsx"
import { deliversEmails } from "../facts.ts"
import { fieldsOf, useForm } from "../useForm.ts"

/** The same for every address, so that nobody learns which ones are known. */
const LinkSent = () =>
  deliversEmails ? (
    <>
      <PageHeader title="Read your mail" />
      <p class="lead">If Quarry knows this address, it has sent you a link. It is good for an hour.</p>
    </>
  ) : (
    <>
      <PageHeader title="Ask the operator for the link" />
      <p class="lead">
        This deployment sends no emails. If it knows this address, its operator finds a link in the log, good for an
        hour.
      </p>
    </>
  )

export const ForgotPasswordPage = () => {
  const { busy, error, run } = useForm()
  const [isSent, setSent] = useState(false)
  if (isSent) return <LinkSent />
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault()
    const { email = "" } = fieldsOf(event.currentTarget)
    const redirectTo = `/oauth/confirm?${new URLSearchParams({ callbackURL: nextOf() })}`
    run(
      () => call("POST /api/auth/request-password-reset", { body: { email, redirectTo } }),
      () => setSent(true)
    )
  }
  return (
    <>
      <PageHeader title="Forgot your password?" lead="We send you a link with which you choose a new one." />
      {error && <Notice text={error.message} />}
      <form onSubmit={submit}>
        <EmailField />
        <Button kind="primary" type="submit" busy={busy}>
          Send the link
        </Button>
      </form>
      <p class="foot">
        Know it after all? <a href={otherEntry("sign-in")}>Sign in</a>
      </p>
    </>
  )
}
