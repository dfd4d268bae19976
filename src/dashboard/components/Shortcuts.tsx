import { useEffect, useRef, useState } from "preact/hooks"
import { navigate } from "../app/router.ts"
import { Palette } from "./Palette.tsx"
import { ownPageLinks } from "./pages.ts"
import { Dialog } from "./ui/Dialog.tsx"

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

export const paletteKeys = isMac ? "⌘ K" : "Ctrl K"

const shortcuts = (): ReadonlyArray<readonly [what: string, keys: ReadonlyArray<string>]> => [
  ["Go to a page, key, or id", [paletteKeys]],
  ...ownPageLinks().map(({ key, text }) => [text, ["g", key]] as const),
  ["Next search in the log", ["j"]],
  ["Previous search in the log", ["k"]],
  ["Show this list", ["?"]]
]

const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard shortcuts" onClose={onClose}>
    <dl class="shortcuts">
      {shortcuts().map(([what, keys]) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd>{keys.flatMap((key) => [" ", <kbd key={key}>{key}</kbd>])}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof Element && target.matches("input, select, textarea, [contenteditable]")

const chordMs = 1_500

export type Shown = "palette" | "help" | undefined

const listen = (onShow: (shown: Shown) => void, prefix: { current: number }) => (event: KeyboardEvent) => {
  const hasDialog = document.querySelector("dialog[open]") !== null
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault()
    if (!hasDialog) onShow("palette")
    return
  }
  if (hasDialog || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === "?") return onShow("help")
  const page = ownPageLinks().find(({ key }) => key === event.key)
  if (page !== undefined && performance.now() - prefix.current < chordMs) {
    event.preventDefault()
    navigate(page.path)
  }
  prefix.current = event.key === "g" ? performance.now() : Number.NEGATIVE_INFINITY
}

export const useShortcuts = () => {
  const [shown, setShown] = useState<Shown>()
  const prefix = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const onKeyDown = listen(setShown, prefix)
    document.addEventListener("keydown", onKeyDown)
    return () => document.removeEventListener("keydown", onKeyDown)
  }, [])
  const close = (): void => setShown(undefined)
  return {
    show: setShown,
    dialog: shown === "palette" ? <Palette onClose={close} /> : shown === "help" ? <Help onClose={close} /> : null
  }
}
