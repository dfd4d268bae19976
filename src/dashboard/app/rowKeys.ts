import { useEffect, useLayoutEffect, useRef } from "preact/hooks"

export interface RowKeys {
  readonly ids: ReadonlyArray<string>
  readonly selected: string | undefined
  readonly onSelect: (id: string | undefined) => void
  /** Opens the page after or before this one; undefined where there is none. */
  readonly onOlder: (() => void) | undefined
  readonly onNewer: (() => void) | undefined
  readonly isLoading: boolean
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches("input, select, textarea, svg")

/** `j` and `k` move through the rows and, at their ends, through the pages. Each row's link has the id of the row. */
export const useRowKeys = (keys: RowKeys): void => {
  const latest = useRef(keys)
  latest.current = keys
  const entering = useRef<"first" | "last">(undefined)
  const { ids, isLoading } = keys
  const go = (id: string | undefined): void => {
    if (id === undefined) return
    latest.current.onSelect(id)
    document.getElementById(id)?.focus()
  }
  useEffect(() => {
    if (entering.current === undefined || isLoading) return
    go(entering.current === "first" ? ids[0] : ids.at(-1))
    entering.current = undefined
  }, [ids.join(), isLoading])
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { ids, isLoading, onNewer, onOlder, onSelect, selected } = latest.current
      const step = { j: 1, k: -1 }[event.key]
      const isOther = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)
      if (isOther || document.querySelector("dialog[open]") !== null) return
      if (event.key === "Escape") {
        // Otherwise the page that is loading would select one of its rows.
        entering.current = undefined
        onSelect(undefined)
      }
      if (step === undefined || isLoading || entering.current !== undefined) return
      event.preventDefault()
      // The focus moves at once; the selection follows with the next drawing, which keys can outrun.
      const at = ids.indexOf(document.activeElement?.id ?? "")
      const next = at >= 0 ? at + step : selected === undefined ? 0 : ids.indexOf(selected) + step
      const turn = step > 0 ? onOlder : onNewer
      if (ids[next] !== undefined) go(ids[next])
      else if (turn !== undefined) {
        entering.current = step > 0 ? "first" : "last"
        turn()
      }
    }
    document.addEventListener("keydown", onKeyDown)
    return () => document.removeEventListener("keydown", onKeyDown)
  }, [])
}
