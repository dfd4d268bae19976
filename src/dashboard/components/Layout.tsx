import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { call } from "../api/client.ts"
import { setTheme, theme } from "../app/preferences.ts"
import { home, place } from "../app/router.ts"
import { accounts, enterAccount, leave, membership, ownEmail } from "../app/session.ts"
import { ownPageLinks, type PageLink } from "./pages.ts"
import { paletteKeys, useShortcuts } from "./Shortcuts.tsx"
import { Brand } from "./ui/Brand.tsx"
import { Button } from "./ui/Button.tsx"
import { Choice } from "./ui/Choice.tsx"
import { SelectField } from "./ui/Field.tsx"
import { Icon } from "./ui/Icon.tsx"
import { announce, Toasts } from "./ui/Toast.tsx"

const isCurrent = (path: string, root: string): boolean =>
  place.value.path === path || (path !== root && place.value.path.startsWith(`${path}/`))

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

const Person = ({ hasSwitcher }: { readonly hasSwitcher: boolean }) => (
  <section class="person" aria-label="Signed in">
    <p title={ownEmail.value}>{ownEmail.value || "\u00a0"}</p>
    {hasSwitcher && accounts.value.accounts.length > 1 && <AccountSwitcher />}
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

export interface FrameProps {
  readonly children: ComponentChildren
  /** Names the navigation. */
  readonly name: string
  readonly links: ReadonlyArray<Pick<PageLink, "path" | "text" | "icon">>
  /** Follows the links to pages. */
  readonly more: ComponentChildren
  /** Precedes the links to pages. */
  readonly tools?: ComponentChildren
  readonly hasSwitcher?: boolean
}

export const Frame = ({ children, hasSwitcher = false, links, more, name, tools }: FrameProps) => {
  const [isOpen, setOpen] = useState(false)
  const { path } = place.value
  const root = links[0]?.path ?? home
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
        <a href={root} aria-label={`Quarry, ${links[0]?.text.toLowerCase()}`}>
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
        {tools}
        <nav aria-label={name}>
          {links.map(({ icon, path, text }) => (
            <a key={path} href={path} aria-current={isCurrent(path, root) ? "page" : undefined}>
              <Icon name={icon} />
              {text}
            </a>
          ))}
          {more}
        </nav>
        <Person hasSwitcher={hasSwitcher} />
      </div>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
    </div>
  )
}

export const Layout = ({ children }: { readonly children: ComponentChildren }) => {
  const shortcuts = useShortcuts()
  return (
    <>
      <Frame
        name="Dashboard"
        links={ownPageLinks()}
        hasSwitcher
        tools={
          <button type="button" class="button find" onClick={() => shortcuts.show("palette")}>
            <Icon name="playground" />
            <span>Go to</span>
            <kbd>{paletteKeys}</kbd>
          </button>
        }
        more={
          <a href="/docs">
            <Icon name="docs" />
            API reference
          </a>
        }
      >
        {children}
      </Frame>
      {shortcuts.dialog}
    </>
  )
}
