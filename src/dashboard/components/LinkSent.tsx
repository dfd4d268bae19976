import { useState } from "preact/hooks"
import type { Result } from "../api/client.ts"
import { explain } from "../api/client.ts"
import { useForm } from "../app/useForm.ts"
import { otherEntry } from "./Entry.tsx"
import { Button, ButtonLink } from "./ui/Button.tsx"
import { Notice } from "./ui/Notice.tsx"
import { PageHeader } from "./ui/PageHeader.tsx"

export interface LinkSentProps {
  readonly title: string
  readonly email: string
  readonly children: string
  readonly resend: () => Promise<Result<unknown>>
  readonly onOtherAddress: () => void
}

export const LinkSent = ({ children, email, onOtherAddress, resend, title }: LinkSentProps) => {
  const { busy, error, run } = useForm()
  const [count, setCount] = useState(0)
  return (
    <>
      <PageHeader title={title} lead={email} />
      <p class="note">{children}</p>
      {error && <Notice text={explain(error)} />}
      <p class="foot" role="status">
        {count > 0 && "We sent another link. Check your spam folder too."}
      </p>
      <div class="choices">
        <ButtonLink kind="primary" href={otherEntry("sign-in")} text="Back to sign-in" />
        <Button busy={busy} onClick={() => run(resend, () => setCount(count + 1))}>
          Send another link
        </Button>
        <Button kind="quiet" onClick={onOtherAddress}>
          Use another email address
        </Button>
      </div>
    </>
  )
}
