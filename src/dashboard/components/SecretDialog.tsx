import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Button } from "./ui/Button.tsx"
import { CodeBlock } from "./ui/CodeBlock.tsx"
import { CopyButton } from "./ui/CopyButton.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { FieldFrame } from "./ui/Field.tsx"

interface Issued {
  readonly title: string
  readonly secret: string
  readonly reason: string
  /** Ready to paste, with the secret in them. */
  readonly snippets: ReadonlyArray<{ readonly title: string; readonly what: string; readonly text: string }>
}

const issued = signal<Issued | undefined>(undefined)

/** Shows a secret over whichever page is open until the person has saved it. It is kept nowhere else. */
export const showSecret = (next: Issued): void => {
  issued.value = next
}

const askBeforeLeaving = (event: BeforeUnloadEvent): void => event.preventDefault()

const Shown = ({ reason, secret, snippets, title }: Issued) => {
  useEffect(() => {
    document.querySelector<HTMLInputElement>(".secret input")?.select()
    addEventListener("beforeunload", askBeforeLeaving)
    return () => removeEventListener("beforeunload", askBeforeLeaving)
  }, [])
  return (
    <Dialog title={title} onClose={() => undefined} isSticky>
      <div class="stack" translate={false}>
        <p>
          <strong>Copy the secret now.</strong> {reason}
        </p>
        <FieldFrame label="Secret">
          {({ id }) => (
            <div class="secret">
              <input id={id} value={secret} readOnly spellcheck={false} autocomplete="off" />
              <CopyButton isLabeled text={secret} what="the secret" />
            </div>
          )}
        </FieldFrame>
        {snippets.map((snippet) => (
          <CodeBlock key={snippet.title} {...snippet} />
        ))}
        <div class="actions">
          <Button
            kind="primary"
            onClick={() => {
              issued.value = undefined
            }}
          >
            I have saved it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

export const SecretDialog = () => (issued.value === undefined ? null : <Shown {...issued.value} />)
