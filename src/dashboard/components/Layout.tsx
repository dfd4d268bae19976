import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { setTheme, theme } from "../app/preferences.ts"
import { home, place } from "../app/router.ts"
import { accounts, enterAccount, leave, membership, ownEmail } from "../app/session.ts"
import { ownPageLinks } from "./pages.ts"
import { paletteKeys, useShortcuts } from "./Shortcuts.tsx"
import { Brand } from "./ui/Brand.tsx"
import { Button } from "./ui/Button.tsx"
import { Choice } from "./ui/Choice.tsx"
import { SelectField } from "./ui/Field.tsx"
import { Icon } from "./ui/Icon.tsx"
import { announce, Toasts } from "./ui/Toast.tsx"

const isCurrent = (path: string): boolean =>
  path === home ? place.value.path === home : place.value.path === path || place.value.path.startsWith(`${path}/`)

const signOut = async (): Promise<void> => {
  const result = await call("POST /api/auth/sign-out", { body: {} })
  if (result.ok) leave()
  else announce(`You could not be signed out. ${result.error.message}`)
}

const enter = async (id: string): Promise<void> => {
  const result = await enterAccount(id)
  if (!result.ok) announce(`The account could not be opened. ${result.error.message}`)
}

const AccountSwitcher = () => (
  <SelectField
    label="Account"
    value={membership.value?.id ?? ""}
    options={accounts.value.accounts.map(({ email, id, role }) => ({ value: id, text: `${email} (${role})` }))}
    onChange={(id) => void enter(id)}
  />
)

const Person = () => (
  <section class="person" aria-label="Signed in">
    <p title={ownEmail.value}>{ownEmail.value || "\u00a0"}</p>
    {accounts.value.accounts.length > 1 && <AccountSwitcher />}
    <Choice
      legend="Theme"
      value={theme.value}
      options={[
        { value: "system", text: "System" },
        { value: "light", text: "Light" },
        { value: "dark", text: "Dark" }
      ]}
      onChange={setTheme}
    />
    <Button kind="quiet" small onClick={() => void signOut()}>
      <Icon name="out" />
      Sign out
    </Button>
  </section>
)

export const Layout = ({ children }: { readonly children: ComponentChildren }) => {
  const [isOpen, setOpen] = useState(false)
  const { path } = place.value
  const shortcuts = useShortcuts()
  const toggle = useRef<HTMLButtonElement>(null)
  useEffect(() => setOpen(false), [path])
  useEffect(() => {
    if (!isOpen) return undefined
    const closeOnEscape = ({ key }: KeyboardEvent): void => {
      if (key !== "Escape") return
      setOpen(false)
      toggle.current?.focus()
    }
    document.addEventListener("keydown", closeOnEscape)
    return () => document.removeEventListener("keydown", closeOnEscape)
  }, [isOpen])
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="bar">
        <a href={home} aria-label="Quarry, overview">
          <Brand />
        </a>
        <button
          ref={toggle}
          type="button"
          class="button quiet menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          aria-label="Menu"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? "close" : "menu"} />
        </button>
      </header>
      <div id="navigation" class={isOpen ? "side open" : "side"}>
        <button type="button" class="button find" onClick={() => shortcuts.show("palette")}>
          <Icon name="playground" />
          <span>Go to</span>
          <kbd>{paletteKeys}</kbd>
        </button>
        <nav aria-label="Dashboard">
          {ownPageLinks().map(({ icon, path, text }) => (
            <a key={path} href={path} aria-current={isCurrent(path) ? "page" : undefined}>
              <Icon name={icon} />
              {text}
            </a>
          ))}
          <a href="/docs">
            <Icon name="docs" />
            API reference
          </a>
        </nav>
        <Person />
      </div>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      {shortcuts.dialog}
    </div>
  )
}
