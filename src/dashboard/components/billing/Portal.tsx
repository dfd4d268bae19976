import { useEffect, useState } from "preact/hooks"
import { type ApiError, call, explain } from "../../api/client.ts"
import { useForm } from "../../app/useForm.ts"
import { remember } from "../../purchase.ts"
import { Button } from "../ui/Button.tsx"

const needsCard = (error: ApiError): boolean =>
  error.code === "payment_failed" || (error.code === "no_subscription" && /card/.test(error.message))

export const Refusal = ({ error }: { readonly error: ApiError }) => (
  <div class="notice refusal" role="alert">
    <p>{explain(error)}</p>
    {needsCard(error) && <PortalButton text="Update the card" />}
  </div>
)

export const PortalButton = ({ text }: { readonly text: string }) => {
  const { busy, error, run } = useForm()
  const [isLeaving, setLeaving] = useState(false)
  // The browser may restore this page from its back/forward cache with the button still busy.
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
