import { useId, useRef, useState } from "preact/hooks"
import { Icon } from "./Icon.tsx"

export interface MenuItem {
  readonly text: string
  readonly onSelect: () => void
  readonly isDanger?: boolean
}

export interface MenuProps {
  readonly label: string
  readonly items: ReadonlyArray<MenuItem>
}

const marginPx = 8

const placeBeside = (menu: HTMLElement, button: HTMLElement): void => {
  const { bottom, right, top } = button.getBoundingClientRect()
  const { offsetHeight, offsetWidth } = menu
  const isAbove = bottom + offsetHeight + marginPx > innerHeight && top > offsetHeight
  menu.style.top = `${isAbove ? top - offsetHeight - 4 : bottom + 4}px`
  menu.style.left = `${Math.max(marginPx, Math.min(right, innerWidth - marginPx) - offsetWidth)}px`
}

const moves: Readonly<Record<string, (index: number, last: number) => number>> = {
  ArrowDown: (index, last) => (index === last ? 0 : index + 1),
  ArrowUp: (index, last) => (index === 0 ? last : index - 1),
  Home: () => 0,
  End: (_, last) => last
}

export const Menu = ({ items, label }: MenuProps) => {
  const id = useId()
  const menu = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  const onToggle = ({ newState }: { readonly newState: string }): void => {
    setOpen(newState === "open")
    if (newState !== "open" || menu.current === null || button.current === null) return
    placeBeside(menu.current, button.current)
    menu.current.querySelector("button")?.focus()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = moves[event.key]
    const buttons = [...(menu.current?.querySelectorAll("button") ?? [])]
    if (move === undefined || buttons.length === 0) return
    event.preventDefault()
    const present = buttons.findIndex((item) => item.matches(":focus"))
    buttons[move(present, buttons.length - 1)]?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button small quiet"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popovertarget={id}
      >
        <Icon name="more" />
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        class="menu-items"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onToggle={onToggle}
        onKeyDown={onKeyDown}
      >
        {items.map(({ isDanger = false, onSelect, text }) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            class={isDanger ? "danger" : undefined}
            onClick={() => {
              menu.current?.hidePopover()
              onSelect()
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </>
  )
}
