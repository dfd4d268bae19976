import { call, explain } from "../api/client.ts"
import { hasPasswords, type IdentityProvider, identityProviders } from "../app/facts.ts"
import { home, ownPlace, place } from "../app/router.ts"
import { useForm } from "../app/useForm.ts"
import { Button } from "./ui/Button.tsx"
import { Field } from "./ui/Field.tsx"
import { Notice } from "./ui/Notice.tsx"

export const nextOf = (): string => ownPlace(place.value.query.get("next"))

export const otherEntry = (name: "sign-in" | "sign-up" | "forgot-password"): string => {
  const next = place.value.query.get("next")
  return `${home}/${name}${next === null ? "" : `?${new URLSearchParams({ next })}`}`
}

export const EmailField = ({
  autofocus = false,
  error
}: {
  readonly error?: string | undefined
  readonly autofocus?: boolean
}) => (
  <Field
    label="Email"
    name="email"
    type="email"
    error={error}
    input={{
      autocomplete: "username",
      required: true,
      maxLength: 320,
      autofocus,
      defaultValue: place.peek().query.get("email") ?? ""
    }}
  />
)

const notLinked =
  "An account with this email address exists, and this sign-in does not belong to it. Sign in the way you did before, or ask the operator of this server."

const failures: Readonly<Record<string, string>> = {
  SIGN_UP_REFUSED: "This email address cannot sign up here. Ask the operator of this server for an account.",
  SIGN_UP_LIMITED: "There were too many sign-ups from your network today. Try again tomorrow.",
  SINGLE_SIGN_ON_REQUIRED: "People with this email address sign in at their organization. Use its button.",
  email_not_verified: "This email address is not verified. Verify it where you signed in, then try again.",
  account_not_linked: notLinked,
  unable_to_link_account: notLinked
}

const failureOf = ({ name }: IdentityProvider): string =>
  failures[place.value.query.get("error") ?? ""] ??
  `Signing in with ${name} failed. Try again${hasPasswords ? " or use a password" : ""}.`

export const ProviderButtons = () => {
  const { busy, error, run } = useForm()
  if (identityProviders.length === 0) return null
  const start = ({ id }: IdentityProvider): void =>
    run(
      () =>
        call("POST /api/auth/sign-in/social", {
          body: { provider: id, callbackURL: nextOf(), errorCallbackURL: `${home}/sign-in?failed=${id}` }
        }),
      ({ url }) => location.assign(url)
    )
  const failed = identityProviders.find(({ id }) => place.value.query.get("failed") === id)
  return (
    <div class="providers">
      {failed && !error && <Notice text={failureOf(failed)} />}
      {error && <Notice text={explain(error)} />}
      {identityProviders.map((provider) => (
        <Button key={provider.id} busy={busy} onClick={() => start(provider)}>
          Continue with {provider.name}
        </Button>
      ))}
      {hasPasswords && <p class="or">or</p>}
    </div>
  )
}
