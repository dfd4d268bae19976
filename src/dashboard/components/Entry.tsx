import { call, explain } from "../api/client.ts"
import { type IdentityProvider, identityProviders } from "../app/facts.ts"
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

const providerNames: Readonly<Record<IdentityProvider, string>> = { google: "Google", github: "GitHub" }

const failureOf = (provider: IdentityProvider): string => {
  const code = place.value.query.get("error")
  if (code === "SIGN_UP_REFUSED")
    return "This email address cannot sign up here. Ask the operator of this server for an account."
  if (code === "SIGN_UP_LIMITED") return "There were too many sign-ups from your network today. Try again tomorrow."
  return `Signing in with ${providerNames[provider]} failed. Try again or use a password.`
}

export const ProviderButtons = () => {
  const { busy, error, run } = useForm()
  if (identityProviders.length === 0) return null
  const start = (provider: IdentityProvider): void =>
    run(
      () =>
        call("POST /api/auth/sign-in/social", {
          body: { provider, callbackURL: nextOf(), errorCallbackURL: `${home}/sign-in?failed=${provider}` }
        }),
      ({ url }) => location.assign(url)
    )
  const failed = identityProviders.find((provider) => place.value.query.get("failed") === provider)
  return (
    <div class="providers">
      {failed && !error && <Notice text={failureOf(failed)} />}
      {error && <Notice text={explain(error)} />}
      {identityProviders.map((provider) => (
        <Button key={provider} busy={busy} onClick={() => start(provider)}>
          Continue with {providerNames[provider]}
        </Button>
      ))}
      <p class="or">or</p>
    </div>
  )
}
