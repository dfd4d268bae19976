import { useState } from "preact/hooks"

export const usePoint = (count: number, first: number, indexAt: (x: number) => number) => {
  const [active, setActive] = useState<number>()
  const last = count - 1
  const clear = (): void => setActive(undefined)
  const onPointerMove = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }): void => {
    const index = indexAt(event.clientX - event.currentTarget.getBoundingClientRect().left)
    setActive(index >= 0 && index <= last ? index : undefined)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") clear()
    if ((event.key !== "ArrowRight" && event.key !== "ArrowLeft") || last < 0) return
    event.preventDefault()
    const step = event.key === "ArrowRight" ? 1 : -1
    setActive(active === undefined ? first : Math.min(last, Math.max(0, active + step)))
  }
  return { active, handlers: { onPointerMove, onPointerLeave: clear, onBlur: clear, onKeyDown } }
}
