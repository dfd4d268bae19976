import { useEffect, useState } from "preact/hooks"
import { type ApiError, call, explain } from "../api/client.ts"
import { plural } from "../format.ts"
import { remember } from "../purchase.ts"
import { useForm } from "../useForm.ts"
import { Button } from "./Button.tsx"

/** The way to the payment provider's own pages, and the words for what it refuses. */

/** The wait that an error asks for, said once: the person tries again by the button that failed. */
const waitOf = ({ retryAfterSeconds: seconds }: ApiError): string =>
  seconds === undefined ? "" : ` Try again in ${plural(seconds, "second")}.`

const needsCard = (error: ApiError): boolean =>
  error.code === "payment_failed" || (error.code === "no_subscription" && /card/.test(error.message))

export const Refusal = ({ error }: { readonly error: ApiError }) => (
  <div class="notice refusal" role="alert">
    <p>{`${explain(error)}${waitOf(error)}`}</p>
    {needsCard(error) && <PortalButton text="Change the card" />}
  </div>
)

/** Leads to the portal, where the person sees cards, invoices and the cancellation. */
export const PortalButton = ({ text }: { readonly text: string }) => {
  const { busy, error, run } = useForm()
  const [isLeaving, setLeaving] = useState(false)
  // A browser may show this page again as it was left.
  useEffect(() => {
    const onShow = (): void => setLeaving(false)
    addEventListener("pageshow", onShow)
    return () => removeEventListener("pageshow", onShow)
  }, [])
  const open = (): void =>
    run(
      () => call("POST /v1/billing/portal", {}),
      ({ portal_url: url }) => {
        setLeaving(true)
        remember({ _tag: "portal" })
        location.assign(url)
      }
    )
  return (
    <>
      <Button busy={busy || isLeaving} onClick={open}>
        {text}
      </Button>
      {error && <Refusal error={error} />}
    </>
  )
}
